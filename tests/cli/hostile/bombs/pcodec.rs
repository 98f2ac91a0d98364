//! `numcodecs.pcodec`: pages larger than the chunk, false headers, and dictionaries and windows of any size.

use pco::standalone::simple_compress;
use pco::{ChunkConfig, DeltaSpec};

use crate::hostile::case::{Case, case, codec};

/// Returns a `float64` array of this shape in one chunk.
fn stored(name: &'static str, shape: &'static str, chunk: impl Fn() -> Vec<u8> + Send + Sync + 'static) -> Case {
    let codecs = format!("[{}]", codec("numcodecs.pcodec", "{}"));
    case(name, move |store| {
        let members = [("shape", shape), ("chunk_shape", shape), ("data_type", "\"float64\""), ("codecs", &codecs)];
        store.array(&members).write("c/0", chunk());
    })
}

fn compressed(values: &[f64]) -> Vec<u8> {
    simple_compress(values, &ChunkConfig::default()).unwrap()
}

fn four() -> Vec<u8> {
    compressed(&[1.0, 2.5, -3.0, 4.0])
}

/// Returns a page of 2^24 zeros, the maximum of the format, as `simple_compress` encodes pages of that size. The zeros
/// are never in this process, because its memory counts as memory of the commands.
fn zeros() -> Vec<u8> {
    let (count, type_and_numbers, page) = ([24, 0, 0, 64], [6, 0xff, 0xff, 0xff], [0, 16]);
    [&b"pco!"[..], &[3, 0], &count, &[4, 1], &type_and_numbers, &page, &[0; 9], &[4, 0, 0]].concat()
}

/// Returns a header in the format 4.1, without a count of numbers and with any types.
fn header() -> Vec<u8> {
    let mut bytes = b"pco!".to_vec();
    bytes.extend([3, 0, 0, 4, 1]);
    bytes
}

/// Returns a page of `count` `float64` that begins with these bytes.
fn page(count: u32, content: &[u8]) -> Vec<u8> {
    let count = (count - 1).to_le_bytes();
    [&header()[..], &[6], &count[..3], content, &[0xff; 64]].concat()
}

/// Returns the same page `times` times.
fn repeated(times: usize) -> Vec<u8> {
    let whole = compressed(&[1.5]);
    // After the header and before the last byte, which ends the file.
    let start = whole.windows(4).position(|bytes| bytes == [6, 0, 0, 0]).unwrap();
    let page = &whole[start..whole.len() - 1];
    [&whole[..start], &page.repeat(times), &[0]].concat()
}

fn looking_back() -> Vec<u8> {
    let values: Vec<f64> = (0..600_u16).map(|value| f64::from(value % 77)).collect();
    simple_compress(&values, &ChunkConfig::default().with_delta_spec(DeltaSpec::TryLookback)).unwrap()
}

pub(crate) fn cases() -> Vec<Case> {
    const MANY: &str = "[1099511627776]";
    vec![
        stored("2^24 zeros in a chunk of 4", "[4]", zeros),
        stored("2^24 zeros in a chunk of 2^40", MANY, zeros),
        stored("100000 pages in a chunk of 4", "[4]", || repeated(100_000)),
        stored("100000 pages in a chunk of 2^40", MANY, || repeated(100_000)),
        stored("a number fewer", "[4]", || compressed(&[1.0; 3])),
        stored("a number more", "[4]", || compressed(&[1.0; 5])),
        stored("2^63 numbers by the header", "[4]", || {
            let mut bytes = four();
            // The count of further bits in six bits, then the bits.
            bytes.splice(6..7, [0x3f + 0xc0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f]);
            bytes
        }),
        stored("a dictionary of 2^25", "[4]", || page(4, &[0xf4, 0xff, 0xff, 0x1f])),
        stored("a dictionary of 2^25 in a chunk of 2^40", MANY, || page(1 << 24, &[0xf4, 0xff, 0xff, 0x1f])),
        stored("a window of 2^24", "[4]", || page(4, &[0x20, 0x17, 0])),
        stored("a window of 2^32", "[4]", || page(4, &[0x20, 0x1f, 0])),
        stored("windows in a chunk of 2^40", MANY, looking_back),
        stored("another type", "[4]", || simple_compress(&[1_u32, 2, 3, 4], &ChunkConfig::default()).unwrap()),
        stored("a later format", "[4]", || [&b"pco!"[..], &[3, 0, 0, 200, 1, 0]].concat()),
        stored("no numbers", "[4]", || [header(), vec![0]].concat()),
        stored("no end", "[4]", || four()[..four().len() - 1].to_vec()),
        stored("something behind it", "[4]", || [four(), vec![0]].concat()),
        stored("only the first bytes", "[4]", || b"pco!".to_vec()),
        stored("nothing", "[4]", Vec::new),
        stored("garbage behind the header", "[4]", || [header(), vec![0xff; 4096]].concat()),
        stored("zeros behind the header", "[4]", || [header(), vec![6], vec![0; 4096]].concat()),
    ]
}
