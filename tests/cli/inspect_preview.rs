//! `inspect --preview` and `--preview-png`.

use serde_json::{Value, json};

use super::support::{CliTest, fixture, float32};

/// A float32 array of 2 x 3 x 4 elements that are 100 z + 10 y + x, in chunks of 1 x 2 x 3, with names `time`, none,
/// `lon`; the chunk of the last row and column of the first plane is absent, its fill value is NaN.
fn write_volume(test: &CliTest) {
    test.write(
        "a/zarr.json",
        r#"{"zarr_format":3,"node_type":"array","shape":[2,3,4],"data_type":"float32",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1,2,3]}},
        "chunk_key_encoding":{"name":"default"},"fill_value":"NaN","dimension_names":["time",null,"lon"],
        "codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}"#,
    );
    for (z, y, x) in (0..8_u8).map(|chunk| (chunk / 4, chunk / 2 % 2, chunk % 2)) {
        let element = |place: u8| f32::from(100 * z + 10 * (2 * y + place / 3) + 3 * x + place % 3);
        if (z, y, x) != (0, 1, 1) {
            let elements: Vec<f32> = (0..6).map(element).collect();
            test.write(&format!("a/c/{z}/{y}/{x}"), float32(&elements));
        }
    }
}

fn preview(test: &CliTest, arguments: &[&str]) -> Value {
    test.run([&["inspect", "--json", "--storage", "never"], arguments].concat()).succeeds().json()["preview"]
        .clone()
}

#[test]
fn preview_shows_the_last_two_dimensions_at_index_0() {
    let test = CliTest::new();
    write_volume(&test);
    let expected = json!({
        "axes": [{"axis": 1, "name": null, "length": 3}, {"axis": 2, "name": "lon", "length": 4}],
        "at": [{"axis": 0, "name": "time", "index": 0}],
        "reduction": "mean", "min": 0.0, "max": 22.0,
        "values": [[0.0, 1.0, 2.0, 3.0], [10.0, 11.0, 12.0, 13.0], [20.0, 21.0, 22.0, "NaN"]]
    });
    // STORE may follow the option that takes no value.
    assert_eq!(preview(&test, &["--preview", "a"]), expected);
    assert_eq!(preview(&test, &["a", "--preview"]), expected);
    assert_eq!(preview(&test, &["--preview", "0=0", "a"]), expected);
}

#[test]
fn preview_takes_axes_by_number_and_by_name() {
    let test = CliTest::new();
    write_volume(&test);
    let one = preview(&test, &["--preview=time=1,lon=2", "a"]);
    assert_eq!(one["values"], json!([[102.0, 112.0, 122.0]]));
    assert_eq!(one["axes"], json!([{"axis": 1, "name": null, "length": 3}]));
    let two = preview(&test, &["a", "--preview", "1=2"]);
    assert_eq!(two["values"], json!([[20.0, 21.0, 22.0, "NaN"], [120.0, 121.0, 122.0, 123.0]]));
    let all = preview(&test, &["a", "--preview", "0=1,1=1,2=1"]);
    assert_eq!((&all["values"], &all["axes"]), (&json!([[111.0]]), &json!([])));
    test.run(["inspect", "--preview", "time=2", "a"]).fails(1, &["time=2", "2 elements"]);
    test.run(["inspect", "--preview", "height=2", "a"]).fails(1, &["\"height\"", "time, lon"]);
    test.run(["inspect", "--preview", "time", "a"]).fails(2, &["AXIS=INDEX", "\"time\""]);
}

#[test]
fn preview_reads_no_other_chunk() {
    let test = CliTest::new();
    write_volume(&test);
    test.write("a/c/1/0/0", "damaged");
    assert_eq!(preview(&test, &["--preview", "0=0", "a"])["max"], 22.0);
    let run = test.run(["inspect", "--json", "--preview", "0=1", "a"]);
    assert_eq!((run.status, &run.json()["preview"]), (1, &Value::Null));
    assert_eq!(run.json()["warnings"][0]["code"], "ZX101");
}

#[test]
fn preview_of_a_large_slice_is_made_of_means() {
    let store = fixture("sea_surface_temperature");
    let found = preview(&CliTest::new(), &["--preview", store.to_str().unwrap()]);
    let rows = found["values"].as_array().unwrap();
    assert_eq!((rows.len(), rows[0].as_array().unwrap().len()), (60, 65));
    // numpy.nanmean of the elements 220 to 225 by 122 to 127 of the first plane, as float64.
    let pixel = rows[40][22].as_f64().unwrap();
    assert!((pixel - 23.756_761_815_812_85).abs() < 1e-13, "{pixel}");
}

#[test]
fn preview_of_a_slice_without_end_is_nearest() {
    let test = CliTest::new();
    test.write(
        "a/zarr.json",
        r#"{"zarr_format":3,"node_type":"array","shape":[1000000000,3000000000],"data_type":"uint8",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1000,1000]}},
        "chunk_key_encoding":{"name":"default"},"fill_value":7,"codecs":[{"name":"bytes"}]}"#,
    );
    let run = test.run(["inspect", "--json", "--storage", "never", "--preview", "a"]);
    let found = run.succeeds().json()["preview"].clone();
    assert_eq!(
        (&found["reduction"], &found["min"], &found["max"]),
        (&json!("nearest"), &json!(7.0), &json!(7.0))
    );
    assert_eq!(found["values"].as_array().unwrap().len(), 27);
}

#[test]
fn preview_is_drawn_within_80_columns_in_colours_or_characters() {
    let store = fixture("sea_surface_temperature");
    let draw = |colour: &str| {
        let run = CliTest::new()
            .run(["inspect", "--storage", "never", "--color", colour, "--preview", store.to_str().unwrap()])
            .succeeds();
        run.text().split_once("preview: ").unwrap().1.to_owned()
    };
    let plain = draw("never");
    assert!(plain.starts_with("y (330) down, x (360) to the right, at time=0\n"), "{plain}");
    assert!(plain.lines().all(|line| line.chars().count() <= 80), "{plain}");
    assert!(!plain.contains('\u{1b}') && plain.contains("@@@"), "{plain}");
    let coloured = draw("always");
    let blocks = |line: &str| line.chars().filter(|letter| "▀▄ ".contains(*letter)).count();
    assert!(coloured.lines().skip(1).all(|line| blocks(line) <= 80), "{coloured}");
    assert!(coloured.contains("38;2;") && coloured.contains("48;2;"));
}

#[test]
fn preview_png_is_an_image_of_the_slice() {
    let test = CliTest::new();
    write_volume(&test);
    let run = test.run(["inspect", "--storage", "never", "--preview-png", "slice.png", "a"]).succeeds();
    assert!(!run.text().contains("preview"), "the picture was not asked for as text");
    let image = test.read("slice.png");
    let mut reader = png::Decoder::new(std::io::Cursor::new(image)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.width, info.height, info.color_type), (4, 3, png::ColorType::Rgba));
    assert_eq!(pixels[..4], [68, 1, 84, 255], "the least value");
    assert_eq!(pixels[40..44], [253, 231, 37, 255], "the greatest value");
    assert_eq!(pixels[44..48], [0; 4], "NaN is transparent");
    assert_eq!(test.names(), ["a", "slice.png"]);
}

#[test]
fn preview_of_shards_and_of_one_dimension_is_drawn() {
    for (name, rows) in [
        ("zarr-python_3.1.6_sharded_index_end", 32),
        ("zarr-python_3.1.6_sharded_twice", 32),
        ("zarr-python_3.1.6_scalar", 1),
    ] {
        let found = preview(&CliTest::new(), &["--preview", fixture(name).to_str().unwrap()]);
        assert_eq!(found["values"].as_array().unwrap().len(), rows, "{name}");
    }
    let test = CliTest::new();
    test.write_float32("a", "0", &[Some([0.0, 1.0, 2.0, 3.0]), None]);
    let run = test.run(["inspect", "--preview", "a"]).succeeds();
    assert!(
        run.text().ends_with(
            "axis 0 (8) to the right\n.=#@....\n0 .:-=+*#%@ 3  (means of finite values; NaN is blank)\n"
        ),
        "{}",
        run.text()
    );
}
