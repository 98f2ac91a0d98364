//! A picture that is put together from parts, and what of a dimension each of its pixels stands for.

use crate::codec::region::as_index;

/// A dimension reduced to pixels, at most as many as it has elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reduction {
    /// Elements.
    pub length: u64,
    /// Pixels.
    pub pixels: u64,
    /// Whether a pixel is the mean of its elements; else the one in the middle of them.
    pub is_mean: bool,
}

impl Reduction {
    /// The pixel of an element.
    fn pixel_of(&self, element: u64) -> u64 {
        scaled(element, self.pixels, self.length)
    }

    /// The first element of a pixel.
    fn first_of(&self, pixel: u64) -> u64 {
        let product = u128::from(pixel) * u128::from(self.length);
        u64::try_from(product.div_ceil(u128::from(self.pixels.max(1)))).unwrap_or(u64::MAX)
    }

    /// How many elements a pixel is made of.
    fn weight_of(&self, pixel: u64) -> u64 {
        if self.is_mean { self.first_of(pixel + 1) - self.first_of(pixel) } else { 1 }
    }

    /// The element in the middle of a pixel.
    fn middle_of(&self, pixel: u64) -> u64 {
        let (first, end) = (self.first_of(pixel), self.first_of(pixel + 1));
        first + (end - first) / 2
    }

    /// The pixels that need some of `length` elements from `first` on: the first and the one after the last.
    pub(super) fn pixels_of(&self, first: u64, length: u64) -> Option<(u64, u64)> {
        let last = first + length.checked_sub(1)?;
        let (mut from, mut to) = (self.pixel_of(first), self.pixel_of(last) + 1);
        if !self.is_mean {
            from += u64::from(self.middle_of(from) < first);
            to -= u64::from(self.middle_of(to - 1) > last);
        }
        (from < to).then_some((from, to))
    }

    /// The chunks that are needed, of which this tells the one that holds an element.
    pub(super) fn chunks(&self, chunk_of: impl Fn(u64) -> u64) -> Vec<u64> {
        if self.is_mean {
            return self.length.checked_sub(1).map_or(Vec::new(), |last| (0..=chunk_of(last)).collect());
        }
        let mut chunks: Vec<u64> = (0..self.pixels).map(|pixel| chunk_of(self.middle_of(pixel))).collect();
        chunks.dedup();
        chunks
    }

    /// Calls `visit` with each element that is needed of `length` from `first` on, and its pixel.
    pub(super) fn each(&self, (first, length): (u64, u64), mut visit: impl FnMut(u64, u64)) {
        let Some((from, to)) = self.pixels_of(first, length) else { return };
        for pixel in from..to {
            if self.is_mean {
                let elements = self.first_of(pixel).max(first)..self.first_of(pixel + 1).min(first + length);
                elements.for_each(|element| visit(element, pixel));
            } else {
                visit(self.middle_of(pixel), pixel);
            }
        }
    }
}

/// `value * by / of`, rounded down.
fn scaled(value: u64, by: u64, of: u64) -> u64 {
    u64::try_from(u128::from(value) * u128::from(by) / u128::from(of.max(1))).unwrap_or(u64::MAX)
}

/// A rectangle of pixels, each a sum of finite values.
#[derive(Debug, Clone)]
pub(super) struct Picture {
    /// The first row, and the one after the last.
    rows: (u64, u64),
    /// Likewise.
    columns: (u64, u64),
    pixels: Vec<Pixel>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Pixel {
    sum: f64,
    finite: u64,
    seen: u64,
}

impl Picture {
    /// Pixels that have seen nothing.
    pub(super) fn new(rows: (u64, u64), columns: (u64, u64)) -> Self {
        let count = as_index(rows.1 - rows.0) * as_index(columns.1 - columns.0);
        Picture { rows, columns, pixels: vec![Pixel::default(); count] }
    }

    fn place(&self, row: u64, column: u64) -> usize {
        as_index((row - self.rows.0) * (self.columns.1 - self.columns.0) + (column - self.columns.0))
    }

    /// Shows a value to a pixel.
    pub(super) fn put(&mut self, row: u64, column: u64, value: f64) {
        let place = self.place(row, column);
        let pixel = &mut self.pixels[place];
        pixel.seen += 1;
        if value.is_finite() {
            pixel.sum += value;
            pixel.finite += 1;
        }
    }

    /// Adds a part of the picture.
    pub(super) fn add(&mut self, part: &Picture) {
        for row in part.rows.0..part.rows.1 {
            for column in part.columns.0..part.columns.1 {
                let from = part.pixels[part.place(row, column)];
                let place = self.place(row, column);
                let pixel = &mut self.pixels[place];
                pixel.sum += from.sum;
                pixel.finite += from.finite;
                pixel.seen += from.seen;
            }
        }
    }

    /// Shows the fill value to each pixel as often as it has elements that it has not seen.
    #[expect(clippy::cast_precision_loss, reason = "a share of a pixel")]
    pub(super) fn fill_absent(&mut self, fill_value: f64, down: &Reduction, right: &Reduction) {
        for row in self.rows.0..self.rows.1 {
            for column in self.columns.0..self.columns.1 {
                let place = self.place(row, column);
                let pixel = &mut self.pixels[place];
                let elements = down.weight_of(row).saturating_mul(right.weight_of(column));
                let absent = elements.saturating_sub(pixel.seen);
                if fill_value.is_finite() && absent > 0 {
                    pixel.sum += fill_value * absent as f64;
                    pixel.finite += absent;
                }
            }
        }
    }

    /// The mean of what each pixel has seen, row by row; NaN where nothing was finite.
    #[expect(clippy::cast_precision_loss, reason = "a mean of a few million values")]
    pub(super) fn values(&self) -> Vec<Vec<f64>> {
        let width = as_index(self.columns.1 - self.columns.0).max(1);
        let mean = |pixel: &Pixel| {
            if pixel.finite == 0 { f64::NAN } else { pixel.sum / pixel.finite as f64 }
        };
        self.pixels.chunks(width).map(|row| row.iter().map(mean).collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_has_one_pixel_and_every_pixel_an_element() {
        for (length, pixels) in [(10, 3), (7, 7), (1000, 999), (5, 1), (64, 48)] {
            let reduction = Reduction { length, pixels, is_mean: true };
            let mut seen = vec![0; as_index(pixels)];
            for first in (0..length).step_by(3) {
                reduction.each((first, 3.min(length - first)), |element, pixel| {
                    assert_eq!(reduction.pixel_of(element), pixel);
                    seen[as_index(pixel)] += 1;
                });
            }
            let weights: Vec<u64> = (0..pixels).map(|pixel| reduction.weight_of(pixel)).collect();
            assert_eq!(seen, weights);
            assert!(seen.iter().all(|count| *count > 0));
        }
    }

    #[test]
    fn nearest_takes_one_element_of_each_pixel_whatever_the_chunks() {
        for (length, pixels, chunk) in [(10, 3, 4), (1 << 40, 5, 1 << 30), (9, 9, 2), (100, 7, 1)] {
            let reduction = Reduction { length, pixels, is_mean: false };
            let mut seen = Vec::new();
            for index in reduction.chunks(|element| element / chunk) {
                let first = index * chunk;
                reduction.each((first, chunk.min(length - first)), |element, pixel| {
                    assert_eq!(reduction.pixel_of(element), pixel);
                    seen.push(pixel);
                });
            }
            assert_eq!(seen, (0..pixels).collect::<Vec<_>>());
        }
    }
}
