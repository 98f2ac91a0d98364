//! Compressing numbers, as the codec `numcodecs.pcodec` does: a "standalone" file of the library pco, of chunks with one
//! page each.
//!
//! What is decoded is bounded by the numbers that are expected: a page that claims more is refused before it is read.
//!
//! Format: <https://github.com/pcodec/pcodec/blob/main/docs/format.md>

use std::borrow::Cow;

use bytemuck::Pod;
use half::f16;
use pco::data_types::Number;
use pco::errors::PcoError;
use pco::standalone::{DecompressorItem, FileCompressor, FileDecompressor};
use pco::{ChunkConfig, DeltaSpec, ModeSpec, PagingSpec};
use thiserror::Error;

use super::{BoundPcodec, PcodecDelta};
use crate::element::ElementType;
use crate::memory::fallibly;

/// Why numbers cannot be compressed or decompressed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PcodecError {
    /// The library says so.
    #[error("{0}")]
    Library(String),
    /// Another number of numbers.
    #[error("expected {expected} numbers, found {found}")]
    Count {
        /// Of the elements of the chunk.
        expected: usize,
        /// What is there, or claimed.
        found: usize,
    },
    /// Something behind the end.
    #[error("{count} bytes follow the compressed numbers")]
    Trailing {
        /// How many.
        count: usize,
    },
    /// No memory for the numbers.
    #[error("{size} bytes do not fit in memory")]
    Memory {
        /// How many.
        size: usize,
    },
}

impl From<PcoError> for PcodecError {
    fn from(error: PcoError) -> Self {
        PcodecError::Library(error.message)
    }
}

/// Compresses and decompresses numbers of one type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pcodec {
    bound: BoundPcodec,
}

/// Runs an expression with the Rust type of the numbers that the codec takes.
macro_rules! with_number {
    ($element:expr, $T:ident => $body:expr) => {
        match $element {
            ElementType::Int16 => with_number!(@ i16, $T => $body),
            ElementType::Int32 => with_number!(@ i32, $T => $body),
            ElementType::Int64 => with_number!(@ i64, $T => $body),
            ElementType::UInt16 => with_number!(@ u16, $T => $body),
            ElementType::UInt32 => with_number!(@ u32, $T => $body),
            ElementType::UInt64 => with_number!(@ u64, $T => $body),
            ElementType::Float16 => with_number!(@ f16, $T => $body),
            ElementType::Float32 => with_number!(@ f32, $T => $body),
            ElementType::Float64 => with_number!(@ f64, $T => $body),
            ElementType::Int8 | ElementType::UInt8 => Err(PcodecError::Library("bytes are not numbers of its".to_owned())),
        }
    };
    (@ $own:ty, $T:ident => $body:expr) => {{
        type $T = $own;
        $body
    }};
}

impl Pcodec {
    /// Compresses as `bound` says.
    pub const fn new(bound: BoundPcodec) -> Self {
        Pcodec { bound }
    }

    /// Bytes that an encoder holds beside its buffers for a chunk of so many bytes: for each number of a page what it
    /// is split into, its differences, a sorted copy and what is looked up; a decoder holds less.
    pub fn context_bytes(&self, decoded: u64) -> u64 {
        const OF_A_NUMBER: u64 = 128;
        const TABLES: u64 = 4 << 20;
        let numbers = decoded / self.bound.element.size() as u64;
        let page = numbers.min(self.bound.configuration.page_size as u64);
        page.saturating_mul(OF_A_NUMBER).saturating_add(TABLES)
    }

    /// Compresses native-endian elements into `encoded`, whose contents are replaced.
    pub fn encode(&self, decoded: &[u8], encoded: &mut Vec<u8>) -> Result<(), PcodecError> {
        let configuration = &self.bound.configuration;
        let mode = if configuration.is_classic { ModeSpec::Classic } else { ModeSpec::Auto };
        let delta = match configuration.delta {
            PcodecDelta::Auto => DeltaSpec::Auto,
            PcodecDelta::None => DeltaSpec::NoOp,
            PcodecDelta::Consecutive(order) => DeltaSpec::TryConsecutive(order),
            PcodecDelta::Lookback => DeltaSpec::TryLookback,
        };
        let config = ChunkConfig::default()
            .with_compression_level(configuration.level)
            .with_mode_spec(mode)
            .with_delta_spec(delta);
        encoded.clear();
        let numbers = (decoded.len() / self.bound.element.size() / self.bound.num_components) as u64;
        let size = self.bound.max_encoded_bytes(numbers).and_then(|size| usize::try_from(size).ok());
        reserve(encoded, size.unwrap_or(usize::MAX))?;
        with_number!(self.bound.element, T => encode::<T>(decoded, &config, configuration.page_size, encoded))
    }

    /// Decompresses so many elements into `decoded`, whose contents are replaced.
    pub fn decode(
        &self,
        encoded: &[u8],
        num_elements: usize,
        decoded: &mut Vec<u8>,
    ) -> Result<(), PcodecError> {
        decoded.clear();
        let expected = num_elements.saturating_mul(self.bound.num_components);
        with_number!(self.bound.element, T => decode::<T>(encoded, expected, decoded))
    }
}

/// Bytes as numbers; a copy where they do not lie as numbers do.
fn numbers<T: Pod>(bytes: &[u8]) -> Cow<'_, [T]> {
    bytemuck::try_cast_slice(bytes)
        .map_or_else(|_| Cow::Owned(bytemuck::pod_collect_to_vec(bytes)), Cow::Borrowed)
}

/// Makes room for so many bytes at once: a buffer that grows is copied, and takes three times its length meanwhile.
/// Room that is not used takes no memory.
fn reserve(buffer: &mut Vec<u8>, size: usize) -> Result<(), PcodecError> {
    fallibly(|| buffer.try_reserve_exact(size)).map_err(|_| PcodecError::Memory { size })
}

/// Writes the same bytes as `pco::standalone::simple_compress` with equal pages, page by page into a buffer that is
/// there: the library's function would allocate one of its own, by a size that it guesses from the first page.
fn encode<T: Number + Pod>(
    decoded: &[u8],
    config: &ChunkConfig,
    page_size: usize,
    encoded: &mut Vec<u8>,
) -> Result<(), PcodecError> {
    let count = decoded.len() / size_of::<T>();
    let file = FileCompressor::default().with_n_hint(count);
    file.write_header(&mut *encoded)?;
    let mut rest = decoded;
    for page in PagingSpec::EqualPagesUpTo(page_size).n_per_page(count)? {
        let (bytes, after) = rest.split_at(page * size_of::<T>());
        rest = after;
        file.chunk_compressor(&numbers::<T>(bytes), config)?.write(&mut *encoded)?;
    }
    file.write_footer(encoded)?;
    Ok(())
}

fn decode<T: Number + Pod>(
    encoded: &[u8],
    expected: usize,
    decoded: &mut Vec<u8>,
) -> Result<(), PcodecError> {
    // The library takes whole batches of 256 numbers.
    let mut buffer = vec![T::zeroed(); expected.next_multiple_of(256).min(4096)];
    let (file, mut rest) = FileDecompressor::new(encoded)?;
    let mut left = expected;
    loop {
        let mut page = match file.chunk_decompressor::<T, _>(rest)? {
            DecompressorItem::Chunk(page) => page,
            DecompressorItem::EndOfData(after) => {
                rest = after;
                break;
            }
        };
        reserve(decoded, left.saturating_mul(size_of::<T>()))?;
        left = left.checked_sub(page.n()).ok_or_else(|| PcodecError::Count {
            expected,
            found: (expected - left).saturating_add(page.n()),
        })?;
        let mut is_finished = false;
        while !is_finished {
            let progress = page.read(&mut buffer)?;
            let bytes: &[u8] = bytemuck::cast_slice(&buffer[..progress.n_processed]);
            decoded.extend_from_slice(bytes);
            is_finished = progress.finished;
        }
        rest = page.into_src();
    }
    if left > 0 {
        return Err(PcodecError::Count { expected, found: expected - left });
    }
    if rest.is_empty() { Ok(()) } else { Err(PcodecError::Trailing { count: rest.len() }) }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;
    use crate::data_type::DataType;
    use crate::metadata::json::Json;

    fn pcodec(data_type: &str, configuration: &str) -> Pcodec {
        let json = Json::parse_str(configuration).unwrap();
        let (parsed, found) = parse(json.as_object(), "");
        assert!(found.is_empty(), "{configuration}");
        let data_type = DataType::from_name(data_type).unwrap();
        Pcodec::new(parsed.unwrap().bind_type(&data_type, "").0.unwrap())
    }

    /// Bytes of elements that look like measurements.
    fn elements(size: usize, count: usize) -> Vec<u8> {
        let value = |index: usize| (index * 37 % 1000 + index / 3).to_le_bytes();
        (0..count).flat_map(|index| value(index).into_iter().chain([0x40; 8]).take(size)).collect()
    }

    #[test]
    fn every_type_and_way_comes_back() {
        let sizes = [
            ("int16", 2),
            ("uint32", 4),
            ("int64", 8),
            ("float16", 2),
            ("float32", 4),
            ("float64", 8),
            ("complex64", 8),
        ];
        let configurations = [
            "{}",
            r#"{"level":0,"mode_spec":"classic","delta_spec":"no_op"}"#,
            r#"{"level":12,"delta_spec":"try_lookback"}"#,
            r#"{"delta_encoding_order":7,"equal_pages_up_to":100}"#,
        ];
        for (name, size) in sizes {
            for configuration in configurations {
                let codec = pcodec(name, configuration);
                for count in [1, 255, 256, 5000] {
                    let (mut encoded, mut decoded) = (Vec::new(), Vec::new());
                    let elements = elements(size, count);
                    codec.encode(&elements, &mut encoded).unwrap();
                    let bound = codec.bound.max_encoded_bytes(count as u64).unwrap();
                    assert!(encoded.len() as u64 <= bound, "{} > {bound}", encoded.len());
                    codec.decode(&encoded, count, &mut decoded).unwrap();
                    assert_eq!(decoded, elements, "{name} {configuration} {count}");
                }
            }
        }
    }

    #[test]
    fn pages_are_those_of_the_simple_compressor() {
        let configuration = r#"{"equal_pages_up_to":300,"mode_spec":"classic","delta_spec":"no_op"}"#;
        let config = ChunkConfig::default()
            .with_mode_spec(ModeSpec::Classic)
            .with_delta_spec(DeltaSpec::NoOp)
            .with_paging_spec(PagingSpec::EqualPagesUpTo(300));
        for count in [0, 1, 300, 301, 1000] {
            let (elements, mut encoded) = (elements(4, count), vec![1; 7]);
            pcodec("uint32", configuration).encode(&elements, &mut encoded).unwrap();
            let simple = pco::standalone::simple_compress(&numbers::<u32>(&elements), &config).unwrap();
            assert_eq!(encoded, simple, "{count}");
        }
    }

    #[test]
    fn another_number_of_numbers_is_an_error() {
        let codec = pcodec("float32", r#"{"equal_pages_up_to":300}"#);
        let (mut encoded, mut decoded) = (Vec::new(), Vec::new());
        codec.encode(&elements(4, 1000), &mut encoded).unwrap();
        let mut decode = |bytes: &[u8], count| codec.decode(bytes, count, &mut decoded).unwrap_err();
        assert_eq!(decode(&encoded, 1001), PcodecError::Count { expected: 1001, found: 1000 });
        assert_eq!(decode(&encoded, 999), PcodecError::Count { expected: 999, found: 1000 });
        let longer = [&encoded[..], &[0]].concat();
        assert_eq!(decode(&longer, 1000), PcodecError::Trailing { count: 1 });
        for end in 0..encoded.len() {
            decode(&encoded[..end], 1000);
        }
        let other = pcodec("int32", "{}").decode(&encoded, 1000, &mut Vec::new());
        assert!(matches!(other, Err(PcodecError::Library(_))), "{other:?}");
    }

    #[test]
    fn noise_takes_no_more_than_the_bound() {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()
        })
        .take(3000)
        .flatten()
        .collect();
        for (name, configuration) in
            [("float64", "{}"), ("uint16", "{}"), ("float32", r#"{"equal_pages_up_to":1,"level":1}"#)]
        {
            let (codec, mut encoded) = (pcodec(name, configuration), Vec::new());
            codec.encode(&noise, &mut encoded).unwrap();
            let count = noise.len() / codec.bound.element.size();
            let bound = codec.bound.max_encoded_bytes(count as u64).unwrap();
            assert!(encoded.len() as u64 <= bound, "{name}: {} > {bound}", encoded.len());
        }
    }

    /// Any damage is an error or other numbers, never a panic.
    #[test]
    fn damaged_bytes_do_not_panic() {
        for configuration in ["{}", r#"{"delta_spec":"try_lookback"}"#, r#"{"delta_encoding_order":3}"#] {
            let (codec, mut encoded, mut decoded) =
                (pcodec("float32", configuration), Vec::new(), Vec::new());
            codec.encode(&elements(4, 700), &mut encoded).unwrap();
            for place in 0..encoded.len() {
                for bit in 0..8 {
                    let mut damaged = encoded.clone();
                    damaged[place] ^= 1 << bit;
                    if codec.decode(&damaged, 700, &mut decoded).is_ok() {
                        assert_eq!(decoded.len(), 2800, "{place} {bit}");
                    }
                }
            }
        }
    }
}
