//! A preview as text, in colours or in characters, and as a PNG image.

use std::io::{self, Write};

use png::EncodingError;

use super::quantity::{approximate, count, figure, whole};
use super::terminal::{Role, Style};
use crate::operation::PreviewResult;
use crate::operation::inspect_result::{PreviewAxis, PreviewIndex};

/// The characters from the minimum to the maximum. A space is NaN.
const RAMP: &[u8] = b".:-=+*#%@";

/// Writes the picture under its heading: two pixels in each character with colours, otherwise one.
pub fn write(preview: &PreviewResult, style: Style, output: &mut dyn Write) -> io::Result<()> {
    writeln!(output)?;
    writeln!(output, "{}", style.paint(Role::Heading, &heading(preview)))?;
    let rows = rows(preview);
    let (min, max) = (preview.min.unwrap_or_default(), preview.max.unwrap_or_default());
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

/// Returns the heading of a preview: `preview: lat (180) down, lon (360) to the right, at time=3`.
pub(super) fn heading(preview: &PreviewResult) -> String {
    format!("preview: {}", location(&preview.axes, &preview.at, preview.is_upside_down))
}

/// Returns the dimensions and indices that are drawn: `lat (180) down, lon (360) to the right, at time=3`.
pub(super) fn location(axes: &[PreviewAxis], at: &[PreviewIndex], is_upside_down: bool) -> String {
    let down = if is_upside_down { " up, " } else { " down, " };
    let axes: Vec<String> = axes.iter().map(axis).collect();
    let slice = if axes.is_empty() { "one value".to_owned() } else { axes.join(down) + " to the right" };
    let at: Vec<String> = at.iter().map(|at| format!("{}={}", name(at.name.as_ref(), at.axis), at.index)).collect();
    if at.is_empty() { slice } else { format!("{slice}, at {}", at.join(", ")) }
}

/// Returns the rows from top to bottom.
fn rows(preview: &PreviewResult) -> Vec<&[f64]> {
    let mut rows: Vec<&[f64]> = preview.values.iter().map(|row| row.0.as_slice()).collect();
    if preview.is_upside_down {
        rows.reverse();
    }
    rows
}

/// Returns a dimension with its length.
pub(super) fn axis(axis: &PreviewAxis) -> String {
    format!("{} ({})", name(axis.name.as_ref(), axis.axis), count(axis.length))
}

fn name(own: Option<&String>, axis: u64) -> String {
    own.cloned().unwrap_or_else(|| format!("axis {axis}"))
}

/// Returns the values that the colours or characters represent.
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

fn letter(share: Option<f64>) -> char {
    share.map_or(' ', |share| char::from(RAMP[whole(share * approximate(RAMP.len() as u64)).min(RAMP.len() - 1)]))
}

/// Returns the picture as a PNG image with 8 bits of red, green, blue and alpha. NaN is transparent.
pub fn image(preview: &PreviewResult) -> Result<Vec<u8>, EncodingError> {
    let (min, max) = (preview.min.unwrap_or_default(), preview.max.unwrap_or_default());
    let width = preview.values.first().map_or(0, |row| row.0.len());
    let pixel = |value: &f64| match share(*value, min, max).map(colour) {
        Some([red, green, blue]) => [red, green, blue, 255],
        None => [0; 4],
    };
    let pixels: Vec<u8> = rows(preview).into_iter().flatten().flat_map(pixel).collect();
    png((width, preview.values.len()), None, &pixels)
}

/// Nine evenly spaced colours of viridis (Stéfan van der Walt and Nathaniel Smith, CC0), from minimum to maximum.
const VIRIDIS: [u32; 9] =
    [0x44_01_54, 0x47_2d_7b, 0x3b_52_8b, 0x2c_72_8e, 0x21_90_8c, 0x27_ad_81, 0x5d_c8_63, 0xaa_dc_32_u32, 0xfd_e7_25];

/// Returns a PNG image of 8-bit pixels, row by row: indices of the palette, or red, green, blue and alpha without one.
pub(super) fn png(size: (usize, usize), palette: Option<Vec<u8>>, pixels: &[u8]) -> Result<Vec<u8>, EncodingError> {
    let side = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, side(size.0), side(size.1));
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_color(if palette.is_some() { png::ColorType::Indexed } else { png::ColorType::Rgba });
    if let Some(palette) = palette {
        encoder.set_palette(palette);
    }
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(bytes)
}

/// Returns the position of a value in a range, from 0 to 1. 0.5 if the range is one value, `None` for NaN.
pub(super) fn share(value: f64, min: f64, max: f64) -> Option<f64> {
    if value.is_nan() {
        return None;
    }
    // It uses halves, since the width of the range may be more than the greatest float.
    let (width, above) = (max / 2.0 - min / 2.0, value / 2.0 - min / 2.0);
    Some(if width > 0.0 { (above / width).clamp(0.0, 1.0) } else { 0.5 })
}

/// Returns the colour of a share: red, green, blue.
pub(super) fn colour(share: f64) -> [u8; 3] {
    mixed(&VIRIDIS, share)
}

/// Returns the colour at a share of the way through evenly spaced colours (`0xRRGGBB`).
pub(super) fn mixed(colours: &[u32], share: f64) -> [u8; 3] {
    let position = share * approximate(colours.len() as u64 - 1);
    let below = whole(position).min(colours.len() - 2);
    let part = position - approximate(below as u64);
    [16, 8, 0].map(|shift| {
        let [from, to] = [colours[below], colours[below + 1]].map(|colour| f64::from(colour >> shift & 0xff));
        u8::try_from(whole((from + (to - from) * part).round())).unwrap_or(u8::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_run_from_the_first_to_the_last() {
        assert_eq!(colour(0.0), [68, 1, 84]);
        assert_eq!(colour(0.5), [33, 144, 140]);
        assert_eq!(colour(1.0), [253, 231, 37]);
    }

    #[test]
    fn share_of_a_range_lies_between_0_and_1() {
        assert_eq!(share(3.0, 2.0, 4.0), Some(0.5));
        assert_eq!(share(3.0, 3.0, 3.0), Some(0.5));
        assert_eq!(share(0.0, -f64::MAX, f64::MAX), Some(0.5));
        assert_eq!(share(f64::NAN, 0.0, 1.0), None);
    }
}
