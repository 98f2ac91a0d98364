//! Values as CF readers see them, unpacked and quantised in one pass.

use serde_json::json;

use super::support::CliTest;

#[test]
fn packed_values_are_unpacked_first_and_quantised_or_rounded_in_one_pass() {
    let test = CliTest::new();
    let codes: Vec<u8> = (0..1000_u16).flat_map(|code| (code * 7).to_le_bytes()).collect();
    let attributes = json!({"scale_factor": 0.01, "add_offset": 273.15, "_FillValue": 77, "units": "K"});
    test.array("packed", json!({"shape": [1000], "data_type": "int16", "attributes": attributes}));
    test.write("packed/c/0", codes);
    let floats = ["transcode", "--quantize", "uint16", "float", "quantised"];
    test.run(["transcode", "--unpack", "packed", "float"]).succeeds();
    test.run(floats).succeeds();
    for (number, options) in [
        &["--quantize", "uint8"][..],
        &["--max-error", "0.1", "--as", "cf"],
        &["--step", "0.5", "--as", "plain"],
        &["--keep-bits", "5"],
        &["--keep-bits", "auto"],
        &["--max-error", "0.02", "-c", "300"],
        &["--quantize", "int16", "--zarr-format", "2", "--as", "cf"],
    ]
    .into_iter()
    .enumerate()
    {
        let [once, twice, again] = ["once", "twice", "again"].map(|name| format!("{name}{number}"));
        let run = |more: &[&str]| {
            let run = test.run(["transcode", "--json", "--verify"].iter().chain(options).chain(more));
            assert_eq!(run.status, 0, "{options:?}: {}", run.error);
            run.json()["nodes"][0]["quantization"].clone()
        };
        let mut found = run(&["--unpack", "--quality", "packed", &once]);
        let mut expected = run(&["--quality", "float", &twice]);
        for figures in [&mut found, &mut expected] {
            figures["bytes_source"].take();
        }
        assert_eq!(found, expected, "{options:?}");
        let (once_files, twice_files) = (test.all_files(&once), test.all_files(&twice));
        assert_eq!(once_files, twice_files, "{options:?}");
        test.run(["transcode", "--unpack"].iter().chain(options).chain(&["quantised", &again]));
        assert!(test.exists(&again), "from codecs, too");
    }
    test.run(["transcode", "--quantize", "uint8", "quantised", "x"]).fails(1, &["add --unpack"]);
    let report = ["transcode", "--unpack", "--quantize", "uint8", "--report", "r.html", "packed", "y"];
    test.run(report).succeeds();
    assert!(!String::from_utf8(test.read("r.html")).unwrap().contains("cannot be"));
}
