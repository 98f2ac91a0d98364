//! 2 for what is no option or no value of one, 3 for what is not there.

use super::support::CliTest;

#[track_caller]
fn usage(arguments: &[&str], part: &str) {
    CliTest::new().run(arguments).fails(2, &[part]);
}

#[test]
fn unknown_command_or_option_is_2() {
    usage(&["frobnicate"], "frobnicate");
    usage(&["inspect"], "STORE");
    usage(&["inspect", "a", "--frobnicate"], "--frobnicate");
    usage(&["transcode", "a"], "DEST");
    usage(&["transcode", "a", "b", "c"], "unexpected argument");
}

#[test]
fn text_that_is_not_what_its_option_takes_is_2() {
    let transcode = |option: &str, value: &str| {
        CliTest::new()
            .run(["transcode", "a", "b", option, value])
            .fails(2, &[option.trim_start_matches("--")]);
    };
    transcode("--codecs", "[{");
    transcode("--codecs", "{}");
    transcode("--attributes", "[]");
    transcode("--compress", "zstd:99");
    transcode("--compress", "blosc:none");
    transcode("--compress", "blosc:lz4:10");
    transcode("--compress", "blosc:lz4:5:some");
    transcode("--compress", "lzma");
    transcode("--quantize", "uint1");
    transcode("--quantize", "float32");
    transcode("--quantize", "u8");
    transcode("--max-error", "-1");
    transcode("--max-error", "NaN");
    transcode("--max-error", "some");
    transcode("--data-type", "floating");
    transcode("--fill-value", "x");
    transcode("--threads", "0");
    transcode("--max-memory", "0");
    transcode("--max-memory", "1XB");
    transcode("--max-memory", "99999999999999999999");
    for (option, value) in
        [("--range", "1"), ("--range", "1,2,3"), ("--scale", "x"), ("--missing", "x"), ("--as", "x")]
    {
        CliTest::new().run(["transcode", "a", "b", "--quantize", "uint8", option, value]).fails(2, &[option]);
    }
}

#[test]
fn contradictory_options_are_2() {
    let transcode = |options: &[&str]| {
        let arguments = [&["transcode", "a", "b"], options].concat();
        CliTest::new().run(arguments).fails(2, &[]);
    };
    transcode(&["--quantize", "uint8", "--data-type", "uint8"]);
    transcode(&["--max-error", "1", "--data-type", "uint8"]);
    transcode(&["--quantize", "uint8", "--range", "0,1", "--scale", "2"]);
    transcode(&["--quantize", "uint8", "--range", "0,1", "--offset", "2"]);
    transcode(&["--codecs", "[]", "--compress", "none"]);
    transcode(&["--quiet", "--verbose"]);
}

#[test]
fn option_without_the_one_it_belongs_to_is_2() {
    for option in ["--as=cf", "--range=0,1", "--scale=1", "--offset=-1", "--missing=auto"] {
        usage(&["transcode", "a", "b", option], "needs --quantize, --max-error or --step");
    }
    for option in ["--nan-value=0", "--rounding=towards-zero", "--out-of-range=clamp"] {
        usage(&["transcode", "a", "b", option], "needs --quantize, --max-error, --step or --data-type");
    }
    usage(&["transcode", "a", "b", "--quantize=uint8", "--nan-value=1.5"], "--nan-value");
}

#[test]
fn negative_values_are_taken_with_a_space_and_with_an_equals_sign() {
    let quantize = ["transcode", "missing.zarr", "b", "--quantize", "int8"];
    for option in [
        ["--range", "-5,-1"].as_slice(),
        &["--range=-5,-1"],
        &["--scale", "-2", "--offset", "-1e-3"],
        &["--missing", "-9999,NaN,-Infinity"],
        &["--missing=-9999"],
        &["--nan-value", "-128"],
        &["--fill-value", "-1"],
        &["--fill-value", "-Infinity"],
        &["--fill-value=NaN"],
    ] {
        // The options are taken: what is wrong is that there is no SOURCE.
        CliTest::new().run(quantize.iter().chain(option)).fails(3, &[]);
    }
}

#[test]
fn file_of_an_option_that_is_missing_is_3_and_without_json_2() {
    let test = CliTest::new();
    test.write("text", "{");
    for option in ["--codecs", "--attributes", "--attributes-append"] {
        test.run(["transcode", "a", "b", option, "@missing"]).fails(3, &["missing", option]);
        test.run(["transcode", "a", "b", option, "@text"]).fails(2, &["text", option]);
    }
}

#[test]
fn store_that_is_not_there_is_3() {
    CliTest::new().run(["inspect", "missing.zarr"]).fails(3, &[]);
    CliTest::new().run(["transcode", "missing.zarr", "b"]).fails(3, &[]);
}
