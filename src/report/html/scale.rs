//! From values to colours, for pictures and for the bar beside them.

use crate::report::colour_map::{colour, share};

/// Colours of a scale; two more of the palette are greys for what is no number.
pub(super) const COLOURS: u8 = 254;

/// The ends and the middle of differences: blue, white, red, as `RdBu` of `ColorBrewer` has them.
const DIFFERENCES: [[f64; 3]; 3] = [[33.0, 102.0, 172.0], [247.0, 247.0, 247.0], [178.0, 24.0, 43.0]];

/// Values from `min` to `max` as colours.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    pub min: f64,
    pub max: f64,
    /// True if it is of differences, white at 0 in the middle.
    pub is_of_differences: bool,
}

impl Scale {
    /// The scale of values in a range.
    pub(super) fn of(range: Option<(f64, f64)>) -> Self {
        let (min, max) = range.unwrap_or_default();
        Scale { min, max, is_of_differences: false }
    }

    /// The scale of differences, as far above 0 as below.
    pub(super) fn of_differences(range: Option<(f64, f64)>) -> Self {
        let most = range.map_or(0.0, |(low, high)| low.abs().max(high.abs()));
        Scale { min: -most, max: most, is_of_differences: true }
    }

    /// The place of a value in the palette; `None` where it is no number.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share from 0 to 1 of the colours"
    )]
    pub(super) fn index(self, value: f64) -> Option<u8> {
        share(value, self.min, self.max).map(|share| (share * f64::from(COLOURS - 1)).round() as u8)
    }

    /// Red, green and blue of each colour, then the two greys.
    pub(super) fn palette(self) -> Vec<u8> {
        let of = |place: u8| {
            let share = f64::from(place) / f64::from(COLOURS - 1);
            if self.is_of_differences { difference(share) } else { colour(share) }
        };
        (0..COLOURS).flat_map(of).chain([125; 3]).chain([176; 3]).collect()
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "colours lie from 0 to 255")]
fn difference(share: f64) -> [u8; 3] {
    let half = usize::from(share > 0.5);
    let part = share * 2.0 - if half == 1 { 1.0 } else { 0.0 };
    let (from, to) = (DIFFERENCES[half], DIFFERENCES[half + 1]);
    [0, 1, 2].map(|component| (from[component] + (to[component] - from[component]) * part).round() as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_of_differences_is_white_at_zero() {
        let scale = Scale::of_differences(Some((-1.0, 3.0)));
        assert_eq!((scale.min, scale.max), (-3.0, 3.0));
        let palette = scale.palette();
        let middle = usize::from(scale.index(0.0).unwrap()) * 3;
        assert!(
            palette[middle..middle + 3].iter().all(|part| *part > 240),
            "{:?}",
            &palette[middle..middle + 3]
        );
        assert_eq!(palette.len(), 256 * 3);
        assert_eq!((scale.index(f64::NAN), scale.index(-3.0), scale.index(9.0)), (None, Some(0), Some(253)));
    }
}
