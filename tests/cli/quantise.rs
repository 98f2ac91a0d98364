//! Quantising: the bound of `--max-error`, the grid of `--step`, what is said of clamped values and of readers.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "values are made as float64, and are what float32 makes of them"
)]

use serde_json::{Value, json};

use super::support::{CliTest, float32};

fn quantise(test: &CliTest, arguments: &[&str]) -> Value {
    let run = test.run(["transcode", "--json"].iter().chain(arguments));
    assert_eq!(run.status, 0, "{}", run.error);
    run.json()
}

fn codes(result: &Value) -> Vec<&str> {
    let warnings = result["warnings"].as_array().unwrap();
    warnings.iter().map(|warning| warning["code"].as_str().unwrap()).collect()
}

#[test]
fn values_that_are_clamped_are_a_warning_with_their_number() {
    let test = CliTest::new();
    test.write_float32("a", "\"NaN\"", &[Some([0.0, 1.0, 2.0, 30.0])]);
    let clamp = ["--quantize", "uint8", "--range", "0,2", "--out-of-range", "clamp", "a"];
    let result = quantise(&test, &[&clamp[..], &["b"]].concat());
    assert_eq!(codes(&result), ["ZC303"]);
    assert_eq!(result["nodes"][0]["quantization"]["clamped"], json!(1));
    let message = result["warnings"][0]["message"].as_str().unwrap();
    assert!(message.starts_with("1 of 4 stored elements") && message.ends_with("by up to 28"), "{message}");
    let plan = quantise(&test, &[&clamp[..], &["c", "--dry-run"]].concat());
    assert_eq!(codes(&plan), [""; 0], "no plan knows what will be clamped");
    test.run(["transcode", "--quantize", "uint8", "--range", "0,2", "a", "d"])
        .fails(1, &["30", "--out-of-range"]);
}

/// A temperature field: 4,000 values between 244 and 302, no two alike.
fn write_temperatures(test: &CliTest, name: &str, data_type: &str) -> Vec<f64> {
    let values: Vec<f64> = (0..4000)
        .map(|step| 273.0 + 28.9 * (f64::from(step) * 0.37).sin() + f64::from(step) * 1e-6)
        .collect();
    let (bytes, values): (Vec<Vec<u8>>, Vec<f64>) = match data_type {
        "float32" => {
            values.iter().map(|value| *value as f32).map(|v| (v.to_le_bytes().to_vec(), f64::from(v))).unzip()
        }
        _ => values.iter().map(|value| (value.to_le_bytes().to_vec(), *value)).unzip(),
    };
    test.write(
        &format!("{name}/zarr.json"),
        format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":[4000],"data_type":"{data_type}",
            "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[1000]}}}},
            "chunk_key_encoding":{{"name":"default"}},"fill_value":"NaN","attributes":{{}},
            "codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}}]}}"#
        ),
    );
    for (index, chunk) in bytes.chunks(1000).enumerate() {
        test.write(&format!("{name}/c/{index}"), chunk.concat());
    }
    values
}

/// The elements of a stored array of floats in chunks without compression.
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
            // A unit in the last place of float32 is 3.1e-5 here, and decoding rounds by half of it.
            let rounding = if data_type == "float32" { 1.6e-5 } else { 1e-12 };
            let step = number(&found["step"]);
            assert!(
                step <= 2.0 * error && step >= 2.0 * (error - rounding) * (1.0 - 1e-6),
                "{step}, {error}"
            );
            let codes = [&found["codes"][0], &found["codes"][1]].map(|code| code.as_i64().unwrap());
            let width = values.iter().copied().fold(f64::MIN, f64::max)
                - values.iter().copied().fold(f64::MAX, f64::min);
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
                    &[
                        "--max-error",
                        "0.05",
                        "--rounding",
                        rounding,
                        "--as",
                        form,
                        "--quantize",
                        code_type,
                        "a",
                        &name,
                    ],
                );
                let found = quantization(&result);
                let whole = if rounding.starts_with("nearest") { 0.1 } else { 0.05 };
                let step = number(&found["step"]);
                // int16's codes begin at -32767, and the offset lies as far away: 0.05 * 32767 has an ulp of 1.2e-4.
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
    run(&["--max-error", "0.05", "--quantize", "uint8", "a", "b"])
        .fails(1, &["--max-error 0.05", "uint8", "580 codes", "it has 255", "wider --quantize TYPE"]);
    run(&["--max-error", "1e-7", "a", "b"]).fails(1, &["uint32", "allow a larger error"]);
    run(&["--max-error", "0", "a", "b"]).fails(1, &["--max-error 0"]);
    assert!(!test.exists("b"));
    // What arithmetic brings back exactly keeps any error.
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
}

#[test]
fn step_that_leaves_nothing_of_an_array_is_refused_and_few_codes_are_a_warning() {
    let test = CliTest::new();
    write_values(&test, "a", "\"NaN\"", &[0.0, 1.0, 2.0, 4.0]);
    for form in ["codecs", "cf", "plain"] {
        let run = test.run(["transcode", "--max-error", "2", "--as", form, "a", "b"]);
        run.fails(1, &["--max-error would leave nothing of `a`", "no wider than twice the error"]);
    }
    test.run(["transcode", "--max-error", "2", "--range", "0,3", "a", "b"]).fails(1, &["leave nothing"]);
    assert!(!test.exists("b"));
    let result = quantise(&test, &["--max-error", "1", "--verify", "a", "b"]);
    assert_eq!((codes(&result), quantization(&result)["distinct_codes"].as_u64()), (vec!["ZC307"], Some(3)));
    assert_eq!(codes(&quantise(&test, &["--max-error", "0.1", "a", "c"])), [""; 0]);
    assert_eq!(codes(&quantise(&test, &["--step", "1", "a", "d"])), ["ZC307"]);
    assert_eq!(codes(&quantise(&test, &["--step", "9", "a", "f"])), ["ZC307"]);
    write_values(&test, "constant", "\"NaN\"", &[2.5, 2.5]);
    assert_eq!(codes(&quantise(&test, &["--max-error", "2", "constant", "e"])), [""; 0]);
    test.group("g");
    write_values(&test, "g/flat", "\"NaN\"", &[0.0, 1.0]);
    let result = quantise(&test, &["--step", "9", "g", "h"]);
    assert_eq!(result["warnings"][0]["node"], "/flat", "{result}");
}

#[test]
fn codes_of_no_registry_are_warned_of_once() {
    let test = CliTest::new();
    write_values(&test, "a", "\"NaN\"", &[1.0, 2.0, 3.0]);
    for (code_type, said) in
        [("uint9", "the codes are uint9, a type of no registry, stored"), ("uint4", "uint4, stored")]
    {
        let run = test.run(["transcode", "--json", "--quantize", code_type, "a", code_type]);
        let warnings = run.json()["warnings"].as_array().unwrap().clone();
        assert_eq!((run.status, warnings.len()), (0, 1), "{warnings:?}");
        assert_eq!(warnings[0]["code"], "ZD104");
        assert!(warnings[0]["message"].as_str().unwrap().contains(said), "{warnings:?}");
    }
}

#[test]
fn max_error_counts_the_fill_value_that_stands_for_absent_chunks() {
    let test = CliTest::new();
    for error in [0.3, 0.1, 0.01, 0.003] {
        test.write_float32("a", "0.07", &[Some([0.0, 1.0, 2.0, 30.03]), None]);
        let (error, destination) = (error.to_string(), format!("b{error}"));
        let result = quantise(&test, &["--max-error", &error, "--verify", "a", &destination]);
        let fill = number(&result["nodes"][0]["destination"]["fill_value"]);
        assert!((fill - f64::from(0.07_f32)).abs() <= error.parse().unwrap(), "{fill} for {error}");
        assert!(number(&quantization(&result)["max_abs_error"]) <= error.parse().unwrap());
    }
}

#[test]
fn max_error_within_a_given_range_clamps_what_lies_outside() {
    let test = CliTest::new();
    test.write_float32("a", "\"NaN\"", &[Some([0.0, 1.0, 2.04, 30.0])]);
    let arguments = ["--max-error", "0.05", "--range", "0,2", "--out-of-range", "clamp", "--verify", "a"];
    let result = quantise(&test, &[&arguments[..], &["b"]].concat());
    let found = quantization(&result);
    assert_eq!((&found["clamped"], &found["codes"]), (&json!(1), &json!([1, 21])), "{found}");
    assert!(number(&found["max_abs_error"]) <= 0.05);
    // All of it is known without reading a chunk.
    let plan = quantise(&test, &[&arguments[..], &["c", "--dry-run"]].concat());
    let planned = quantization(&plan);
    for name in ["data_type", "codes", "step", "offset", "scale", "range", "nan_code", "bound"] {
        assert_eq!(planned[name], found[name], "{name}");
    }
    test.run(["transcode", "--max-error", "0.05", "--range", "0,2", "a", "d"]).fails(1, &["30"]);
}

/// Writes an array of one chunk of float32.
fn write_values(test: &CliTest, name: &str, fill_value: &str, values: &[f32]) {
    let length = values.len();
    test.write(
        &format!("{name}/zarr.json"),
        format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":[{length}],"data_type":"float32",
            "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[{length}]}}}},
            "chunk_key_encoding":{{"name":"default"}},"fill_value":{fill_value},"attributes":{{}},
            "codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}}]}}"#
        ),
    );
    test.write(&format!("{name}/c/0"), float32(values));
}

#[test]
fn step_takes_the_first_type_that_has_the_codes_from_zero() {
    let test = CliTest::new();
    // With NaN a code less: the lowest of the type.
    for (name, fill_value, values, code_type, codes) in [
        ("uint8", "\"NaN\"", [0.1, 25.5], "uint8", vec![1, 255]),
        ("int8", "\"NaN\"", [0.0, 12.7], "int8", vec![0, 127]),
        ("uint16", "\"NaN\"", [240.1, 310.5], "uint16", vec![0x0961, 0x0c21]),
        ("int16", "\"NaN\"", [-40.0, 40.0], "int16", vec![-400, 400]),
        ("uint32", "\"NaN\"", [0.1, 90000.0], "uint32", vec![1, 900_000]),
        ("int32", "\"NaN\"", [0.0, 90000.0], "int32", vec![0, 900_000]),
    ] {
        write_values(&test, name, fill_value, &values);
        let destination = format!("{name} codes");
        let result = quantise(&test, &["--step", "0.1", "--verify", name, &destination]);
        let found = quantization(&result);
        assert_eq!((&found["data_type"], &found["offset"]), (&json!(code_type), &json!(0.0)), "{name}");
        assert_eq!(
            (&found["scale"], &found["step"]),
            (&json!(10.0), &json!(0.1)),
            "written as the decimal that it is"
        );
        let stored = test.read(&format!("{destination}/c/0"));
        let stored: Vec<i64> = match code_type {
            "uint8" => stored.iter().map(|code| i64::from(*code)).collect(),
            "int8" => stored.iter().map(|code| i64::from(code.cast_signed())).collect(),
            "uint16" => {
                stored.chunks(2).map(|b| i64::from(u16::from_le_bytes(b.try_into().unwrap()))).collect()
            }
            "int16" => {
                stored.chunks(2).map(|b| i64::from(i16::from_le_bytes(b.try_into().unwrap()))).collect()
            }
            _ => stored.chunks(4).map(|b| i64::from(i32::from_le_bytes(b.try_into().unwrap()))).collect(),
        };
        assert_eq!(stored, codes, "{name}");
        assert_eq!(found["codes"], json!([codes[0], codes[1]]), "{name}: those in use");
    }
}

#[test]
fn step_is_bound_by_half_of_it_whatever_codes_the_type_has() {
    let test = CliTest::new();
    write_values(&test, "a", "\"NaN\"", &[240.1, 310.5]);
    for (code_type, options) in [("int32", [""; 0].as_slice()), ("uint8", &[]), ("uint32", &["--as", "cf"])] {
        let step = if code_type == "uint8" { 0.5 } else { 0.1 };
        let (text, name) = (step.to_string(), format!("b {code_type}"));
        let asked = ["--step", &text, "--quantize", code_type, "--verify", "a", &name];
        let result = quantise(&test, &[&asked, options].concat());
        let found = quantization(&result);
        let bound = number(&found["bound"]);
        assert!(bound >= step / 2.0 && bound < step / 2.0 + 0.001, "{found}");
        assert!(number(&found["max_abs_error"]) <= bound, "{found}");
    }
    let plan = quantise(&test, &["--dry-run", "--step", "0.1", "--quantize", "int32", "a", "c"]);
    assert_eq!(quantization(&plan)["codes"], json!(null), "a first pass finds those in use");
}

#[test]
fn step_gives_decimals_back_as_they_were_and_a_second_time_changes_nothing() {
    let test = CliTest::new();
    for (step, per_unit, begin) in
        [("0.1", 10.0, 2401), ("0.01", 100.0, 24000), ("0.05", 20.0, -400), ("0.5", 2.0, 0)]
    {
        let values: Vec<f32> =
            (0..1500).map(|index| ((f64::from(begin + index)) / per_unit) as f32).collect();
        for (options, name) in [(&[][..], "own"), (&["--quantize", "uint16"][..], "uint16")] {
            let [a, b, c, d] = ["a", "b", "c", "d"].map(|letter| format!("{letter} {step} {name}"));
            write_values(&test, &a, "\"NaN\"", &values);
            let again = |from: &str, to: &str| {
                quantise(&test, &[&["--step", step, "--verify"], options, &[from, to]].concat())
            };
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
    write_values(&test, "a", "\"NaN\"", &values);
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

#[test]
fn step_of_stores_of_one_collection_is_one_grid() {
    let test = CliTest::new();
    for (name, values) in [("one", [251.3, 262.7]), ("two", [255.0, 270.1])] {
        write_values(&test, name, "\"NaN\"", &values);
        let result =
            quantise(&test, &["--step", "0.1", "--quantize", "uint8", name, &format!("{name} codes")]);
        let found = quantization(&result);
        assert_eq!((&found["offset"], &found["scale"]), (&json!(250.0), &json!(10.0)), "{found}");
    }
}

#[test]
fn step_for_which_no_type_has_codes_is_an_error() {
    let test = CliTest::new();
    write_values(&test, "a", "\"NaN\"", &[0.0, 300.0]);
    test.run(["transcode", "--step", "1e-6", "a", "b"])
        .fails(1, &["--step 0.000001", "int32", "wider --step"]);
    test.run(["transcode", "--step", "0.1", "--quantize", "uint8", "a", "b"])
        .fails(1, &["uint8", "3001 codes", "wider --quantize TYPE"]);
    assert!(!test.exists("b"));
    for other in [
        ["--max-error", "1"],
        ["--range", "0,1"],
        ["--scale", "2"],
        ["--offset", "2"],
        ["--data-type", "int8"],
    ] {
        assert_eq!(
            test.run(["transcode", "--step", "0.1", other[0], other[1], "a", "b"]).status,
            2,
            "{other:?}"
        );
    }
    for step in ["0", "-1", "NaN", "inf", "x"] {
        assert_eq!(test.run(["transcode", "--step", step, "a", "b"]).status, 2, "{step}");
    }
}

#[test]
fn plan_says_what_a_first_pass_decides_and_warns_of_nothing_that_may_not_come() {
    let test = CliTest::new();
    write_values(&test, "a", "0.5", &[0.0, 300.0]);
    let plan = quantise(&test, &["--dry-run", "--max-error", "0.1", "--as", "cf", "a", "b"]);
    assert_eq!(codes(&plan), [""; 0], "{}", plan["warnings"]);
    let open = quantization(&plan);
    for name in ["data_type", "codes", "scale", "offset", "step", "range", "reader_workaround"] {
        assert_eq!(open[name], json!(null), "{name}");
    }
    let plan = quantise(&test, &["--dry-run", "--max-error", "0.1", "a", "b"]);
    assert_eq!(codes(&plan), [""; 0], "{}", plan["warnings"]);
    let plan = quantise(&test, &["--dry-run", "--max-error", "0.1", "--quantize", "uint16", "a", "b"]);
    assert_eq!(
        (&quantization(&plan)["data_type"], &quantization(&plan)["codes"]),
        (&json!("uint16"), &json!(null))
    );
    let plan = quantise(&test, &["--dry-run", "--step", "0.1", "a", "b"]);
    let open = quantization(&plan);
    assert_eq!(
        (&open["step"], &open["data_type"], &open["offset"]),
        (&json!(0.1), &json!(null), &json!(null))
    );
    let text = test.run(["transcode", "--dry-run", "--max-error", "0.1", "a", "b"]).succeeds();
    assert!(
        text.text().contains("narrowest type that keeps --max-error, which a first pass finds"),
        "{}",
        text.text()
    );
}

#[test]
fn plan_of_integers_whose_type_a_first_pass_finds_names_none() {
    let test = CliTest::new();
    write_temperatures(&test, "a", "float32");
    let arguments =
        ["transcode", "--max-error", "0.05", "--as", "cf", "--compress", "none", "--dry-run", "a", "b"];
    let run = test.run(arguments).succeeds();
    assert!(run.text().contains("float32 -> integers") && !run.text().contains("int32"), "{}", run.text());
    let node = quantise(&test, &arguments[1..])["nodes"][0].clone();
    assert_eq!(
        [&node["destination"]["data_type"], &node["bytes_written"], &node["bytes_logical"]],
        [&json!(null); 3]
    );
    let known = quantise(&test, &[&["--quantize", "uint8"], &arguments[1..]].concat())["nodes"][0].clone();
    assert_eq!(known["destination"]["data_type"], json!("uint8"));
}

#[test]
fn cf_of_float32_in_32_bits_is_a_warning() {
    let test = CliTest::new();
    write_values(&test, "a", "\"NaN\"", &[0.0, 300.0]);
    let result = quantise(&test, &["--quantize", "int32", "--as", "cf", "a", "b"]);
    assert!(codes(&result).contains(&"ZC304"), "{}", result["warnings"]);
    let result = quantise(&test, &["--quantize", "int16", "--as", "cf", "a", "c"]);
    assert_eq!(codes(&result), [""; 0]);
}

/// The configuration of `cast_value` in the shards of an array.
fn inner_cast(test: &CliTest, name: &str) -> Value {
    let document = test.read_json(&format!("{name}/zarr.json"));
    let inner = document["codecs"][0]["configuration"]["codecs"].as_array().unwrap().clone();
    inner.into_iter().find(|codec| codec["name"] == "cast_value").unwrap()["configuration"].clone()
}

#[test]
fn shards_that_cannot_encode_zero_get_an_entry_for_readers_that_want_to() {
    let test = CliTest::new();
    write_values(&test, "a", "\"NaN\"", &[250.0, 251.0, 260.0, 313.5]);
    let shards = ["--quantize", "uint8", "-c", "2", "-s", "4", "--verify"];
    let result = quantise(&test, &[&shards[..], &["a", "b"]].concat());
    // (0 - 249.75) * 4, where 250 is the first code.
    assert_eq!(quantization(&result)["reader_workaround"], json!([-999.0, 0]), "{}", quantization(&result));
    assert_eq!(inner_cast(&test, "b")["scalar_map"]["encode"], json!([["NaN", 0], [-999.0, 0]]));
    assert_eq!(inner_cast(&test, "b")["scalar_map"]["decode"], json!([[0, "NaN"]]));
    let plain = quantise(&test, &[&shards[..], &["--no-workarounds", "a", "c"]].concat());
    assert_eq!(quantization(&plain)["reader_workaround"], json!(null));
    assert_eq!(inner_cast(&test, "c")["scalar_map"]["encode"], json!([["NaN", 0]]));
    assert_eq!(test.read("b/c/0"), test.read("c/c/0"), "the chunks are the same");
    test.run(["validate", "--level", "data", "--deny", "warnings", "b"]).succeeds();
    let text = test.run(["transcode", "--quantize", "uint8", "-c", "2", "-s", "4", "a", "d"]).succeeds();
    for part in ["zarr-python >= 3.2 with cast-value-rs", "zarrita.js >= 0.7", "--as cf", "--no-workarounds"]
    {
        assert!(text.text().contains(part), "{part}: {}", text.text());
    }
    // What is written anew from it is still the same values.
    quantise(&test, &["--unpack", "-s", "none", "b", "e"]);
    let values: Vec<u8> =
        [250.0_f32, 251.0, 260.0, 313.5].iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_eq!([test.read("e/c/0"), test.read("e/c/1")].concat(), values);
}

#[test]
fn zero_in_source_is_refused_although_readers_get_an_entry_for_it() {
    let test = CliTest::new();
    write_values(&test, "a", "\"NaN\"", &[0.0, 251.0, 260.0, 313.5]);
    let options =
        ["transcode", "--quantize", "uint8", "--range", "250,313.5", "-c", "2", "-s", "4", "a", "b"];
    test.run(options).fails(1, &["0 is out of the range 250 to 313.5"]);
    assert!(!test.exists("b/zarr.json"));
}

#[test]
fn no_entry_for_readers_where_zero_has_a_code_or_there_are_no_shards() {
    let test = CliTest::new();
    write_values(&test, "zero", "\"NaN\"", &[-1.0, 0.0, 1.0, 2.0]);
    write_values(&test, "far", "\"NaN\"", &[250.0, 251.0, 252.0, 253.0]);
    for arguments in [
        &["--quantize", "uint8", "-c", "2", "-s", "4", "zero", "b"][..],
        &["--quantize", "uint8", "far", "c"],
        &[
            "--quantize",
            "uint8",
            "--range",
            "250,253",
            "--out-of-range",
            "clamp",
            "-c",
            "2",
            "-s",
            "4",
            "far",
            "d",
        ],
        &["--quantize", "uint8", "--as", "cf", "-c", "2", "-s", "4", "far", "e"],
    ] {
        let result = quantise(&test, arguments);
        assert_eq!(quantization(&result)["reader_workaround"], json!(null), "{arguments:?}");
    }
}

#[test]
fn max_error_that_only_the_data_keep_is_found_by_measuring() {
    let test = CliTest::new();
    // Steps of 0.00015 and arithmetic that rounds by 1.5e-5 cannot keep 7.7e-5 for all values; these are few.
    let values: Vec<f32> = (0..11).map(|step| 300.0 + step as f32).collect();
    write_values(&test, "a", "\"NaN\"", &values);
    let found = quantise(&test, &["--max-error", "7.7e-5", "--verify", "a", "b"]);
    let found = quantization(&found);
    assert_eq!(found["data_type"], "uint16", "{found}");
    assert!(number(&found["max_abs_error"]) <= 7.7e-5, "{found}");
}

#[test]
fn absent_chunks_that_are_written_out_are_verified_by_what_their_code_is_decoded_to() {
    let test = CliTest::new();
    let mut written_out = 0;
    for (index, error) in ["0.04", "7.52e-5"].into_iter().enumerate() {
        for fill in ["301.0", "303.33"] {
            test.write_float32("a", fill, &[Some([300.0, 305.1, 307.7, 310.0]), None]);
            let destination = format!("b{index} {fill}");
            let options = ["--max-error", error, "--quantize", "uint32", "--verify", "a", &destination];
            let result = quantise(&test, &options);
            assert_eq!(result["nodes"][0]["verify"]["equal"], json!(true), "{error} {fill}");
            written_out += u32::from(test.exists(&format!("{destination}/c/1")));
        }
    }
    assert!(written_out > 0, "no fill value was lost: nothing was tried");
}

#[test]
fn attributes_that_mask_values_follow_the_codes() {
    let test = CliTest::new();
    let attributes =
        |name: &str| -> Value { test.read_json(&format!("{name}/zarr.json"))["attributes"].take() };
    let write = |attributes: &str| {
        write_values(&test, "a", "\"NaN\"", &[0.0, 1.0, 2.0, 1e20]);
        let document = String::from_utf8(test.read("a/zarr.json")).unwrap();
        test.write(
            "a/zarr.json",
            document.replace("\"attributes\":{}", &format!("\"attributes\":{attributes}")),
        );
    };
    // 1e20 as xarray writes it: a float64 in base64.
    for (value, nan) in [("\"QIy1eB2vFUQ=\"", "AAAAAAAA+H8="), ("1e20", "NaN")] {
        write(&format!(r#"{{"_FillValue":{value},"missing_value":1e20,"valid_max":9,"units":"K"}}"#));
        let arguments = ["--quantize", "uint8", "--missing", "auto", "--overwrite", "a"];
        let result = quantise(&test, &[&arguments[..], &["b"]].concat());
        assert_eq!(codes(&result), ["ZC309"]);
        let message = "attributes follow the codes: `_FillValue` becomes NaN, `missing_value` goes";
        assert_eq!(result["warnings"][0]["message"], message);
        assert_eq!(attributes("b"), json!({"_FillValue": nan, "valid_max": 9, "units": "K"}));
        let result = quantise(&test, &[&arguments[..], &["--as", "cf", "c"]].concat());
        let message = &result["warnings"][0]["message"];
        let said =
            "attributes follow the codes: `_FillValue` becomes 0, `missing_value` goes, `valid_max` goes";
        assert_eq!(message, said);
        assert_eq!(attributes("c").get("valid_max"), None);
    }
    // A value that is within a given range may be in the data: who masks it must know it.
    write(r#"{"_FillValue":1}"#);
    let given = ["--quantize", "uint8", "--range", "0,2", "--out-of-range", "clamp", "a", "d"];
    assert_eq!(codes(&quantise(&test, &given)), ["ZC303"]);
    assert_eq!(attributes("d"), json!({"_FillValue": 1}));
}
