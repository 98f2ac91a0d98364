//! `inspect --stats`, `--histogram` and `--suggest`, against the values that other implementations read.

use serde_json::{Value, json};

use super::support::{CliTest, fixture, float32};

/// An array of the fixtures and its elements as float64 (each of these types but `uint64` and `int64` is exact in it).
struct Expected {
    fixture: String,
    node: String,
    values: Vec<f64>,
}

/// Every array of the fixtures that has an order and whose elements are known whole.
fn expected() -> Vec<Expected> {
    let folder = fixture("../expected");
    let index: Value = serde_json::from_slice(&std::fs::read(folder.join("index.json")).unwrap()).unwrap();
    let arrays = index["arrays"].as_array().unwrap().iter();
    let arrays = arrays.filter(|array| array["extent"] == array["shape"]).filter_map(|array| {
        let bytes = std::fs::read(folder.join(array["elements"].as_str().unwrap())).unwrap();
        Some(Expected {
            fixture: array["fixture"].as_str().unwrap().trim_start_matches("valid/").to_owned(),
            node: array["node"].as_str().unwrap().to_owned(),
            values: values(array["data_type"].as_str().unwrap(), &bytes)?,
        })
    });
    let arrays: Vec<_> = arrays.collect();
    assert!(arrays.len() > 100, "{} arrays", arrays.len());
    arrays
}

fn values(data_type: &str, bytes: &[u8]) -> Option<Vec<f64>> {
    macro_rules! read {
        ($type:ty, $value:ident => $number:expr) => {
            bytes
                .chunks_exact(size_of::<$type>())
                .map(|element| <$type>::from_le_bytes(element.try_into().unwrap()))
                .map(|$value| $number)
                .collect()
        };
    }
    Some(match data_type {
        "float16" => read!(u16, bits => half::f16::from_bits(bits).to_f64()),
        "float32" => read!(f32, value => f64::from(value)),
        "float64" => read!(f64, value => value),
        "int8" => read!(i8, value => f64::from(value)),
        "int16" => read!(i16, value => f64::from(value)),
        "int32" => read!(i32, value => f64::from(value)),
        "uint8" | "bool" => read!(u8, value => f64::from(value)),
        "uint16" | "uint10" => read!(u16, value => f64::from(value)),
        "uint32" => read!(u32, value => f64::from(value)),
        _ => return None,
    })
}

#[test]
fn stats_of_every_fixture_are_those_of_its_elements() {
    let mut unsupported = 0;
    for Expected { fixture: name, node, values } in expected() {
        let store = fixture(&name);
        let run = CliTest::new().run([
            "inspect",
            "--json",
            "--stats",
            "--storage",
            "never",
            "--node",
            &node,
            store.to_str().unwrap(),
            "-q",
        ]);
        if run.status == 1 {
            let warnings = run.json()["warnings"].clone();
            let mut names = warnings.as_array().unwrap().iter().map(|finding| &finding["name"]);
            assert!(names.any(|found| found == "codec-unsupported"), "{name}: {warnings}");
            unsupported += 1;
            continue;
        }
        assert_eq!(run.status, 0, "{name}: {}", run.error);
        let stats = run.json()["stats"].clone();
        let finite: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
        let count = |is: fn(&f64) -> bool| values.iter().filter(|value| is(value)).count();
        assert_eq!(stats["count"], values.len(), "{name}");
        assert_eq!(stats["finite"], finite.len(), "{name}");
        assert_eq!(stats["nan"], count(|value| value.is_nan()), "{name}");
        assert_eq!(stats["positive_infinity"], count(|value| *value == f64::INFINITY), "{name}");
        assert_eq!(stats["negative_infinity"], count(|value| *value == f64::NEG_INFINITY), "{name}");
        if finite.is_empty() {
            assert_eq!(
                [&stats["min"], &stats["mean"], &stats["standard_deviation"]],
                [&Value::Null; 3],
                "{name}"
            );
            continue;
        }
        let (min, max) = finite.iter().fold((f64::MAX, f64::MIN), |(min, max), x| (min.min(*x), max.max(*x)));
        assert_eq!((stats["min"].as_f64(), stats["max"].as_f64()), (Some(min), Some(max)), "{name}");
        let near = |found: &Value, wanted: f64, of: f64| {
            let found = found.as_f64().unwrap();
            assert!((found - wanted).abs() <= 1e-14 * of, "{name}: {found} is not {wanted}");
        };
        let number = f64::from(u32::try_from(finite.len()).unwrap());
        let mean = finite.iter().map(|value| value / number).sum::<f64>();
        let squares: f64 = finite.iter().map(|value| (value - mean).powi(2) / number).sum();
        near(&stats["mean"], mean, max.abs().max(min.abs()));
        near(&stats["standard_deviation"], squares.sqrt(), max - min);
    }
    assert!(unsupported < 6, "{unsupported} chains are not supported");
}

fn inspect(test: &CliTest, arguments: &[&str]) -> Value {
    test.run([&["inspect", "--json"], arguments].concat()).succeeds().json()
}

/// An array of 10 x 7 float32 elements in chunks of 4 x 4, big endian, of which the last chunk row is absent.
fn write_ragged(test: &CliTest, name: &str, fill_value: &str) {
    let metadata = format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[10,7],"data_type":"float32",
        "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[4,4]}}}},
        "chunk_key_encoding":{{"name":"default"}},"fill_value":{fill_value},
        "codecs":[{{"name":"transpose","configuration":{{"order":[1,0]}}}},
        {{"name":"bytes","configuration":{{"endian":"big"}}}}]}}"#
    );
    test.write(&format!("{name}/zarr.json"), metadata);
    for row in 0..2_u8 {
        for column in 0..2_u8 {
            // Beyond the edge lie thousands, which do not count.
            let element = |place: u8| {
                let (y, x) = (row * 4 + place % 4, column * 4 + place / 4);
                if x < 7 { f32::from(y * 7 + x) } else { 1000.0 }
            };
            let bytes: Vec<u8> = (0..16).flat_map(|place| element(place).to_be_bytes()).collect();
            test.write(&format!("{name}/c/{row}/{column}"), bytes);
        }
    }
}

#[test]
fn stats_leave_padding_out_and_count_absent_chunks_as_fill_values() {
    let test = CliTest::new();
    write_ragged(&test, "zero", "5");
    let stats = inspect(&test, &["--stats", "zero"])["stats"].clone();
    // 0 to 55, and 14 times 5: numpy.mean and numpy.std of them.
    let expected = json!({
        "count": 70, "finite": 70, "nan": 0, "missing": 0, "positive_infinity": 0, "negative_infinity": 0, "fill_value": 15,
        "min": 0.0, "max": 55.0, "mean": 23.0, "standard_deviation": 17.029_386_365_926_403
    });
    assert_eq!(stats, expected);
    write_ragged(&test, "nan", "\"NaN\"");
    let stats = inspect(&test, &["--stats", "nan"])["stats"].clone();
    assert_eq!(
        [&stats["nan"], &stats["fill_value"], &stats["mean"], &stats["finite"]],
        [&json!(14), &json!(14), &json!(27.5), &json!(56)]
    );
}

#[test]
fn stats_of_64_bit_integers_are_exact() {
    let test = CliTest::new();
    test.write(
        "a/zarr.json",
        r#"{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"uint64",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},
        "chunk_key_encoding":{"name":"default"},"fill_value":18446744073709551613,
        "codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}"#,
    );
    let chunk: Vec<u8> = [u64::MAX, u64::MAX - 4].iter().flat_map(|value| value.to_le_bytes()).collect();
    test.write("a/c/0", chunk);
    let run = test.run(["inspect", "--json", "--stats", "a"]).succeeds();
    assert!(run.text().contains("\"min\": 18446744073709551611,"), "{}", run.text());
    assert!(run.text().contains("\"max\": 18446744073709551615,"), "{}", run.text());
    let stats = run.json()["stats"].clone();
    assert_eq!(stats["standard_deviation"], 2_f64.sqrt());
    assert_eq!(stats["fill_value"], 2);
}

#[test]
fn stats_are_the_same_for_any_number_of_threads() {
    for name in
        ["zarr-python_3.1.6_sharded_index_end", "zarr-python_3.1.6_ragged_edges", "sea_surface_temperature"]
    {
        let store = fixture(name);
        let run = |threads: &str| {
            let arguments = [
                "inspect",
                "--json",
                "--stats",
                "--histogram",
                "7",
                "--threads",
                threads,
                store.to_str().unwrap(),
            ];
            CliTest::new().run(arguments).succeeds().output
        };
        let one = run("1");
        assert!([run("2"), run("3"), run("16")].iter().all(|other| *other == one), "{name}");
    }
}

#[test]
fn stats_of_complex_values_are_null_with_a_note() {
    let store = fixture("zarr-python_3.1.6_type_complex64");
    let run =
        CliTest::new().run(["inspect", "--json", "--stats", "--histogram", "3", store.to_str().unwrap()]);
    assert_eq!(run.status, 0);
    assert_eq!([&run.json()["stats"], &run.json()["histogram"]], [&Value::Null; 2]);
    assert_eq!(run.json()["warnings"][0]["name"], "no-statistics");
}

#[test]
fn stats_of_bool_are_those_of_0_and_1() {
    let store = fixture("zarr-python_3.1.6_type_bool");
    let stats = inspect(&CliTest::new(), &["--stats", store.to_str().unwrap()])["stats"].clone();
    assert_eq!((&stats["min"], &stats["max"]), (&json!(0), &json!(1)));
}

#[test]
fn corrupt_chunk_is_a_finding_and_the_rest_is_shown() {
    let test = CliTest::new();
    test.write_float32("a", "0", &[Some([1.0; 4]), Some([2.0; 4])]);
    test.write("a/c/1", float32(&[1.0; 3]));
    let run = test.run(["inspect", "--json", "--stats", "a"]);
    assert_eq!(run.status, 1);
    let result = run.json();
    assert_eq!(result["stats"], Value::Null);
    assert_eq!(result["storage"]["chunks_present"], 2);
    let finding = &result["warnings"][0];
    assert_eq!(
        [&finding["code"], &finding["key"], &finding["chunk"]],
        [&json!("ZX101"), &json!("c/1"), &json!([1])]
    );
    assert!(run.error.contains("12 bytes found, 16 expected"), "{}", run.error);
}

#[test]
fn budget_too_small_for_a_chunk_is_3_and_names_what_would_do() {
    let test = CliTest::new();
    test.write_float32("a", "0", &[Some([1.0; 4])]);
    test.run(["inspect", "--stats", "--max-memory", "8", "a"])
        .fails(3, &["`--max-memory` 8 B is too small: one thread needs 16 B", "--max-memory 16"]);
    test.run(["inspect", "--stats", "--max-memory", "16", "a"]).succeeds();
}

#[test]
fn histogram_counts_as_numpy_does() {
    let test = CliTest::new();
    // 0.3 as a float32 is greater than the third edge, 0.7 less than the seventh: numpy.histogram of them as float64.
    let chunks = [
        Some([0.1, 0.2, 0.3, 0.5]),
        None,
        Some([0.7, 1.0, f32::NAN, 2.0]),
        Some([-1.0, f32::INFINITY, 0.0, 0.9]),
    ];
    test.write_float32("a", "0.25", &chunks);
    let histogram = inspect(&test, &["--histogram", "10,0,1", "a"])["histogram"].clone();
    let counts = [1, 1, 5, 1, 0, 1, 1, 0, 1, 1];
    assert_eq!(histogram, json!({"min": 0.0, "max": 1.0, "counts": counts, "below": 1, "above": 2}));
    let histogram = inspect(&test, &["--histogram", "3", "a"])["histogram"].clone();
    assert_eq!(histogram, json!({"min": -1.0, "max": 2.0, "counts": [1, 11, 2], "below": 0, "above": 1}));
    let run = test.run(["inspect", "--histogram", "3", "--color", "never", "a"]).succeeds();
    assert!(run.text().contains("\n   0 to  1  11  ████"), "{}", run.text());
    assert!(!run.text().contains("elements"), "statistics were not asked for: {}", run.text());
}

#[test]
fn histogram_of_nothing_finite_is_empty() {
    let test = CliTest::new();
    test.write_float32("a", "\"NaN\"", &[None]);
    let histogram = inspect(&test, &["--histogram", "2", "a"])["histogram"].clone();
    assert_eq!(histogram, json!({"min": 0.0, "max": 1.0, "counts": [0, 0], "below": 0, "above": 0}));
}

#[test]
fn histogram_that_is_none_is_a_usage_error() {
    let test = CliTest::new();
    for text in ["0", "x", "10,1", "10,1,0", "10,NaN,1", "1000001", "3,0,1,2"] {
        test.run(["inspect", "--histogram", text, "a"]).fails(2, &["--histogram"]);
    }
}

#[test]
fn suggestion_is_what_quantize_writes() {
    let store = fixture("sea_surface_temperature");
    let store = store.to_str().unwrap();
    let test = CliTest::new();
    let suggestion = inspect(&test, &["--suggest", "uint8", store])["suggestion"].clone();
    let report =
        test.run(["transcode", "--json", "--quantize", "uint8", store, "quantised"]).succeeds().json();
    let quantization = &report["nodes"][0]["quantization"];
    assert_eq!(suggestion["range"], quantization["range"]);
    assert_eq!(suggestion["step"], quantization["step"]);
    assert_eq!(suggestion["max_abs_error"], quantization["max_abs_error"]);
    let written = test.read_json("quantised/zarr.json");
    assert_eq!(suggestion["codecs"], json!(written["codecs"].as_array().unwrap()[..2]));
    assert_eq!(suggestion["fill_value"], written["fill_value"]);
    // The whole chain does what the option does.
    let chain = suggestion["chain"].to_string();
    test.run(["transcode", "--codecs", &chain, store, "by_chain"]).succeeds();
    assert_eq!(test.read("by_chain/c/1/2/0"), test.read("quantised/c/1/2/0"));
}

#[test]
fn suggestion_for_what_cannot_be_quantised_says_why() {
    let integers = fixture("zarr-python_3.1.6_type_int16");
    CliTest::new()
        .run(["inspect", "--suggest", "uint8", integers.to_str().unwrap()])
        .fails(1, &["float arrays", "int16"]);
    let test = CliTest::new();
    test.write_float32("a", "0", &[Some([1.0, f32::INFINITY, 0.0, 0.0])]);
    test.run(["inspect", "--suggest", "uint8", "a"]).fails(1, &["infinite"]);
    test.run(["inspect", "--suggest", "float16", "a"]).fails(2, &["integer type"]);
}
