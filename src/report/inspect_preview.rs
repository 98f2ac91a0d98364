//! A preview as text, in colours or in characters, and as a PNG image.

use std::io::{self, Write};

use super::colour_map::{colour, png, share};
use super::quantity::{count, figure};
use super::terminal::{Role, Style};
use crate::operation::PreviewResult;
use crate::operation::inspect_result::{PreviewAxis, PreviewIndex};

/// From the least to the greatest; a space is NaN.
const RAMP: &[u8] = b".:-=+*#%@";

/// Writes the picture under its heading: two pixels in each letter with colours, else one.
pub fn write(preview: &PreviewResult, style: Style, output: &mut dyn Write) -> io::Result<()> {
    writeln!(output)?;
    writeln!(output, "{}", style.paint(Role::Heading, &heading(preview)))?;
    let rows = rows(preview);
    let (min, max) = range(preview);
    let colour_of = |value: f64| share(value, min, max).map(colour);
    if style.is_coloured {
        for pair in rows.chunks(2) {
            for column in 0..pair[0].len() {
                let lower = pair.get(1).and_then(|row| colour_of(row[column]));
                output.write_all(style.pixels(colour_of(pair[0][column]), lower).as_bytes())?;
            }
            writeln!(output)?;
        }
    } else {
        for row in &rows {
            let line: String = row.iter().map(|value| letter(share(*value, min, max))).collect();
            writeln!(output, "{}", line.trim_end())?;
        }
    }
    writeln!(output, "{}", legend(preview, style))
}

/// The heading of a preview: `preview: lat (180) down, lon (360) to the right, at time=3`.
pub(super) fn heading(preview: &PreviewResult) -> String {
    format!("preview: {}", place(&preview.axes, &preview.at, preview.is_upside_down))
}

/// The dimensions and indices that are drawn: `lat (180) down, lon (360) to the right, at time=3`.
pub(super) fn place(axes: &[PreviewAxis], at: &[PreviewIndex], is_upside_down: bool) -> String {
    let down = if is_upside_down { " up, " } else { " down, " };
    let axes: Vec<String> = axes.iter().map(axis).collect();
    let slice = if axes.is_empty() { "one value".to_owned() } else { axes.join(down) + " to the right" };
    let at =
        at.iter().map(|at| format!("{}={}", at.name.clone().unwrap_or_else(|| format!("axis {}", at.axis)), at.index));
    let at: Vec<String> = at.collect();
    if at.is_empty() { slice } else { format!("{slice}, at {}", at.join(", ")) }
}

/// The rows from top to bottom.
fn rows(preview: &PreviewResult) -> Vec<&[f64]> {
    let mut rows: Vec<&[f64]> = preview.values.iter().map(|row| row.0.as_slice()).collect();
    if preview.is_upside_down {
        rows.reverse();
    }
    rows
}

/// A dimension with its length.
pub(super) fn axis(axis: &PreviewAxis) -> String {
    let name = axis.name.clone().unwrap_or_else(|| format!("axis {}", axis.axis));
    format!("{name} ({})", count(axis.length))
}

/// The values that the colours or characters stand for.
fn legend(preview: &PreviewResult, style: Style) -> String {
    let (Some(min), Some(max)) = (preview.min, preview.max) else { return "no finite values".to_owned() };
    let ramp: String = if style.is_coloured {
        (0..16_u8).map(|step| style.pixels(Some(colour(f64::from(step) / 15.0)), None)).collect()
    } else {
        RAMP.iter().map(|letter| char::from(*letter)).collect()
    };
    let reduced = if preview.reduction == "mean" { "means of finite values" } else { "nearest values" };
    format!("{} {ramp} {}  ({reduced}; NaN is blank)", figure(min), figure(max))
}

fn range(preview: &PreviewResult) -> (f64, f64) {
    (preview.min.unwrap_or_default(), preview.max.unwrap_or_default())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share from 0 to 1 of nine characters"
)]
fn letter(share: Option<f64>) -> char {
    share.map_or(' ', |share| {
        let place = ((share * RAMP.len() as f64) as usize).min(RAMP.len() - 1);
        char::from(RAMP[place])
    })
}

/// The picture as a PNG image with 8 bits of red, green, blue and alpha; NaN is transparent.
pub fn image(preview: &PreviewResult) -> Result<Vec<u8>, png::EncodingError> {
    let (min, max) = range(preview);
    let width = preview.values.first().map_or(0, |row| row.0.len());
    let pixels: Vec<u8> = rows(preview)
        .into_iter()
        .flatten()
        .flat_map(|value| match share(*value, min, max).map(colour) {
            Some([red, green, blue]) => [red, green, blue, 255],
            None => [0; 4],
        })
        .collect();
    png((width, preview.values.len()), None, &pixels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::inspect_result::{PreviewIndex, PreviewRow};

    fn preview() -> PreviewResult {
        let axis = |axis, name: Option<&str>, length| PreviewAxis { axis, name: name.map(str::to_owned), length };
        PreviewResult {
            axes: vec![axis(1, Some("lat"), 3), axis(2, None, 2)],
            at: vec![PreviewIndex { axis: 0, name: Some("time".to_owned()), index: 4 }],
            reduction: "mean",
            min: Some(0.0),
            max: Some(8.0),
            values: [[0.0, 8.0], [4.0, f64::NAN], [f64::NAN, 2.0]].map(|row| PreviewRow(row.to_vec())).into(),
            units: None,
            is_upside_down: false,
        }
    }

    fn text(style: Style) -> String {
        let mut text = Vec::new();
        write(&preview(), style, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn preview_without_colour_is_drawn_in_characters() {
        let expected = "\npreview: lat (3) down, axis 2 (2) to the right, at time=4\n.@\n+\n -\n\
                        0 .:-=+*#%@ 8  (means of finite values; NaN is blank)\n";
        assert_eq!(text(Style::PLAIN), expected);
    }

    #[test]
    fn preview_with_colour_is_drawn_in_half_blocks() {
        let drawn = text(Style { is_coloured: true, ..Style::PLAIN });
        let lines: Vec<&str> = drawn.lines().skip(2).collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].contains("38;2;68;1;84") && lines[0].contains("48;2;33;144;140"), "{:?}", lines[0]);
        assert_eq!(lines[0].matches('▀').count(), 2);
        assert!(lines[1].starts_with(' ') && lines[1].contains('▀'), "{:?}", lines[1]);
    }

    #[test]
    fn image_holds_the_colours_and_nan_is_transparent() {
        let bytes = image(&preview()).unwrap();
        let mut reader = png::Decoder::new(io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), (2, 3));
        assert_eq!(pixels[..8], [68, 1, 84, 255, 253, 231, 37, 255]);
        assert_eq!(pixels[12..20], [0; 8]);
    }
}
