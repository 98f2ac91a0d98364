//! Random sources and options of `transcode`. A result with status 0 validates, can be read, and equals SOURCE. Any
//! other run leaves no array that opens. `tests/interop/random_transcode.py` draws more cases, checked with
//! zarr-python.

use std::fmt::Write;

use super::support::CliTest;

const CASES: u64 = 120;

/// Pseudorandom numbers from a seed (xorshift64*), equal on all machines.
struct Draw(u64);

impl Draw {
    fn of(case: u64) -> Self {
        Draw((case + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::try_from(self.below(choices.len() as u64)).unwrap()]
    }

    fn shape(&mut self, rank: usize, most: u64) -> Vec<u64> {
        (0..rank).map(|_| 1 + self.below(most)).collect()
    }
}

/// A random source.
struct Source {
    data_type: &'static str,
    shape: Vec<u64>,
    chunk: Vec<u64>,
    is_version_2: bool,
}

fn text(lengths: &[u64]) -> String {
    lengths.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}

/// Writes the source `a`: chunks of small integers, or of floats in a float type. Some chunks are missing.
fn write_source(test: &CliTest, draw: &mut Draw) -> Source {
    let rank = 1 + usize::try_from(draw.below(3)).unwrap();
    let (shape, chunk) = (draw.shape(rank, 9), draw.shape(rank, 6));
    let data_type = draw.one_of(&["float32", "float32", "float64", "uint8", "int16", "uint64", "bool"]);
    let source = Source { data_type, shape, chunk, is_version_2: draw.below(3) == 0 };
    let (lengths, chunks) = (text(&source.shape), text(&source.chunk));
    let fill = if data_type == "bool" { draw.one_of(&["true", "false"]) } else { draw.one_of(&["0", "3"]) };
    if source.is_version_2 {
        let dtype = [("float32", "<f4"), ("float64", ">f8"), ("uint8", "|u1"), ("int16", ">i2"), ("uint64", "<u8")];
        let dtype = dtype.iter().find(|(name, _)| *name == data_type).map_or("|b1", |(_, dtype)| dtype);
        let order = draw.one_of(&["C", "F"]);
        let document = format!(
            r#"{{"zarr_format":2,"shape":[{lengths}],"chunks":[{chunks}],"dtype":"{dtype}","fill_value":{fill},
            "order":"{order}","filters":null,"compressor":null}}"#
        );
        test.write("a/.zarray", document);
    } else {
        let bytes = if matches!(data_type, "uint8" | "bool") {
            r#"{"name":"bytes"}"#
        } else {
            r#"{"name":"bytes","configuration":{"endian":"little"}}"#
        };
        let document = format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":[{lengths}],"data_type":"{data_type}",
            "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[{chunks}]}}}},
            "chunk_key_encoding":{{"name":"default"}},"fill_value":{fill},"codecs":[{bytes}],"attributes":{{"x":1}}}}"#
        );
        test.write("a/zarr.json", document);
    }
    write_chunks(test, draw, &source);
    source
}

fn write_chunks(test: &CliTest, draw: &mut Draw, source: &Source) {
    let counts: Vec<u64> = source.shape.iter().zip(&source.chunk).map(|(n, c)| n.div_ceil(*c)).collect();
    let count = source.chunk.iter().product::<u64>();
    for index in 0..counts.iter().product() {
        if draw.below(5) == 0 {
            continue;
        }
        let mut rest: u64 = index;
        let mut key = String::new();
        for (axis, along) in counts.iter().enumerate() {
            let separator = if source.is_version_2 { "." } else { "/" };
            write!(key, "{}{}", if axis == 0 { "" } else { separator }, rest % along).unwrap();
            rest /= along;
        }
        let mut bytes = Vec::new();
        for _ in 0..count {
            let value = draw.below(100);
            let small = u8::try_from(value).unwrap();
            match (source.data_type, source.is_version_2) {
                ("float32", _) => bytes.extend((f32::from(small) / 4.0).to_le_bytes()),
                ("float64", true) => bytes.extend((f64::from(small) / 4.0).to_be_bytes()),
                ("float64", false) => bytes.extend((f64::from(small) / 4.0).to_le_bytes()),
                ("int16", true) => bytes.extend(i16::from(small).to_be_bytes()),
                ("int16", false) => bytes.extend(i16::from(small).to_le_bytes()),
                ("uint64", _) => bytes.extend(value.to_le_bytes()),
                ("bool", _) => bytes.push(small % 2),
                _ => bytes.push(small),
            }
        }
        test.write(&if source.is_version_2 { format!("a/{key}") } else { format!("a/c/{key}") }, bytes);
    }
}

/// Returns options for a source, and the maximum change of its values.
fn options(draw: &mut Draw, source: &Source) -> (Vec<String>, f64) {
    let (mut words, mut tolerance) = (Vec::new(), 0.0);
    let mut give = |option: &str, value: String| words.extend([option.to_owned(), value]);
    let rank = source.shape.len();
    let other = |draw: &mut Draw| match draw.below(3) {
        0 => source.chunk.clone(),
        1 => source.chunk.iter().map(|length| length * 2).collect(),
        _ => draw.shape(rank, 9),
    };
    if draw.below(2) == 0 {
        give("-c", text(&other(draw)));
    }
    if draw.below(2) == 0 {
        let shards = other(draw);
        give("-s", if draw.below(6) == 0 { "none".to_owned() } else { text(&shards) });
    }
    if draw.below(3) == 0 {
        give("--compress", draw.one_of(&["none", "zstd:1", "gzip:1", "blosc:lz4:5:shuffle"]).to_owned());
    }
    if source.is_version_2 && draw.below(4) > 0 || draw.below(8) == 0 {
        give("--zarr-format", draw.one_of(&["3", "3", "3", "2"]).to_owned());
    }
    if draw.below(6) == 0 {
        give("--fill-value", draw.one_of(&["0", "7", "true", "-1"]).to_owned());
    }
    if source.data_type.starts_with("float") && draw.below(3) == 0 {
        // Values are from 0 to 24.75: half a step of 255 codes, plus rounding errors.
        give("--quantize", draw.one_of(&["uint8", "int8", "uint16"]).to_owned());
        tolerance = 0.05;
        if source.is_version_2 || draw.below(4) == 0 {
            give("--as", "cf".to_owned());
        }
    }
    if draw.below(10) == 0 {
        give("--data-type", draw.one_of(&["float64", "int32", "uint8"]).to_owned());
        tolerance = 0.5;
    }
    if draw.below(2) == 0 {
        words.push("--verify".to_owned());
    }
    (words, tolerance)
}

#[test]
fn drawn_sources_and_options_end_well_or_leave_nothing_that_opens() {
    let mut done = 0;
    for case in 0..CASES {
        let (test, mut draw) = (CliTest::new(), Draw::of(case));
        let source = write_source(&test, &mut draw);
        let before = test.all_files("a");
        let (words, tolerance) = options(&mut draw, &source);
        let arguments = ["transcode", "-q", "a", "b"].into_iter().chain(words.iter().map(String::as_str));
        let run = test.run(arguments);
        let said = format!("case {case}: {words:?} of {} {:?}: {}", source.data_type, source.shape, run.error);
        assert!(matches!(run.status, 0..=3) && !run.error.contains("panicked"), "{said}");
        assert_eq!(test.all_files("a"), before, "{said}");
        if run.status != 0 {
            let opens = ["b/zarr.json", "b/.zarray"].iter().any(|document| test.exists(document));
            assert!(!opens && !run.error.is_empty(), "{said}");
            continue;
        }
        done += 1;
        test.run(["validate", "-q", "--level", "data", "b"]).succeeds();
        let mut against = vec!["validate", "-q", "--against", "a"];
        let atol = tolerance.to_string();
        against.extend(["--atol", &atol]);
        if words.iter().any(|word| word == "cf") {
            against.push("--cf");
        }
        let run = test.run(against.into_iter().chain(["b"]));
        assert_eq!(run.status, 0, "{said} {}", run.text());
    }
    assert!(done * 2 > CASES, "only {done} of {CASES} ended well");
}
