//! `numcodecs.pcodec`: numbers compressed by the library pco. The format is a "standalone" file of chunks with one page
//! each. A chunk contains all parameters for its decoder.
//!
//! The decoder never decodes more than the expected numbers. A page that claims more is an error before it is read.
//!
//! Documentation: <https://numcodecs.readthedocs.io/en/stable/compression/pcodec.html>,
//! <https://github.com/pcodec/pcodec/blob/main/docs/format.md>

use std::borrow::Cow;

use bytemuck::Pod;
use pco::data_types::Number;
use pco::errors::PcoError;
use pco::standalone::{DecompressorItem, FileCompressor, FileDecompressor};
use pco::{ChunkConfig, DeltaSpec, ModeSpec, PagingSpec};

use super::error::{CodecError, reserve};
use super::members::{ConfigurationReader, Member, MemberDefault, MemberType};
use super::representation::size;
use super::{Binding, BytesSize, Coder, Effect, Kind, Made, Output};
use crate::data_type::DataType;
use crate::diagnostic::code;
use crate::element::ElementType;
use crate::with_element;

pub(crate) static PCODEC: Kind = Kind { is_little_endian_in_v2: true, ..Kind::new(|_| MEMBERS, bind) };

#[derive(Debug)]
struct Pcodec {
    element: ElementType,
    /// The number of numbers: complex elements are two each. `None` if it overflows.
    num_numbers: Option<u64>,
    /// Level, mode and differences.
    config: ChunkConfig,
    /// The most numbers that are compressed together.
    page_size: usize,
}

const NAME: &str = "numcodecs.pcodec";

/// The limit of the format for numbers in a page.
const MAX_PAGE_SIZE: usize = 1 << 24;

const DELTA_SPECS: [&str; 5] = ["auto", "no_op", "none", "try_consecutive", "try_lookback"];

const MEMBERS: &[Member] = &[
    Member::new("level", MemberType::Integer(0, 12), MemberDefault::Integer(8)),
    Member::new("mode_spec", MemberType::Choice(&["auto", "classic"]), MemberDefault::Text("auto")),
    Member::new("delta_spec", MemberType::Choice(&DELTA_SPECS), MemberDefault::Text("auto")),
    Member::optional("paging_spec", MemberType::Choice(&["equal_pages_up_to"])),
    Member::optional("delta_encoding_order", MemberType::Integer(0, 7)),
    Member::new("equal_pages_up_to", MemberType::Integer(1, i64::MAX), MemberDefault::Integer(1 << 18)),
];

/// Reads `delta_spec`, and the order that belongs to some of its words.
fn delta(members: &mut ConfigurationReader<'_>) -> Option<DeltaSpec> {
    let order = members.given("delta_encoding_order").map(|_| members.integer_value("delta_encoding_order"));
    let expected = match (members.text_value("delta_spec"), order) {
        // Older versions of numcodecs had an order without a word.
        ("auto" | "try_consecutive", Some(order)) => return Some(DeltaSpec::TryConsecutive(order)),
        ("auto", None) => return Some(DeltaSpec::Auto),
        ("no_op" | "none", None) => return Some(DeltaSpec::NoOp),
        ("try_lookback", None) => return Some(DeltaSpec::TryLookback),
        ("try_consecutive", None) => "is required for `delta_spec` \"try_consecutive\"",
        ("no_op" | "none" | "try_lookback", Some(_)) => "is for `delta_spec` \"auto\" and \"try_consecutive\" alone",
        _ => return None,
    };
    let message = format!("`delta_encoding_order` of `{NAME}` {expected}");
    members.refuse(code::CONFIGURATION_VALUE, "delta_encoding_order", message)
}

/// Returns the type of the numbers in a supported data type, and how many an element has.
fn element(data_type: &DataType) -> Option<(ElementType, u64)> {
    let (number, count) = data_type.stored_components()?;
    let is_taken = number.is_whole() && number.small_float().is_none() && number.size() > 1;
    is_taken.then_some((number.element(), count as u64))
}

/// Reads the configuration, and the most numbers of a page.
fn read(members: &mut ConfigurationReader<'_>) -> Option<(ChunkConfig, usize)> {
    let mode = if members.text_value("mode_spec") == "classic" { ModeSpec::Classic } else { ModeSpec::Auto };
    let config = ChunkConfig::default().with_compression_level(members.integer_value("level")).with_mode_spec(mode);
    let page_size = members.integer_value::<usize>("equal_pages_up_to").min(MAX_PAGE_SIZE);
    Some((config.with_delta_spec(delta(members)?), page_size))
}

fn bind(to: &mut Binding<'_>) -> Option<Made> {
    let (config, page_size) = read(&mut to.members)?;
    let array = to.array?;
    let Some((element, of_element)) = element(&array.data_type) else {
        return to.refuse(code::CODEC_DATA_TYPE, format!("`{NAME}` takes numbers of 16, 32 and 64 bits"));
    };
    let num_numbers = array.num_elements().and_then(|count| count.checked_mul(of_element));
    let bound = Pcodec { element, num_numbers, config, page_size };
    let size = BytesSize::at_most(bound.max_encoded_bytes());
    Some(Made::to_bytes(bound, size))
}

impl Pcodec {
    /// Returns the most bytes of a chunk in this format: a header, and for each page its own header and uncompressed
    /// numbers. `None` if the size overflows.
    fn max_encoded_bytes(&self) -> Option<u64> {
        // The mode, the differences and one bin of any number, with the bytes that an encoder leaves unused.
        const PAGE: u64 = 256;
        const HEADER: u64 = 32;
        let pages = self.num_numbers?.div_ceil(self.page_size as u64);
        let numbers = self.num_numbers?.checked_mul(self.element.size() as u64)?;
        pages.checked_mul(PAGE)?.checked_add(numbers)?.checked_add(HEADER)
    }
}

impl Coder for Pcodec {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        out.bytes.clear();
        // All capacity is reserved at once, because a growing buffer is copied and meanwhile needs three times its
        // length. Unused capacity occupies no memory.
        reserve(out.bytes, self.max_encoded_bytes().map_or(usize::MAX, size))?;
        with_element!(self.element, T => encode::<T>(decoded, &self.config, self.page_size, out.bytes))
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        out.bytes.clear();
        let expected = self.num_numbers.map_or(usize::MAX, size);
        with_element!(self.element, T => decode::<T>(encoded, expected, out.bytes))
    }

    /// Estimates the bytes of an encoder. For each number of a page they are its parts, its differences, a sorted copy
    /// and lookup tables. A decoder needs less.
    fn context_bytes(&self, decoded: u64) -> u64 {
        const OF_A_NUMBER: u64 = 128;
        const TABLES: u64 = 4 << 20;
        let numbers = decoded / self.element.size() as u64;
        let page = numbers.min(self.page_size as u64);
        page.saturating_mul(OF_A_NUMBER).saturating_add(TABLES)
    }

    fn effect(&self) -> Effect<'_> {
        Effect::Compress
    }
}

impl From<PcoError> for CodecError {
    fn from(error: PcoError) -> Self {
        CodecError::Bytes(error.message)
    }
}

/// Returns bytes as numbers. It is a copy if the bytes are not aligned for numbers.
pub(super) fn numbers<T: Pod>(bytes: &[u8]) -> Cow<'_, [T]> {
    bytemuck::try_cast_slice(bytes).map_or_else(|_| Cow::Owned(bytemuck::pod_collect_to_vec(bytes)), Cow::Borrowed)
}

/// Writes the same bytes as `pco::standalone::simple_compress` with equal pages, page by page into a given buffer. The
/// library's function would allocate its own, with a size that it estimates from the first page.
fn encode<T: Number + Pod>(
    decoded: &[u8],
    config: &ChunkConfig,
    page_size: usize,
    encoded: &mut Vec<u8>,
) -> Result<(), CodecError> {
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

fn decode<T: Number + Pod>(encoded: &[u8], expected: usize, decoded: &mut Vec<u8>) -> Result<(), CodecError> {
    // The library decodes whole batches of 256 numbers.
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
        let too_many = || wrong_count(expected, (expected - left).saturating_add(page.n()));
        left = left.checked_sub(page.n()).ok_or_else(too_many)?;
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
        return Err(wrong_count(expected, expected - left));
    }
    if rest.is_empty() {
        return Ok(());
    }
    Err(CodecError::Bytes(format!("{} bytes follow the compressed numbers", rest.len())))
}

fn wrong_count(expected: usize, found: usize) -> CodecError {
    CodecError::Length { message: format!("expected {expected} numbers, found {found}"), found: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::kinds::coding::{decoded as decompressed, encoded as compressed, noise};
    use crate::metadata::extension::CodecMetadata;
    use crate::metadata::json::Json;

    fn parsed(text: &str) -> (Option<(ChunkConfig, usize)>, Vec<&'static str>) {
        let json = Json::parse_str(text).unwrap();
        let codec = CodecMetadata::new(NAME, json.as_object().cloned());
        let mut members = ConfigurationReader::of_codec(&codec, MEMBERS);
        let parsed = read(&mut members).filter(|_| members.is_valid);
        (parsed, members.diagnostics.iter().map(|found| found.code).collect())
    }

    fn shown(parsed: Option<&(ChunkConfig, usize)>) -> String {
        format!("{parsed:?}")
    }

    #[test]
    fn configurations_of_numcodecs_are_read() {
        let config = ChunkConfig::default().with_compression_level(8).with_mode_spec(ModeSpec::Auto);
        let default = (config.clone().with_delta_spec(DeltaSpec::Auto), 1 << 18);
        let whole = r#"{"level":8,"mode_spec":"auto","delta_spec":"auto","paging_spec":"equal_pages_up_to",
            "delta_encoding_order":null,"equal_pages_up_to":262144}"#;
        for text in ["{}", whole] {
            assert_eq!(shown(parsed(text).0.as_ref()), shown(Some(&default)), "{text}");
        }
        for (text, delta) in [
            (r#"{"delta_encoding_order":2}"#, DeltaSpec::TryConsecutive(2)),
            (r#"{"delta_spec":"try_consecutive","delta_encoding_order":0}"#, DeltaSpec::TryConsecutive(0)),
            (r#"{"delta_spec":"none"}"#, DeltaSpec::NoOp),
            (r#"{"delta_spec":"try_lookback"}"#, DeltaSpec::TryLookback),
        ] {
            let expected = Some((config.clone().with_delta_spec(delta), 1 << 18));
            assert_eq!(shown(parsed(text).0.as_ref()), shown(expected.as_ref()), "{text}");
        }
    }

    fn pcodec(data_type: &str, configuration: &str, num_elements: u64) -> Option<Pcodec> {
        let (parsed, codes) = parsed(configuration);
        assert!(codes.is_empty(), "{configuration}");
        let (element, of_element) = element(&DataType::from_name(data_type).unwrap())?;
        let num_numbers = num_elements.checked_mul(of_element);
        let (config, page_size) = parsed.unwrap();
        Some(Pcodec { element, num_numbers, config, page_size })
    }

    /// Returns the bytes of elements like measurements.
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
                for count in [1, 255, 256, 5000] {
                    let codec = pcodec(name, configuration, count as u64).unwrap();
                    let elements = elements(size, count);
                    let encoded = compressed(&codec, &elements).unwrap();
                    let bound = codec.max_encoded_bytes().unwrap();
                    assert!(encoded.len() as u64 <= bound, "{} > {bound}", encoded.len());
                    let decoded = decompressed(&codec, &encoded).unwrap();
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
            let elements = elements(4, count);
            let codec = pcodec("uint32", configuration, count as u64).unwrap();
            let encoded = compressed(&codec, &elements).unwrap();
            let simple = pco::standalone::simple_compress(&numbers::<u32>(&elements), &config).unwrap();
            assert_eq!(encoded, simple, "{count}");
        }
    }

    #[test]
    fn another_number_of_numbers_is_an_error() {
        let of = |name: &str, count| pcodec(name, r#"{"equal_pages_up_to":300}"#, count).unwrap();
        let encoded = compressed(&of("float32", 1000), &elements(4, 1000)).unwrap();
        let decode = |bytes: &[u8], count| decompressed(&of("float32", count), bytes).unwrap_err().to_string();
        assert_eq!(decode(&encoded, 1001), "expected 1001 numbers, found 1000");
        assert_eq!(decode(&encoded, 999), "expected 999 numbers, found 1000");
        let longer = [&encoded[..], &[0]].concat();
        assert_eq!(decode(&longer, 1000), "1 bytes follow the compressed numbers");
        for end in 0..encoded.len() {
            decode(&encoded[..end], 1000);
        }
        assert!(matches!(decompressed(&of("int32", 1000), &encoded), Err(CodecError::Bytes(_))));
    }

    #[test]
    fn noise_takes_no_more_than_the_bound() {
        let noise = noise(24_000);
        for (name, configuration) in
            [("float64", "{}"), ("uint16", "{}"), ("float32", r#"{"equal_pages_up_to":1,"level":1}"#)]
        {
            let size = DataType::from_name(name).unwrap().size().unwrap();
            let codec = pcodec(name, configuration, (noise.len() / size) as u64).unwrap();
            let encoded = compressed(&codec, &noise).unwrap();
            let bound = codec.max_encoded_bytes().unwrap();
            assert!(encoded.len() as u64 <= bound, "{name}: {} > {bound}", encoded.len());
        }
    }

    /// Damage causes an error or other numbers, never a panic.
    #[test]
    fn damaged_bytes_do_not_panic() {
        for configuration in ["{}", r#"{"delta_spec":"try_lookback"}"#, r#"{"delta_encoding_order":3}"#] {
            let codec = pcodec("float32", configuration, 700).unwrap();
            let encoded = compressed(&codec, &elements(4, 700)).unwrap();
            for offset in 0..encoded.len() {
                for bit in 0..8 {
                    let mut damaged = encoded.clone();
                    damaged[offset] ^= 1 << bit;
                    if let Ok(decoded) = decompressed(&codec, &damaged) {
                        assert_eq!(decoded.len(), 2800, "{offset} {bit}");
                    }
                }
            }
        }
    }
}
