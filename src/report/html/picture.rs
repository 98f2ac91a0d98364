//! Pictures as PNG inside the page, with a bar of their colours.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};

use crate::operation::LevelResult;
use crate::report::inspect_preview::{colour, mixed, png, share};
use crate::report::quantity::figure;

/// The minimum number of pixels of the longer side. Hatching is then visible in a picture of few values, too.
const LEAST_PIXELS: usize = 256;

/// Values in row-major order.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pixels<'a> {
    pub values: &'a [f64],
    pub columns: usize,
    /// True if the first row is drawn at the bottom.
    pub is_upside_down: bool,
}

/// Returns a picture with its words and its caption.
pub(super) fn picture(pixels: Pixels<'_>, scale: Scale, words: &str, caption: &Markup) -> Markup {
    html! {
        figure {
            @match uri(pixels, scale) {
                Some(uri) => { img.picture src=(uri) alt=(words) style=(format!("--w:{};--h:{}", pixels.columns, pixels.rows())); }
                None => { p { (words) } }
            }
            figcaption { (caption) }
        }
    }
}

/// The bar of a scale, with its ends in numbers, and what is hatched where any of the values is.
pub(super) fn colour_bar(scale: Scale, label: &str, values: &[f64]) -> Markup {
    let ramp: Vec<f64> = (0..COLOURS).map(|step| f64::from(step) / f64::from(COLOURS - 1)).collect();
    let shares = Scale { min: 0.0, max: 1.0, ..scale };
    let row = |values, columns| Pixels { values, columns, is_upside_down: false };
    let hatched = uri(row(&[f64::NAN; 12], 4), scale);
    html! {
        div.scale {
            div { (label) }
            @if let Some(uri) = uri(row(&ramp, ramp.len()), shares) { img src=(uri) alt=""; }
            div.ends {
                span { (figure(scale.min)) }
                @if scale.is_of_differences { span { "0" } }
                span { (figure(scale.max)) }
            }
            @if values.iter().any(|value| value.is_nan()) { @if let Some(uri) = hatched {
                div.faint { img.swatch src=(uri) alt=""; " hatched grey: NaN or missing" }
            } }
        }
    }
}

impl<'a> Pixels<'a> {
    /// Returns values in the layout of a slice.
    pub(super) fn new(level: &LevelResult, values: &'a [f64]) -> Self {
        Pixels { values, columns: level.size().1, is_upside_down: level.is_upside_down }
    }

    fn rows(&self) -> usize {
        self.values.len() / self.columns.max(1)
    }
}

/// Returns the picture as a `data:` address. `None` if it cannot be encoded.
fn uri(pixels: Pixels<'_>, scale: Scale) -> Option<String> {
    encoded(pixels, scale).ok().map(|bytes| format!("data:image/png;base64,{}", STANDARD.encode(bytes)))
}

fn encoded(pixels: Pixels<'_>, scale: Scale) -> Result<Vec<u8>, png::EncodingError> {
    let Pixels { values, columns, is_upside_down } = pixels;
    let rows = pixels.rows();
    // The page stretches a bar of one row.
    let factor =
        if rows <= 1 && columns == usize::from(COLOURS) { 1 } else { LEAST_PIXELS.div_ceil(columns.max(rows).max(1)) };
    let (width, height) = (columns * factor, rows * factor);
    let mut indices = Vec::with_capacity(width * height);
    for y in 0..height {
        let row = if is_upside_down { rows - 1 - y / factor } else { y / factor };
        let row = &values[row * columns..][..columns];
        for x in 0..width {
            // Diagonal stripes of four pixels.
            let hatched = COLOURS + u8::from((x + y) / 4 % 2 == 0);
            indices.push(scale.index(row[x / factor]).unwrap_or(hatched));
        }
    }
    png((width, height), Some(scale.palette()), &indices)
}

/// The number of colours of a scale. The palette also has two greys for NaN.
const COLOURS: u8 = 254;

/// The colours of differences at the minimum, 0 and the maximum: blue, white, red, as `RdBu` of `ColorBrewer`.
const DIFFERENCES: [u32; 3] = [0x21_66_ac, 0xf7_f7_f7, 0xb2_18_2b];

/// A scale of colours for values from `min` to `max`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    pub min: f64,
    pub max: f64,
    /// True for differences, with white at 0 in the middle.
    pub is_of_differences: bool,
}

impl Scale {
    /// Returns the scale of values in a range.
    pub(super) fn new(range: Option<(f64, f64)>) -> Self {
        let (min, max) = range.unwrap_or_default();
        Scale { min, max, is_of_differences: false }
    }

    /// Returns the scale of differences, symmetric about 0.
    pub(super) fn of_differences(range: Option<(f64, f64)>) -> Self {
        let most = range.map_or(0.0, |(low, high)| low.abs().max(high.abs()));
        Scale { min: -most, max: most, is_of_differences: true }
    }

    /// Returns the index of a value in the palette. `None` for NaN.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share from 0 to 1 of the colours")]
    pub(super) fn index(self, value: f64) -> Option<u8> {
        share(value, self.min, self.max).map(|share| (share * f64::from(COLOURS - 1)).round() as u8)
    }

    /// Returns red, green and blue of each colour, then of the two greys.
    pub(super) fn palette(self) -> Vec<u8> {
        let of = |step: u8| {
            let share = f64::from(step) / f64::from(COLOURS - 1);
            if self.is_of_differences { mixed(&DIFFERENCES, share) } else { colour(share) }
        };
        // These are 256 entries, the most that the palette of a PNG has.
        (0..COLOURS).flat_map(of).chain([125; 3]).chain([176; 3]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn picture_holds_the_colours_and_hatches_nan() {
        let values = [0.0, 8.0, f64::NAN, 4.0];
        let pixels = Pixels { values: &values, columns: 2, is_upside_down: false };
        let at = decoded(pixels);
        assert_eq!((at(0, 0), at(255, 0)), (vec![68, 1, 84], vec![253, 231, 37]));
        assert_ne!(at(0, 255), at(4, 255));
        assert!(at(0, 255).iter().all(|part| *part == at(0, 255)[0]), "grey");
        let at = decoded(Pixels { is_upside_down: true, ..pixels });
        assert_eq!((at(0, 255), at(255, 255)), (vec![68, 1, 84], vec![253, 231, 37]));
    }

    /// Returns the colour of each pixel of a picture of values from 0 to 8, 256 pixels wide and high.
    fn decoded(pixels: Pixels<'_>) -> impl Fn(usize, usize) -> Vec<u8> {
        let bytes = encoded(pixels, Scale::new(Some((0.0, 8.0)))).unwrap();
        let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), (256, 256));
        move |x, y| pixels[(y * 256 + x) * 3..][..3].to_vec()
    }

    #[test]
    fn scale_of_differences_is_white_at_zero() {
        let scale = Scale::of_differences(Some((-1.0, 3.0)));
        assert_eq!((scale.min, scale.max), (-3.0, 3.0));
        let palette = scale.palette();
        let middle = usize::from(scale.index(0.0).unwrap()) * 3;
        assert!(palette[middle..middle + 3].iter().all(|part| *part > 240), "{:?}", &palette[middle..middle + 3]);
        assert_eq!(palette.len(), 256 * 3);
        assert_eq!((scale.index(f64::NAN), scale.index(-3.0), scale.index(9.0)), (None, Some(0), Some(253)));
    }
}
