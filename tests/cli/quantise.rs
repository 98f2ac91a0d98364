//! Quantisation of many values: the bound of `--max-error` and the grid of `--step`. `cases/quantise.txt` tests the
//! rest.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "values are float64 rounded to float32"
)]

use serde_json::{Value, json};

use super::support::{CliTest, float32};

fn quantise(test: &CliTest, arguments: &[&str]) -> Value {
    let run = test.run(["transcode", "--json"].iter().chain(arguments));
    assert_eq!(run.status, 0, "{}", run.error);
    run.json()
}

/// Writes a temperature field: 4,000 distinct values between 244 and 302.
fn write_temperatures(test: &CliTest, name: &str, data_type: &str) -> Vec<f64> {
    let values: Vec<f64> =
        (0..4000).map(|step| 273.0 + 28.9 * (f64::from(step) * 0.37).sin() + f64::from(step) * 1e-6).collect();
    let (bytes, values): (Vec<Vec<u8>>, Vec<f64>) = match data_type {
        "float32" => values.iter().map(|value| *value as f32).map(|v| (v.to_le_bytes().to_vec(), f64::from(v))).unzip(),
        _ => values.iter().map(|value| (value.to_le_bytes().to_vec(), *value)).unzip(),
    };
    let members = json!({"shape": [4000], "chunk_shape": [1000], "data_type": data_type, "fill_value": "NaN"});
    test.array(name, members);
    for (index, chunk) in bytes.chunks(1000).enumerate() {
        test.write(&format!("{name}/c/{index}"), chunk.concat());
    }
    values
}

/// Returns the elements of a stored array of floats in uncompressed chunks.
fn read_floats(test: &CliTest, name: &str, data_type: &str) -> Vec<f64> {
    let bytes: Vec<u8> = (0..4).flat_map(|index| test.read(&format!("{name}/c/{index}"))).collect();
    match data_type {
        "float32" => bytes.chunks(4).map(|b| f64::from(f32::from_le_bytes(b.try_into().unwrap()))).collect(),
        _ => bytes.chunks(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect(),
    }
}

fn quantization(result: &Value) -> &Value {
    &result["nodes"][0]["quantization"]
}

fn number(json: &Value) -> f64 {
    json.as_f64().unwrap()
}

#[test]
fn max_error_takes_the_widest_step_that_keeps_it() {
    let test = CliTest::new();
    for data_type in ["float32", "float64"] {
        let values = write_temperatures(&test, data_type, data_type);
        for (error, code_type) in [(0.5, "uint8"), (0.05, "uint16"), (0.0005, "uint16"), (0.0002, "uint32")] {
            let destination = format!("{data_type} {error}");
            let arguments = ["--max-error", &error.to_string(), "--verify", data_type, &destination];
            let result = quantise(&test, &arguments);
            let found = quantization(&result);
            assert_eq!(found["data_type"], code_type, "{data_type} {error}");
            assert_eq!(found["bound"], json!(error));
            // A unit in the last place of float32 is 3.1e-5 here, and decoding rounds by up to half of it.
            let rounding = if data_type == "float32" { 1.6e-5 } else { 1e-12 };
            let step = number(&found["step"]);
            assert!(step <= 2.0 * error && step >= 2.0 * (error - rounding) * (1.0 - 1e-6), "{step}, {error}");
            let codes = [&found["codes"][0], &found["codes"][1]].map(|code| code.as_i64().unwrap());
            let width =
                values.iter().copied().fold(f64::MIN, f64::max) - values.iter().copied().fold(f64::MAX, f64::min);
            assert_eq!(codes[0], 1, "the least value gets the first code");
            assert!((number(&json!(codes[1] - 1)) - width / step).abs() <= 1.0, "{codes:?} are those in use");
            let plain = format!("{destination} plain");
            quantise(&test, &["--unpack", &destination, &plain]);
            let decoded = read_floats(&test, &plain, data_type);
            let greatest = values.iter().zip(&decoded).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(greatest <= error, "{greatest} > {error}");
            assert_eq!(number(&found["max_abs_error"]), greatest);
        }
    }
}

#[test]
fn max_error_holds_for_every_rounding_and_form() {
    let test = CliTest::new();
    let values = write_temperatures(&test, "a", "float32");
    for rounding in ["nearest-even", "nearest-away", "towards-zero", "towards-positive", "towards-negative"] {
        for form in ["codecs", "cf", "plain"] {
            for code_type in ["uint16", "int16"] {
                let name = format!("{rounding} {form} {code_type}");
                let result = quantise(
                    &test,
                    &["--max-error", "0.05", "--rounding", rounding, "--as", form, "--quantize", code_type, "a", &name],
                );
                let found = quantization(&result);
                let whole = if rounding.starts_with("nearest") { 0.1 } else { 0.05 };
                let step = number(&found["step"]);
                // int16's codes begin at -32767, and the offset is equally large: 0.05 * 32767 has an ulp of 1.2e-4.
                assert!(step <= whole && step > whole - 1e-3, "{name}: {step}");
                if form == "plain" {
                    continue;
                }
                let plain = format!("{name} plain");
                quantise(&test, &["--unpack", "--data-type", "float64", &name, &plain]);
                let decoded = read_floats(&test, &plain, "float64");
                let greatest = values.iter().zip(&decoded).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(greatest <= 0.05, "{name}: {greatest}");
            }
        }
    }
}

#[test]
fn max_error_that_no_type_keeps_is_an_error_with_the_way_out_and_leaves_no_destination() {
    let test = CliTest::new();
    write_temperatures(&test, "a", "float32");
    let run = |arguments: &[&str]| test.run(["transcode"].iter().chain(arguments).copied());
    run(&["--max-error", "0.05", "--quantize", "uint8", "a", "b"]).fails(
        1,
        &["--max-error 0.05", "uint8", "about 580 codes", "float32 can use only 255 of uint8", "wider --quantize TYPE"],
    );
    test.write_float32("wide", "\"NaN\"", &[Some([0.001, 1.0, 3.3, 300.0])]);
    run(&["--max-error", "1e-7", "wide", "b"]).fails(1, &["uint32", "allow a larger error"]);
    run(&["--max-error", "0", "a", "b"]).fails(1, &["--max-error 0"]);
    assert!(!test.exists("b"));
    // Values that the arithmetic restores exactly satisfy any error.
    test.write_float32("constant", "\"NaN\"", &[Some([3.3; 4])]);
    let result = quantise(&test, &["--max-error", "0", "--verify", "constant", "c"]);
    assert_eq!(
        (&quantization(&result)["max_abs_error"], &quantization(&result)["data_type"]),
        (&json!(0.0), &json!("uint8"))
    );
}

#[test]
fn max_error_near_the_last_place_of_the_values_takes_a_step_that_is_exact() {
    let test = CliTest::new();
    write_temperatures(&test, "a", "float32");
    let result = quantise(&test, &["--max-error", "0.00001", "--verify", "a", "b"]);
    let found = quantization(&result);
    // 2^-16, a unit in the last place of the values below 256.
    assert_eq!((&found["step"], &found["max_abs_error"]), (&json!(2_f64.powi(-16)), &json!(0.0)));
    // No smaller error needs more codes.
    let result = quantise(&test, &["--max-error", "1e-9", "--verify", "a", "c"]);
    for name in ["step", "codes", "data_type", "max_abs_error"] {
        assert_eq!(quantization(&result)[name], found[name], "{name}");
    }
}

/// Writes a float32 array of one chunk.
fn write_values(test: &CliTest, name: &str, values: &[f32]) {
    test.array(name, json!({"shape": [values.len()], "fill_value": "NaN"}))
        .write(&format!("{name}/c/0"), float32(values));
}

#[test]
fn step_gives_decimals_back_as_they_were_and_a_second_time_changes_nothing() {
    let test = CliTest::new();
    for (step, per_unit, begin) in [("0.1", 10.0, 2401), ("0.01", 100.0, 24000), ("0.05", 20.0, -400), ("0.5", 2.0, 0)]
    {
        let values: Vec<f32> = (0..1500).map(|index| ((f64::from(begin + index)) / per_unit) as f32).collect();
        for (options, name) in [(&[][..], "own"), (&["--quantize", "uint16"][..], "uint16")] {
            let [a, b, c, d] = ["a", "b", "c", "d"].map(|letter| format!("{letter} {step} {name}"));
            write_values(&test, &a, &values);
            let again =
                |from: &str, to: &str| quantise(&test, &[&["--step", step, "--verify"], options, &[from, to]].concat());
            let result = again(&a, &b);
            quantise(&test, &["--unpack", &b, &c]);
            let found = quantization(&result);
            if number(&found["offset"]) == 0.0 {
                assert!(test.read(&format!("{c}/c/0")) == float32(&values), "{b}: {found}");
            } else {
                // Values near 0 have more digits than their differences from -25.
                assert!(number(&found["max_abs_error"]) < 4e-6, "{b}: {found}");
            }
            again(&c, &d);
            assert!(test.all_files(&b) == test.all_files(&d), "{b}");
        }
    }
}

#[test]
fn step_of_any_values_is_not_changed_by_a_second_time() {
    let test = CliTest::new();
    let values: Vec<f32> = (0..2000).map(|index| 250.0 + 30.0 * (index as f32 * 0.7).sin()).collect();
    write_values(&test, "a", &values);
    for (step, code_type) in
        [("0.3", "uint8"), ("0.1", "int16"), ("0.007", "uint16"), ("0.25", "uint8"), ("1e3", "uint8")]
    {
        let [b, c, d] = ["b", "c", "d"].map(|letter| format!("{letter} {step}"));
        let options = ["--step", step, "--quantize", code_type];
        let result = quantise(&test, &[&options[..], &["a", &b]].concat());
        quantise(&test, &["--unpack", &b, &c]);
        quantise(&test, &[&options[..], &[&c, &d]].concat());
        assert!(test.all_files(&b) == test.all_files(&d), "{b}");
        let found = quantization(&result);
        let half = step.parse::<f64>().unwrap() / 2.0;
        assert!(number(&found["max_abs_error"]) <= half + 3.1e-5, "{found}");
        let multiples = number(&found["offset"]) / (2.0 * half);
        assert!((multiples - multiples.round()).abs() < 1e-3, "the offset is no multiple: {found}");
    }
}
