//! The codecs of bytes of numcodecs, by numcodecs' own members and defaults.

use super::Kind;
use super::checksum::{Checksum, Location};
use super::shuffle::DEFAULT_ELEMENT_SIZE;
use crate::metadata::json::{Json, Object};
use crate::pipeline::configuration::blosc::{BloscCompressor, BloscShuffle};
use crate::pipeline::configuration::{BloscConfiguration, ZstdConfiguration};

/// What a codec is whose configuration has been checked; `None` for one that does not turn bytes into bytes.
pub(super) fn kind(name: &str, configuration: Option<&Object>) -> Option<Kind> {
    let member = |name: &str| configuration.and_then(|members| members.get(name));
    let integer = |name: &str, default: i64| {
        member(name).and_then(Json::as_i128).and_then(|value| i64::try_from(value).ok()).unwrap_or(default)
    };
    // zlib's own default, 6, is -1.
    let level = || u32::try_from(integer("level", 1)).unwrap_or(6);
    let location = |default| match member("location").and_then(Json::as_str) {
        Some("start") => Location::Start,
        Some("end") => Location::End,
        _ => default,
    };
    Some(match name {
        "numcodecs.zstd" => Kind::Zstd(ZstdConfiguration {
            level: i32::try_from(integer("level", 0)).unwrap_or(0),
            checksum: member("checksum").and_then(Json::as_bool).unwrap_or(false),
        }),
        "numcodecs.gzip" => Kind::Gzip { level: level() },
        "numcodecs.zlib" => Kind::Zlib { level: level() },
        "numcodecs.bz2" => Kind::Bz2 { level: u32::try_from(integer("level", 1)).unwrap_or(1) },
        "numcodecs.crc32" => Kind::Checksum(Checksum::Crc32, location(Location::Start)),
        "numcodecs.crc32c" => Kind::Checksum(Checksum::Crc32c, location(Location::End)),
        "numcodecs.adler32" => Kind::Checksum(Checksum::Adler32, location(Location::Start)),
        "numcodecs.fletcher32" => Kind::Checksum(Checksum::Fletcher32, Location::End),
        "numcodecs.jenkins_lookup3" => {
            let initval = u32::try_from(integer("initval", 0)).unwrap_or(0);
            Kind::Checksum(Checksum::JenkinsLookup3 { initval }, Location::End)
        }
        "numcodecs.lz4" => Kind::Lz4 { acceleration: i32::try_from(integer("acceleration", 1)).unwrap_or(1) },
        "numcodecs.shuffle" => Kind::Shuffle {
            // 0 is as good as 1.
            element_size: usize::try_from(integer("elementsize", DEFAULT_ELEMENT_SIZE)).unwrap_or(1).max(1),
        },
        "numcodecs.blosc" => Kind::Blosc(BloscConfiguration {
            cname: member("cname")
                .and_then(Json::as_str)
                .and_then(BloscCompressor::of_name)
                .unwrap_or(BloscCompressor::Lz4),
            clevel: u8::try_from(integer("clevel", 5)).unwrap_or(5),
            // -1 chooses by the size of an element, which bytes do not have.
            shuffle: match integer("shuffle", 1) {
                0 => BloscShuffle::NoShuffle,
                2 => BloscShuffle::BitShuffle,
                _ => BloscShuffle::Shuffle,
            },
            typesize: Some(usize::try_from(integer("typesize", 1)).unwrap_or(1)),
            blocksize: usize::try_from(integer("blocksize", 0)).unwrap_or(0),
        }),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{BytesCodec, Contexts, DecodedSize};
    use crate::metadata::json::Json;

    /// Name, configuration, and what numcodecs 0.16.6 makes of "123456789", four times over.
    const WRITTEN: [(&str, &str, &str); 7] = [
        ("zstd", "{}", "28b52ffd20247d00004831323334353637383901000ccb11"),
        ("gzip", r#"{"level":9}"#, "1f8b0800118b016b02ff33343236313533b7b034c4cd00009c16293e24000000"),
        ("zlib", "{}", "780133343236313533b7b034c4cd000089160775"),
        (
            "blosc",
            r#"{"cname":"zstd","shuffle":-1}"#,
            "02019601240000002400000034000000313233343536373839313233343536373839313233343536373839313233343536373839",
        ),
        ("crc32", "{}", "9c16293e313233343536373839313233343536373839313233343536373839313233343536373839"),
        (
            "crc32c",
            r#"{"location":"start"}"#,
            "445fd4aa313233343536373839313233343536373839313233343536373839313233343536373839",
        ),
        (
            "bz2",
            "{}",
            "425a6831314159265359ee53d2b200000188003fe0200031064c40554d18269074f1251661a7c5dc914e14243b94f4ac80",
        ),
    ];

    fn bytes(hexadecimal: &str) -> Vec<u8> {
        let digit = |byte: u8| u8::try_from(char::from(byte).to_digit(16).unwrap()).unwrap();
        hexadecimal.as_bytes().as_chunks::<2>().0.iter().map(|[a, b]| digit(*a) << 4 | digit(*b)).collect()
    }

    #[test]
    fn chunks_that_numcodecs_wrote_are_read_and_written() {
        let (elements, mut contexts) = (b"123456789".repeat(4), Contexts::new());
        for (name, configuration, written) in WRITTEN {
            let configuration = Json::parse_str(configuration).unwrap();
            let codec = BytesCodec::new(&format!("numcodecs.{name}"), configuration.as_object()).unwrap();
            let (mut decoded, mut encoded) = (Vec::new(), Vec::new());
            let bound = DecodedSize::Exact(elements.len());
            codec.decode(&bytes(written), &mut decoded, bound, &mut contexts).unwrap();
            assert_eq!(decoded, elements, "{name}");
            codec.encode(&elements, &mut encoded, &mut contexts).unwrap();
            codec.decode(&encoded, &mut decoded, bound, &mut contexts).unwrap();
            assert_eq!(decoded, elements, "{name}");
        }
    }
}
