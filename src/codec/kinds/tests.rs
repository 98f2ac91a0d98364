//! Round trips, equality with zarrs, limits and corruption.

#![expect(clippy::cast_possible_truncation, reason = "samples are the low bits")]

use std::borrow::Cow;

use proptest::prelude::*;
use zarrs::array::{BytesToBytesCodecTraits, Codec, CodecOptions};

use super::coding::noise;
use super::*;
use crate::codec::registry::{self, CodecKind, Entry};
use crate::metadata::json::Json;

/// Codecs that zarrs does not have.
const OWN: &[(&str, &str)] = &[
    (
        "conditional",
        r#"{"codecs": [{"name": "gzip", "configuration": {"level": 1}}, {"name": "crc32c"}, {"name": "numcodecs.lz4"}]}"#,
    ),
    ("conditional", r#"{"codecs": [{"name": "numcodecs.zlib"}], "header_bits": 32}"#),
    ("numcodecs.adler32", r#"{"location": "end"}"#),
    ("numcodecs.jenkins_lookup3", r#"{"initval": 7}"#),
    ("numcodecs.lz4", r#"{"acceleration": 1}"#),
    ("numcodecs.lz4", r#"{"acceleration": 40}"#),
    ("numcodecs.lzma", "{}"),
    ("numcodecs.lzma", r#"{"format": 0}"#),
    ("numcodecs.lzma", r#"{"check": 10, "filters": [{"id": 3, "dist": 4}, {"id": 33, "preset": 1}]}"#),
    ("numcodecs.lzma", r#"{"format": 2, "preset": 2}"#),
    ("numcodecs.lzma", r#"{"format": 3, "filters": [{"id": 4}, {"id": 33, "dict_size": 4096, "mf": 3, "mode": 1}]}"#),
    ("numcodecs.lzma", r#"{"format": 3, "filters": [{"id": 4611686018427387905, "lc": 0, "lp": 2}]}"#),
];

/// Codecs that zarrs has.
const SHARED: &[(&str, &str)] = &[
    ("zstd", r#"{"level": 1, "checksum": true}"#),
    ("zstd", r#"{"level": 5, "checksum": false}"#),
    ("zstd", r#"{"level": -3, "checksum": false}"#),
    ("gzip", r#"{"level": 0}"#),
    ("gzip", r#"{"level": 1}"#),
    ("gzip", r#"{"level": 6}"#),
    ("gzip", r#"{"level": 9}"#),
    ("numcodecs.zlib", r#"{"level": 1}"#),
    ("numcodecs.zlib", r#"{"level": 6}"#),
    ("numcodecs.bz2", r#"{"level": 3}"#),
    ("blosc", r#"{"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 4, "blocksize": 0}"#),
    ("blosc", r#"{"cname": "zstd", "clevel": 3, "shuffle": "bitshuffle", "typesize": 2, "blocksize": 0}"#),
    ("blosc", r#"{"cname": "blosclz", "clevel": 9, "shuffle": "noshuffle", "blocksize": 256}"#),
    ("crc32c", "{}"),
    ("numcodecs.adler32", "{}"),
    ("numcodecs.fletcher32", "{}"),
    ("numcodecs.shuffle", r#"{"elementsize": 2}"#),
];

/// Checks whether a codec can encode. With `"format": 0`, lzma reads either container and cannot write.
fn is_writer(entry: &(&str, &str)) -> bool {
    entry.1 != r#"{"format": 0}"#
}

fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    SHARED.iter().chain(OWN).copied().filter(is_writer)
}

fn codec((name, configuration): (&str, &str)) -> BytesCodec {
    let json = Json::parse_str(configuration).unwrap();
    BytesCodec::new(name, json.as_object()).unwrap()
}

fn zarrs_codec((name, configuration): (&str, &str)) -> Arc<dyn BytesToBytesCodecTraits> {
    let metadata = format!(r#"{{"name": "{name}", "configuration": {configuration}}}"#);
    match Codec::from_metadata(&zarrs::metadata::v3::MetadataV3::try_from(metadata.as_str()).unwrap()).unwrap() {
        Codec::BytesToBytes(codec) => codec,
        other => panic!("{other:?}"),
    }
}

/// Bytes that compress moderately.
fn sample(length: usize) -> Vec<u8> {
    (0..length).map(|index| ((index / 7) as u8).wrapping_mul(37) ^ (index as u8 & 3)).collect()
}

#[test]
fn codecs_write_what_zarrs_writes_and_read_it_back() {
    let mut contexts = Contexts::default();
    let (mut encoded, mut decoded) = (Vec::new(), Vec::new());
    for length in [1, 2, 64, 1000, 70_000, 300_000] {
        let bytes = sample(length);
        for entry in all().filter(|entry| entry.0 != "numcodecs.shuffle" || length > 1) {
            let codec = codec(entry);
            codec.encode(&bytes, &mut encoded, &mut contexts).unwrap();
            if SHARED.contains(&entry) {
                let theirs = zarrs_codec(entry).encode(Cow::Borrowed(&bytes), &CodecOptions::default()).unwrap();
                assert!(encoded == theirs.as_ref(), "{entry:?} {length}");
            }
            let limit = codec.encoded_size(BytesSize::Fixed(length as u64)).bound();
            assert!(limit.is_none_or(|limit| encoded.len() as u64 <= limit), "{entry:?} {length}");
            for bound in
                [BytesSize::Fixed(length as u64), BytesSize::Bounded(length as u64), BytesSize::Bounded(1 << 20)]
            {
                codec.decode(&encoded, &mut decoded, bound, &mut contexts).unwrap();
                assert!(decoded == bytes, "{entry:?} {length}");
            }
        }
    }
}

#[test]
fn decoding_past_the_bound_is_an_error() {
    let mut contexts = Contexts::default();
    let (mut encoded, mut decoded) = (Vec::new(), Vec::new());
    let bytes = vec![7; 1 << 20];
    for entry in all() {
        let codec = codec(entry);
        codec.encode(&bytes, &mut encoded, &mut contexts).unwrap();
        for bound in [
            BytesSize::Fixed(64),
            BytesSize::Bounded(bytes.len() as u64 - 1),
            BytesSize::Fixed(bytes.len() as u64 + 1),
            BytesSize::Fixed(0),
        ] {
            let mut fresh = Vec::new();
            for decoded in [&mut decoded, &mut fresh] {
                let fault = codec.decode(&encoded, decoded, bound, &mut contexts).unwrap_err();
                assert!(matches!(fault, CodecError::Length { .. }), "{entry:?} {bound:?}: {fault}");
            }
        }
    }
}

#[test]
fn truncated_and_extended_bytes_are_errors() {
    let mut contexts = Contexts::default();
    let (mut encoded, mut decoded) = (Vec::new(), Vec::new());
    let bytes = sample(5000);
    let bound = BytesSize::Fixed(bytes.len() as u64);
    for entry in all() {
        let codec = codec(entry);
        codec.encode(&bytes, &mut encoded, &mut contexts).unwrap();
        for length in (0..encoded.len()).step_by(37).chain([encoded.len() - 1]) {
            assert!(codec.decode(&encoded[..length], &mut decoded, bound, &mut contexts).is_err(), "{entry:?}");
        }
        for garbage in [&b"\0"[..], b"garbage that follows"] {
            let extended = [encoded.as_slice(), garbage].concat();
            assert!(codec.decode(&extended, &mut decoded, bound, &mut contexts).is_err(), "{entry:?}");
        }
    }
}

#[test]
fn lzma_dictionary_that_takes_much_memory_is_refused() {
    // `.lzma`: properties, a dictionary of 1 GiB, an unknown size, and a range coder without data.
    let mut stream = vec![0x5d];
    stream.extend_from_slice(&(1_u32 << 30).to_le_bytes());
    stream.extend_from_slice(&[0xff; 8]);
    stream.extend_from_slice(&[0; 16]);
    let alone = codec(("numcodecs.lzma", r#"{"format": 2}"#));
    let bound = BytesSize::Fixed(64);
    let fault = alone.decode(&stream, &mut Vec::new(), bound, &mut Contexts::default()).unwrap_err().to_string();
    assert!(fault.contains("more than 128 MiB of memory"), "{fault}");
}

#[test]
fn zstd_claim_beyond_the_bound_is_refused_before_allocation() {
    // A single-segment frame that claims 2^40 bytes, then an empty last block.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0xe0];
    frame.extend_from_slice(&(1_u64 << 40).to_le_bytes());
    frame.extend_from_slice(&[1, 0, 0]);
    let codec = codec(("zstd", r#"{"level": 1}"#));
    let mut decoded = Vec::new();
    let fault = codec.decode(&frame, &mut decoded, BytesSize::Fixed(64), &mut Contexts::default()).unwrap_err();
    assert!(fault.to_string().ends_with("expected 64 decoded bytes, found 1099511627776"), "{fault}");
    assert_eq!(decoded.capacity(), 0);
}

#[test]
fn lz4_claim_beyond_what_the_block_can_hold_is_refused_before_allocation() {
    let codec = codec(("numcodecs.lz4", "{}"));
    let mut decoded = Vec::new();
    let chunk = [&(1_u32 << 30).to_le_bytes()[..], &[0xff; 100]].concat();
    let fault = codec.decode(&chunk, &mut decoded, BytesSize::Bounded(1 << 30), &mut Contexts::default()).unwrap_err();
    let fault = fault.to_string();
    assert!(fault.ends_with("the encoded bytes are corrupt: a block of 100 bytes cannot hold 1073741824"), "{fault}");
    assert_eq!(decoded.capacity(), 0);
}

#[test]
fn wrong_checksum_is_told_by_its_type_wherever_the_library_tells_it() {
    let bytes: Vec<u8> = (0..2000_u32).flat_map(|n| (n * n).to_le_bytes()).collect();
    for codec_of in [("crc32c", "{}"), ("gzip", r#"{"level": 1}"#), ("zstd", r#"{"level": 1, "checksum": true}"#)] {
        let (codec, mut contexts) = (codec(codec_of), Contexts::default());
        let mut encoded = Vec::new();
        codec.encode(&bytes, &mut encoded, &mut contexts).unwrap();
        // In gzip the checksum comes before the length.
        let offset = encoded.len() - if codec_of.0 == "gzip" { 5 } else { 1 };
        encoded[offset] ^= 1;
        let result = codec.decode(&encoded, &mut Vec::new(), BytesSize::Fixed(8000), &mut contexts);
        let error = result.unwrap_err();
        assert!(matches!(error, CodecError::Checksum(_)), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn decoding_any_bytes_never_panics(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        entry in prop::sample::select(all().collect::<Vec<_>>()),
    ) {
        let mut contexts = Contexts::default();
        let codec = codec(entry);
        let mut decoded = Vec::new();
        let _ = codec.decode(&bytes, &mut decoded, BytesSize::Bounded(1000), &mut contexts);
        let mut encoded = Vec::new();
        codec.encode(&sample(700), &mut encoded, &mut contexts).unwrap();
        for (index, byte) in flips {
            let index = index.index(encoded.len());
            encoded[index] = byte;
        }
        if codec.decode(&encoded, &mut decoded, BytesSize::Fixed(700), &mut contexts).is_ok() {
            prop_assert_eq!(decoded.len(), 700);
        }
        codec.encode(&sample(700), &mut encoded, &mut contexts).unwrap();
        codec.decode(&encoded, &mut decoded, BytesSize::Fixed(700), &mut contexts).unwrap();
        prop_assert_eq!(decoded, sample(700));
    }
}

#[test]
fn every_codec_keeps_its_bound_on_bytes_that_do_not_compress() {
    let numbered = |name: &'static str, levels: std::ops::RangeInclusive<i32>| {
        levels.map(move |level| (name, format!(r#"{{"level": {level}}}"#)))
    };
    let fixed = all().map(|(name, configuration)| (name, configuration.to_owned()));
    let defaults = ["blosc", "bz2", "crc32", "crc32c", "gzip", "lz4", "shuffle", "zlib", "zstd"];
    let named: Vec<String> = defaults.iter().map(|name| format!("numcodecs.{name}")).collect();
    let cases: Vec<(&str, String)> = fixed
        .chain(named.iter().map(|name| (name.as_str(), "{}".to_owned())))
        .chain(numbered("gzip", 0..=9))
        .chain(numbered("numcodecs.zlib", 0..=9))
        .chain(numbered("numcodecs.bz2", 1..=9))
        .chain(numbered("zstd", -7..=12))
        .collect();
    let is_run = |entry: &Entry| entry.kind == CodecKind::BytesToBytes && entry.codec.is_some();
    for entry in registry::all().filter(is_run) {
        assert!(cases.iter().any(|case| case.0 == entry.name), "{} has no case", entry.name);
    }
    let (mut encoded, mut contexts) = (Vec::new(), Contexts::default());
    for length in [0, 4, 100, 16_384, 70_000, 300_000] {
        let bytes = noise(length);
        for (name, configuration) in &cases {
            let codec = codec((name, configuration));
            codec.encode(&bytes, &mut encoded, &mut contexts).unwrap();
            let (found, size) = (encoded.len() as u64, codec.encoded_size(BytesSize::Fixed(length as u64)));
            let is_kept = match size {
                BytesSize::Fixed(bytes) => found == bytes,
                BytesSize::Bounded(bytes) => found <= bytes,
                BytesSize::Unbounded => *name == "numcodecs.lzma" || configuration.contains("lzma"),
            };
            assert!(is_kept, "{name} {configuration}: {found} of {length} bytes, said to be {size:?}");
        }
    }
}
