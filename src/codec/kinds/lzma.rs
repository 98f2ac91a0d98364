//! `numcodecs.lzma`: the container, the check, and a preset or a chain of filters, by the numbers of Python's module
//! `lzma`.
//!
//! Documentation: <https://numcodecs.readthedocs.io/en/stable/compression/lzma.html>,
//! <https://docs.python.org/3/library/lzma.html>

mod filter;
mod stream;

use std::sync::Arc;

use super::error::Fault;
use super::members::{Members, wrong};
use super::{BytesKind, BytesTransform, Contexts, DecodedSize, Parsed, SizeRule};
use crate::diagnostic::code;
use crate::metadata::json::{Json, Object};
use filter::{read_filters, read_preset};

/// `numcodecs.lzma`. A stream of what does not compress is longer by what the settings make of it.
pub(crate) static LZMA: BytesKind = BytesKind::new(
    |source| {
        let (lzma, found) = parse(source.configuration, source.pointer);
        (lzma.map(|lzma| Arc::new(lzma) as _), found)
    },
    SizeRule::Unbounded,
)
.with_checksum(stores_checksum);

/// An `.xz` stream (format 1, the default) has a checksum unless `check` is 0; the other two formats have none.
fn stores_checksum(configuration: Option<&Object>) -> bool {
    let number = |name| configuration.and_then(|members| members.get(name)).and_then(Json::as_u64);
    number("format").unwrap_or(1) == 1 && number("check") != Some(0)
}

impl BytesTransform for Lzma {
    fn encode(&self, decoded: &[u8], encoded: &mut Vec<u8>, _: &mut Contexts) -> Result<(), Fault> {
        stream::encode(self, decoded, encoded)
    }

    fn decode(
        &self,
        encoded: &[u8],
        decoded: &mut Vec<u8>,
        bound: DecodedSize,
        _: &mut Contexts,
    ) -> Result<(), Fault> {
        stream::decode(self, encoded, decoded, bound)
    }

    fn context_bytes(&self, decoded: u64) -> u64 {
        stream::context_bytes(self, decoded)
    }
}

/// What the stream is wrapped in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum LzmaFormat {
    /// Either of the next two when it is read; nothing is written so.
    Auto,
    /// `.xz`.
    #[default]
    Xz,
    /// `.lzma`, the format before `.xz`.
    Alone,
    /// Nothing: the filters tell all.
    Raw,
}

/// The checksum of an `.xz` stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LzmaCheck {
    /// None.
    None,
    /// 32 bits.
    Crc32,
    /// 64 bits.
    Crc64,
    /// 256 bits.
    Sha256,
}

/// A filter that is not the compressor: one that makes machine code compress better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LzmaArchitecture {
    /// x86, 32 and 64 bits.
    X86,
    /// PowerPC, big endian.
    PowerPc,
    /// Itanium.
    Ia64,
    /// ARM.
    Arm,
    /// ARM Thumb.
    ArmThumb,
    /// SPARC.
    Sparc,
}

/// An entry of `filters`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LzmaFilter {
    /// The compressor.
    Lzma {
        /// LZMA2, or LZMA1.
        is_second: bool,
        /// Where the preset is overridden.
        options: LzmaOptions,
    },
    /// Differences of bytes.
    Delta {
        /// Between which, from 1 to 256.
        distance: u32,
    },
    /// For machine code.
    Branch {
        /// Of which machine.
        architecture: LzmaArchitecture,
        /// Where the code begins.
        start_offset: u32,
    },
}

/// What the compressor is told; what is absent is as the preset has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct LzmaOptions {
    /// From 0 to 9, and whether it is the slow variant.
    preset: LzmaPreset,
    /// Bytes of the dictionary.
    dict_size: Option<u32>,
    /// Literal context bits.
    lc: Option<u32>,
    /// Literal position bits.
    lp: Option<u32>,
    /// Position bits.
    pb: Option<u32>,
    /// 1: fast; 2: normal.
    mode: Option<u32>,
    /// The length of a match that is good enough.
    nice_len: Option<u32>,
    /// The match finder: 3, 4 (hash chains), 18, 19 or 20 (binary trees).
    mf: Option<u32>,
    /// How deep it searches; 0 lets the library choose.
    depth: Option<u32>,
}

/// A level, and whether it is the slow variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LzmaPreset {
    /// From 0 to 9.
    level: u32,
    /// `lzma.PRESET_EXTREME`.
    is_extreme: bool,
}

impl Default for LzmaPreset {
    fn default() -> Self {
        LzmaPreset { level: 6, is_extreme: false }
    }
}

/// A configured `numcodecs.lzma`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Lzma {
    /// The container.
    format: LzmaFormat,
    /// The checksum; absent: that of the container.
    check: Option<LzmaCheck>,
    /// The filters; a preset is one compressor.
    filters: Vec<LzmaFilter>,
}

/// Parses the configuration of the codec at `pointer`.
fn parse(configuration: Option<&Object>, pointer: &str) -> Parsed<Lzma> {
    let known = &["format", "check", "preset", "filters"];
    let mut members = Members::of_codec("numcodecs.lzma", configuration, pointer, known);
    let format = match present(&members, "format") {
        Some(json) => members.integer("format", json, 0..=3).map(|number: u32| match number {
            0 => LzmaFormat::Auto,
            2 => LzmaFormat::Alone,
            3 => LzmaFormat::Raw,
            _ => LzmaFormat::Xz,
        }),
        None => Some(LzmaFormat::default()),
    };
    // -1 is as good as nothing.
    let check = match present(&members, "check").filter(|json| json.as_i128() != Some(-1)) {
        Some(json) => read_check(&mut members, json).map(Some),
        None => Some(None),
    };
    let preset = match present(&members, "preset") {
        Some(json) => read_preset(&mut members, json).map(Some),
        None => Some(None),
    };
    let filters = match present(&members, "filters") {
        Some(json) => read_filters(&mut members, json, pointer).map(Some),
        None => Some(None),
    };
    let configuration = (|| {
        Some(Lzma { format: format?, check: check?, filters: filters?.unwrap_or_default() })
            .map(|configuration| (configuration, preset))
    })();
    let configuration =
        configuration.and_then(|(configuration, preset)| whole(configuration, preset?, &mut members));
    members.finish(configuration)
}

/// A member that is there and not null.
fn present<'a>(members: &Members<'a>, name: &str) -> Option<&'a Json> {
    members.get(name).filter(|json| !json.is_null())
}

/// What Python's module refuses of the members together; a preset becomes the filter that it stands for.
fn whole(mut configuration: Lzma, preset: Option<LzmaPreset>, members: &mut Members<'_>) -> Option<Lzma> {
    let fault = |members: &mut Members<'_>, name: &str, what: &str| {
        members.report(code::CONFIGURATION_VALUE, name, format!("`{name}` of `numcodecs.lzma`: {what}"));
        None
    };
    let Lzma { format, check, filters } = &mut configuration;
    let has_check = check.is_some_and(|check| check != LzmaCheck::None);
    if has_check && *format != LzmaFormat::Xz {
        return fault(members, "check", "only the format 1 (xz) has checks");
    }
    if filters.is_empty() {
        if *format == LzmaFormat::Raw {
            return fault(members, "filters", "the format 3 (raw) needs them");
        }
        let options = LzmaOptions { preset: preset.unwrap_or_default(), ..LzmaOptions::default() };
        filters.push(LzmaFilter::Lzma { is_second: *format != LzmaFormat::Alone, options });
    } else if preset.is_some() {
        return fault(members, "preset", "there are `filters` as well, which tell the same");
    }
    let is_last = |filter: &LzmaFilter| matches!(filter, LzmaFilter::Lzma { .. });
    let second = |filter: &LzmaFilter| matches!(filter, LzmaFilter::Lzma { is_second: true, .. });
    let compressors = filters.iter().filter(|filter| is_last(filter)).count();
    if compressors != 1 || !filters.last().is_some_and(is_last) {
        return fault(members, "filters", "exactly one compressor (LZMA1 or LZMA2) must stand at the end");
    }
    match format {
        LzmaFormat::Alone if filters.len() > 1 || filters.iter().any(second) => {
            fault(members, "filters", "the format 2 (alone) takes LZMA1 and nothing else")
        }
        LzmaFormat::Xz if !filters.iter().any(second) => {
            fault(members, "filters", "the format 1 (xz) takes LZMA2, not LZMA1")
        }
        _ => Some(configuration),
    }
}

/// `None` after a fault.
fn read_check(members: &mut Members<'_>, json: &Json) -> Option<LzmaCheck> {
    match json.as_i128() {
        Some(0) => Some(LzmaCheck::None),
        Some(1) => Some(LzmaCheck::Crc32),
        Some(4) => Some(LzmaCheck::Crc64),
        Some(10) => Some(LzmaCheck::Sha256),
        _ => {
            let expected = "-1 (the format's own), 0 (none), 1 (CRC32), 4 (CRC64) or 10 (SHA-256)";
            members.report_found(wrong(json.as_number().is_some()), "check", expected, json);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (Option<Lzma>, Vec<&'static str>) {
        let (configuration, found) = parse(Json::parse_str(text).unwrap().as_object(), "");
        (configuration, found.iter().map(|found| found.code).collect())
    }

    #[test]
    fn lzma_configurations_that_python_takes_are_right() {
        for text in [
            "{}",
            r#"{"format":1,"check":-1,"preset":null,"filters":null}"#,
            r#"{"preset":2147483657}"#,
            r#"{"format":2,"preset":1}"#,
            r#"{"check":10,"filters":[{"id":3,"dist":4},{"id":33,"preset":1,"dict_size":65536}]}"#,
            r#"{"format":3,"filters":[{"id":4611686018427387905,"lc":0,"lp":2,"pb":2,"mf":20,"mode":2}]}"#,
            r#"{"format":3,"filters":[{"id":4,"start_offset":16},{"id":33}]}"#,
            r#"{"format":2,"filters":[{"id":4611686018427387905}]}"#,
        ] {
            let (configuration, codes) = parsed(text);
            assert!(configuration.is_some() && codes.is_empty(), "{text} {codes:?}");
        }
        let raw = parsed(r#"{"format":3,"filters":[{"id":3,"dist":4},{"id":33,"preset":1}]}"#).0.unwrap();
        let options =
            LzmaOptions { preset: LzmaPreset { level: 1, is_extreme: false }, ..LzmaOptions::default() };
        let lzma2 = LzmaFilter::Lzma { is_second: true, options };
        assert_eq!(
            (raw.format, raw.filters),
            (LzmaFormat::Raw, vec![LzmaFilter::Delta { distance: 4 }, lzma2])
        );
    }

    #[test]
    fn lzma_configurations_that_python_refuses_are_faults() {
        for (text, code) in [
            (r#"{"format":4}"#, "ZC114"),
            (r#"{"format":3}"#, "ZC114"),
            (r#"{"check":2}"#, "ZC114"),
            (r#"{"check":"crc32"}"#, "ZC113"),
            (r#"{"format":2,"check":1}"#, "ZC114"),
            (r#"{"preset":10}"#, "ZC114"),
            (r#"{"preset":1,"filters":[{"id":33}]}"#, "ZC114"),
            (r#"{"filters":[]}"#, "ZC114"),
            (r#"{"filters":[1]}"#, "ZC113"),
            (r#"{"filters":[{}]}"#, "ZC112"),
            (r#"{"filters":[{"id":99}]}"#, "ZC114"),
            (r#"{"filters":[{"id":3}]}"#, "ZC114"),
            (r#"{"filters":[{"id":33},{"id":3}]}"#, "ZC114"),
            (r#"{"filters":[{"id":3,"dist":300},{"id":33}]}"#, "ZC114"),
            (r#"{"filters":[{"id":4611686018427387905}]}"#, "ZC114"),
            (r#"{"filters":[{"id":33,"lc":3,"lp":2}]}"#, "ZC114"),
            (r#"{"filters":[{"id":33,"mf":5}]}"#, "ZC114"),
            (r#"{"filters":[{"id":33,"level":5}]}"#, "ZC111"),
            (r#"{"level":5}"#, "ZC111"),
        ] {
            assert_eq!(parsed(text).1, [code], "{text}");
        }
    }
}
