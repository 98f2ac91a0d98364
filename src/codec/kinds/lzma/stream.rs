//! Streams of liblzma, which is what numcodecs uses.
//!
//! A dictionary longer than the data serves nothing, and memory for one is asked for before a byte is decoded: raw
//! streams and encoders get one that is as long as the data at most. What an `.xz` or `.lzma` header claims is held
//! to a limit.

use ::liblzma::stream::{Action, Check, Error, Filters, LzmaOptions, MatchFinder, Mode, Status, Stream};

use super::{Lzma, LzmaArchitecture, LzmaCheck, LzmaFilter, LzmaFormat, LzmaOptions as Options, LzmaPreset};
use crate::codec::kinds::DecodedSize;
use crate::codec::kinds::error::{Fault, reserve};

/// The least dictionary.
const LEAST_DICTIONARY: u64 = 4096;

/// The most that a decoder may ask for: twice the dictionary of the highest preset.
const MEMORY_LIMIT: u64 = 128 << 20;

/// Beside the dictionary.
const STATE_BYTES: u64 = 512 << 10;

/// What an encoder holds for each byte of its dictionary: the dictionary, hash and tree.
const ENCODER_RATIO: u64 = 12;

/// Python's bit for the slow variant of a preset.
const EXTREME: u32 = 1 << 31;

/// What an encoder holds; a decoder holds less, but for the dictionary that a header may claim.
pub(super) fn context_bytes(configuration: &Lzma, decoded: u64) -> u64 {
    let sizes = configuration.filters.iter().map(|filter| match filter {
        LzmaFilter::Lzma { options, .. } => u64::from(dictionary(options, decoded)),
        _ => 0,
    });
    sizes.sum::<u64>().saturating_mul(ENCODER_RATIO).saturating_add(STATE_BYTES)
}

/// Bytes of the dictionary: what is asked for, but no more than the data.
fn dictionary(options: &Options, data: u64) -> u32 {
    /// Of the presets (xz(1), "-0 ... -9").
    const OF_PRESETS: [u32; 10] =
        [1 << 18, 1 << 20, 1 << 21, 1 << 22, 1 << 22, 1 << 23, 1 << 23, 1 << 24, 1 << 25, 1 << 26];
    let level = usize::try_from(options.preset.level).unwrap_or(usize::MAX);
    let wanted = options.dict_size.or_else(|| OF_PRESETS.get(level).copied()).unwrap_or(1 << 23);
    u32::try_from(data.max(LEAST_DICTIONARY)).map_or(wanted, |data| data.min(wanted))
}

pub(super) fn encode(configuration: &Lzma, decoded: &[u8], encoded: &mut Vec<u8>) -> Result<(), Fault> {
    let mut stream = encoder(configuration, decoded.len() as u64).map_err(encode_fault)?;
    reserve(encoded, decoded.len() / 4 + 256)?;
    loop {
        let consumed = position(stream.total_in());
        match stream.process_vec(&decoded[consumed..], encoded, Action::Finish).map_err(encode_fault)? {
            Status::StreamEnd => return Ok(()),
            Status::MemNeeded => return Err(Fault::Memory { size: 0 }),
            Status::Ok | Status::GetCheck => reserve(encoded, decoded.len() / 4 + 256)?,
        }
    }
}

fn encoder(configuration: &Lzma, size: u64) -> Result<Stream, Error> {
    match configuration.format {
        // numcodecs refuses to write `Auto`, which says nothing of what is to be written.
        LzmaFormat::Auto => Err(Error::Options),
        LzmaFormat::Xz => {
            let check = match configuration.check {
                None | Some(LzmaCheck::Crc64) => Check::Crc64,
                Some(LzmaCheck::None) => Check::None,
                Some(LzmaCheck::Crc32) => Check::Crc32,
                Some(LzmaCheck::Sha256) => Check::Sha256,
            };
            Stream::new_stream_encoder(&filters(configuration, size)?, check)
        }
        LzmaFormat::Alone => match configuration.filters.first() {
            Some(LzmaFilter::Lzma { options, .. }) => Stream::new_lzma_encoder(&lzma_options(options, size)?),
            _ => Err(Error::Options),
        },
        LzmaFormat::Raw => Stream::new_raw_encoder(&filters(configuration, size)?),
    }
}

/// Decodes every stream; the buffer grows with what they hold.
pub(super) fn decode(
    configuration: &Lzma,
    encoded: &[u8],
    decoded: &mut Vec<u8>,
    bound: DecodedSize,
) -> Result<(), Fault> {
    const XZ_MAGIC: &[u8] = &[0xfd, b'7', b'z', b'X', b'Z', 0];
    let mut rest = encoded;
    loop {
        let mut stream = match configuration.format {
            LzmaFormat::Xz => Stream::new_stream_decoder(MEMORY_LIMIT, 0),
            LzmaFormat::Alone => Stream::new_lzma_decoder(MEMORY_LIMIT),
            LzmaFormat::Auto => Stream::new_auto_decoder(MEMORY_LIMIT, 0),
            LzmaFormat::Raw => filters(configuration, bound.limit() as u64)
                .and_then(|filters| Stream::new_raw_decoder(&filters)),
        }
        .map_err(decode_fault)?;
        let consumed = decode_stream(&mut stream, rest, decoded, bound)?;
        rest = &rest[consumed..];
        if rest.is_empty() {
            return Ok(());
        }
        if !rest.starts_with(XZ_MAGIC) || matches!(configuration.format, LzmaFormat::Alone | LzmaFormat::Raw)
        {
            return Err(Fault::Trailing { count: rest.len() });
        }
    }
}

/// Appends one stream; the bytes that it took.
fn decode_stream(
    stream: &mut Stream,
    encoded: &[u8],
    decoded: &mut Vec<u8>,
    bound: DecodedSize,
) -> Result<usize, Fault> {
    const LEAST: usize = 64 << 10;
    loop {
        if decoded.len() == decoded.capacity() {
            // One byte more than the bound shows a stream that passes it.
            let room = bound.limit().saturating_sub(decoded.len()).saturating_add(1);
            reserve(decoded, room.min(decoded.len().max(LEAST)))?;
        }
        let consumed = position(stream.total_in());
        let before = decoded.len();
        let status =
            stream.process_vec(&encoded[consumed..], decoded, Action::Finish).map_err(decode_fault)?;
        let total = position(stream.total_in());
        if decoded.len() > bound.limit() {
            return Err(Fault::TooLong { expected: bound });
        }
        match status {
            Status::StreamEnd => return Ok(total),
            // Neither more room nor more input is to come.
            _ if total == consumed && decoded.len() == before && decoded.len() < decoded.capacity() => {
                return Err(Fault::NoEnd { found: encoded.len() });
            }
            _ => {}
        }
    }
}

/// The chain, with dictionaries no longer than `size`.
fn filters(configuration: &Lzma, size: u64) -> Result<Filters, Error> {
    let mut filters = Filters::new();
    for filter in &configuration.filters {
        match filter {
            LzmaFilter::Lzma { is_second: true, options } => filters.lzma2(&lzma_options(options, size)?),
            LzmaFilter::Lzma { is_second: false, options } => filters.lzma1(&lzma_options(options, size)?),
            LzmaFilter::Delta { distance } => {
                let property = u8::try_from(distance - 1).map_err(|_| Error::Options)?;
                filters.delta_properties(&[property])?
            }
            LzmaFilter::Branch { architecture, start_offset } => {
                branch(&mut filters, *architecture, &start_offset.to_le_bytes())?
            }
        };
    }
    Ok(filters)
}

fn branch<'a>(
    filters: &'a mut Filters,
    architecture: LzmaArchitecture,
    properties: &[u8],
) -> Result<&'a mut Filters, Error> {
    match architecture {
        LzmaArchitecture::X86 => filters.x86_properties(properties),
        LzmaArchitecture::PowerPc => filters.powerpc_properties(properties),
        LzmaArchitecture::Ia64 => filters.ia64_properties(properties),
        LzmaArchitecture::Arm => filters.arm_properties(properties),
        LzmaArchitecture::ArmThumb => filters.arm_thumb_properties(properties),
        LzmaArchitecture::Sparc => filters.sparc_properties(properties),
    }
}

fn lzma_options(options: &Options, size: u64) -> Result<LzmaOptions, Error> {
    let LzmaPreset { level, is_extreme } = options.preset;
    let mut own = LzmaOptions::new_preset(level | if is_extreme { EXTREME } else { 0 })?;
    own.dict_size(dictionary(options, size));
    if let Some(bits) = options.lc {
        own.literal_context_bits(bits);
    }
    if let Some(bits) = options.lp {
        own.literal_position_bits(bits);
    }
    if let Some(bits) = options.pb {
        own.position_bits(bits);
    }
    if let Some(length) = options.nice_len {
        own.nice_len(length);
    }
    if let Some(depth) = options.depth {
        own.depth(depth);
    }
    if let Some(mode) = options.mode {
        own.mode(if mode == 1 { Mode::Fast } else { Mode::Normal });
    }
    if let Some(finder) = options.mf {
        own.match_finder(match finder {
            3 => MatchFinder::HashChain3,
            4 => MatchFinder::HashChain4,
            18 => MatchFinder::BinaryTree2,
            19 => MatchFinder::BinaryTree3,
            _ => MatchFinder::BinaryTree4,
        });
    }
    Ok(own)
}

fn position(total: u64) -> usize {
    usize::try_from(total).unwrap_or(usize::MAX)
}

fn encode_fault(error: Error) -> Fault {
    let reason = match error {
        Error::Mem => return Fault::Memory { size: 0 },
        Error::Options => "liblzma does not take these filters together".to_owned(),
        error => error.to_string(),
    };
    Fault::Encode { reason }
}

fn decode_fault(error: Error) -> Fault {
    match error {
        Error::Mem => Fault::Memory { size: 0 },
        Error::MemLimit => {
            Fault::corrupt(format!("its dictionary needs more than {} MiB of memory", MEMORY_LIMIT >> 20))
        }
        Error::Format => Fault::corrupt("there is no stream of this format"),
        Error::Options => Fault::corrupt("its filters are not known, or not taken together"),
        error => Fault::corrupt(error.to_string()),
    }
}
