//! The names of codecs, and what each turns into what: the zarr-extensions registry, the v3 core, and the
//! `numcodecs.*` names that zarr-python writes.

/// What a codec turns into what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CodecKind {
    /// An array into an array.
    ArrayToArray,
    /// An array into bytes.
    ArrayToBytes,
    /// Bytes into bytes.
    BytesToBytes,
}

impl CodecKind {
    /// As the specification writes it: `array->bytes`.
    pub fn name(self) -> &'static str {
        match self {
            CodecKind::ArrayToArray => "array->array",
            CodecKind::ArrayToBytes => "array->bytes",
            CodecKind::BytesToBytes => "bytes->bytes",
        }
    }
}

const ARRAY_TO_ARRAY: [&str; 9] = [
    "bitround",
    "cast_value",
    "numcodecs.astype",
    "numcodecs.bitround",
    "numcodecs.delta",
    "numcodecs.fixedscaleoffset",
    "numcodecs.quantize",
    "scale_offset",
    "transpose",
];

const ARRAY_TO_BYTES: [&str; 12] = [
    "bytes",
    "n5_default",
    "numcodecs.packbits",
    "numcodecs.pcodec",
    "numcodecs.zfpy",
    "packbits",
    "sharding_indexed",
    "vlen-array",
    "vlen-bytes",
    "vlen-utf8",
    "zarrs.vlen",
    "zfp",
];

const BYTES_TO_BYTES: [&str; 17] = [
    "blosc",
    "crc32c",
    "gzip",
    "numcodecs.adler32",
    "numcodecs.blosc",
    "numcodecs.bz2",
    "numcodecs.crc32",
    "numcodecs.crc32c",
    "numcodecs.fletcher32",
    "numcodecs.gzip",
    "numcodecs.lz4",
    "numcodecs.lzma",
    "numcodecs.shuffle",
    "numcodecs.zlib",
    "numcodecs.zstd",
    "zarrs.gdeflate",
    "zstd",
];

/// What a codec of this name turns into what; `None` for a name that is not known here.
pub fn codec_kind(name: &str) -> Option<CodecKind> {
    if ARRAY_TO_ARRAY.contains(&name) {
        Some(CodecKind::ArrayToArray)
    } else if ARRAY_TO_BYTES.contains(&name) {
        Some(CodecKind::ArrayToBytes)
    } else if BYTES_TO_BYTES.contains(&name) {
        Some(CodecKind::BytesToBytes)
    } else {
        None
    }
}

/// Whether the core specification or the zarr-extensions registry has the name.
pub(super) fn is_registered(name: &str) -> bool {
    !name.starts_with("numcodecs.") && !name.starts_with("zarrs.") && codec_kind(name).is_some()
}
