//! Formats of files that are no Zarr store, told by their first bytes.

/// The bytes that [`FileFormat::of`] needs at most.
pub const FIRST_BYTES: usize = 4096;

/// A format of a file that stands where a store, a document or a chunk should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileFormat {
    /// With its article: "a GRIB file".
    pub name: &'static str,
    /// The next step for whoever has one where a store should be.
    pub help: &'static str,
    /// True if it stands in for another file, whose contents are elsewhere or were not got: never what a codec made.
    pub is_stand_in: bool,
}

/// Where a format's signature stands, the signature, and what it is.
type Row = (usize, &'static [u8], FileFormat);

const fn format(name: &'static str, help: &'static str) -> FileFormat {
    FileFormat { name, help, is_stand_in: false }
}

const fn stand_in(name: &'static str, help: &'static str) -> FileFormat {
    FileFormat { name, help, is_stand_in: true }
}

const NETCDF: &str = "convert it first, such as by xarray: xarray.open_dataset(FILE).to_zarr(STORE)";
const HDF5: FileFormat = format("an HDF5 file (as NetCDF-4 files are)", NETCDF);
const NETCDF_CLASSIC: FileFormat = format("a NetCDF classic file", NETCDF);
const TIFF: FileFormat =
    format("a TIFF file", "convert it first, such as by `gdal_translate -of Zarr` or bioformats2raw");
const PAGE: FileFormat =
    stand_in("an HTML page, as servers answer for what is not there", "download the file again from the right address");
const ZIP: FileFormat =
    format("a zip file of another name", "give it a name that ends in `.zip`, or name it as `FILE|zip:`");

const GRIB: FileFormat =
    format("a GRIB file", "convert it first, such as by xarray with cfgrib: xarray.open_dataset(FILE).to_zarr(STORE)");
const NUMPY: FileFormat = format(
    "a .npy file",
    "`zarrcast apply-codec` takes .npy files; a store is made of one by zarr.save_array(STORE, numpy.load(FILE))",
);
const LFS: FileFormat = stand_in("a Git LFS pointer, not the file itself", "get the files: `git lfs pull`");
const ANNEX: FileFormat = stand_in("a git-annex pointer, not the file itself", "get the files: `git annex get`");
const XML: FileFormat =
    stand_in("an XML document, as object stores answer errors", "look into it, and download the file again");
const OTHER: &str = "name the folder of a Zarr array or group";

/// The signatures; the longest of those that begin alike comes first.
static SIGNATURES: [Row; 30] = [
    (0, b"CDF\x01", NETCDF_CLASSIC),
    (0, b"CDF\x02", NETCDF_CLASSIC),
    (0, b"CDF\x05", NETCDF_CLASSIC),
    // An HDF5 file may begin with a block of the user's, of 512 bytes or a power of two more.
    (0, b"\x89HDF\r\n\x1a\n", HDF5),
    (512, b"\x89HDF\r\n\x1a\n", HDF5),
    (1024, b"\x89HDF\r\n\x1a\n", HDF5),
    (2048, b"\x89HDF\r\n\x1a\n", HDF5),
    (0, b"\x0e\x03\x13\x01", format("an HDF4 file", "convert it first, such as by `h4toh5` and xarray")),
    (0, b"GRIB", GRIB),
    (0, b"\x93NUMPY", NUMPY),
    (0, b"II*\0", TIFF),
    (0, b"MM\0*", TIFF),
    (0, b"II+\0", TIFF),
    (0, b"MM\0+", TIFF),
    (0, b"\x89PNG\r\n\x1a\n", format("a PNG picture", OTHER)),
    (0, b"\xff\xd8\xff", format("a JPEG picture", OTHER)),
    (0, b"PK\x03\x04", ZIP),
    (0, b"PK\x05\x06", ZIP),
    (0, b"PAR1", format("a Parquet file", OTHER)),
    (0, b"\x1f\x8b", format("a gzip file", "unpack it first: `tar -xzf FILE`, or `gunzip FILE`")),
    (0, b"\x28\xb5\x2f\xfd", format("a zstd file", "unpack it first: `tar --zstd -xf FILE`, or `unzstd FILE`")),
    (0, b"\xfd7zXZ\0", format("an xz file", "unpack it first: `tar -xJf FILE`, or `unxz FILE`")),
    (0, b"BZh", format("a bzip2 file", "unpack it first: `tar -xjf FILE`, or `bunzip2 FILE`")),
    (257, b"ustar", format("a tar archive", "unpack it first: `tar -xf FILE`")),
    (0, b"version https://git-lfs.github.com/spec/", LFS),
    (0, b"/annex/objects/", ANNEX),
    (0, b"<!DOCTYPE html", PAGE),
    (0, b"<!doctype html", PAGE),
    (0, b"<html", PAGE),
    (0, b"<?xml", XML),
];

impl FileFormat {
    /// The format of a file that begins with these bytes; `None` where it is none that is known.
    pub fn of(first_bytes: &[u8]) -> Option<&'static FileFormat> {
        let begins =
            |at: usize, signature: &[u8]| first_bytes.get(at..).is_some_and(|bytes| bytes.starts_with(signature));
        SIGNATURES.iter().find(|(at, signature, _)| begins(*at, signature)).map(|(_, _, format)| format)
    }

    /// The same, of what stands where a document or a chunk should be: only what no codec makes.
    pub fn of_stand_in(first_bytes: &[u8]) -> Option<&'static FileFormat> {
        Self::of(first_bytes).filter(|format| format.is_stand_in)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_known_by_its_first_bytes() {
        let name = |bytes: &[u8]| FileFormat::of(bytes).map_or("", |format| format.name);
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
