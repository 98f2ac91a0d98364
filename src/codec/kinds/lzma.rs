//! `numcodecs.lzma`: the container, the check, and a preset or a chain of filters, by the numbers of Python's module
//! `lzma`. Streams are those of liblzma, which is what numcodecs uses.
//!
//! A dictionary longer than the data serves nothing, and memory for one is asked for before a byte is decoded: raw
//! streams and encoders get one that is as long as the data at most. What an `.xz` or `.lzma` header claims is held
//! to a limit.
//!
//! Documentation: <https://numcodecs.readthedocs.io/en/stable/compression/lzma.html>,
//! <https://docs.python.org/3/library/lzma.html>

use std::sync::Arc;

use ::liblzma::stream::{Action, Check, Error, Filters, LzmaOptions, MatchFinder, Mode, Status, Stream};

use super::bz2::decode_stream;
use super::error::{CodecError, reserve};
use super::members::{Members, wrong};
use super::{BytesKind, Coder, Output, Parsed, SizeRule};
use crate::diagnostic::code;
use crate::metadata::json::{Json, Object};

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

/// `.xz` or `.lzma` when it is read; nothing is written so.
const AUTO: u32 = 0;
/// `.xz`, the default.
const XZ: u32 = 1;
/// `.lzma`, the format before `.xz`.
const ALONE: u32 = 2;
/// No container: the filters tell all.
const RAW: u32 = 3;

/// Python's bit for the slow variant of a preset.
const EXTREME: u32 = 1 << 31;
/// The preset where none is named.
const USUAL: u32 = 6;

/// Python's `FILTER_LZMA1`.
const LZMA1: i64 = 0x4000_0000_0000_0001;
const LZMA2: i64 = 0x21;
const DELTA: i64 = 3;
/// liblzma takes no more filters.
const MAX_FILTERS: usize = 4;

/// Bytes of the dictionaries of the presets (xz(1), "-0 ... -9").
const DICTIONARIES: [u32; 10] =
    [1 << 18, 1 << 20, 1 << 21, 1 << 22, 1 << 22, 1 << 23, 1 << 23, 1 << 24, 1 << 25, 1 << 26];
/// The least dictionary.
const LEAST_DICTIONARY: u64 = 4096;

/// The most that a decoder may ask for: twice the dictionary of the highest preset.
const MEMORY_LIMIT: u64 = 128 << 20;

/// What a compressor is told beside its preset: the member, its range, and how the library is told.
struct Setting {
    name: &'static str,
    range: (u32, u32),
    apply: fn(&mut LzmaOptions, u32) -> &mut LzmaOptions,
}

const fn setting(
    name: &'static str,
    least: u32,
    greatest: u32,
    apply: fn(&mut LzmaOptions, u32) -> &mut LzmaOptions,
) -> Setting {
    Setting { name, range: (least, greatest), apply }
}

/// The dictionary first.
const SETTINGS: [Setting; 8] = [
    setting("dict_size", 4096, 1536 << 20, |own, _| own),
    setting("lc", 0, 4, |own, bits| own.literal_context_bits(bits)),
    setting("lp", 0, 4, |own, bits| own.literal_position_bits(bits)),
    setting("pb", 0, 4, |own, bits| own.position_bits(bits)),
    setting("mode", 1, 2, |own, mode| own.mode(if mode == 1 { Mode::Fast } else { Mode::Normal })),
    setting("nice_len", 2, 273, |own, length| own.nice_len(length)),
    setting("mf", 3, 20, |own, finder| {
        own.match_finder(match finder {
            3 => MatchFinder::HashChain3,
            4 => MatchFinder::HashChain4,
            18 => MatchFinder::BinaryTree2,
            19 => MatchFinder::BinaryTree3,
            _ => MatchFinder::BinaryTree4,
        })
    }),
    setting("depth", 0, u32::MAX, |own, depth| own.depth(depth)),
];

/// An entry of `filters`.
#[derive(Debug, Clone, PartialEq, Eq)]
enum LzmaFilter {
    /// The compressor: LZMA2, or LZMA1; from 0 to 9, with [`EXTREME`] or not; where that is overridden.
    Lzma { is_second: bool, preset: u32, settings: [Option<u32>; SETTINGS.len()] },
    /// Differences of bytes, from 1 to 256 apart.
    Delta { distance: u32 },
    /// One that makes machine code compress better, by Python's number, from 4 to 9, and where the code begins.
    Branch { id: i64, start_offset: u32 },
}

/// A configured `numcodecs.lzma`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Lzma {
    /// The container.
    format: u32,
    /// The checksum by Python's number; absent: that of the container.
    check: Option<u32>,
    /// The filters; a preset is one compressor.
    filters: Vec<LzmaFilter>,
}

/// Parses the configuration of the codec at `pointer`.
fn parse(configuration: Option<&Object>, pointer: &str) -> Parsed<Lzma> {
    let known = &["format", "check", "preset", "filters"];
    let mut members = Members::of_codec("numcodecs.lzma", configuration, pointer, known);
    let format = integer(&mut members, "format", (AUTO, RAW)).ok();
    // -1 is as good as nothing.
    let check = match present(&members, "check").filter(|json| json.as_i128() != Some(-1)) {
        Some(json) => read_check(&mut members, json).map(Some),
        None => Some(None),
    };
    let preset = read_preset(&mut members).ok();
    let filters = match present(&members, "filters") {
        Some(json) => read_filters(&mut members, json, pointer),
        None => Some(Vec::new()),
    };
    let lzma = (|| Some(Lzma { format: format?.unwrap_or(XZ), check: check?, filters: filters? }))();
    let lzma = lzma.zip(preset).and_then(|(lzma, preset)| whole(lzma, preset, &mut members));
    members.finish(lzma)
}

/// A member that is there and not null.
fn present<'a>(members: &Members<'a>, name: &str) -> Option<&'a Json> {
    members.get(name).filter(|json| !json.is_null())
}

/// An integer that may be absent; an error after a fault.
fn integer(members: &mut Members<'_>, name: &str, (least, greatest): (u32, u32)) -> Result<Option<u32>, ()> {
    match present(members, name) {
        Some(json) => members.integer(name, json, least..=greatest).map(Some).ok_or(()),
        None => Ok(None),
    }
}

/// What Python's module refuses of the members together; a preset becomes the filter that it stands for.
fn whole(mut configuration: Lzma, preset: Option<u32>, members: &mut Members<'_>) -> Option<Lzma> {
    let fault = |members: &mut Members<'_>, name: &str, what: &str| {
        members.report(code::CONFIGURATION_VALUE, name, format!("`{name}` of `numcodecs.lzma`: {what}"));
        None
    };
    let Lzma { format, check, filters } = &mut configuration;
    let has_check = check.is_some_and(|check| check != 0);
    if has_check && *format != XZ {
        return fault(members, "check", "only the format 1 (xz) has checks");
    }
    if filters.is_empty() {
        if *format == RAW {
            return fault(members, "filters", "the format 3 (raw) needs them");
        }
        filters.push(LzmaFilter::Lzma {
            is_second: *format != ALONE,
            preset: preset.unwrap_or(USUAL),
            settings: [None; SETTINGS.len()],
        });
    } else if preset.is_some() {
        return fault(members, "preset", "there are `filters` as well, which tell the same");
    }
    let is_last = |filter: &LzmaFilter| matches!(filter, LzmaFilter::Lzma { .. });
    let second = |filter: &LzmaFilter| matches!(filter, LzmaFilter::Lzma { is_second: true, .. });
    let compressors = filters.iter().filter(|filter| is_last(filter)).count();
    if compressors != 1 || !filters.last().is_some_and(is_last) {
        return fault(members, "filters", "exactly one compressor (LZMA1 or LZMA2) must stand at the end");
    }
    match *format {
        ALONE if filters.len() > 1 || filters.iter().any(second) => {
            fault(members, "filters", "the format 2 (alone) takes LZMA1 and nothing else")
        }
        XZ if !filters.iter().any(second) => {
            fault(members, "filters", "the format 1 (xz) takes LZMA2, not LZMA1")
        }
        _ => Some(configuration),
    }
}

/// `None` after a fault.
fn read_check(members: &mut Members<'_>, json: &Json) -> Option<u32> {
    let check = json.as_u64().and_then(|check| u32::try_from(check).ok());
    let check = check.filter(|check| [0, 1, 4, 10].contains(check));
    if check.is_none() {
        let expected = "-1 (the format's own), 0 (none), 1 (CRC32), 4 (CRC64) or 10 (SHA-256)";
        members.report_found(wrong(json.as_number().is_some()), "check", expected, json);
    }
    check
}

/// The preset, where there is one; an error after a fault.
fn read_preset(members: &mut Members<'_>) -> Result<Option<u32>, ()> {
    let Some(json) = present(members, "preset") else { return Ok(None) };
    let preset = json.as_u64().and_then(|number| u32::try_from(number).ok());
    let preset = preset.filter(|preset| preset & !EXTREME <= 9);
    if preset.is_none() {
        let expected = "an integer from 0 to 9, or one with Python's PRESET_EXTREME (2147483648) added";
        members.report_found(wrong(json.as_number().is_some()), "preset", expected, json);
    }
    preset.map(Some).ok_or(())
}

/// `None` after a fault; `pointer` is that of the codec.
fn read_filters(members: &mut Members<'_>, json: &Json, pointer: &str) -> Option<Vec<LzmaFilter>> {
    let Some(entries) = json.as_array().filter(|entries| (1..=MAX_FILTERS).contains(&entries.len())) else {
        let expected = format!("a list of 1 to {MAX_FILTERS} filters");
        members.report_found(wrong(json.as_array().is_some()), "filters", &expected, json);
        return None;
    };
    let mut filters = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let pointer = format!("{pointer}/configuration/filters/{index}");
        let Some(entry) = entry.as_object() else {
            members.report_found(code::CONFIGURATION_TYPE, "filters", "filters as objects", entry);
            return None;
        };
        let (filter, found) = read_filter(entry, pointer);
        members.diagnostics.extend(found);
        filters.push(filter?);
    }
    Some(filters)
}

/// One filter, with the members that its `id` allows.
fn read_filter(entry: &Object, pointer: String) -> Parsed<LzmaFilter> {
    let id = entry.get("id").and_then(Json::as_i128).and_then(|id| i64::try_from(id).ok());
    let mut known = vec!["id"];
    match id {
        Some(DELTA) => known.push("dist"),
        Some(4..=9) => known.push("start_offset"),
        _ => {
            known.push("preset");
            known.extend(SETTINGS.iter().map(|setting| setting.name));
        }
    }
    let mut members = Members::of_object("numcodecs.lzma", Some(entry), pointer, &known);
    let Some(json) = members.require("id") else { return members.finish(None) };
    let filter = match id {
        Some(DELTA) => integer(&mut members, "dist", (1, 256))
            .ok()
            .map(|distance| LzmaFilter::Delta { distance: distance.unwrap_or(1) }),
        Some(id @ 4..=9) => integer(&mut members, "start_offset", (0, u32::MAX))
            .ok()
            .map(|start| LzmaFilter::Branch { id, start_offset: start.unwrap_or(0) }),
        Some(LZMA1 | LZMA2) => read_settings(&mut members).map(|(preset, settings)| LzmaFilter::Lzma {
            is_second: id == Some(LZMA2),
            preset,
            settings,
        }),
        _ => {
            let expected = "the id of a filter: 4611686018427387905 (LZMA1), 33 (LZMA2), 3 (delta) or 4 to 9";
            members.report_found(wrong(json.as_number().is_some()), "id", expected, json);
            None
        }
    };
    members.finish(filter)
}

/// The preset of a compressor, and where that is overridden.
fn read_settings(members: &mut Members<'_>) -> Option<(u32, [Option<u32>; SETTINGS.len()])> {
    let preset = read_preset(members).ok()?.unwrap_or(USUAL);
    let mut settings = [None; SETTINGS.len()];
    for (value, setting) in settings.iter_mut().zip(&SETTINGS) {
        *value = integer(members, setting.name, setting.range).ok()?;
    }
    let [_, lc, lp, _, _, _, mf, _] = settings;
    if mf.is_some_and(|mf| ![3, 4, 18, 19, 20].contains(&mf)) {
        let expected = "3, 4 (hash chains), 18, 19 or 20 (binary trees)";
        members.report_found(code::CONFIGURATION_VALUE, "mf", expected, members.get("mf")?);
        return None;
    }
    if lc.unwrap_or(3) + lp.unwrap_or(0) > 4 {
        let message = "`lc` and `lp` of `numcodecs.lzma` make more than 4 together";
        members.report(code::CONFIGURATION_VALUE, "lc", message);
        return None;
    }
    Some((preset, settings))
}

/// Bytes of the dictionary: what is asked for, but no more than the data.
fn dictionary(preset: u32, asked: Option<u32>, data: u64) -> u32 {
    let level = usize::try_from(preset & !EXTREME).unwrap_or(usize::MAX);
    let wanted = asked.or_else(|| DICTIONARIES.get(level).copied()).unwrap_or(1 << 23);
    u32::try_from(data.max(LEAST_DICTIONARY)).map_or(wanted, |data| data.min(wanted))
}

impl LzmaFilter {
    /// What the library is told, with a dictionary no longer than `size`; an error for what is no compressor.
    fn options(&self, size: u64) -> Result<LzmaOptions, Error> {
        let LzmaFilter::Lzma { preset, settings, .. } = self else { return Err(Error::Options) };
        let mut own = LzmaOptions::new_preset(*preset)?;
        own.dict_size(dictionary(*preset, settings[0], size));
        for (value, setting) in settings.iter().zip(&SETTINGS) {
            if let Some(value) = value {
                (setting.apply)(&mut own, *value);
            }
        }
        Ok(own)
    }
}

impl Lzma {
    /// The chain, with dictionaries no longer than `size`.
    fn chain(&self, size: u64) -> Result<Filters, Error> {
        let mut chain = Filters::new();
        for filter in &self.filters {
            match filter {
                LzmaFilter::Lzma { is_second: true, .. } => chain.lzma2(&filter.options(size)?),
                LzmaFilter::Lzma { is_second: false, .. } => chain.lzma1(&filter.options(size)?),
                LzmaFilter::Delta { distance } => {
                    let property = u8::try_from(distance - 1).map_err(|_| Error::Options)?;
                    chain.delta_properties(&[property])?
                }
                LzmaFilter::Branch { id, start_offset } => {
                    let properties = &start_offset.to_le_bytes();
                    match id {
                        4 => chain.x86_properties(properties)?,
                        5 => chain.powerpc_properties(properties)?,
                        6 => chain.ia64_properties(properties)?,
                        7 => chain.arm_properties(properties)?,
                        8 => chain.arm_thumb_properties(properties)?,
                        _ => chain.sparc_properties(properties)?,
                    }
                }
            };
        }
        Ok(chain)
    }

    fn encoder(&self, size: u64) -> Result<Stream, Error> {
        let check = match self.check {
            Some(0) => Check::None,
            Some(1) => Check::Crc32,
            Some(10) => Check::Sha256,
            _ => Check::Crc64,
        };
        match (self.format, self.filters.first()) {
            (XZ, _) => Stream::new_stream_encoder(&self.chain(size)?, check),
            (ALONE, Some(filter)) => Stream::new_lzma_encoder(&filter.options(size)?),
            (RAW, _) => Stream::new_raw_encoder(&self.chain(size)?),
            // numcodecs refuses to write `AUTO`, which says nothing of what is to be written.
            _ => Err(Error::Options),
        }
    }

    fn decoder(&self, size: u64) -> Result<Stream, Error> {
        match self.format {
            XZ => Stream::new_stream_decoder(MEMORY_LIMIT, 0),
            ALONE => Stream::new_lzma_decoder(MEMORY_LIMIT),
            AUTO => Stream::new_auto_decoder(MEMORY_LIMIT, 0),
            _ => Stream::new_raw_decoder(&self.chain(size)?),
        }
    }
}

impl Coder for Lzma {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        let mut stream = self.encoder(decoded.len() as u64).map_err(encode_fault)?;
        loop {
            reserve(out.bytes, decoded.len() / 4 + 256)?;
            let rest = &decoded[position(stream.total_in())..];
            match stream.process_vec(rest, out.bytes, Action::Finish).map_err(encode_fault)? {
                Status::StreamEnd => return Ok(()),
                Status::MemNeeded => return Err(CodecError::memory(0)),
                Status::Ok | Status::GetCheck => {}
            }
        }
    }

    /// Decodes every stream; the buffer grows with what they hold.
    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        const XZ_MAGIC: &[u8] = &[0xfd, b'7', b'z', b'X', b'Z', 0];
        let mut rest = encoded;
        loop {
            let mut stream = self.decoder(out.allowed.limit() as u64).map_err(decode_fault)?;
            let consumed = decode_stream(rest, out, |encoded, decoded| {
                let status = stream.process_vec(encoded, decoded, Action::Finish).map_err(decode_fault)?;
                Ok((position(stream.total_in()), matches!(status, Status::StreamEnd)))
            })?;
            rest = &rest[consumed..];
            if rest.is_empty() {
                return Ok(());
            }
            if !rest.starts_with(XZ_MAGIC) || matches!(self.format, ALONE | RAW) {
                return Err(CodecError::trailing(rest.len()));
            }
        }
    }

    /// What an encoder holds for each byte of its dictionary: the dictionary, hash and tree; a decoder holds less, but for
    /// the dictionary that a header may claim.
    fn context_bytes(&self, decoded: u64) -> u64 {
        const RATIO: u64 = 12;
        const STATE: u64 = 512 << 10;
        let sizes = self.filters.iter().map(|filter| match filter {
            LzmaFilter::Lzma { preset, settings, .. } => u64::from(dictionary(*preset, settings[0], decoded)),
            _ => 0,
        });
        sizes.sum::<u64>().saturating_mul(RATIO).saturating_add(STATE)
    }
}

fn position(total: u64) -> usize {
    usize::try_from(total).unwrap_or(usize::MAX)
}

fn encode_fault(error: Error) -> CodecError {
    let reason = match error {
        Error::Mem => return CodecError::memory(0),
        Error::Options => "liblzma does not take these filters together".to_owned(),
        error => error.to_string(),
    };
    CodecError::encode(reason)
}

fn decode_fault(error: Error) -> CodecError {
    match error {
        Error::Mem => CodecError::memory(0),
        Error::MemLimit => CodecError::corrupt(format!(
            "its dictionary needs more than {} MiB of memory",
            MEMORY_LIMIT >> 20
        )),
        Error::Format => CodecError::corrupt("there is no stream of this format"),
        Error::Options => CodecError::corrupt("its filters are not known, or not taken together"),
        error => CodecError::corrupt(error.to_string()),
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
        let lzma2 = LzmaFilter::Lzma { is_second: true, preset: 1, settings: [None; SETTINGS.len()] };
        assert_eq!((raw.format, raw.filters), (RAW, vec![LzmaFilter::Delta { distance: 4 }, lzma2]));
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
