//! Levels of arrays as pictures: PNG inside the page, and the bar that says what its colours stand for.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};

use super::scale::{COLOURS, Scale};
use crate::report::quantity::figure;

/// Pixels of the longer side, at least: hatching is seen in a picture of few values, too.
const LEAST_PIXELS: usize = 256;

/// Values, row by row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pixels<'a> {
    pub values: &'a [f64],
    pub columns: usize,
}

/// A picture with its words and its caption.
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

/// The bar of a scale, with its ends in numbers, and what is hatched where anything is.
pub(super) fn colour_bar(scale: Scale, label: &str, has_nan: bool) -> Markup {
    let width = usize::from(COLOURS);
    let places = (0..COLOURS).map(|place| f64::from(place) / f64::from(COLOURS - 1));
    let ramp: Vec<f64> = places.collect();
    let shares = Scale { min: 0.0, max: 1.0, ..scale };
    let hatched = uri(Pixels { values: &[f64::NAN; 12], columns: 4 }, scale);
    html! {
        div.scale {
            div { (label) }
            @if let Some(uri) = uri(Pixels { values: &ramp, columns: width }, shares) { img src=(uri) alt=""; }
            div.ends {
                span { (figure(scale.min)) }
                @if scale.is_of_differences { span { "0" } }
                span { (figure(scale.max)) }
            }
            @if has_nan { @if let Some(uri) = hatched {
                div.faint { img.swatch src=(uri) alt=""; " hatched grey: NaN or missing" }
            } }
        }
    }
}

impl Pixels<'_> {
    fn rows(&self) -> usize {
        self.values.len() / self.columns.max(1)
    }
}

/// The picture as a `data:` address.
fn uri(pixels: Pixels<'_>, scale: Scale) -> Option<String> {
    let bytes = encoded(pixels, scale).ok()?;
    Some(format!("data:image/png;base64,{}", STANDARD.encode(bytes)))
}

fn encoded(pixels: Pixels<'_>, scale: Scale) -> Result<Vec<u8>, png::EncodingError> {
    let Pixels { values, columns } = pixels;
    let rows = pixels.rows();
    // A bar of one row is stretched by the page.
    let factor = if rows <= 1 && columns == usize::from(COLOURS) {
        1
    } else {
        LEAST_PIXELS.div_ceil(columns.max(rows).max(1))
    };
    let (width, height) = (columns * factor, rows * factor);
    let mut indices = Vec::with_capacity(width * height);
    for y in 0..height {
        let row = &values[y / factor * columns..][..columns];
        for x in 0..width {
            // Stripes of four pixels from corner to corner.
            let hatched = COLOURS + u8::from((x + y) / 4 % 2 == 0);
            indices.push(scale.index(row[x / factor]).unwrap_or(hatched));
        }
    }
    let side = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, side(width), side(height));
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_palette(scale.palette());
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&indices)?;
    writer.finish()?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn picture_holds_the_colours_and_hatches_nan() {
        let values = [0.0, 8.0, f64::NAN, 4.0];
        let bytes = encoded(Pixels { values: &values, columns: 2 }, Scale::of(Some((0.0, 8.0)))).unwrap();
        let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), (256, 256));
        let at = |x: usize, y: usize| pixels[(y * 256 + x) * 3..][..3].to_vec();
        assert_eq!((at(0, 0), at(255, 0)), (vec![68, 1, 84], vec![253, 231, 37]));
        assert_ne!(at(0, 255), at(4, 255));
        assert!(at(0, 255).iter().all(|part| *part == at(0, 255)[0]), "grey");
    }
}
