//! Significant bits: `inspect --information` and `transcode --keep-bits`.

#![expect(clippy::cast_possible_truncation, reason = "values are float64 rounded to float32")]

use serde_json::{Value, json};

use super::support::{CliTest, Run};

/// Arrays with a numcodecs codec cause a warning whenever they are read, so stderr is not checked.
trait Ends {
    /// Asserts status 0 and allows warnings.
    fn done(self) -> Self;
}

impl Ends for Run {
    fn done(self) -> Self {
        assert_eq!(self.status, 0, "{}", self.error);
        self
    }
}

/// Writes a wave with a little noise in 40 rows and 60 columns. The last chunks of 16 x 25 are cut.
fn write_wave(test: &CliTest, name: &str, fill_value: &Value, attributes: &Value) -> Vec<f32> {
    let value = |row: u32, column: u32| {
        let (row, column) = (f64::from(row), f64::from(column));
        let noise = (row * 12.9898 + column * 78.233).sin() * 43_758.5;
        (280.0 + 20.0 * (row / 9.0).sin() * (column / 11.0).cos() + 0.01 * (noise - noise.floor())) as f32
    };
    test.array(
        name,
        json!({
            "shape": [40, 60], "chunk_shape": [16, 25], "fill_value": fill_value, "attributes": attributes,
            "dimension_names": ["y", "x"],
        }),
    );
    for chunk_row in 0..3 {
        for chunk_column in 0..3 {
            let elements = (0..16).flat_map(|row| (0..25).map(move |column| (row, column)));
            let bytes = elements
                .flat_map(|(row, column)| value(chunk_row * 16 + row, chunk_column * 25 + column).to_le_bytes());
            test.write(&format!("{name}/c/{chunk_row}/{chunk_column}"), bytes.collect::<Vec<u8>>());
        }
    }
    (0..40).flat_map(|row| (0..60).map(move |column| value(row, column))).collect()
}

fn information(test: &CliTest, store: &str) -> Value {
    test.run(["inspect", "--information", "--json", store]).done().json()["information"].clone()
}

#[test]
fn information_is_the_same_whatever_the_chunks() {
    let test = CliTest::new();
    write_wave(&test, "a", &json!(0.0), &json!({}));
    let found = information(&test, "a");
    assert_eq!(
        (&found["of"], &found["data_type"], &found["leading_bits"]),
        (&json!("values"), &json!("float32"), &json!(9))
    );
    let [down, right] = [0, 1].map(|axis: usize| &found["dimensions"][axis]);
    assert_eq!((&down["name"], &down["pairs"]), (&json!("y"), &json!(39 * 60)));
    assert_eq!((&right["name"], &right["pairs"]), (&json!("x"), &json!(40 * 59)));
    assert_eq!(down["information"].as_array().unwrap().len(), 32);
    assert!(down["total"].as_f64().unwrap() > 1.5, "{down}");
    let forms: [&[&str]; 4] =
        [&["-c", "0,0"], &["-c", "1,7"], &["-c", "5,4", "-s", "20,12"], &["--zarr-format", "2", "-c", "40,1"]];
    for (number, form) in forms.into_iter().enumerate() {
        let store = format!("b{number}");
        test.run(["transcode"].iter().chain(form).chain(&["a", &store])).done();
        for threads in ["1", "4"] {
            let again = test.run(["inspect", "--information", "--json", "--threads", threads, &store]).done();
            assert_eq!(again.json()["information"], found, "{form:?}");
        }
    }
}

#[test]
fn information_of_codes_is_found_before_shards_and_in_shards_of_shards() {
    let test = CliTest::new();
    write_wave(&test, "a", &json!(0.0), &json!({}));
    test.run(["transcode", "--quantize", "uint8", "--codecs", "bytes", "a", "q"]).done();
    let found = information(&test, "q");
    assert_eq!(found["of"], json!("codes"));
    let codecs = test.read_json("q/zarr.json")["codecs"].clone();
    let codecs = codecs.as_array().unwrap();
    let shard = |chunk_shape: [u32; 2], codecs: &[Value]| {
        let index_codecs = [json!({"name": "bytes", "configuration": {"endian": "little"}})];
        let configuration = json!({"chunk_shape": chunk_shape, "codecs": codecs, "index_codecs": index_codecs});
        json!({"name": "sharding_indexed", "configuration": configuration})
    };
    let nested = shard([8, 25], &[shard([4, 5], codecs)]);
    let (casts, bytes) = codecs.split_at(2);
    let behind = [casts, &[shard([8, 5], bytes)]].concat();
    for (name, codecs) in [("n", json!([nested])), ("b", json!(behind))] {
        test.run(["transcode", "--codecs", &codecs.to_string(), "q", name]).done();
        assert_eq!(information(&test, name), found, "{codecs}");
    }
}

#[test]
fn information_is_drawn_in_80_columns_with_the_bits_that_keep_it() {
    let test = CliTest::new();
    write_wave(&test, "a", &json!(0.0), &json!({}));
    test.run(["transcode", "-d", "float64", "a", "b"]).done();
    for store in ["a", "b"] {
        let run = test.run(["inspect", "--information", store]).done();
        let text = run.text();
        let (_, drawn) = text.split_once("bitwise real information").unwrap();
        assert!(drawn.lines().all(|line| line.chars().count() <= 80), "{drawn}");
        assert!(drawn.contains("± exponent") && drawn.contains("of the significand keep 99 %"), "{drawn}");
        assert!(drawn.contains('▅') && drawn.contains('▆'), "{drawn}");
    }
}

#[test]
fn missing_values_are_no_neighbours() {
    let test = CliTest::new();
    let values = write_wave(&test, "a", &json!(0.0), &json!({}));
    write_wave(&test, "b", &json!(0.0), &json!({"_FillValue": values[61]}));
    let with = &information(&test, "b")["dimensions"];
    // The element at (1, 1) is the second of one pair and the first of another, along either dimension.
    assert_eq!((&with[0]["pairs"], &with[1]["pairs"]), (&json!(39 * 60 - 2), &json!(40 * 59 - 2)));
    let whole = test.run(["inspect", "--information", "--missing", "none", "--json", "b"]).done().json();
    assert_eq!(whole["information"], information(&test, "a"));
}

#[test]
fn absent_chunks_are_pairs_of_the_fill_value() {
    let test = CliTest::new();
    for fill in ["0.0", "\"NaN\""] {
        let fill: Value = serde_json::from_str(fill).unwrap();
        write_wave(&test, "a", &fill, &json!({}));
        for key in ["0/1", "1/1", "2/2"] {
            std::fs::remove_file(test.path(&format!("a/c/{key}"))).unwrap();
        }
        test.run(["transcode", "--overwrite", "--write-empty-chunks", "-c", "0,0", "a", "b"]).done();
        assert_eq!(information(&test, "a"), information(&test, "b"), "{fill}");
        test.run(["transcode", "--overwrite", "-c", "4,5", "-s", "16,25", "a", "c"]).done();
        assert_eq!(information(&test, "c"), information(&test, "b"), "{fill}, in shards");
    }
}

#[test]
fn information_of_a_quantised_array_is_that_of_its_codes() {
    let test = CliTest::new();
    write_wave(&test, "a", &json!("NaN"), &json!({}));
    test.run(["transcode", "--quantize", "uint8", "a", "b"]).done();
    test.run(["transcode", "--quantize", "uint8", "--as", "plain", "a", "c"]).done();
    let (codes, plain) = (information(&test, "b"), information(&test, "c"));
    assert_eq!((&codes["of"], &codes["data_type"]), (&json!("codes"), &json!("uint8")));
    assert_eq!(codes["dimensions"], plain["dimensions"]);
    assert_eq!(codes["bits"][0], json!("m1"));
}

/// Returns the elements of a stored array, decoded into one chunk.
fn elements(test: &CliTest, store: &str) -> Vec<f32> {
    test.zarrcast(format!("transcode --overwrite --zarr-format 3 --separator / --codecs none -c 0,0 '{store}' whole"))
        .done();
    // A v2 source keeps its keys.
    let key = if test.exists("whole/c") { "whole/c/0/0" } else { "whole/0/0" };
    test.read(key).as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

#[test]
fn kept_bits_are_rounded_to_nearest_and_reported() {
    let test = CliTest::new();
    let values = write_wave(&test, "a", &json!(0.0), &json!({"units": "K"}));
    let run = test.run(["transcode", "--keep-bits", "7", "--verify", "--json", "a", "b"]).done();
    let node = run.json()["nodes"][0].clone();
    let report = &node["quantization"];
    assert_eq!(
        (&report["as"], &report["keep_bits"], &report["data_type"]),
        (&json!("bitround"), &json!(7), &json!("float32"))
    );
    assert_eq!((&report["range"], &report["codes"], &report["bound"]), (&Value::Null, &Value::Null, &Value::Null));
    assert_eq!(node["verify"]["equal"], json!(true));
    assert_eq!((&report["count"], &report["nan"]), (&json!(2400), &json!(0)), "padding is none of them");
    assert_eq!(run.json()["warnings"], json!([]));
    let rounded: Vec<f32> = values.iter().map(|value| (value / 2.0).round_ties_even() * 2.0).collect();
    assert_eq!(elements(&test, "b"), rounded, "from 256 to 512, 7 bits are steps of 2");
    let errors = values.iter().zip(&rounded).map(|(value, rounded)| (f64::from(*value) - f64::from(*rounded)).abs());
    assert_eq!(report["max_abs_error"].as_f64(), errors.reduce(f64::max));
    let document = test.read_json("b/zarr.json");
    assert_eq!(document["codecs"][0], json!({"name": "numcodecs.bitround", "configuration": {"keepbits": 7}}));
    let attributes = json!({"units": "K", "quantization": "quantization_info", "quantization_nsb": 7});
    assert_eq!(document["attributes"], attributes);
    assert_eq!(document["data_type"], json!("float32"));
}

#[test]
fn bits_that_keep_the_information_are_found_by_a_first_pass() {
    let test = CliTest::new();
    write_wave(&test, "a", &json!(0.0), &json!({}));
    let kept = information(&test, "a")["kept"].clone();
    for (asked, place) in [("auto", 0), ("auto:0.999", 1)] {
        let run = test.run(["transcode", "--keep-bits", asked, "--json", "--overwrite", "a", "b"]).done();
        let report = run.json()["nodes"][0]["quantization"].clone();
        assert_eq!((&report["keep_bits"], &report["information"]), (&kept[place]["bits"], &kept[place]["share"]));
    }
    let plan = test.run(["transcode", "--keep-bits", "auto", "--json", "--dry-run", "a", "c"]).done().json();
    assert_eq!(plan["nodes"][0]["quantization"]["keep_bits"], Value::Null, "no chunk was read");
    let plan = test.run(["transcode", "--keep-bits", "auto", "--dry-run", "a", "c"]).done();
    assert!(plan.text().contains("a first pass finds"), "{}", plan.text());
}

#[test]
fn values_that_mark_the_missing_and_the_fill_value_are_not_rounded() {
    let test = CliTest::new();
    let mut values = write_wave(&test, "a", &json!(999.9), &json!({}));
    write_wave(&test, "a", &json!(999.9), &json!({"missing_value": values[61]}));
    std::fs::remove_file(test.path("a/c/2/2")).unwrap();
    test.run(["transcode", "--keep-bits", "3", "--verify", "a", "b"]).done();
    let found = elements(&test, "b");
    assert_eq!((found[61], found[39 * 60 + 59]), (values[61], 999.9));
    // From 256 to 512, 3 bits are steps of 32.
    values[61] = 0.0;
    assert!(found.iter().enumerate().all(|(index, value)| index == 61 || *value == 999.9 || value % 32.0 == 0.0));
}

#[test]
fn no_value_is_rounded_to_one_that_marks_the_missing() {
    let test = CliTest::new();
    // From 256 to 512, 3 bits are steps of 32.
    let values = write_wave(&test, "a", &json!(0.0), &json!({"missing_value": 288.0}));
    let run = test.run(["transcode", "--keep-bits", "3", "--verify", "--json", "a", "b"]).done();
    let rounded: Vec<f32> = values.iter().map(|value| (value / 32.0).round_ties_even() * 32.0).collect();
    let kept = rounded.iter().filter(|value| **value == 288.0).count();
    let pairs = values.iter().zip(&rounded).map(|(value, rounded)| if *rounded == 288.0 { *value } else { *rounded });
    let expected: Vec<f32> = pairs.collect();
    assert_eq!(elements(&test, "b"), expected);
    assert!((1..values.len()).contains(&kept));
    let errors = values.iter().zip(&expected).map(|(value, found)| (f64::from(*value) - f64::from(*found)).abs());
    assert_eq!(run.json()["nodes"][0]["quantization"]["max_abs_error"].as_f64(), errors.reduce(f64::max));
}

#[test]
fn kept_bits_go_first_in_shards_and_in_version_2() {
    let test = CliTest::new();
    write_wave(&test, "a", &json!(0.0), &json!({}));
    test.run(["transcode", "--keep-bits", "7", "a", "plain"]).done();
    let expected = elements(&test, "plain");
    test.run(["transcode", "--keep-bits", "7", "-c", "8,5", "-s", "24,25", "--verify", "a", "s"]).done();
    let document = test.read_json("s/zarr.json");
    assert_eq!(document["codecs"][0]["configuration"]["codecs"][0]["configuration"]["keepbits"], json!(7));
    assert_eq!(elements(&test, "s"), expected);
    test.run(["transcode", "--keep-bits", "7", "--zarr-format", "2", "--verify", "a", "v2"]).done();
    let document = test.read_json("v2/.zarray");
    assert_eq!(document["filters"], json!([{"id": "bitround", "keepbits": 7}]));
    assert_eq!(elements(&test, "v2"), expected);
    // After the transposition for the v2 order, before other filters.
    let array = json!({
        "zarr_format": 2, "shape": [2, 4], "chunks": [2, 4], "dtype": "<f4", "fill_value": 0.0, "order": "F",
        "filters": [{"id": "shuffle", "elementsize": 4}], "compressor": null,
    });
    let values = [1.1_f32, 5.5, 2.2, 6.6, 3.3, 7.7, 4.4, 8.8].map(f32::to_le_bytes);
    let shuffled: Vec<u8> = (0..4).flat_map(|place| values.map(|bytes| bytes[place])).collect();
    test.write("f/.zarray", array.to_string()).write("f/0.0", shuffled);
    test.run(["transcode", "--keep-bits", "5", "--verify", "f", "g"]).done();
    let document = test.read_json("g/.zarray");
    let filters = json!([{"id": "bitround", "keepbits": 5}, {"id": "shuffle", "elementsize": 4}]);
    assert_eq!((&document["filters"], &document["order"]), (&filters, &json!("F")));
    test.run(["transcode", "--keep-bits", "5", "--zarr-format", "3", "f", "h"]).done();
    test.run(["validate", "--level", "data", "g", "--against", "h"]).done();
    // Rounded values are rounded again, by one codec.
    test.run(["transcode", "--keep-bits", "4", "s", "t"]).done();
    let document = test.read_json("t/zarr.json");
    let names = document["codecs"][0]["configuration"]["codecs"].as_array().unwrap().clone();
    assert_eq!(names.iter().filter(|codec| codec["name"] == "numcodecs.bitround").count(), 1);
}

#[test]
fn kept_bits_are_part_of_a_plan_in_parts_and_of_a_resumed_run() {
    let test = CliTest::new();
    write_wave(&test, "a", &json!(0.0), &json!({}));
    test.run(["transcode", "--keep-bits", "auto:0.9", "a", "b"]).done();
    test.run(["transcode", "--keep-bits", "auto:0.9", "--init", "--partitions", "3", "a", "c"]).done();
    for part in ["2", "0", "1"] {
        test.run(["transcode", "--partition", part, "a", "c"]).done();
    }
    test.run(["transcode", "--finish", "a", "c"]).done();
    for key in ["zarr.json", "c/0/0", "c/2/2"] {
        assert_eq!(test.read(&format!("b/{key}")), test.read(&format!("c/{key}")), "{key}");
    }
    test.run(["transcode", "--keep-bits", "auto:0.9", "--resume", "a", "d"]).done();
    assert_eq!(test.read("d/c/1/1"), test.read("b/c/1/1"));
}

/// Absent elements of SOURCE that DEST's fill value does not represent are written, and rounded like others.
#[test]
fn absent_elements_have_the_error_of_their_rounding() {
    let test = CliTest::new();
    let attributes = json!({"scale_factor": 0.1, "add_offset": 0.0});
    test.array(
        "a",
        json!({
            "shape": [2, 4], "chunk_shape": [1, 4], "data_type": "int16", "fill_value": 1234, "attributes": attributes,
        }),
    );
    test.write("a/c/0/0", [0_i16, 0, 640, 320].map(i16::to_le_bytes).concat());
    let found =
        test.run("transcode --unpack --keep-bits 3 --verify --json a b".split(' ')).done().json()["nodes"][0].clone();
    assert_eq!(elements(&test, "b")[4..], [120.0; 4]);
    let error = f64::from(123.4_f32) - 120.0;
    let figure = |pointer: &str| found.pointer(pointer).and_then(Value::as_f64).unwrap();
    assert_eq!(figure("/quantization/max_abs_error"), error);
    assert!((figure("/quantization/rms_error") - error / 2.0_f64.sqrt()).abs() < 1e-12);
    assert_eq!(figure("/verify/max_abs_error"), error);
}

/// Missing values count as NaN, whether or not they are stored, and whether or not they would be rounded.
#[test]
fn missing_values_count_as_nan_and_the_fill_value_does_not() {
    let test = CliTest::new();
    for missing in [-999.0_f32, -1024.0, 0.0] {
        for (attributes, nan) in [(json!({"_FillValue": missing}), 4), (json!({}), 0)] {
            let name = &format!("{nan} of{missing}");
            let stored = [1.23_f32, 2.34, 3.45, 4.56];
            let zarr = json!({"shape": [8], "chunk_shape": [4], "fill_value": missing, "attributes": attributes});
            test.array(name, zarr);
            test.write(&format!("{name}/c/0"), stored.map(f32::to_le_bytes).concat());
            let run = || test.run(["transcode", "--keep-bits=3", "--json", "--overwrite", name, "o"]).done().json();
            let absent = run()["nodes"][0]["quantization"].clone();
            assert_eq!((&absent["count"], &absent["nan"]), (&json!(8), &json!(nan)), "{name}");
            test.write(&format!("{name}/c/1"), [missing; 4].map(f32::to_le_bytes).concat());
            let written = run()["nodes"][0]["quantization"].clone();
            for member in ["count", "nan", "max_abs_error", "rms_error"] {
                assert_eq!(absent[member], written[member], "{name} {member}");
            }
        }
    }
}
