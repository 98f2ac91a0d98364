//! Plain files that are no part of a store: documents given by `@FILE`, and what `apply-codec` reads and writes.

#![expect(clippy::disallowed_methods, reason = "this module owns the file system")]

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::local::{self, io_error};
use super::{Result, StoreError};

/// A file or a standard stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stream {
    /// `-`.
    Standard,
    /// A file.
    File(PathBuf),
}

impl Stream {
    /// True if it is a file whose name has this extension.
    pub fn has_extension(&self, extension: &str) -> bool {
        match self {
            Stream::Standard => false,
            Stream::File(path) => path.extension().is_some_and(|found| found == extension),
        }
    }
}

/// True if there is a folder at a path.
pub fn is_folder(path: &Path) -> bool {
    path.is_dir()
}

/// The whole of a file that holds at most `limit` bytes. Memory grows with what is read, not with what is claimed.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let file = File::open(path).map_err(io_error("read", path))?;
    read_stream(file, path, limit)
}

/// The first `length` bytes of a file, or all where there are fewer.
pub fn first_bytes(path: &Path, length: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(io_error("read", path))?;
    file.take(length as u64).read_to_end(&mut bytes).map_err(io_error("read", path))?;
    Ok(bytes)
}

/// The same of stdin.
pub fn read_standard_input(limit: u64) -> Result<Vec<u8>> {
    read_stream(io::stdin().lock(), Path::new("stdin"), limit)
}

fn read_stream(stream: impl Read, path: &Path, limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(io_error("read", path))?;
    StoreError::check_size(bytes.len() as u64, limit, || path.display().to_string())?;
    Ok(bytes)
}

/// A file that is being written.
enum Output {
    /// A device or a pipe has no contents to protect, and must not be replaced by a file.
    InPlace(File),
    /// Under another name beside its own.
    Beside { file: File, temporary: PathBuf, target: PathBuf },
}

fn begin(path: &Path) -> io::Result<Output> {
    let name = path.file_name().ok_or_else(|| io::Error::other("it has no file name"))?;
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return fs::OpenOptions::new().write(true).open(path).map(Output::InPlace);
    }
    // A link stays a link: what it points to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut temporary_name = std::ffi::OsString::from(".");
    temporary_name.push(name);
    temporary_name.push(format!(".{}.partial", std::process::id()));
    let temporary = target.with_file_name(temporary_name);
    Ok(Output::Beside { file: File::create(&temporary)?, temporary, target })
}

/// Writes a file under another name beside it and moves it into place, replacing what was there. After an error
/// there is neither, and what was there still is.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let written = begin(path).and_then(|begun| match begun {
        Output::InPlace(mut file) => file.write_all(bytes),
        Output::Beside { mut file, temporary, target } => {
            let written = file.write_all(bytes).and_then(|()| file.sync_all());
            let renamed = written.and_then(|()| fs::rename(&temporary, &target));
            renamed.inspect_err(|_| drop(fs::remove_file(&temporary)))
        }
    });
    written.map_err(io_error("write", path))
}

/// An error where [`write`] would not succeed, as far as that can be known before. Nothing is left.
pub fn check_writable(path: &Path) -> Result<()> {
    let begun = begin(path).and_then(|begun| match begun {
        Output::InPlace(_) => Ok(()),
        Output::Beside { temporary, .. } => fs::remove_file(&temporary),
    });
    begun.map_err(io_error("write", path))
}

/// True if a file is, or would be, a folder's own place or inside it, whatever links lead to both.
pub fn is_inside(file: &Path, folder: &Path) -> bool {
    resolved(file).starts_with(resolved(folder))
}

/// The folder of a Zarr node that a file would lie in, however deep.
pub fn node_above(file: &Path) -> Option<PathBuf> {
    const DOCUMENTS: [&str; 3] = ["zarr.json", ".zarray", ".zgroup"];
    let is_node = |folder: &&Path| DOCUMENTS.iter().any(|document| folder.join(document).is_file());
    resolved(file).ancestors().skip(1).find(is_node).map(Path::to_owned)
}

/// The path without links, as far as it is there.
fn resolved(path: &Path) -> PathBuf {
    local::resolved(path).unwrap_or_else(|_| path.to_owned())
}

/// Creates a folder and those above it, if need be.
pub fn create_directory(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(io_error("create", path))
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
}
