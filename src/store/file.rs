//! Plain files outside of stores: documents of `@FILE`, input and output of `apply-codec`. Also recognises formats
//! other than Zarr by their first bytes.
#![expect(clippy::disallowed_methods, reason = "this module owns the file system")]

use std::fs::{self, File};
use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};

use super::local::{self, io_error};
use super::{Result, StoreError};

/// File or standard stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stream {
    /// Standard input or output: `-`.
    Standard,
    /// A file.
    File(PathBuf),
}

impl Stream {
    /// Returns true if it is a file with this extension.
    pub fn has_extension(&self, extension: &str) -> bool {
        matches!(self, Stream::File(path) if path.extension().is_some_and(|found| found == extension))
    }
}

/// Returns true if the path is a folder.
pub fn is_folder(path: &Path) -> bool {
    path.is_dir()
}

/// Reads a whole file of at most `limit` bytes. Memory grows with the bytes read, not with the claimed size.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let file = File::open(path).map_err(io_error("read", path))?;
    read_stream(file, path, limit)
}

/// Returns the first `length` bytes of a file, or all if it is shorter.
pub fn first_bytes(path: &Path, length: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(io_error("read", path))?;
    file.take(length as u64).read_to_end(&mut bytes).map_err(io_error("read", path))?;
    Ok(bytes)
}

/// Like [`read`], from stdin.
pub fn read_standard_input(limit: u64) -> Result<Vec<u8>> {
    read_stream(io::stdin().lock(), Path::new("stdin"), limit)
}

/// Returns true if the next bytes of stdin are these. They stay there.
pub fn standard_input_begins_with(bytes: &[u8]) -> bool {
    io::stdin().lock().fill_buf().is_ok_and(|found| found.starts_with(bytes))
}

fn read_stream(stream: impl Read, path: &Path, limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One byte more than allowed shows that the file is too large.
    stream.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(io_error("read", path))?;
    StoreError::check_size(bytes.len() as u64, limit, || path.display().to_string())?;
    Ok(bytes)
}

/// Most links that are followed from a path to a file.
const MOST_LINKS: usize = 40;

/// Writes a file under a temporary name in the same folder, then renames it. Without `bytes` the temporary file is only
/// created and removed.
fn replace(path: &Path, bytes: Option<&[u8]>) -> io::Result<()> {
    let name = path.file_name().ok_or_else(|| io::Error::other("it has no file name"))?;
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        // A device or a pipe has no contents to protect, and must not be replaced by a file.
        let mut device = fs::OpenOptions::new().write(true).open(path)?;
        return device.write_all(bytes.unwrap_or_default());
    }
    // A link stays a link: its target is replaced, or created.
    let linked = |path: &PathBuf| Some(path.parent()?.join(fs::read_link(path).ok()?));
    let target = std::iter::successors(Some(path.to_owned()), linked).take(MOST_LINKS).last();
    let target = target.unwrap_or_else(|| path.to_owned());
    let mut temporary_name = std::ffi::OsString::from(".");
    temporary_name.push(name);
    temporary_name.push(format!(".{}.partial", std::process::id()));
    let temporary = target.with_file_name(temporary_name);
    let mut file = File::create(&temporary)?;
    let Some(bytes) = bytes else { return fs::remove_file(&temporary) };
    // The bytes must be durable before the new name. Otherwise a crash of the machine could leave an empty file.
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    written.and_then(|()| fs::rename(&temporary, &target)).inspect_err(|_| drop(fs::remove_file(&temporary)))
}

/// Writes a file under a temporary name in the same folder, then renames it. After an error the old file is unchanged,
/// and the temporary file is removed.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    replace(path, Some(bytes)).map_err(io_error("write", path))
}

/// Fails if [`write`] would certainly fail. Leaves no file.
pub fn check_writable(path: &Path) -> Result<()> {
    replace(path, None).map_err(io_error("write", path))
}

/// Returns true if a file is, or would be, a folder itself or inside it, after all links.
pub fn is_inside(file: &Path, folder: &Path) -> bool {
    resolved(file).starts_with(resolved(folder))
}

/// Returns the innermost Zarr node that would contain a file, however deep.
pub fn node_above(file: &Path) -> Option<PathBuf> {
    const DOCUMENTS: [&str; 3] = ["zarr.json", ".zarray", ".zgroup"];
    let is_node = |folder: &&Path| DOCUMENTS.iter().any(|document| folder.join(document).is_file());
    resolved(file).ancestors().skip(1).find(is_node).map(Path::to_owned)
}

/// Returns the path without links. A part that does not exist is unchanged.
fn resolved(path: &Path) -> PathBuf {
    local::resolved(path).unwrap_or_else(|_| path.to_owned())
}

/// Creates a folder and its missing parents.
pub fn create_directory(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(io_error("create", path))
}

/// Number of bytes that [`FileFormat::detect`] needs at most.
pub const FIRST_BYTES: usize = 4096;

/// File format of an object that should be a store, a document or a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileFormat {
    /// Name with its article: "a GRIB file".
    pub name: &'static str,
    /// Advice to a user who names such a file as a store.
    pub help: &'static str,
    /// The file replaces another one, such as a pointer to it or an error page. No codec writes such bytes.
    pub is_stand_in: bool,
}

/// Possible offsets of a signature in bytes, its possible values, and the format.
type Row = (&'static [usize], &'static [&'static [u8]], FileFormat);

const fn format(name: &'static str, help: &'static str) -> FileFormat {
    FileFormat { name, help, is_stand_in: false }
}

const fn stand_in(name: &'static str, help: &'static str) -> FileFormat {
    FileFormat { name, help, is_stand_in: true }
}

const NETCDF: &str = "convert it first, such as by xarray: xarray.open_dataset(FILE).to_zarr(STORE)";
const HDF5: FileFormat = format("an HDF5 file (as NetCDF-4 files are)", NETCDF);
const TIFF: &str = "convert it first, such as by `gdal_translate -of Zarr` or bioformats2raw";
const ZIP: &str = "give it a name that ends in `.zip`, or name it as `FILE|zip:`";
const GRIB: &str = "convert it first, such as by xarray with cfgrib: xarray.open_dataset(FILE).to_zarr(STORE)";
const NUMPY: &str =
    "`zarrcast apply-codec` takes .npy files; make a store of one with zarr.save_array(STORE, numpy.load(FILE))";
const LFS: FileFormat = stand_in("a Git LFS pointer, not the file itself", "get the files: `git lfs pull`");
const ANNEX: FileFormat = stand_in("a git-annex pointer, not the file itself", "get the files: `git annex get`");
const PAGE: FileFormat =
    stand_in("an HTML page, as servers send for a missing file", "download the file again from the right address");
const XML: FileFormat =
    stand_in("an XML document, as object stores send for an error", "read it, then download the file again");
const OTHER: &str = "name the folder of a Zarr array or group";

/// Signatures. Among those with a common prefix the longest is first.
static SIGNATURES: [Row; 19] = [
    // The last byte is the version: classic, 64-bit offset and 64-bit data.
    (&[0], &[b"CDF\x01", b"CDF\x02", b"CDF\x05"], format("a NetCDF classic file", NETCDF)),
    // An HDF5 file may begin with a user block of 512 bytes or a larger power of two.
    (&[0, 512, 1024, 2048], &[b"\x89HDF\r\n\x1a\n"], HDF5),
    (&[0], &[b"\x0e\x03\x13\x01"], format("an HDF4 file", "convert it first, such as by `h4toh5` and xarray")),
    (&[0], &[b"GRIB"], format("a GRIB file", GRIB)),
    (&[0], &[b"\x93NUMPY"], format("a .npy file", NUMPY)),
    // The first two letters are the byte order. `+` instead of `*` means BigTIFF.
    (&[0], &[b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"], format("a TIFF file", TIFF)),
    (&[0], &[b"\x89PNG\r\n\x1a\n"], format("a PNG picture", OTHER)),
    (&[0], &[b"\xff\xd8\xff"], format("a JPEG picture", OTHER)),
    (&[0], &[b"PK\x03\x04", b"PK\x05\x06"], format("a zip file of another name", ZIP)),
    (&[0], &[b"PAR1"], format("a Parquet file", OTHER)),
    (&[0], &[b"\x1f\x8b"], format("a gzip file", "unpack it first: `tar -xzf FILE`, or `gunzip FILE`")),
    (&[0], &[b"\x28\xb5\x2f\xfd"], format("a zstd file", "unpack it first: `tar --zstd -xf FILE`, or `unzstd FILE`")),
    (&[0], &[b"\xfd7zXZ\0"], format("an xz file", "unpack it first: `tar -xJf FILE`, or `unxz FILE`")),
    (&[0], &[b"BZh"], format("a bzip2 file", "unpack it first: `tar -xjf FILE`, or `bunzip2 FILE`")),
    // The header of a tar archive begins with the name and the sizes of its first file.
    (&[257], &[b"ustar"], format("a tar archive", "unpack it first: `tar -xf FILE`")),
    (&[0], &[b"version https://git-lfs.github.com/spec/"], LFS),
    (&[0], &[b"/annex/objects/"], ANNEX),
    (&[0], &[b"<!DOCTYPE html", b"<!doctype html", b"<html"], PAGE),
    (&[0], &[b"<?xml"], XML),
];

impl FileFormat {
    /// Returns the format of a file that begins with these bytes, or `None` if it is unknown.
    pub fn detect(first_bytes: &[u8]) -> Option<&'static FileFormat> {
        let has_one = |(places, signatures, _): &&Row| {
            let mut ends = places.iter().filter_map(|at| first_bytes.get(*at..));
            ends.any(|bytes| signatures.iter().any(|signature| bytes.starts_with(signature)))
        };
        SIGNATURES.iter().find(has_one).map(|(.., format)| format)
    }

    /// Like [`FileFormat::detect`] for a document or a chunk: only formats that no codec writes.
    pub fn of_stand_in(first_bytes: &[u8]) -> Option<&'static FileFormat> {
        Self::detect(first_bytes).filter(|format| format.is_stand_in)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_replaces_a_file_and_leaves_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write(&path, b"first").unwrap();
        write(&path, b"second").unwrap();
        assert_eq!(read(&path, 6).unwrap(), b"second");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn write_into_a_missing_folder_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        assert!(write(&folder.path().join("missing/a"), b"x").is_err());
        assert!(write(folder.path(), b"x").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_cannot_be_written_is_found_out_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        check_writable(&path).unwrap();
        write(&path, b"kept").unwrap();
        check_writable(&path).unwrap();
        assert_eq!(read(&path, 4).unwrap(), b"kept");
        assert!(check_writable(&folder.path().join("missing/a")).is_err());
        assert!(check_writable(folder.path()).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn file_inside_a_folder_is_known_through_links() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert!(is_inside(&link.join("a/b"), &real) && is_inside(&real, &link));
        assert!(!is_inside(&folder.path().join("real.html"), &real));
    }

    #[test]
    fn read_refuses_more_than_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write(&path, b"seven b").unwrap();
        assert!(matches!(read(&path, 6), Err(StoreError::TooLarge { bound: 6, .. })));
        assert_eq!(read(&path, 7).unwrap().len(), 7);
    }

    #[test]
    fn file_is_known_by_its_first_bytes() {
        let name = |bytes: &[u8]| FileFormat::detect(bytes).map_or("", |format| format.name);
        assert_eq!(name(b"CDF\x02 and more"), "a NetCDF classic file");
        let mut with_user_block = vec![0; 512];
        with_user_block.extend(b"\x89HDF\r\n\x1a\n");
        assert_eq!(name(&with_user_block), HDF5.name);
        assert_eq!(name(b""), "");
        assert_eq!(name(b"GRI"), "");
        assert_eq!(name(br#"{"zarr_format":3}"#), "");
    }

    #[test]
    fn stand_ins_are_pointers_and_pages_alone() {
        let is = |bytes: &[u8]| FileFormat::of_stand_in(bytes).is_some();
        assert!(is(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n"));
        assert!(is(b"<!DOCTYPE html><html>"));
        assert!(!is(b"\x1f\x8b") && !is(b"PK\x03\x04") && !is(b"version https"));
    }
}
