//! Chunks with other bytes than their chain expects.

use crate::hostile::case::{Case, LITTLE, case, codec};

/// Returns an array with this type and chain, and one chunk of these bytes instead of four elements.
fn chunk(name: &'static str, data_type: &str, codecs: &str, bytes: impl Into<Vec<u8>>) -> Case {
    let (data_type, codecs, bytes) = (format!("\"{data_type}\""), codecs.to_owned(), bytes.into());
    let fill = if data_type.contains("string") { "\"\"" } else { "0" };
    let fill = if data_type.contains("bool") { "false" } else { fill };
    case(name, move |store| {
        store.array(&[("data_type", &data_type), ("codecs", &codecs), ("fill_value", fill)]).write("c/0", &bytes);
    })
}

/// An empty string with its length.
const EMPTY: (u32, &[u8]) = (0, b"");

/// Encodes strings and their lengths like `vlen-utf8`, after a count.
fn strings(count: u32, strings: &[(u32, &[u8])]) -> Vec<u8> {
    let mut bytes = count.to_le_bytes().to_vec();
    for (length, text) in strings {
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(text);
    }
    bytes
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = sizes();
    cases.extend(checksums());
    cases.extend(texts());
    cases.extend(garbage());
    cases
}

fn sizes() -> Vec<Case> {
    let bytes = &format!("[{LITTLE}]");
    let packed = r#"[{"name":"packbits"}]"#;
    let padded = r#"[{"name":"packbits","configuration":{"padding_encoding":"first_byte"}}]"#;
    vec![
        chunk("empty", "uint16", bytes, []),
        chunk("one byte less", "uint16", bytes, [0; 7]),
        chunk("one byte more", "uint16", bytes, [0; 9]),
        chunk("half", "uint16", bytes, [0; 4]),
        chunk("twice", "uint16", bytes, [0; 16]),
        case("2^40 bytes of nothing", |store| {
            store.array(&[]).write_sparse("c/0", 1 << 40);
        }),
        case("2^40 bytes of nothing behind gzip", |store| {
            let codecs = format!("[{LITTLE},{}]", codec("gzip", r#"{"level":1}"#));
            store.array(&[("codecs", &codecs)]).write_sparse("c/0", 1 << 40);
        }),
        chunk("bools of 2", "bool", r#"[{"name":"bytes"}]"#, [0, 1, 2, 255]).harmless(),
        chunk("packed bools, one byte less", "bool", packed, []),
        chunk("packed bools, one byte more", "bool", packed, [0xff, 0xff]),
        chunk("packed bools with bits in the padding", "bool", packed, [0xff]).harmless(),
        chunk("padding of 200 bits", "bool", padded, [200, 0x0f]),
        chunk("padding of other bits", "bool", padded, [3, 0x0f]),
        chunk("uint10 beyond its range", "uint10", bytes, [0xff; 8]),
        chunk("int4 beyond its range", "int4", r#"[{"name":"bytes"}]"#, [0x7f; 4]).harmless(),
    ]
}

fn checksums() -> Vec<Case> {
    let with = |name: &str| format!(r#"[{{"name":"bytes"}},{name}]"#);
    let plain = |name: &str| with(&format!(r#"{{"name":"{name}"}}"#));
    let head = codec("numcodecs.crc32c", r#"{"location":"start"}"#);
    vec![
        chunk("crc32c: wrong", "uint8", &plain("crc32c"), [1, 2, 3, 4, 0, 0, 0, 0]),
        chunk("crc32c: three bytes", "uint8", &plain("crc32c"), [1, 2, 3]),
        chunk("crc32c: nothing", "uint8", &plain("crc32c"), []),
        chunk("crc32c: alone", "uint8", &plain("crc32c"), [0; 4]),
        chunk("crc32c: at the start", "uint8", &with(&head), [0; 8]),
        chunk("fletcher32: wrong", "uint8", &plain("numcodecs.fletcher32"), [1, 2, 3, 4, 9, 9, 9, 9]),
        chunk("fletcher32: three bytes", "uint8", &plain("numcodecs.fletcher32"), [1, 2, 3]),
        chunk("fletcher32: an odd number of bytes", "uint8", &plain("numcodecs.fletcher32"), [1; 7]),
        chunk("fletcher32: nothing", "uint8", &plain("numcodecs.fletcher32"), []),
        chunk("adler32: wrong", "uint8", &plain("numcodecs.adler32"), [9, 9, 9, 9, 1, 2, 3, 4]),
        chunk("adler32: nothing", "uint8", &plain("numcodecs.adler32"), []),
        chunk("crc32: nothing", "uint8", &plain("numcodecs.crc32"), []),
    ]
}

fn texts() -> Vec<Case> {
    let (utf8, bytes) = (r#"[{"name":"vlen-utf8"}]"#, r#"[{"name":"vlen-bytes"}]"#);
    let four = |length, text: &[u8]| strings(4, &[(length, text), (0, b""), (0, b""), (0, b"")]);
    vec![
        chunk("strings: nothing", "string", utf8, []),
        chunk("strings: three bytes", "string", utf8, [4, 0, 0]),
        chunk("strings: 2^32-1 of them", "string", utf8, strings(u32::MAX, &[])),
        chunk("strings: three of four", "string", utf8, strings(3, &[EMPTY; 3])),
        chunk("strings: five of four", "string", utf8, strings(5, &[EMPTY; 5])),
        chunk("strings: four, three there", "string", utf8, strings(4, &[EMPTY; 3])),
        chunk("strings: of 2^32-1 bytes", "string", utf8, four(u32::MAX, b"a")),
        chunk("strings: of 2^31 bytes", "string", utf8, four(1 << 31, b"a")),
        chunk("strings: one byte too long", "string", utf8, four(15, b"abc")),
        chunk("strings: no UTF-8", "string", utf8, four(2, b"\xff\xfe")),
        chunk("strings: bytes after them", "string", utf8, [four(1, b"a"), vec![0; 9]].concat()),
        chunk("bytes: of 2^32-1 bytes", "variable_length_bytes", bytes, four(u32::MAX, b"a")),
        chunk("bytes: 2^32-1 of them", "bytes", bytes, strings(u32::MAX, &[])),
    ]
}

/// Returns garbage for each codec that reads a format.
fn garbage() -> Vec<Case> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let random: Vec<u8> = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[0]
    })
    .take(4096)
    .collect();
    let compressors = [
        ("zstd", r#"{"level":1,"checksum":true}"#),
        ("gzip", r#"{"level":1}"#),
        ("blosc", r#"{"cname":"zstd","clevel":5,"shuffle":"bitshuffle","typesize":1,"blocksize":0}"#),
        ("conditional", r#"{"codecs":[{"name":"gzip","configuration":{"level":1}}],"header_bits":8}"#),
        ("numcodecs.zlib", r#"{"level":1}"#),
        ("numcodecs.bz2", r#"{"level":1}"#),
        ("numcodecs.lz4", r#"{"acceleration":1}"#),
        ("numcodecs.lzma", r#"{"format":1,"check":-1,"preset":null,"filters":null}"#),
        ("numcodecs.lzma", r#"{"format":2}"#),
        ("numcodecs.lzma", r#"{"format":3,"filters":[{"id":3,"dist":256},{"id":4},{"id":33}]}"#),
        ("numcodecs.shuffle", r#"{"elementsize":3}"#),
        ("numcodecs.adler32", "{}"),
        ("numcodecs.fletcher32", "{}"),
        ("numcodecs.jenkins_lookup3", r#"{"initval":1}"#),
        ("zarrs.gdeflate", r#"{"level":1}"#),
    ];
    let mut cases: Vec<Case> = compressors
        .iter()
        .map(|(name, configuration)| {
            let codecs = format!(r#"[{{"name":"bytes"}},{}]"#, codec(name, configuration));
            let mut case = chunk("", "uint8", &codecs, random.clone());
            case.name = format!("garbage for {name}");
            case
        })
        .collect();
    for (name, configuration) in
        [("zfp", r#"{"mode":"reversible"}"#), ("numcodecs.pcodec", "{}"), ("numcodecs.zfpy", r#"{"mode":4}"#)]
    {
        let mut case = chunk("", "float32", &format!("[{}]", codec(name, configuration)), random.clone());
        case.name = format!("garbage for {name}");
        cases.push(case);
    }
    cases
}
