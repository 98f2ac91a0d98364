//! A perceptual colour map: equal steps in value look like equal steps in colour, also in greyscale.

/// Nine evenly spaced colours of viridis (Stéfan van der Walt and Nathaniel Smith, CC0), from the least to the greatest.
const VIRIDIS: [[f64; 3]; 9] = [
    [68.0, 1.0, 84.0],
    [71.0, 45.0, 123.0],
    [59.0, 82.0, 139.0],
    [44.0, 114.0, 142.0],
    [33.0, 144.0, 140.0],
    [39.0, 173.0, 129.0],
    [93.0, 200.0, 99.0],
    [170.0, 220.0, 50.0],
    [253.0, 231.0, 37.0],
];

/// A PNG image of 8-bit pixels, row by row: indices of the palette, or red, green, blue and alpha without one.
pub(super) fn png(
    (width, height): (usize, usize),
    palette: Option<Vec<u8>>,
    pixels: &[u8],
) -> Result<Vec<u8>, png::EncodingError> {
    let side = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, side(width), side(height));
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

/// The position of a value in a range, from 0 to 1; 0.5 if the range is one value. `None` where it is NaN.
pub(super) fn share(value: f64, min: f64, max: f64) -> Option<f64> {
    if value.is_nan() {
        return None;
    }
    // Halves, since the width of the range may be more than the greatest number.
    let (width, above) = (max / 2.0 - min / 2.0, value / 2.0 - min / 2.0);
    Some(if width > 0.0 { (above / width).clamp(0.0, 1.0) } else { 0.5 })
}

/// The colour of a share: red, green, blue.
pub(super) fn colour(share: f64) -> [u8; 3] {
    mixed(&VIRIDIS, share)
}

/// The colour at a share of the way through evenly spaced colours.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "places lie within the colours, and these from 0 to 255"
)]
pub(super) fn mixed(colours: &[[f64; 3]], share: f64) -> [u8; 3] {
    let place = share * (colours.len() - 1) as f64;
    let below = (place as usize).min(colours.len() - 2);
    let (from, to, part) = (colours[below], colours[below + 1], place - below as f64);
    [0, 1, 2].map(|component| (from[component] + (to[component] - from[component]) * part).round() as u8)
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
