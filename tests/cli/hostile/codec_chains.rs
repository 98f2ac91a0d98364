//! Codec chains that are too long, unordered, or have nonsensical configurations.

use crate::hostile::case::{Case, LITTLE, case, codec};

/// Returns a float32 array with this chain, and a chunk of 16 bytes.
fn chain(name: &'static str, codecs: impl Into<String>) -> Case {
    let codecs = codecs.into();
    case(name, move |store| {
        store.array(&[("data_type", "\"float32\""), ("codecs", &codecs)]).write("c/0", [0; 16]);
    })
}

/// Returns a chain with PIECES replaced by many copies of a piece.
fn pieces(name: &'static str, codecs: impl Into<String>, piece: &'static str, count: usize) -> Case {
    let codecs = codecs.into();
    case(name, move |store| {
        store.array_of_pieces(&[("data_type", "\"float32\""), ("codecs", &codecs)], piece, count);
        store.write("c/0", [0; 16]);
    })
}

/// Returns a chain with this codec before `bytes`.
fn front(name: &'static str, codec_name: &str, configuration: &str) -> Case {
    chain(name, format!("[{},{LITTLE}]", codec(codec_name, configuration)))
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = lists();
    cases.extend(casts());
    cases.extend(others());
    cases
}

fn lists() -> Vec<Case> {
    vec![
        chain("none", "[]"),
        pieces("a million codecs", format!("[PIECES{LITTLE}]"), r#"{"name":"bytes"},"#, 1_000_000),
        pieces("a million names", "[PIECES\"bytes\"]", "\"bytes\",", 1_000_000),
        chain(
            "257 transposes",
            format!("[{}{LITTLE}]", format!("{},", codec("transpose", r#"{"order":[0]}"#)).repeat(257)),
        ),
        chain(
            "250 transposes",
            format!("[{}{LITTLE}]", format!("{},", codec("transpose", r#"{"order":[0]}"#)).repeat(250)),
        )
        .harmless(),
        chain("compressor first", format!("[{},{LITTLE}]", codec("gzip", r#"{"level":1}"#))),
        chain("bytes twice", format!("[{LITTLE},{LITTLE}]")),
        chain("nulls", "[null,null]"),
        chain("lists", "[[[[]]]]"),
        chain("name of a mebibyte", format!("[{},{LITTLE}]", codec(&"n".repeat(1 << 20), "{}"))),
        chain("name with dots and slashes", format!("[{LITTLE},{}]", codec("../../../etc/passwd", "{}"))),
        chain("configuration is a number", r#"[{"name":"bytes","configuration":7}]"#),
        chain("that need not be understood", format!(r#"[{{"name":"mine","must_understand":false}},{LITTLE}]"#)),
        chain("vlen-utf8 of floats", r#"[{"name":"vlen-utf8"}]"#),
        chain(
            "every name without configuration",
            r#"["scale_offset","cast_value","transpose","bytes","gzip","zstd","blosc","crc32c"]"#,
        ),
    ]
}

fn casts() -> Vec<Case> {
    let map = |count: usize| {
        let entries: Vec<String> = (0..count).map(|entry| format!("[{entry}.5,{}]", entry % 256)).collect();
        format!(r#"{{"data_type":"uint8","scalar_map":{{"encode":[{0}],"decode":[[0,0]]}}}}"#, entries.join(","))
    };
    vec![
        front("scalar map of 100000 entries", "cast_value", &map(100_000)).harmless(),
        front(
            "scalar map of a million repetitions",
            "cast_value",
            &format!(r#"{{"data_type":"uint8","scalar_map":{{"encode":[[1,1]{}]}}}}"#, ",[1,1]".repeat(500_000)),
        ),
        front(
            "scalar map of nothing",
            "cast_value",
            r#"{"data_type":"uint8","scalar_map":{"encode":[[],[1],[1,2,3],null,7]}}"#,
        ),
        front(
            "scalar map of numbers that are none",
            "cast_value",
            r#"{"data_type":"uint8","scalar_map":{"encode":[["0x",1],["NaN","NaN"],[1e999999999,1],[{},[]]]}}"#,
        ),
        front("scalar map is a list", "cast_value", r#"{"data_type":"uint8","scalar_map":[]}"#),
        front("no data type", "cast_value", "{}"),
        front("data type of its own", "cast_value", r#"{"data_type":"mine"}"#),
        front("wrapped floats", "cast_value", r#"{"data_type":"float64","out_of_range":"wrap"}"#),
        front("rounding of its own", "cast_value", r#"{"data_type":"uint8","rounding":"up"}"#),
        front("uint1", "cast_value", r#"{"data_type":"uint1"}"#),
        front("uint65536", "cast_value", r#"{"data_type":"uint65536"}"#),
        front("scale of 0", "scale_offset", r#"{"scale":0}"#),
        front("scale of 1e999999999", "scale_offset", r#"{"scale":1e999999999,"offset":-1e999999999}"#),
        front("scale of NaN", "scale_offset", r#"{"scale":"NaN"}"#),
        front("offset of a mebibyte", "scale_offset", &format!(r#"{{"offset":"{}"}}"#, "9".repeat(1 << 20))),
        front("offset is a list", "scale_offset", r#"{"offset":[1,2]}"#),
    ]
}

fn others() -> Vec<Case> {
    let after = |name: &'static str, codec_name: &str, configuration: &str| {
        chain(name, format!("[{LITTLE},{}]", codec(codec_name, configuration)))
    };
    let filter =
        |name: &'static str, id: &str, configuration: &str| front(name, &format!("numcodecs.{id}"), configuration);
    vec![
        front("transpose of 2^64 dimensions", "transpose", r#"{"order":[18446744073709551616]}"#),
        front("transpose twice the same", "transpose", r#"{"order":[0,0]}"#),
        front("transpose of -1", "transpose", r#"{"order":[-1]}"#),
        front(
            "transpose of a million dimensions",
            "transpose",
            &format!(r#"{{"order":[0{}]}}"#, ",0".repeat(1_000_000)),
        ),
        front("transpose by a name", "transpose", r#"{"order":"F"}"#),
        front("bitround of 200 bits", "bitround", r#"{"keepbits":200}"#),
        front(
            "fixedscaleoffset by 0",
            "numcodecs.fixedscaleoffset",
            r#"{"scale":0,"offset":0,"dtype":"<f4","astype":"|u1"}"#,
        ),
        chain("packbits of no bit", r#"[{"name":"packbits","configuration":{"first_bit":31,"last_bit":0}}]"#),
        chain(
            "packbits beyond the type",
            r#"[{"name":"packbits","configuration":{"first_bit":0,"last_bit":1000000000000}}]"#,
        ),
        chain(
            "packbits with padding of its own",
            r#"[{"name":"packbits","configuration":{"padding_encoding":"middle"}}]"#,
        ),
        chain("endian of its own", r#"[{"name":"bytes","configuration":{"endian":"middle"}}]"#),
        after("zstd level 2^31", "zstd", r#"{"level":2147483648,"checksum":true}"#),
        after("zstd level -2^31", "zstd", r#"{"level":-2147483648,"checksum":true}"#),
        after("gzip level 100", "gzip", r#"{"level":100}"#),
        after(
            "blosc of 2^63 bytes an element",
            "blosc",
            r#"{"cname":"lz4","clevel":5,"shuffle":"shuffle","typesize":9223372036854775808,"blocksize":0}"#,
        ),
        after(
            "blosc of 0 bytes an element",
            "blosc",
            r#"{"cname":"lz4","clevel":5,"shuffle":"shuffle","typesize":0,"blocksize":0}"#,
        ),
        after(
            "blosc in blocks of 2^63",
            "blosc",
            r#"{"cname":"zstd","clevel":9,"shuffle":"shuffle","typesize":4,"blocksize":9223372036854775807}"#,
        ),
        after(
            "blosc of its own",
            "blosc",
            r#"{"cname":"mine","clevel":5,"shuffle":"shuffle","typesize":4,"blocksize":0}"#,
        ),
        after("shuffle of 0 bytes an element", "numcodecs.shuffle", r#"{"elementsize":0}"#),
        after("shuffle of -1 bytes an element", "numcodecs.shuffle", r#"{"elementsize":-1}"#),
        after("shuffle of 2^63 bytes an element", "numcodecs.shuffle", r#"{"elementsize":9223372036854775808}"#),
        after("lzma filters of garbage", "numcodecs.lzma", r#"{"format":3,"filters":[{"id":4294967296}]}"#),
        after(
            "lzma with a dictionary of 1.5 GiB",
            "numcodecs.lzma",
            r#"{"filters":[{"id":33,"dict_size":1610612736}]}"#,
        ),
        after("lz4 with an acceleration of 2^40", "numcodecs.lz4", r#"{"acceleration":1099511627776}"#),
        filter("fixedscaleoffset by 0", "fixedscaleoffset", r#"{"offset":0,"scale":0,"astype":"|u1"}"#),
        filter("fixedscaleoffset by 1e400", "fixedscaleoffset", r#"{"offset":1e400,"scale":1e400,"astype":"<f4"}"#),
        filter(
            "fixedscaleoffset from 10^40",
            "fixedscaleoffset",
            r#"{"offset":10000000000000000000000000000000000000000,"scale":-1,"astype":"<f2"}"#,
        ),
        filter("delta of another type", "delta", r#"{"dtype":"<i8"}"#),
        filter("delta of complex numbers", "delta", r#"{"dtype":"<c16","astype":"<c8"}"#),
        filter("quantize to 400 digits", "quantize", r#"{"digits":400,"dtype":"<f4"}"#),
        filter("quantize to -308 digits", "quantize", r#"{"digits":-308,"dtype":"<f4"}"#),
        filter("astype to bool and back", "astype", r#"{"encode_dtype":"|b1","decode_dtype":"<f4"}"#),
        filter("packbits of floats", "packbits", "{}"),
        after("crc32c with a configuration", "crc32c", r#"{"location":"middle"}"#),
    ]
}
