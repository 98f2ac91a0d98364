//! Round trips, equality with zarrs, bounds and corruption.

#![expect(clippy::cast_possible_truncation, reason = "samples are made of the low bits")]

use std::borrow::Cow;

use proptest::prelude::*;
use zarrs::array::{Codec, CodecOptions};

use super::*;
use crate::metadata::json::Json;

const CODECS: &[(&str, &str)] = &[
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
];

fn codec((name, configuration): (&str, &str)) -> BytesCodec {
    let json = Json::from(&serde_json::from_str::<serde_json::Value>(configuration).unwrap());
    BytesCodec::new(name, json.as_object()).unwrap()
}

fn zarrs_codec((name, configuration): (&str, &str)) -> Arc<dyn BytesToBytesCodecTraits> {
    let metadata = format!(r#"{{"name": "{name}", "configuration": {configuration}}}"#);
    match Codec::from_metadata(&zarrs::metadata::v3::MetadataV3::try_from(metadata.as_str()).unwrap())
        .unwrap()
    {
        Codec::BytesToBytes(codec) => codec,
        other => panic!("{other:?}"),
    }
}

/// Bytes that compress somewhat.
fn sample(length: usize) -> Vec<u8> {
    (0..length).map(|index| ((index / 7) as u8).wrapping_mul(37) ^ (index as u8 & 3)).collect()
}

fn data_fault(result: Result<(), BytesCodecError>) -> error::Fault {
    match result.unwrap_err() {
        BytesCodecError::Data { fault, .. } => fault,
        other @ BytesCodecError::Configuration { .. } => panic!("{other}"),
    }
}

#[test]
fn codecs_write_what_zarrs_writes_and_read_it_back() {
    let mut contexts = Contexts::new();
    let (mut encoded, mut decoded) = (Vec::new(), Vec::new());
    for length in [1, 2, 64, 1000, 70_000, 300_000] {
        let bytes = sample(length);
        for &entry in CODECS {
            let codec = codec(entry);
            codec.encode(&bytes, &mut encoded, &mut contexts).unwrap();
            let theirs = zarrs_codec(entry).encode(Cow::Borrowed(&bytes), &CodecOptions::default()).unwrap();
            assert!(encoded == theirs.as_ref(), "{entry:?} {length}");
            let limit = codec.encoded_size(EncodedSize::Fixed(length as u64)).limit().unwrap();
            assert!(encoded.len() as u64 <= limit, "{entry:?} {length}");
            for bound in
                [DecodedSize::Exact(length), DecodedSize::AtMost(length), DecodedSize::AtMost(1 << 20)]
            {
                codec.decode(&encoded, &mut decoded, bound, &mut contexts).unwrap();
                assert!(decoded == bytes, "{entry:?} {length}");
            }
        }
    }
}

#[test]
fn decoding_past_the_bound_is_an_error() {
    let mut contexts = Contexts::new();
    let (mut encoded, mut decoded) = (Vec::new(), Vec::new());
    let bytes = vec![7; 1 << 20];
    for &entry in CODECS {
        let codec = codec(entry);
        codec.encode(&bytes, &mut encoded, &mut contexts).unwrap();
        for bound in [
            DecodedSize::Exact(64),
            DecodedSize::AtMost(bytes.len() - 1),
            DecodedSize::Exact(bytes.len() + 1),
            DecodedSize::Exact(0),
        ] {
            let mut fresh = Vec::new();
            for decoded in [&mut decoded, &mut fresh] {
                let fault = data_fault(codec.decode(&encoded, decoded, bound, &mut contexts));
                let is_size = matches!(fault, error::Fault::Length { .. } | error::Fault::TooLong { .. });
                assert!(is_size, "{entry:?} {bound:?}: {fault}");
            }
        }
    }
}

#[test]
fn truncated_and_extended_bytes_are_errors() {
    let mut contexts = Contexts::new();
    let (mut encoded, mut decoded) = (Vec::new(), Vec::new());
    let bytes = sample(5000);
    let bound = DecodedSize::Exact(bytes.len());
    for &entry in CODECS {
        let codec = codec(entry);
        codec.encode(&bytes, &mut encoded, &mut contexts).unwrap();
        for length in (0..encoded.len()).step_by(37).chain([encoded.len() - 1]) {
            assert!(
                codec.decode(&encoded[..length], &mut decoded, bound, &mut contexts).is_err(),
                "{entry:?}"
            );
        }
        for garbage in [&b"\0"[..], b"garbage that follows"] {
            let extended = [encoded.as_slice(), garbage].concat();
            assert!(codec.decode(&extended, &mut decoded, bound, &mut contexts).is_err(), "{entry:?}");
        }
    }
}

#[test]
fn gzip_members_and_zstd_frames_are_all_decoded() {
    let mut contexts = Contexts::new();
    let mut decoded = Vec::new();
    for entry in
        [("gzip", r#"{"level": 5}"#), ("zstd", r#"{"level": 1}"#), ("numcodecs.bz2", r#"{"level": 1}"#)]
    {
        let codec = codec(entry);
        let (mut first, mut second) = (Vec::new(), Vec::new());
        codec.encode(&sample(1000), &mut first, &mut contexts).unwrap();
        codec.encode(&sample(500), &mut second, &mut contexts).unwrap();
        let encoded = [first, second].concat();
        codec.decode(&encoded, &mut decoded, DecodedSize::Exact(1500), &mut contexts).unwrap();
        assert_eq!(decoded, [sample(1000), sample(500)].concat(), "{entry:?}");
    }
}

#[test]
fn zstd_claim_beyond_the_bound_is_refused_before_allocation() {
    // A frame of a single segment that claims 2^40 bytes, then an empty last block.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0xe0];
    frame.extend_from_slice(&(1_u64 << 40).to_le_bytes());
    frame.extend_from_slice(&[1, 0, 0]);
    let codec = codec(("zstd", r#"{"level": 1}"#));
    let mut decoded = Vec::new();
    let fault = data_fault(codec.decode(&frame, &mut decoded, DecodedSize::Exact(64), &mut Contexts::new()));
    assert_eq!(fault, error::Fault::Length { expected: DecodedSize::Exact(64), found: 1 << 40 });
    assert_eq!(fault.to_string(), "expected 64 decoded bytes, found 1099511627776");
    assert_eq!(decoded.capacity(), 0);
}

#[test]
fn crc32c_that_is_wrong_names_both_checksums() {
    let codec = codec(("crc32c", "{}"));
    let mut encoded = Vec::new();
    codec.encode(b"123456789", &mut encoded, &mut Contexts::new()).unwrap();
    assert_eq!(encoded[9..], 0xe306_9283_u32.to_le_bytes());
    encoded[0] ^= 1;
    let result = codec.decode(&encoded, &mut Vec::new(), DecodedSize::Exact(9), &mut Contexts::new());
    let message = result.unwrap_err().to_string();
    assert!(
        message.starts_with("`crc32c`: wrong checksum: expected 0xe3069283 as stored, found 0x"),
        "{message}"
    );
}

#[test]
fn configurations_that_are_wrong_are_errors() {
    for (name, configuration, part) in [
        ("zstd", r#"{"level": 23, "checksum": false}"#, "from -131072 to 22"),
        ("zstd", r#"{"checksum": false}"#, "lacks `level`"),
        ("gzip", r#"{"level": 5, "strategy": 1}"#, "no member `strategy`"),
        ("numcodecs.bz2", r#"{"level": 0}"#, "from 1 to 9"),
        ("blosc", r#"{"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "blocksize": 0}"#, "typesize"),
        ("bytes", "{}", "does not turn bytes into bytes"),
        ("numcodecs.shuffle", r#"{"elementsize": 0}"#, "elementsize"),
        ("no such codec", "{}", "no such codec"),
    ] {
        let json = Json::from(&serde_json::from_str::<serde_json::Value>(configuration).unwrap());
        let error = BytesCodec::new(name, json.as_object()).unwrap_err().to_string();
        assert!(error.contains(part), "{name} {configuration}: {error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn decoding_any_bytes_never_panics(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        entry in prop::sample::select(CODECS),
    ) {
        let mut contexts = Contexts::new();
        let codec = codec(entry);
        let mut decoded = Vec::new();
        let _ = codec.decode(&bytes, &mut decoded, DecodedSize::AtMost(1000), &mut contexts);
        let mut encoded = Vec::new();
        codec.encode(&sample(700), &mut encoded, &mut contexts).unwrap();
        for (index, byte) in flips {
            let index = index.index(encoded.len());
            encoded[index] = byte;
        }
        if codec.decode(&encoded, &mut decoded, DecodedSize::Exact(700), &mut contexts).is_ok() {
            prop_assert_eq!(decoded.len(), 700);
        }
        codec.encode(&sample(700), &mut encoded, &mut contexts).unwrap();
        codec.decode(&encoded, &mut decoded, DecodedSize::Exact(700), &mut contexts).unwrap();
        prop_assert_eq!(decoded, sample(700));
    }
}
