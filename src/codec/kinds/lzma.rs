//! `numcodecs.lzma`: the container, the check, and a preset or a chain of filters, with the numbers of Python's module
//! `lzma`. Streams are those of liblzma, which numcodecs uses.
//!
//! A dictionary longer than the data is useless, but its memory is allocated before a byte is decoded. So the
//! dictionary of raw streams and encoders is at most as long as the data. The memory that an `.xz` or `.lzma` header
//! claims is limited.
//!
//! Documentation: <https://numcodecs.readthedocs.io/en/stable/compression/lzma.html>,
//! <https://docs.python.org/3/library/lzma.html>

use ::liblzma::stream::MatchFinder::{BinaryTree2, BinaryTree3, BinaryTree4, HashChain3, HashChain4};
use ::liblzma::stream::{Action, Check, Error, Filters, LzmaOptions, MatchFinder, Mode, Status, Stream};

use super::error::{CodecError, reserve};
use super::members::{ConfigurationReader, Member, MemberDefault, MemberType, wrong};
use super::numcodecs_bytes::decode_stream;
use super::representation::size;
use super::{Coder, Kind, Made, Output};
use crate::diagnostic::{Diagnostic, code};
use crate::metadata::json::{Json, Object};

/// `numcodecs.lzma`. How much longer a stream of incompressible data is depends on the settings.
pub(crate) static LZMA: Kind =
    Kind { stores_checksum, ..Kind::new(|_| MEMBERS, |to| read(&mut to.members).map(Made::of_bytes)) };

const MEMBERS: &[Member] = &[
    Member::new("format", MemberType::Integer(AUTO as i64, RAW as i64), MemberDefault::Integer(XZ as i64)),
    Member::optional("check", MemberType::Listed(|number| matches!(number, -1 | 0 | 1 | 4 | 10), CHECK_NAMES)),
    PRESET,
    Member::optional("filters", MemberType::Any),
];

/// Returns true for an `.xz` stream (format 1, the default) unless `check` is 0. The other two formats have no
/// checksum.
fn stores_checksum(configuration: Option<&Object>) -> bool {
    let number = |name| configuration.and_then(|members| members.get(name)).and_then(Json::as_u64);
    number("format").unwrap_or(1) == 1 && number("check") != Some(0)
}

/// `.xz` or `.lzma`, only to read.
const AUTO: u32 = 0;
/// `.xz`, the default.
const XZ: u32 = 1;
/// `.lzma`, the older format.
const ALONE: u32 = 2;
/// No container: the filters describe the stream.
const RAW: u32 = 3;

/// Python's flag for the slow variant of a preset.
const EXTREME: u32 = 1 << 31;
/// The default preset.
const USUAL: u32 = 6;

/// Python's `FILTER_LZMA1`.
const LZMA1: i64 = 0x4000_0000_0000_0001;
const LZMA2: i64 = 0x21;
const DELTA: i64 = 3;
/// The limit of liblzma.
const MAX_FILTERS: usize = 4;

/// Bytes of the dictionary of each preset (xz(1), "-0 ... -9").
const DICTIONARIES: [u32; 10] =
    [1 << 18, 1 << 20, 1 << 21, 1 << 22, 1 << 22, 1 << 23, 1 << 23, 1 << 24, 1 << 25, 1 << 26];
/// Bytes of the smallest dictionary.
const LEAST_DICTIONARY: u64 = 4096;

/// The most bytes that a decoder may allocate: twice the dictionary of the highest preset.
const MEMORY_LIMIT: u64 = 128 << 20;

/// The members of a compressor.
const OF_COMPRESSOR: &[Member] = &[
    ID,
    PRESET,
    in_range("dict_size", 4096, 1536 << 20),
    Member::new("lc", MemberType::Integer(0, 4), MemberDefault::Integer(3)),
    in_range("lp", 0, 4),
    in_range("pb", 0, 4),
    in_range("mode", 1, 2),
    in_range("nice_len", 2, 273),
    Member::optional("mf", MemberType::Listed(|number| matches!(number, 3 | 4 | 18..=20), FINDER_NAMES)),
    in_range("depth", 0, u32::MAX as i64),
];
const OF_DELTA: &[Member] = &[ID, in_range("dist", 1, 256)];
const OF_BRANCH: &[Member] = &[ID, in_range("start_offset", 0, u32::MAX as i64)];
const ID: Member = Member::required(
    "id",
    MemberType::Listed(
        |id| matches!(id, LZMA1 | LZMA2 | DELTA..=9),
        "the id of a filter: 4611686018427387905 (LZMA1), 33 (LZMA2), 3 (delta) or 4 to 9",
    ),
);
const PRESET: Member = Member::optional(
    "preset",
    MemberType::Listed(
        |preset| matches!(preset & !i64::from(EXTREME), 0..=9),
        "an integer from 0 to 9, or one with Python's PRESET_EXTREME (2147483648) added",
    ),
);

/// The checksums, whose numbers are those of Python.
const CHECKS: [Check; 4] = [Check::None, Check::Crc32, Check::Crc64, Check::Sha256];
const CHECK_NAMES: &str = "-1 (the format's own), 0 (none), 1 (CRC32), 4 (CRC64) or 10 (SHA-256)";

/// The match finders, whose numbers are those of Python.
const FINDERS: [MatchFinder; 5] = [HashChain3, HashChain4, BinaryTree2, BinaryTree3, BinaryTree4];
const FINDER_NAMES: &str = "3, 4 (hash chains), 18, 19 or 20 (binary trees)";

/// Sets one of the library's options of a compressor.
type SetOption = fn(&mut LzmaOptions, u32) -> &mut LzmaOptions;

/// The members of a compressor that replace a value of its preset.
const OPTIONS: [(&str, SetOption); 7] = [
    ("lc", LzmaOptions::literal_context_bits),
    ("lp", LzmaOptions::literal_position_bits),
    ("pb", LzmaOptions::position_bits),
    ("mode", |options, mode| options.mode(if mode == 1 { Mode::Fast } else { Mode::Normal })),
    ("nice_len", LzmaOptions::nice_len),
    ("depth", LzmaOptions::depth),
    ("mf", |options, number| {
        let finder = FINDERS.into_iter().find(|finder| *finder as u32 == number);
        options.match_finder(finder.unwrap_or(BinaryTree4))
    }),
];

const fn in_range(name: &'static str, least: i64, greatest: i64) -> Member {
    Member::optional(name, MemberType::Integer(least, greatest))
}

/// An entry of `filters`.
#[derive(Debug, Clone, PartialEq)]
struct LzmaFilter {
    /// Python's number: a compressor (LZMA2 or LZMA1), differences of bytes, or from 4 to 9 a filter for machine code.
    id: i64,
    /// Its members, all in range.
    members: Object,
}

#[derive(Debug, Clone, PartialEq)]
struct Lzma {
    format: u32,
    /// The checksum by Python's number. `None` means that of the container.
    check: Option<u32>,
    /// The filters. A preset is one compressor.
    filters: Vec<LzmaFilter>,
}

fn read(members: &mut ConfigurationReader<'_>) -> Option<Lzma> {
    let filters = match members.given("filters") {
        Some(json) => read_filters(members, json)?,
        None => Vec::new(),
    };
    if !members.is_valid {
        return None;
    }
    // -1 means the same as an absent check.
    let lzma = Lzma { format: members.integer_value("format"), check: members.integer("check"), filters };
    let whole = whole(lzma, members.integer("preset")).map_err(|(name, fault)| {
        members.report(code::CONFIGURATION_VALUE, name, format!("`{name}` of `numcodecs.lzma`: {fault}"));
    });
    whole.ok()
}

/// Replaces a preset by its filter. The error is a member, and the reason why Python's module does not allow it beside
/// the others.
fn whole(mut lzma: Lzma, preset: Option<u32>) -> Result<Lzma, (&'static str, &'static str)> {
    let Lzma { format, check, filters } = &mut lzma;
    if *format != XZ && check.is_some_and(|check| check != 0) {
        return Err(("check", "only the format 1 (xz) has checks"));
    }
    if filters.is_empty() {
        if *format == RAW {
            return Err(("filters", "the format 3 (raw) needs them"));
        }
        let members = preset.map_or_else(Object::new, |preset| Object::new().with("preset", u64::from(preset)));
        filters.push(LzmaFilter { id: if *format == ALONE { LZMA1 } else { LZMA2 }, members });
    } else if preset.is_some() {
        return Err(("preset", "there are `filters` as well, which tell the same"));
    }
    let Some((last, others)) = filters.split_last() else { return Ok(lzma) };
    if !last.is_compressor() || others.iter().any(LzmaFilter::is_compressor) {
        return Err(("filters", "exactly one compressor (LZMA1 or LZMA2) must come last"));
    }
    match *format {
        ALONE if !others.is_empty() || last.id == LZMA2 => {
            Err(("filters", "the format 2 (alone) takes LZMA1 and nothing else"))
        }
        XZ if last.id != LZMA2 => Err(("filters", "the format 1 (xz) takes LZMA2, not LZMA1")),
        _ => Ok(lzma),
    }
}

/// Reads the filters. `None` after a fault.
fn read_filters(members: &mut ConfigurationReader<'_>, json: &Json) -> Option<Vec<LzmaFilter>> {
    let Some(entries) = json.as_array().filter(|entries| (1..=MAX_FILTERS).contains(&entries.len())) else {
        let expected = format!("a list of 1 to {MAX_FILTERS} filters");
        return members.unexpected(wrong(json.as_array().is_some()), "filters", &expected, json);
    };
    let mut filters = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let pointer = format!("{}/{index}", members.pointer_to("filters"));
        let Some(entry) = entry.as_object() else {
            return members.unexpected(code::CONFIGURATION_TYPE, "filters", "filters as objects", entry);
        };
        filters.push(read_filter(entry, pointer, &mut members.diagnostics)?);
    }
    Some(filters)
}

/// Reads a filter with the members that its `id` allows.
fn read_filter(entry: &Object, pointer: String, found: &mut Vec<Diagnostic>) -> Option<LzmaFilter> {
    let table = match entry.get("id").and_then(Json::as_i128) {
        Some(3) => OF_DELTA,
        Some(4..=9) => OF_BRANCH,
        _ => OF_COMPRESSOR,
    };
    let mut members = ConfigurationReader::new("numcodecs.lzma", Some(entry), pointer, table);
    let bits = |name| members.integer_value::<u64>(name);
    if members.is_valid && bits("lc") + bits("lp") > 4 {
        let message = "`lc` and `lp` of `numcodecs.lzma` make more than 4 together";
        members.report(code::CONFIGURATION_VALUE, "lc", message);
        members.is_valid = false;
    }
    found.append(&mut members.diagnostics);
    members.integer("id").filter(|_| members.is_valid).map(|id| LzmaFilter { id, members: entry.clone() })
}

impl LzmaFilter {
    fn value(&self, name: &str) -> Option<u32> {
        self.members.get(name).and_then(Json::as_u64).and_then(|value| u32::try_from(value).ok())
    }

    fn is_compressor(&self) -> bool {
        matches!(self.id, LZMA1 | LZMA2)
    }

    /// Returns the bytes of a compressor's dictionary: the size in the configuration, limited to that of the data.
    fn dictionary(&self, data: u64) -> u32 {
        let level = usize::try_from(self.value("preset").unwrap_or(USUAL) & !EXTREME).unwrap_or(usize::MAX);
        let wanted = self.value("dict_size").or_else(|| DICTIONARIES.get(level).copied()).unwrap_or(1 << 23);
        // Data that are too long for 32 bits are longer than any dictionary.
        u32::try_from(data.max(LEAST_DICTIONARY)).map_or(wanted, |data| data.min(wanted))
    }

    /// Returns the library's options of a compressor, with a dictionary of at most `size` bytes.
    fn options(&self, size: u64) -> Result<LzmaOptions, Error> {
        let mut own = LzmaOptions::new_preset(self.value("preset").unwrap_or(USUAL))?;
        own.dict_size(self.dictionary(size));
        for (name, set) in OPTIONS {
            if let Some(value) = self.value(name) {
                set(&mut own, value);
            }
        }
        Ok(own)
    }
}

impl Lzma {
    /// Returns the chain of filters, with dictionaries of at most `size` bytes.
    fn chain(&self, size: u64) -> Result<Filters, Error> {
        let mut chain = Filters::new();
        for filter in &self.filters {
            let start_offset = &filter.value("start_offset").unwrap_or(0).to_le_bytes();
            match filter.id {
                LZMA1 => chain.lzma1(&filter.options(size)?),
                LZMA2 => chain.lzma2(&filter.options(size)?),
                DELTA => {
                    // The format stores the distance less one in a byte.
                    let distance = filter.value("dist").unwrap_or(1);
                    chain.delta_properties(&[u8::try_from(distance - 1).map_err(|_| Error::Options)?])?
                }
                4 => chain.x86_properties(start_offset)?,
                5 => chain.powerpc_properties(start_offset)?,
                6 => chain.ia64_properties(start_offset)?,
                7 => chain.arm_properties(start_offset)?,
                8 => chain.arm_thumb_properties(start_offset)?,
                _ => chain.sparc_properties(start_offset)?,
            };
        }
        Ok(chain)
    }

    fn encoder(&self, size: u64) -> Result<Stream, Error> {
        // Python's default for this container is CRC64, too.
        let check = CHECKS.into_iter().find(|check| Some(*check as u32) == self.check).unwrap_or(Check::Crc64);
        match (self.format, self.filters.first()) {
            (XZ, _) => Stream::new_stream_encoder(&self.chain(size)?, check),
            (ALONE, Some(filter)) => Stream::new_lzma_encoder(&filter.options(size)?),
            (RAW, _) => Stream::new_raw_encoder(&self.chain(size)?),
            // numcodecs refuses to write `AUTO`, which does not name a format.
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
            // No bound on the encoded size holds for all settings. So the buffer grows until the stream ends.
            reserve(out.bytes, decoded.len() / 4 + 256)?;
            let rest = &decoded[size(stream.total_in())..];
            match stream.process_vec(rest, out.bytes, Action::Finish).map_err(encode_fault)? {
                Status::StreamEnd => return Ok(()),
                Status::MemNeeded => return Err(CodecError::memory(0)),
                Status::Ok | Status::GetCheck => {}
            }
        }
    }

    /// Decodes all streams. The buffer grows as data is decoded.
    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        const XZ_MAGIC: &[u8] = &[0xfd, b'7', b'z', b'X', b'Z', 0];
        let mut rest = encoded;
        loop {
            let mut stream = self.decoder(out.allowed.limit() as u64).map_err(decode_fault)?;
            let consumed = decode_stream(rest, out, |encoded, decoded| {
                let status = stream.process_vec(encoded, decoded, Action::Finish).map_err(decode_fault)?;
                Ok((size(stream.total_in()), matches!(status, Status::StreamEnd)))
            })?;
            rest = &rest[consumed..];
            if rest.is_empty() {
                return Ok(());
            }
            // Only an `.xz` stream begins with a mark by which another one can be recognised.
            if !rest.starts_with(XZ_MAGIC) || matches!(self.format, ALONE | RAW) {
                return Err(CodecError::trailing(rest.len()));
            }
        }
    }

    /// Estimates from the dictionary: an encoder also has a hash and a tree for each of its bytes. A decoder needs
    /// less, except for the dictionary that a header may claim.
    fn context_bytes(&self, decoded: u64) -> u64 {
        const RATIO: u64 = 12;
        const STATE: u64 = 512 << 10;
        let compressors = self.filters.iter().filter(|filter| filter.is_compressor());
        let sizes = compressors.map(|filter| u64::from(filter.dictionary(decoded)));
        sizes.sum::<u64>().saturating_mul(RATIO).saturating_add(STATE)
    }
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
        Error::MemLimit => {
            CodecError::corrupt(format!("its dictionary needs more than {} MiB of memory", MEMORY_LIMIT >> 20))
        }
        Error::Format => CodecError::corrupt("there is no stream of this format"),
        Error::Options => CodecError::corrupt("its filters are not known, or not taken together"),
        error => CodecError::corrupt(error.to_string()),
    }
}
