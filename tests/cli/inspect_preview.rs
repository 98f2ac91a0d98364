//! The pictures of `inspect --preview` and `--preview-png`.

use serde_json::json;

use super::support::{CliTest, fixture, float32};

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
    let mut values = [0_u8, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 0].map(f32::from);
    values[11] = f32::NAN;
    test.array("a", json!({"shape": [3, 4]})).write("a/c/0/0", float32(&values));
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
