//! Values of options that are not what the option takes: usage errors that offer what may be meant.

use super::support::CliTest;

/// Runs a command with one more option; the arguments need not be there.
fn refused(options: &[&str], texts: &[&str]) {
    let test = CliTest::new();
    let command: Vec<&str> = options.iter().copied().chain(["a.zarr", "b.zarr"]).collect();
    test.run(&command).fails(2, texts);
    assert!(test.names().is_empty(), "{options:?}");
}

#[test]
fn unknown_data_type_is_answered_with_the_nearest_and_the_list() {
    for option in ["--data-type", "--quantize"] {
        for (text, meant) in
            [("u8", "`uint8` or `uint64`"), ("unit8", "`uint8`"), ("i2", "`int16`"), (">u4", "`uint32`")]
        {
            refused(
                &["transcode", option, text],
                &["not a known data type", &format!("Did you mean {meant}"), "Known are"],
            );
        }
    }
    for (text, meant) in [("double", "`float64`"), ("f4", "`float32`"), ("Float32", "`float32`")] {
        refused(&["transcode", "-d", text], &[&format!("Did you mean {meant}"), "uint64"]);
        refused(
            &["apply-codec", "--codecs", "zstd", "--shape", "4", "-d", text],
            &[&format!("Did you mean {meant}")],
        );
    }
    refused(&["transcode", "--quantize", "float32"], &["float32 is not an integer type", "int16"]);
    refused(&["transcode", "--quantize", "zebra"], &["not a known data type", "Known are int8"]);
    refused(&["transcode", "-d", "string"], &["no fixed size"]);
}

#[test]
fn number_or_shape_that_is_spelt_otherwise_is_answered_with_the_right_spelling() {
    for option in ["--max-error", "--step"] {
        refused(&["transcode", option, "0,05"], &["decimals have a point: 0.05"]);
        refused(&["transcode", option, "5%"], &["in the units of the array, not in percent: such as 0.05"]);
    }
    for option in ["--chunk-shape", "--shard-shape"] {
        refused(&["transcode", option, "lat:5"], &["lengths by name are given as lat=5"]);
        refused(&["transcode", option, "time:1,lat:64"], &["given as time=1,lat=64"]);
    }
}

#[test]
fn archive_that_is_not_written_is_refused_as_the_destination() {
    for (name, stem) in [("x.tar", "x"), ("deep/x.zarr.tar.gz", "deep/x.zarr"), ("x.7z", "x"), ("X.TGZ", "X")]
    {
        let said =
            [&format!("DEST `{name}`: archives"), &*format!("a folder ({stem}), or a zip file ({stem}.zip)")];
        let test = CliTest::new();
        test.write_float32("a", "0.0", &[Some([1.0; 4])]);
        test.run(["transcode", "a", name]).fails(2, &said);
        assert_eq!(test.names(), ["a"]);
    }
    // A folder that is there is what it is.
    let test = CliTest::new();
    test.write_float32("a", "0.0", &[Some([1.0; 4])]);
    std::fs::create_dir(test.path("x.tar")).unwrap();
    test.run(["transcode", "--overwrite", "a", "x.tar"]).succeeds();
    test.run(["transcode", "x.tar", "b"]).succeeds();
}

#[test]
fn unknown_codec_is_answered_with_the_nearest_and_the_list() {
    for option in ["--compress", "--codecs"] {
        for (text, meant) in
            [("zsdt", "`zstd`"), ("lz4:3", "`blosc:lz4`"), ("zstd:3,crc32", "`crc32c`"), ("gz", "`gzip`")]
        {
            refused(
                &["transcode", option, text],
                &["is not a known codec", &format!("Did you mean {meant}?"), "zstd[:LEVEL]"],
            );
        }
        for text in ["automatic", "none,zstd", "zstd:99", "zstd:3:crc", "blosc:lz5", ""] {
            refused(&["transcode", option, text], &[&format!("for '{option} <")]);
        }
    }
    refused(&["apply-codec", "--codecs", "zsdt"], &["Did you mean `zstd`?"]);
    refused(&["transcode", "--codecs", "auto"], &["`auto` is a word of --compress alone"]);
}

#[test]
fn value_that_is_not_what_its_option_takes_is_a_usage_error() {
    let bad: [(&str, &[&str]); 33] = [
        ("transcode --codecs", &["[", "{}", "\"x\"", "@"]),
        ("transcode --compress", &["", "zstd:", "brotli", "zstd;3"]),
        ("transcode --chunk-shape", &["x", "1.5", "1,,2", "a=", "1e3", "-1", "1,-1"]),
        ("transcode --shard-shape", &["x", "1;2", "a=b"]),
        ("transcode --data-type", &["", "float33x", "{", "[]"]),
        ("transcode --fill-value", &["x", "{", ""]),
        ("transcode --zarr-format", &["1", "v3", ""]),
        ("transcode --separator", &["-", "", "//"]),
        ("transcode --attributes", &["x", "[1]", "3"]),
        ("transcode --attributes-append", &["x", "[1]"]),
        ("transcode --quantize", &["", "float32", "u", "bool"]),
        ("transcode --max-error", &["x", "-1", "NaN", "inf", ""]),
        ("transcode --quantize uint8 --range", &["1", "1,2,3", "a,b", ","]),
        ("transcode --quantize uint8 --scale", &["x", "", "{}"]),
        ("transcode --quantize uint8 --offset", &["x", "[1]"]),
        ("transcode --quantize uint8 --missing", &["x", ""]),
        ("transcode --quantize uint8 --nan-value", &["x", "1.5", "\"NaN\""]),
        ("transcode --quantize uint8 --rounding", &["up", ""]),
        ("transcode --quantize uint8 --out-of-range", &["error", "x"]),
        ("transcode --quantize uint8 --as", &["netcdf", ""]),
        ("transcode --include", &["[", "a**b"]),
        ("transcode --rule", &["x", "a: --frobnicate", "a: --quantize x", "[: --unpack", "a: 'b"]),
        ("transcode --threads", &["0", "-1", "x", "1.5"]),
        ("transcode --max-memory", &["0", "-1", "x", "1XB", "1.5GB"]),
        ("transcode --progress", &["yes", ""]),
        ("validate --level", &["all", ""]),
        ("validate --max-findings", &["-1", "x"]),
        ("validate --deny", &["ZZ999", "errors"]),
        ("validate --allow", &["", "x"]),
        ("validate --format", &["xml", ""]),
        ("validate --against c --rtol", &["x", "-1", "NaN"]),
        ("apply-codec --codecs zstd --repeat", &["0", "-1", "x"]),
        ("apply-codec --codecs zstd -d uint8 --shape", &["x", "-1", "1,-1", "1.5"]),
    ];
    let (test, mut faults) = (CliTest::new(), Vec::new());
    for (command, values) in bad {
        for value in values {
            let (front, option) = command.rsplit_once(' ').unwrap();
            let apart = [option.to_owned(), (*value).to_owned()];
            let joined = [if option.starts_with("--") {
                format!("{option}={value}")
            } else {
                format!("{option}{value}")
            }];
            for given in [&apart[..], &joined[..]] {
                let words = front.split(' ').map(str::to_owned).chain(given.iter().cloned());
                let words: Vec<String> = words.chain(["a".to_owned(), "b".to_owned()]).collect();
                let run = test.run(&words);
                if run.status != 2 || run.error.contains("to pass '") {
                    faults.push(format!("{words:?}: {} {}", run.status, run.error));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// An array of 4 x 6 float32, in chunks of 2 x 3, with dimension names.
fn with_array() -> CliTest {
    let test = CliTest::new();
    test.write(
        "a.zarr/zarr.json",
        r#"{"zarr_format":3,"node_type":"array","shape":[4,6],"data_type":"float32",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2,3]}},
        "chunk_key_encoding":{"name":"default"},"fill_value":0,"attributes":{},"dimension_names":["time","lat"],
        "codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"zstd","configuration":{"level":1,"checksum":false}},
        {"name":"crc32c"}]}"#,
    );
    test
}

#[test]
fn option_at_fault_is_named_not_the_source() {
    let test = with_array();
    let refused = |options: &[&str], texts: &[&str]| {
        let command: Vec<&str> = ["transcode", "a.zarr", "b.zarr"].iter().chain(options).copied().collect();
        test.run(&command).fails(1, texts);
        assert_eq!(test.names(), ["a.zarr"]);
    };
    refused(&["--codecs", r#"[{"name":"zsdt"}]"#], &["--codecs does not fit `a.zarr`", "\"zstd\""]);
    refused(
        &["--codecs", r#"[{"name":"cast_value","configuration":{"data_type":"u8"}},{"name":"bytes"}]"#],
        &["--codecs does not fit `a.zarr`", "not to `u8`; did you mean `uint8` or `uint64`?"],
    );
    refused(
        &["--codecs", r#"[{"name":"bytes","configuration":{"endian":"litle"}}]"#],
        &["--codecs does not fit `a.zarr`", "\"litle\""],
    );
    refused(&["--codecs", "[1]"], &["--codecs is not a codec chain"]);
    refused(&["-f", "\"x\""], &["--fill-value \"x\" is not a value of float32"]);
    refused(&["--quantize", "uint8", "--range", "1,\"NaN\""], &["is not a finite float32"]);
    refused(&["--dimension-names", "a"], &["--dimension-names gives 1 name, but the array has 2 dimensions"]);
}

#[test]
fn shape_that_does_not_fit_is_answered_with_the_nearest_that_does() {
    let test = with_array();
    let refused = |options: &[&str], texts: &[&str]| {
        let command: Vec<&str> = ["transcode", "a.zarr", "b.zarr"].iter().chain(options).copied().collect();
        test.run(&command).fails(1, texts);
    };
    refused(
        &["-s", "3,6"],
        &["--shard-shape [3, 6] does not hold whole chunks of shape [2, 3]", "--shard-shape 2,6"],
    );
    refused(
        &["-c", "2,4", "-s", "4,6"],
        &["--chunk-shape [2, 4]", "array's shape is [4, 6]", "--shard-shape 4,4"],
    );
    refused(
        &["-c", "2"],
        &["--chunk-shape gives 1 length, but the array has 2 dimensions", "--chunk-shape 2,3"],
    );
    refused(&["-c", "tim=2"], &["did you mean `time`?", "time, lat"]);
}

#[test]
fn plan_names_the_codecs_that_are_dropped() {
    let test = with_array();
    let plan = |options: &[&str]| {
        let command = ["transcode", "a.zarr", "b.zarr", "--dry-run"].iter().chain(options).copied();
        test.run(command.collect::<Vec<_>>()).succeeds().text().to_owned()
    };
    assert!(plan(&["--compress", "gzip"]).contains("dropped      zstd, crc32c\n"));
    assert!(plan(&["--compress", "zstd:5"]).contains("dropped      crc32c\n"));
    assert!(!plan(&["--compress", "zstd:5:checksum,crc32c"]).contains("dropped"));
    assert!(plan(&["--codecs", "blosc:lz4"]).contains("codecs       bytes, zstd, crc32c -> bytes, blosc\n"));
}

#[test]
fn chain_of_words_is_written_whole() {
    let test = with_array();
    test.run(["transcode", "a.zarr", "b.zarr", "--codecs", "blosc:lz4:5:shuffle,crc32c"]).succeeds();
    let document = String::from_utf8(test.read("b.zarr/zarr.json")).unwrap();
    assert!(
        document.contains("\"typesize\": 4") && document.contains("\"endian\": \"little\""),
        "{document}"
    );
    test.write("x.raw", [0; 16]);
    let words = ["apply-codec", "--codecs", "blosc:zstd,crc32c", "-d", "float32", "--shape", "4"];
    test.run(words.iter().copied().chain(["x.raw", "x.blosc"])).succeeds();
    test.run(words.iter().copied().chain(["--decode", "x.blosc", "y.raw"])).succeeds();
    assert_eq!(test.read("y.raw"), [0; 16]);
}
