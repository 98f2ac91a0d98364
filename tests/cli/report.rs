//! `--report FILE.html` of `inspect`, `validate` and `transcode`.

use std::fs;

use serde_json::{Value, json};

use super::support::{CliTest, fixture, float32};
use crate::report_page::Page;

/// Writes a 6 x 8 float32 array in 3 x 4 chunks: 10 * row + column, with NaN as the first element.
fn write_plane(test: &CliTest, name: &str) {
    let (names, attributes) = (["lat", "lon"], json!({"units": "K"}));
    let members = json!({"shape": [6, 8], "chunk_shape": [3, 4], "fill_value": "NaN", "dimension_names": names, "attributes": attributes});
    test.array(name, members);
    for (y, x) in [(0_u8, 0_u8), (0, 1), (1, 0), (1, 1)] {
        let element = |place: u8| match 10 * (3 * y + place / 4) + 4 * x + place % 4 {
            0 => f32::NAN,
            value => f32::from(value),
        };
        let elements: Vec<f32> = (0..12).map(element).collect();
        test.write(&format!("{name}/c/{y}/{x}"), float32(&elements));
    }
}

fn page(test: &CliTest, name: &str) -> Page {
    Page::checked(&String::from_utf8(test.read(name)).unwrap())
}

#[test]
fn page_of_an_array_has_what_the_text_has_and_pictures() {
    let test = CliTest::new();
    write_plane(&test, "a");
    let plain = test.run(["inspect", "--stats", "a"]).succeeds();
    let with_report = test.run(["inspect", "--stats", "--report", "r.html", "a"]).succeeds();
    assert_eq!(plain.output, with_report.output);
    let page = page(&test, "r.html");
    // The page contains all numbers and names of the text output.
    for word in plain.text().split_whitespace().filter(|word| *word != "a:") {
        let word = word.trim_end_matches([',', ':']).to_lowercase().replace("->", "\u{2192}");
        assert!(page.text.to_lowercase().contains(&word), "{word:?} is not in:\n{}", page.text);
    }
    assert!(page.source.contains("data:image/png;base64,") && page.source.contains("<svg "));
    assert!(page.text.contains("hatched grey") && page.text.contains("of all values"), "{}", page.text);
    // The colour scale and the histogram axis show the unit.
    assert!(page.source.matches("values (K)").count() >= 2, "{}", page.text);
    let as_json = test.run(["inspect", "--json", "--stats", "--report", "s.html", "a"]).succeeds();
    assert_eq!(as_json.output, test.run(["inspect", "--json", "--stats", "a"]).succeeds().output);
    assert_eq!(test.read("r.html"), test.read("s.html"));
    test.run(["inspect", "--stats", "--threads", "1", "--report", "s.html", "a"]).succeeds();
    assert_eq!(test.read("r.html"), test.read("s.html"));
    assert_eq!(test.names(), ["a", "r.html", "s.html"]);
}

#[test]
fn figures_of_a_quantisation_are_those_of_the_run() {
    for form in ["codecs", "cf", "plain"] {
        let test = CliTest::new();
        write_plane(&test, "a");
        let arguments = ["transcode", "--quantize", "uint8", "--as", form, "--json", "--report", "r.html", "a", "b"];
        let run = test.run(arguments);
        assert_eq!(run.status, 0, "{}", run.error);
        let result = &run.json()["nodes"][0]["quantization"];
        let page = page(&test, "r.html");
        let figure = |name: &str| format!("{}", result[name].as_f64().unwrap());
        for name in ["max_abs_error", "rms_error"] {
            let exact = figure(name);
            assert!(page.text.contains(&exact[..exact.len().min(6)]), "{name} {exact} is not in:\n{}", page.text);
        }
        assert!(page.text.contains("complete") && page.text.contains("NaN is 0"), "{}", page.text);
        for part in ["Before", "After", "Difference", "Errors", "48 elements"] {
            assert!(page.text.contains(part), "{form}: {part} is not in:\n{}", page.text);
        }
        // Three pictures, two bars, and the image of the hatching.
        assert_eq!(page.source.matches("<img ").count(), 6, "{form}");
        assert_eq!(page.source.matches("<svg ").count(), 2);
        assert!(!page.text.contains("could not be drawn"), "{}", page.text);
    }
}

#[test]
fn hostile_names_and_texts_are_only_text() {
    let test = CliTest::new();
    let hostile = "<script>alert(1)</script><img src=http://evil.example/x onerror=alert(1)>\u{202e}\u{1b}[31m&amp;\"'";
    let document = json!({"shape": [4], "chunk_shape": [4], "fill_value": 0.0, "dimension_names": [hostile], "attributes": {hostile: hostile}});
    let group = json!({"zarr_format": 3, "node_type": "group", "attributes": {"a": hostile}});
    test.write("g/zarr.json", group.to_string());
    let name = "<b onclick=x>&lt; \u{202e}evil";
    test.array(&format!("g/{name}"), document);
    test.write(&format!("g/{name}/c/0"), float32(&[1.0, 2.0, 3.0, 4.0]));
    let array = format!("g/{name}");
    let run = |arguments: &[&str]| {
        let run = test.run(arguments);
        assert!(run.status < 2, "{}", run.error);
        let page = page(&test, "r.html");
        assert!(!page.source.contains(['\u{202e}', '\u{1b}']));
        assert!(page.text.contains("onclick=x"), "{}", page.text);
        page
    };
    let found = run(&["inspect", "--report", "r.html", &array]);
    assert!(found.text.contains("<script>alert(1)</script>"), "{}", found.text);
    run(&["inspect", "--report", "r.html", "g"]);
    run(&["inspect", "--report", "r.html", "g", &array]);
    run(&["transcode", "--max-error", "0.1", "--overwrite", "--report", "r.html", &array, "d"]);
    run(&["transcode", "--quantize", "uint8", "--include", "**", "--overwrite", "--report", "r.html", "g", "d"]);
    test.write(&format!("g/{name}/c/7"), "x");
    run(&["validate", "--report", "r.html", "g"]);
    run(&["validate", "--against", "d", "--report", "r.html", "g"]);
}

#[test]
fn page_of_a_validation_counts_and_is_written_whatever_is_found() {
    let test = CliTest::new();
    write_plane(&test, "g/a");
    write_plane(&test, "g/b");
    test.group("g");
    test.write("g/b/c/0/0", "short");
    let run = test.run(["validate", "--level", "data", "--json", "--report", "r.html", "g"]);
    let (status, result) = (run.status, run.json());
    assert_ne!(status, 0);
    let found = page(&test, "r.html");
    assert!(found.text.contains(result["verdict"].as_str().unwrap()), "{}", found.text);
    // Words in backticks are shown as code.
    let plain = |text: &str| text.replace(['`', ' '], "");
    assert!(!found.text.contains('`') && found.source.contains("<code>"), "{}", found.text);
    for finding in result["findings"].as_array().unwrap() {
        for part in ["code", "name", "message"] {
            let part = finding[part].as_str().unwrap();
            assert!(plain(&found.text).contains(&plain(part)), "{part} is not in:\n{}", found.text);
        }
    }
    // An unknown count is empty, not 0.
    let run = test.run(["validate", "--against", "g/a", "--json", "--report", "s.html", "g/b"]);
    let elements = &run.json()["against"]["nodes"][0]["elements"];
    let is_empty = page(&test, "s.html").source.contains(r#"<td class="number"><bdi></bdi></td>"#);
    assert!(elements == 0 && is_empty, "{elements}");
    for format in ["github", "junit", "sarif"] {
        test.run(["validate", "--format", format, "--report", "s.html", "g/a"]).succeeds();
        assert!(page(&test, "s.html").text.contains("no errors in metadata and keys"));
    }
    // The page also shows stores that could not be read. Several stores have one page.
    let run = test.run(["validate", "--report", "s.html", "g/a", "nothing", "g/b"]);
    assert_eq!(run.status, 3, "{}", run.error);
    let page = page(&test, "s.html");
    assert!(page.text.contains("Not read") && page.text.contains("nothing"), "{}", page.text);
}

#[test]
fn page_of_several_stores_has_a_section_each() {
    let test = CliTest::new();
    write_plane(&test, "a");
    test.group("g");
    let run = test.run(["inspect", "--report", "r.html", "a", "missing", "g"]);
    assert_eq!(run.status, 3);
    let page = page(&test, "r.html");
    assert_eq!(page.source.matches("<section>").count(), 3);
    let place = |text: &str| page.text.find(text).unwrap_or_else(|| panic!("{text} is not in:\n{}", page.text));
    assert!(place("lat=6") < place("not read:") && place("not read:") < place("group"));
}

#[test]
fn page_of_any_array_is_drawn() {
    let test = CliTest::new();
    let mut drawn = 0;
    for entry in fs::read_dir(fixture("")).unwrap() {
        let path = entry.unwrap().path();
        let run = test.run(["inspect".as_ref(), "--report".as_ref(), "r.html".as_ref(), path.as_os_str()]);
        let plain = test.run(["inspect".as_ref(), path.as_os_str()]);
        assert_eq!((run.status, run.output, run.error), (plain.status, plain.output, plain.error), "{path:?}");
        drawn += usize::from(page(&test, "r.html").source.contains("<svg "));
    }
    assert!(drawn > 50, "{drawn}");
}

#[test]
fn page_of_a_huge_array_is_small_and_reads_little() {
    let test = CliTest::new();
    let codecs = json!([
        {"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd", "configuration": {"level": 3, "checksum": false}},
    ]);
    let shape = [1000, 400_000, 800_000];
    test.array("a", json!({"shape": shape, "chunk_shape": [1, 512, 512], "fill_value": 1.5, "codecs": codecs}));
    test.run(["inspect", "--report", "r.html", "a"]).succeeds();
    let bytes = test.read("r.html");
    assert!(bytes.len() < 2 << 20, "{}", bytes.len());
    let text = page(&test, "r.html").text;
    assert!(text.contains("evenly spread") && text.contains("the level next to it"), "{text}");
    // A picture of noise compresses worst.
    let noise: Vec<f32> = (0..1_000_000_u32)
        .map(|place| f32::from(u16::try_from(place.wrapping_mul(2_654_435_761) >> 16).unwrap()))
        .collect();
    test.array("n", json!({"shape": [1000, 1000]})).write("n/c/0/0", float32(&noise));
    test.run(["transcode", "--quantize", "uint8", "--report", "r.html", "n", "m"]).succeeds();
    assert!(test.read("r.html").len() < 2 << 20, "{}", test.read("r.html").len());
}

#[test]
fn tree_of_many_arrays_is_summed_up() {
    let test = CliTest::new();
    test.group("g");
    for number in 0..2050 {
        test.array(&format!("g/a{number:04}"), json!({"shape": [2], "data_type": "uint8"}));
    }
    let result: Value = test.run(["inspect", "--json", "--report", "r.html", "g"]).succeeds().json();
    assert_eq!(result["totals"]["arrays"], 2050);
    let page = page(&test, "r.html");
    assert!(page.text.contains("... and 50 nodes more") && page.text.contains("2,050"), "{}", page.text);
    // A table that is wider than the screen has shadows at its sides.
    assert!(page.source.contains("class=\"scroll\"") && page.source.contains("no-repeat local"));
    assert!(page.source.len() < 2 << 20, "{}", page.source.len());
}

#[test]
fn page_of_a_plan_speaks_of_a_plan_and_has_no_bar_of_an_unknown_size() {
    let test = CliTest::new();
    write_plane(&test, "a");
    let plan = ["transcode", "--dry-run", "--quantize", "uint8", "--compress", "zstd:3"];
    test.run([&plan[..], &["--report", "r.html", "a", "b"]].concat()).succeeds();
    let page = page(&test, "r.html");
    assert!(page.text.contains("The plan") && !page.text.contains("What was done"), "{}", page.text);
    assert_eq!((page.source.matches("stripe\"").count(), page.source.matches("stripe after").count()), (1, 0));
}

#[test]
fn page_of_a_job_over_a_tree_has_one_table_in_the_order_of_the_numbers() {
    let test = CliTest::new();
    test.write("g/zarr.json", r#"{"zarr_format":3,"node_type":"group"}"#);
    for level in ["g/level 2", "g/level 10"] {
        write_plane(&test, level);
    }
    test.run(["transcode", "--compress", "zstd:3", "--verify", "--report", "r.html", "g", "h"]).succeeds();
    let page = page(&test, "r.html");
    let place = |text: &str| page.text.find(text).unwrap_or_else(|| panic!("{text} is not in:\n{}", page.text));
    assert!(place("level 2") < place("level 10"), "{}", page.text);
    assert_eq!(page.source.matches("level 10").count(), 1, "{}", page.text);
    assert!(page.text.contains("bytes \u{2192} bytes, zstd"), "{}", page.text);
    assert!(page.text.contains("verified: equal"), "{}", page.text);
}

#[test]
fn rounded_floats_are_no_codes_and_one_value_is_no_histogram() {
    let test = CliTest::new();
    write_plane(&test, "a");
    test.run(["transcode", "--keep-bits", "3", "--report", "r.html", "a", "b"]).succeeds();
    let rounded = page(&test, "r.html");
    assert!(rounded.text.contains("Data type float32") && !rounded.text.contains("Codes float32"));
    let scalar = String::from_utf8(test.read("a/zarr.json")).unwrap();
    let scalar = scalar.replace("[6,8]", "[]").replace("[3,4]", "[]").replace(r#"["lat","lon"]"#, "[]");
    test.write("s/zarr.json", scalar).write("s/c", float32(&[2.5]));
    test.run(["inspect", "--report", "r.html", "s"]).succeeds();
    let scalar = page(&test, "r.html");
    assert!(scalar.text.contains("The one value is 2.5") && !scalar.source.contains("<svg "), "{}", scalar.text);
}
