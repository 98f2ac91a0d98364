//! `inspect --suggest` without a type: its trials on a sample, compared with the real results of their commands.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "values are float64 rounded to float32"
)]

use serde_json::{Value, json};

use super::support::{CliTest, Run, float32};

const ZSTD: &str = r#"{"name":"zstd","configuration":{"level":3,"checksum":false}}"#;

/// Arrays with a numcodecs codec cause a warning whenever they are read, so stderr is not checked.
fn done(run: Run) -> Run {
    assert_eq!(run.status, 0, "{}", run.error);
    run
}

/// A pseudorandom number from 0 to 1. The same position returns the same number.
fn chance(place: u64) -> f64 {
    let mixed = (place.wrapping_add(1)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((mixed ^ (mixed >> 27)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// A wave with noise.
fn wave(place: u64) -> f32 {
    let (row, column) = ((place / 64) as f64, (place % 64) as f64);
    (280.0 + 20.0 * (row / 40.0).sin() * (column / 11.0).cos() + 0.1 * chance(place)) as f32
}

/// Rain: small values at most positions, large ones at few.
fn rain(place: u64) -> f32 {
    (200.0 * chance(place).powi(9) * (1.0 + (place as f64 / 500.0).sin()) + 1e-3) as f32
}

/// Writes an uncompressed float32 array of `chunks` chunks of 16 x 64, and recompresses it with `options`.
fn write(test: &CliTest, name: &str, chunks: u64, value: fn(u64) -> f32, options: &[&str]) {
    let raw = if options.is_empty() { name.to_owned() } else { format!("{name}.raw") };
    let members = json!({"shape": [chunks * 16, 64], "chunk_shape": [16, 64], "fill_value": "NaN", "dimension_names": ["y", "x"]});
    test.array(&raw, members);
    for chunk in 0..chunks {
        let values: Vec<f32> = (0..1024).map(|place| value(chunk * 1024 + place)).collect();
        test.write(&format!("{raw}/c/{chunk}/0"), float32(&values));
    }
    if !options.is_empty() {
        let run = test.run([&["transcode", "-q"], options, &[&raw, name]].concat());
        done(run);
    }
}

fn inspect(test: &CliTest, arguments: &[&str]) -> Value {
    done(test.run([&["inspect", "--json", "-q", "--suggest"], arguments].concat())).json()
}

/// Returns the ways of one array with their names.
fn ways(result: &Value) -> Vec<(&str, &Value)> {
    let ways = result["ways"]["ways"].as_array().unwrap();
    ways.iter().map(|way| (way["name"].as_str().unwrap(), way)).collect()
}

/// Removes the times.
fn timeless(mut result: Value) -> Value {
    for way in result["ways"]["ways"].as_array_mut().unwrap() {
        assert!(way["seconds"].as_f64().unwrap() > 0.0, "{way}");
        way["seconds"] = Value::Null;
    }
    result
}

/// Runs the command of each way, and compares the suggestion with the result.
fn holds(test: &CliTest, result: &Value) {
    let is_whole = result["ways"]["sample"]["chunks"] == result["ways"]["sample"]["of"];
    for (index, (name, way)) in ways(result).into_iter().enumerate() {
        let command = way["command"].as_str().unwrap();
        let destination = format!("out{index}");
        let words = shlex::split(command).unwrap();
        assert_eq!((words[0].as_str(), words.last().unwrap().as_str()), ("zarrcast", "DEST"), "{command}");
        let words = words[1..words.len() - 1].iter().chain([&destination]).map(String::as_str);
        let report = done(test.run(words.chain(["--json", "-q"]))).json();
        let written = report["nodes"][0]["bytes_written"].as_f64().unwrap();
        let estimated = way["bytes_stored"].as_f64().unwrap();
        if let (Some(tried), false) = (way["keep_bits"].as_u64(), is_whole) {
            // With all values, one bit more or less may carry information.
            let document = test.read_json(&format!("{destination}/zarr.json"));
            let found = document["attributes"]["quantization_nsb"].as_u64().unwrap();
            assert!(tried.abs_diff(found) <= 1, "{name}: {tried} and {found}");
            if tried != found {
                continue;
            }
        }
        assert!((estimated / written - 1.0).abs() < 0.1, "{name}: {estimated} for {written}");
        let ratio = result["ways"]["bytes_stored"].as_f64().unwrap() / estimated;
        assert!((way["ratio"].as_f64().unwrap() - ratio).abs() < 1e-9, "{name}");
        if is_whole {
            assert_eq!(estimated, written, "{name}");
            let error = report["nodes"][0]["quantization"]["max_abs_error"].as_f64();
            assert!(error.is_none_or(|error| Some(error) == way["max_abs_error"].as_f64()), "{name}: {error:?}");
        }
        if let Some(bound) = name.strip_prefix("max-error ") {
            let bound: f64 = bound.trim_end_matches(", predict auto").parse().unwrap();
            assert!(way["max_abs_error"].as_f64().unwrap() <= bound, "{way}");
            assert!(way["rms_error"].as_f64().unwrap() < bound, "{way}");
        }
    }
}

#[test]
fn estimates_of_a_whole_small_array_are_what_the_commands_write() {
    let test = CliTest::new();
    write(&test, "a", 12, wave, &["--compress", "zstd:3"]);
    let result = inspect(&test, &["a"]);
    let names: Vec<&str> = ways(&result).into_iter().map(|(name, _)| name).collect();
    // The standard deviation is 9.4.
    let values: Vec<f64> = (0..12 * 1024).map(|place| f64::from(wave(place))).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
    let deviation = result["ways"]["values"]["standard_deviation"].as_f64().unwrap();
    assert!((deviation / variance.sqrt() - 1.0).abs() < 1e-9, "{deviation}");
    let bounds = [1e-2, 1e-3, 1e-4].map(|share| {
        let unit = 10_f64.powi((deviation * share).log10().floor() as i32 - 1);
        format!("max-error {}", ((deviation * share / unit).floor() * unit * 1e9).round() / 1e9)
    });
    let predicted = format!("{}, predict auto", bounds[1]);
    let of_errors = [&bounds[0], &bounds[1], &predicted, &bounds[2]].map(String::as_str);
    let expected = [&["uint8", "uint16"], &of_errors[..], &["keep-bits auto:0.99", "keep-bits auto:0.999"]].concat();
    assert_eq!(names, expected);
    assert_eq!(result["ways"]["compress"], Value::Null);
    let stored: usize =
        test.all_files("a").iter().filter(|(key, _)| *key != "zarr.json").map(|(_, bytes)| bytes.len()).sum();
    assert_eq!(result["ways"]["bytes_stored"], stored);
    holds(&test, &result);
    let written = test.read_json("out6/zarr.json");
    assert_eq!(ways(&result)[6].1["keep_bits"], written["codecs"][0]["configuration"]["keepbits"]);
}

#[test]
fn a_hundredth_of_a_large_array_is_read_and_tells_the_whole() {
    let test = CliTest::new();
    // An array of more than 8 MiB: the sample is a hundredth of its chunks.
    write(&test, "a", 2100, wave, &[]);
    let result = timeless(inspect(&test, &["a"]));
    let sample = &result["ways"]["sample"];
    assert_eq!(
        (&sample["chunks"], &sample["of"], &sample["bytes_read"]),
        (&json!(21), &json!(2100), &json!(21 * 4096))
    );
    assert_eq!(result["ways"]["values"]["count"], 21 * 1024);
    assert_eq!(timeless(inspect(&test, &["a"])), result);
    let mut few = result.clone();
    few["ways"]["ways"]
        .as_array_mut()
        .unwrap()
        .retain(|way| way["name"] == "uint8" || way["name"] == "keep-bits auto:0.99");
    assert_eq!(ways(&few).len(), 2);
    holds(&test, &few);
    // Chunks outside the sample are not read. Infinities there would be reported.
    let drawn: Vec<u64> =
        sample["positions"].as_array().unwrap().iter().map(|position| position[0].as_u64().unwrap()).collect();
    for chunk in (0..2100).filter(|chunk| !drawn.contains(chunk)) {
        test.write(&format!("a/c/{chunk}/0"), float32(&[f32::INFINITY; 1024]));
    }
    assert_eq!(timeless(inspect(&test, &["a"])), result);
}

#[test]
fn sample_has_the_chunks_that_are_asked_for() {
    let test = CliTest::new();
    write(&test, "a", 40, wave, &["--compress", "zstd:3"]);
    let result = inspect(&test, &["a", "--sample", "5"]);
    assert_eq!((&result["ways"]["sample"]["chunks"], &result["ways"]["sample"]["of"]), (&json!(5), &json!(40)));
    assert_eq!(result["ways"]["values"]["count"], 5 * 1024);
}

#[test]
fn array_that_is_not_compressed_gets_a_compressor_in_every_way() {
    let test = CliTest::new();
    write(&test, "a", 12, wave, &[]);
    let result = inspect(&test, &["a"]);
    assert_eq!(result["ways"]["compress"], "zstd:3");
    for (name, way) in ways(&result) {
        assert!(way["command"].as_str().unwrap().contains(" --compress zstd:3 a DEST"), "{name}: {way}");
    }
    holds(&test, &result);
    let written = test.read_json("out0/zarr.json");
    let zstd: Value = serde_json::from_str(ZSTD).unwrap();
    assert_eq!(written["codecs"].as_array().unwrap().last(), Some(&zstd));
    assert!(done(test.run(["inspect", "--suggest", "a"])).text().contains("compressed  with zstd:3"));
}

#[test]
fn shards_are_estimated_with_their_indexes() {
    let test = CliTest::new();
    write(&test, "a", 24, wave, &["--compress", "zstd:3", "--shard-shape", "64,64"]);
    let result = inspect(&test, &["a"]);
    assert_eq!(result["ways"]["sample"]["chunk_shape"], json!([16, 64]));
    holds(&test, &result);
}

#[test]
fn array_of_version_2_is_quantised_into_version_3() {
    let test = CliTest::new();
    write(&test, "a", 12, wave, &["--compress", "zstd:3", "--zarr-format", "2"]);
    let result = inspect(&test, &["a"]);
    for (name, way) in ways(&result) {
        let changes = way["command"].as_str().unwrap().contains(" --zarr-format 3 ");
        assert_eq!(changes, !name.starts_with("keep-bits"), "{way}");
    }
    holds(&test, &result);
}

#[test]
fn chunks_of_nothing_but_the_fill_value_are_no_fault() {
    for store in ["a", "shards"] {
        let test = CliTest::new();
        let chunks = [Some([0.0; 4]), Some([1.0, 2.0, 3.0, 4.5]), None, Some([5.0; 4])];
        test.write_float32("a", "0", &chunks);
        done(test.run(["transcode", "-q", "--write-empty-chunks", "--shard-shape", "8", "a", "shards"]));
        let result = inspect(&test, &[store]);
        assert_eq!(result["ways"]["values"]["max"], 5.0, "{store}: {result}");
        assert!(ways(&result).iter().all(|(_, way)| way["reason"].is_null()), "{store}: {result}");
        holds(&test, &result);
    }
}

#[test]
fn declared_missing_values_are_left_out_and_their_option_is_in_the_commands() {
    let test = CliTest::new();
    test.write_float32("my a", "0", &[Some([1.0, -999.0, 2.0, 3.0]), Some([1.5, -999.0, 2.5, 3.5])]);
    test.run(["transcode", "-q", "--attributes", r#"{"missing_value":-999.0}"#, "my a", "my b"]).succeeds();
    let result = inspect(&test, &["my b"]);
    let values = &result["ways"]["values"];
    assert_eq!((&values["missing"], &values["min"], &values["max"]), (&json!(2), &json!(1.0), &json!(3.5)));
    let commands: Vec<&str> = ways(&result).iter().filter_map(|(_, way)| way["command"].as_str()).collect();
    assert_eq!(commands[0], "zarrcast transcode --quantize uint8 --missing auto --compress zstd:3 'my b' DEST");
    assert_eq!(commands[commands.len() - 2], "zarrcast transcode --keep-bits auto:0.99 --compress zstd:3 'my b' DEST");
    holds(&test, &result);
}

#[test]
fn packed_integers_are_floats_with_cf() {
    let test = CliTest::new();
    test.group("g");
    write(&test, "g/wave", 12, wave, &["--quantize", "uint16", "--as", "cf", "--compress", "zstd:3"]);
    std::fs::remove_file(test.path("g/wave/c/3/0")).unwrap();
    std::fs::remove_dir_all(test.path("g/wave.raw")).unwrap();
    let result = inspect(&test, &["--cf", "g/wave"]);
    assert_eq!(result["ways"]["values"]["finite"], 11 * 1024);
    for (_, way) in ways(&result) {
        assert!(way["command"].as_str().unwrap().ends_with(" --unpack g/wave DEST"), "{way}");
    }
    holds(&test, &result);
    let group = inspect(&test, &["--cf", "g"]);
    assert_eq!(timeless(group["nodes"][0].clone())["ways"], timeless(result)["ways"]);
    test.run(["inspect", "--suggest", "g"]).fails(1, &["no float array for --suggest"]);
    test.run(["inspect", "--suggest", "uint8", "g/wave"]).fails(1, &["CF-packed", "`--cf` to `inspect`"]);
    let suggestion = done(test.run(["inspect", "--json", "--suggest", "uint8", "--cf", "g/wave"])).json();
    let suggestion = &suggestion["suggestion"];
    let command = suggestion["command"].as_str().unwrap();
    assert_eq!(command, "zarrcast transcode --quantize uint8 --unpack g/wave DEST");
    let words = command.split(' ').skip(1).map(|word| if word == "DEST" { "typed" } else { word });
    let report = done(test.run(words.chain(["--json", "-q"]))).json();
    let written = &report["nodes"][0]["quantization"];
    assert_eq!(
        (&suggestion["max_abs_error"], &suggestion["range"], &suggestion["step"]),
        (&written["max_abs_error"], &written["range"], &written["step"])
    );
    assert_eq!(test.read_json("typed/zarr.json")["codecs"], suggestion["chain"]);
}

#[test]
fn group_has_a_table_for_each_array_of_floats_that_is_no_coordinate() {
    let test = CliTest::new();
    test.group("g");
    for name in ["g/rain", "g/deep/wave"] {
        write(&test, name, 3, if name == "g/rain" { rain } else { wave }, &[]);
    }
    test.group("g/deep");
    let quantised = ["transcode", "-q", "--quantize", "uint8", "g/rain", "g/quantised"];
    done(test.run(quantised));
    test.write_float32("g/x", "0", &[Some([0.0, 1.0, 2.0, 3.0])]);
    let document = String::from_utf8(test.read("g/x/zarr.json")).unwrap();
    test.write("g/x/zarr.json", document.replace(r#""attributes""#, r#""dimension_names":["x"],"attributes""#));
    let result = inspect(&test, &["g"]);
    let nodes = result["nodes"].as_array().unwrap();
    let tried: Vec<&str> =
        nodes.iter().filter(|node| !node["ways"].is_null()).map(|node| node["path"].as_str().unwrap()).collect();
    assert_eq!(tried, ["/deep/wave", "/rain"]);
    let alone = timeless(inspect(&test, &["g/deep/wave"]));
    assert_eq!(timeless(nodes[1].clone())["ways"], alone["ways"]);
    holds(&test, &nodes[1]);
    let text = done(test.run(["inspect", "--suggest", "g"])).text().to_owned();
    assert!(text.contains("\ndeep/wave: options, ") && text.contains("\nrain: options, "), "{text}");
    assert!(text.contains("zarrcast transcode --quantize uint8 --compress zstd:3 g/deep/wave DEST"), "{text}");
    test.run(["inspect", "--suggest", "uint8", "g"]).fails(1, &["is a group", "--suggest` of the group"]);
    test.run(["inspect", "--suggest", "g/x"]).succeeds();
    test.group("h");
    test.run(["inspect", "--suggest", "h"]).fails(1, &["no float array for --suggest"]);
}

#[test]
fn table_fits_80_columns_and_commands_are_whole() {
    let test = CliTest::new();
    write(&test, "a", 12, rain, &["--compress", "zstd:3"]);
    let text = done(test.run(["inspect", "--suggest", "a"])).text().to_owned();
    let lines: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("options, tried on")).collect();
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
    let commands = lines.iter().filter(|line| line.starts_with("    zarrcast transcode ")).count();
    assert_eq!(commands, 7);
    assert!(lines[4].starts_with("  as it is "), "{text}");
    // An option is marked if no other one has both a smaller error and a smaller size.
    let ways = inspect(&test, &["a"])["ways"]["ways"].clone();
    let ways = ways.as_array().unwrap();
    let is_best = |way: &Value| {
        let (own, mut all) = (size_and_error(way), ways.iter().map(size_and_error));
        !all.any(|other| other.0 <= own.0 && other.1 <= own.1 && other != own)
    };
    for way in ways {
        let name = way["name"].as_str().unwrap();
        let row = lines.iter().find(|line| line.starts_with(&format!("  {name} "))).unwrap();
        assert_eq!(row.contains(" * "), is_best(way), "{row}");
    }
    assert!(text.contains("  * no other option is better in size or error and worse in neither"), "{text}");
}

fn size_and_error(way: &Value) -> (f64, f64) {
    (way["bytes_stored"].as_f64().unwrap(), way["max_abs_error"].as_f64().unwrap())
}
