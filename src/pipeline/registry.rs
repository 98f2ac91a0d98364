//! The one list of codecs: what each turns into what, whether the core specification or the zarr-extensions registry
//! has its name (the registry's `codecs` folder as of 2026-07-14), and whether this program decodes it.
//!
//! The names of numcodecs are those that zarr-python writes; no registry has them.

use crate::diagnostic::spelling;

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

/// What is known of a codec by its name alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// What it turns into what.
    pub kind: CodecKind,
    /// Whether the core specification or the registry has its name.
    pub is_registered: bool,
    /// Whether this program decodes it.
    pub is_decoded: bool,
}

impl Entry {
    /// Why this program does not decode the codec, where there is more to say than that it does not.
    pub fn reason(self) -> Option<&'static str> {
        match self.name {
            "zfp" | "numcodecs.zfpy" => Some("the library zfp is not built in: it needs cmake and libclang"),
            "zarrs.gdeflate" => {
                Some("the library gdeflate is not built in: it reads beyond the end of a damaged chunk")
            }
            _ => None,
        }
    }
}

const fn entries<const N: usize>(kind: CodecKind, names: [(&'static str, bool, bool); N]) -> [Entry; N] {
    let mut list = [Entry { name: "", kind, is_registered: false, is_decoded: false }; N];
    let mut index = 0;
    while index < N {
        let (name, is_registered, is_decoded) = names[index];
        list[index] = Entry { name, kind, is_registered, is_decoded };
        index += 1;
    }
    list
}

/// Name, registered, decoded.
static ARRAY_TO_ARRAY: [Entry; 11] = entries(
    CodecKind::ArrayToArray,
    [
        ("bitround", true, true),
        ("cast_value", true, true),
        ("numcodecs.astype", false, true),
        ("numcodecs.bitround", false, true),
        ("numcodecs.delta", false, true),
        ("numcodecs.fixedscaleoffset", false, true),
        ("numcodecs.packbits", false, true),
        ("numcodecs.quantize", false, true),
        ("reshape", true, true),
        ("scale_offset", true, true),
        ("transpose", true, true),
    ],
);

static ARRAY_TO_BYTES: [Entry; 12] = entries(
    CodecKind::ArrayToBytes,
    [
        ("bytes", true, true),
        ("n5_default", true, false),
        ("numcodecs.pcodec", false, true),
        ("numcodecs.zfpy", false, false),
        ("packbits", true, true),
        ("sharding_indexed", true, true),
        ("vlen-array", false, false),
        ("vlen-bytes", true, true),
        ("vlen-utf8", true, true),
        ("zarrs.vlen", false, false),
        ("zarrs.vlen_v2", false, false),
        ("zfp", true, false),
    ],
);

static BYTES_TO_BYTES: [Entry; 19] = entries(
    CodecKind::BytesToBytes,
    [
        ("blosc", true, true),
        ("conditional", true, true),
        ("crc32c", true, true),
        ("gzip", true, true),
        ("numcodecs.adler32", false, true),
        ("numcodecs.blosc", false, true),
        ("numcodecs.bz2", false, true),
        ("numcodecs.crc32", false, true),
        ("numcodecs.crc32c", false, true),
        ("numcodecs.fletcher32", false, true),
        ("numcodecs.gzip", false, true),
        ("numcodecs.jenkins_lookup3", false, true),
        ("numcodecs.lz4", false, true),
        ("numcodecs.lzma", false, true),
        ("numcodecs.shuffle", false, true),
        ("numcodecs.zlib", false, true),
        ("numcodecs.zstd", false, true),
        ("zarrs.gdeflate", false, false),
        ("zstd", true, true),
    ],
);

/// What is known of a codec; `None` for a name that is not known here.
pub(super) fn find(name: &str) -> Option<Entry> {
    all().find(|entry| entry.name == name)
}

/// Every codec of the list, by what it turns into what.
pub fn all() -> impl Iterator<Item = Entry> {
    ARRAY_TO_ARRAY.iter().chain(&ARRAY_TO_BYTES).chain(&BYTES_TO_BYTES).copied()
}

/// The codec that a name was most likely meant to be, names as v2 has them included: `zlib` is `numcodecs.zlib` in v3.
pub fn meant(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    let of_v2 = |entry: &Entry| entry.name.strip_prefix("numcodecs.");
    let known = all().map(|entry| entry.name).chain(all().filter_map(|entry| of_v2(&entry)));
    let meant = spelling::meant(&name, known)?;
    let by_name = all().find(|entry| entry.name == meant);
    by_name.or_else(|| all().find(|entry| of_v2(entry) == Some(meant))).map(|entry| entry.name)
}

/// What a codec of this name turns into what; `None` for a name that is not known here.
pub fn codec_kind(name: &str) -> Option<CodecKind> {
    find(name).map(|entry| entry.kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registered_names_are_those_of_the_registry() {
        let mut names: Vec<&str> =
            all().filter(|entry| entry.is_registered).map(|entry| entry.name).collect();
        names.sort_unstable();
        let folder = "bitround blosc bytes cast_value conditional crc32c gzip n5_default packbits reshape \
            scale_offset sharding_indexed transpose vlen-bytes vlen-utf8 zfp zstd";
        assert_eq!(names, folder.split_whitespace().collect::<Vec<_>>());
    }

    #[test]
    fn each_list_is_sorted() {
        for list in [&ARRAY_TO_ARRAY[..], &ARRAY_TO_BYTES, &BYTES_TO_BYTES] {
            assert!(list.iter().is_sorted_by_key(|entry| entry.name));
        }
        assert_eq!(codec_kind("numcodecs.packbits"), Some(CodecKind::ArrayToArray));
        assert_eq!(codec_kind("mine"), None);
    }

    #[test]
    fn codec_that_was_meant_is_offered_by_its_v3_name() {
        assert_eq!(meant("zsdt"), Some("zstd"));
        assert_eq!(meant("zlib"), Some("numcodecs.zlib"));
        assert_eq!(meant("fixedscaleofset"), Some("numcodecs.fixedscaleoffset"));
        assert_eq!(meant("Transpose"), Some("transpose"));
        assert_eq!(meant("mystery"), None);
    }
}
