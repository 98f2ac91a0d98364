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
