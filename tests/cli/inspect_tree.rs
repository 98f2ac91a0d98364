//! The tree of a group on terminals of several widths.

use serde_json::{Value, json};

use super::support::CliTest;
use super::support::terminal::OnTerminal;

#[test]
fn tree_has_names_sizes_totals_and_fits_the_terminal() {
    let test = CliTest::new();
    test.group("g");
    let long = "a name that is far longer than what a table has room for on a terminal";
    for name in [long, "\u{6e29}\u{5ea6}"] {
        test.array(&format!("g/{name}"), json!({"shape": [4, 8], "chunk_shape": [4, 4], "data_type": "uint8", "codecs": [{"name": "bytes"}], "dimension_names": ["time", null]})).write(&format!("g/{name}/c/0/0"), [0; 16]);
    }
    let document = test.run(["inspect", "--json", "g"]).succeeds().json();
    assert_eq!(document["totals"], json!({"arrays": 2, "bytes_logical": 64, "bytes_stored": 32}));
    assert_eq!([&document["nodes"][0]["bytes_stored"], &document["consolidated"]], [&json!(16), &json!(false)]);
    let text = test.run(["inspect", "g"]).succeeds().text().to_owned();
    assert!(text.contains(&format!("  {long}  time=4,8  uint8  4,4     bytes      32 B    16 B   2.00\n")), "{text}");
    assert!(text.lines().last().unwrap().trim_start().starts_with("total "), "{text}");
    assert!(text.ends_with(" 64 B    32 B   2.00\n"), "{text}");
    for columns in [60, 80, 200] {
        let shown = test.run_in_terminal(columns, OnTerminal::Both, &["inspect", "--color", "never", "g"]);
        assert!(shown.lines.iter().all(|line| line.chars().count() <= columns.into()), "{:#?}", shown.lines);
        let note = shown.lines.iter().position(|line| line.starts_with("  left out: "));
        assert_eq!(note.unwrap_or(shown.lines.len()), text.lines().count(), "{:#?}", shown.lines);
        assert_eq!(shown.lines.iter().any(|line| line.contains(long)), columns == 200, "{:#?}", shown.lines);
    }
    let plain = test.run(["inspect", "--storage", "never", "--json", "g"]).succeeds().json();
    assert_eq!(plain["totals"]["bytes_stored"], Value::Null);
}

#[test]
fn tree_keeps_dimension_names_and_sizes_on_a_narrow_terminal() {
    let test = CliTest::new();
    test.group("g");
    let codecs = json!([
        {"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd", "configuration": {"level": 1, "checksum": false}},
    ]);
    let names = ["time", "latitude", "longitude"];
    let members =
        json!({"shape": [365, 721, 1440], "chunk_shape": [1, 721, 1440], "codecs": codecs, "dimension_names": names});
    test.array("g/mean_sea_level_pressure", members);
    let shown = |columns| {
        let run = test.run_in_terminal(columns, OnTerminal::Both, &["inspect", "--color", "never", "g"]);
        run.lines.iter().map(|line| line.trim_end().to_owned()).filter(|line| !line.is_empty()).collect::<Vec<_>>()
    };
    let narrow = shown(80);
    assert!(narrow.iter().all(|line| line.chars().count() <= 80), "{narrow:#?}");
    let heading = narrow.iter().find(|line| line.trim_start().starts_with("node ")).unwrap();
    let columns: Vec<&str> = heading.split_whitespace().collect();
    assert_eq!(columns, ["node", "shape", "type", "decoded", "stored"], "{narrow:#?}");
    let [.., row, note] = narrow.as_slice() else { panic!("{narrow:#?}") };
    assert_eq!(note, "  left out: chunks, codecs, ratio; a wider terminal or `--json` shows them");
    assert!(row.contains("  mean_sea_level_pressure  ti…=365,la…=721,lo…=1440  "), "{row}");
    assert!(row.ends_with("float32  1.41 GiB     0 B"), "{row}");
    let wide = shown(200);
    assert!(wide.last().unwrap().contains("  1,721,1440  bytes zstd  "), "{wide:#?}");
}
