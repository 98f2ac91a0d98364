//! A slice of an array as a picture: two dimensions, each reduced to pixels, at one index along all others. Only the
//! chunks that contain drawn elements are read.
//!
//! `--report`: the effect of a quantisation on the values, read from SOURCE and DEST as readers do, after DEST is
//! complete.

use std::ops::Range;

use super::drawing::{Comparison, PreviewAxis, PreviewIndex, finite_range};
use super::open::{open_array, opened};
use super::{
    ArrayReading, Budget, CfOptions, ComparedArray, FaultClass, Histogram, LevelResult, Missing, NodePath, Numbers,
    OpenedArray, OperationError, QuantizationResult, Result, TranscodeOptions, TranscodeResult,
    document::read_documents, explain, new_driver, stored_array, transcode_result::NodeResult,
};
use crate::array::{ChunkFault, ChunkSet, Fault, Interrupt, OpenedObject, StoredArray};
use crate::codec::region::as_index;
use crate::diagnostic::{Profile, quantity::approximate};
use crate::engine::{Accumulator, Chunk, Driver, Fold, Progress, Silent};
use crate::grid::{Region, ravel};
use crate::metadata::{ArrayMetadata, Json, Number};
use crate::store::Location;

/// The maximum number of chunks (inner ones of shards) that a slice in the middle of an array may need.
const MOST_CHUNKS: u64 = 1 << 11;

/// The maximum size of these chunks, decoded, in bytes.
const MOST_BYTES: u64 = 1 << 30;

/// The elements of a dimension, reduced to pixels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Side {
    /// The dimension. `None` if the array has too few.
    pub dimension: Option<usize>,
    /// The elements that each pixel is computed from, in their order.
    pub pixels: Vec<Range<u64>>,
    /// True if a pixel is the mean of its elements, otherwise the middle one.
    pub is_mean: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Slice {
    /// The vertical side, and the horizontal one.
    pub sides: [Side; 2],
    /// The index along each dimension that is not in `sides`.
    pub at: Vec<u64>,
}

impl Side {
    /// Divides `length` elements from `first` on among `count` pixels, which are no more than the elements.
    pub(super) fn new(dimension: Option<usize>, (first, length): (u64, u64), count: u64, is_mean: bool) -> Self {
        let start = |pixel: u64| {
            // The product of two 64-bit numbers may not fit into 64 bits.
            let product = u128::from(pixel) * u128::from(length);
            first + u64::try_from(product.div_ceil(u128::from(count.max(1)))).unwrap_or(u64::MAX)
        };
        let elements = |pixel: u64| {
            let (first, end) = (start(pixel), start(pixel + 1));
            let middle = first + (end - first) / 2;
            if is_mean { first..end } else { middle..middle + 1 }
        };
        Side { dimension, pixels: (0..count).map(elements).collect(), is_mean }
    }

    /// Returns the elements along the side that a chunk contains.
    fn elements_in(&self, chunk: &Region) -> Range<u64> {
        let along = |dimension: usize| chunk.start[dimension]..chunk.start[dimension] + chunk.shape[dimension];
        self.dimension.map_or(0..1, along)
    }

    /// Returns the pixels that need elements of a chunk. Empty if there are none.
    fn pixels_in(&self, chunk: &Region) -> Range<usize> {
        let Range { start, end } = self.elements_in(chunk);
        let before = self.pixels.partition_point(|elements| elements.end <= start);
        before..self.pixels.partition_point(|elements| elements.start < end)
    }

    /// Calls `visit` with each needed element of a chunk, relative to the chunk, and its pixel.
    fn each(&self, chunk: &Region, mut visit: impl FnMut(u64, usize)) {
        let own = self.elements_in(chunk);
        for pixel in self.pixels_in(chunk) {
            let Range { start, end } = self.pixels[pixel];
            (start.max(own.start)..end.min(own.end)).for_each(|element| visit(element - own.start, pixel));
        }
    }

    /// Returns the indices of the needed objects, or subchunks, along the side.
    fn chunks(&self, array: &StoredArray, are_subchunks: bool) -> Vec<u64> {
        let Some(dimension) = self.dimension else { return vec![0] };
        let grid = if are_subchunks { &array.subchunk_grid } else { &array.metadata.grid };
        let chunk_of = |element| grid.axes()[dimension].chunk_of(element);
        let of_pixel = |elements: &Range<u64>| chunk_of(elements.start)..=chunk_of(elements.end - 1);
        let mut chunks: Vec<u64> = self.pixels.iter().flat_map(of_pixel).collect();
        // Pixels follow each other along the side, so equal chunks are neighbours in the list.
        chunks.dedup();
        chunks
    }
}

impl Slice {
    /// Returns a slice of the last two dimensions at the middle of all others. A side has at most `pixels` pixels. The
    /// number of chunks is bounded, whatever the size of the arrays. A slice that has more is a window in the middle.
    /// `None` if the arrays have no elements.
    pub(super) fn in_middle(shape: &[u64], arrays: &[&StoredArray], pixels: u64) -> Option<Self> {
        if shape.contains(&0) {
            return None;
        }
        let dimensions = [2, 1].map(|from_end| shape.len().checked_sub(from_end));
        let mut windows = dimensions.map(|dimension| (0, dimension.map_or(1, |dimension| shape[dimension])));
        loop {
            let side = |side: usize| {
                let (_, length) = windows[side];
                Side::new(dimensions[side], windows[side], length.min(pixels.max(1)), false)
            };
            let slice = Slice { sides: [side(0), side(1)], at: shape.iter().map(|length| length / 2).collect() };
            let along = |side: usize, array: &&StoredArray| slice.sides[side].chunks(array, true).len() as u64;
            let needed = [0, 1].map(|side| arrays.iter().map(|array| along(side, array)).max().unwrap_or(1));
            let chunks = needed[0].saturating_mul(needed[1]);
            let bytes = arrays.iter().map(|array| slice.bytes_of(array)).max().unwrap_or(0);
            // A smaller window would still need that one chunk.
            if chunks == 1 || (chunks <= MOST_CHUNKS && bytes <= MOST_BYTES) {
                return Some(slice);
            }
            // The window keeps its middle. The side that needs more chunks loses half of its length.
            let (first, length) = &mut windows[usize::from(needed[1] >= needed[0])];
            let half = (*length / 2).max(1);
            *first += (*length - half) / 2;
            *length = half;
        }
    }

    /// Returns the slice for an array with `skipped` more elements before it along each dimension.
    pub(super) fn moved_by(&self, skipped: &[u64]) -> Self {
        let mut moved = self.clone();
        moved.at.iter_mut().zip(skipped).for_each(|(at, skipped)| *at += skipped);
        for Side { dimension, pixels, .. } in &mut moved.sides {
            let skipped = dimension.map_or(0, |dimension| skipped[dimension]);
            for pixel in pixels {
                *pixel = pixel.start + skipped..pixel.end + skipped;
            }
        }
        moved
    }

    /// Returns the side of a dimension. `None` if the dimension is not in `sides`.
    fn side(&self, dimension: usize) -> Option<&Side> {
        self.sides.iter().find(|side| side.dimension == Some(dimension))
    }

    /// Returns the bytes of an array that the slice reads: decoded chunks and shard indexes.
    fn bytes_of(&self, array: &StoredArray) -> u64 {
        let count = |are_subchunks| {
            let along = self.sides.iter().map(|side| side.chunks(array, are_subchunks).len() as u64);
            along.fold(1, u64::saturating_mul)
        };
        let decoded = array.subchunk_chain().decoded().num_bytes().unwrap_or(0);
        decoded.saturating_mul(count(true)).saturating_add(array.index_bytes().saturating_mul(count(false)))
    }

    /// Returns the objects of an array that contain the slice.
    pub(super) fn objects(&self, array: &StoredArray) -> ChunkSet {
        let grid = array.metadata.grid.counts();
        // An empty box gives the indices of the chunk at its corner.
        let mut position = array.metadata.grid.chunks_in(&Region::between(self.at.clone(), &self.at)).start;
        let [down, right] = [0, 1].map(|side: usize| self.sides[side].chunks(array, false));
        let mut indices = Vec::with_capacity(down.len() * right.len());
        for row in &down {
            for column in &right {
                for (side, index) in self.sides.iter().zip([row, column]) {
                    if let Some(dimension) = side.dimension {
                        position[dimension] = *index;
                    }
                }
                indices.push(ravel(&position, &grid));
            }
        }
        ChunkSet::from_iter(indices)
    }

    /// Returns the box of the array that contains the slice.
    fn region(&self) -> Region {
        let along = |(dimension, at): (usize, &u64)| {
            let pixels = self.side(dimension).and_then(|side| side.pixels.first().zip(side.pixels.last()));
            pixels.map_or((*at, at + 1), |(first, last)| (first.start, last.end))
        };
        let (start, end): (_, Vec<u64>) = self.at.iter().enumerate().map(along).unzip();
        Region::between(start, &end)
    }

    /// Returns the rows and columns of pixels that need elements of a chunk. Both are empty if there are none.
    fn pixels_in(&self, chunk: &Region) -> [Range<usize>; 2] {
        let holds = |(dimension, at): (usize, &u64)| {
            self.side(dimension).is_some()
                || at.checked_sub(chunk.start[dimension]).is_some_and(|inside| inside < chunk.shape[dimension])
        };
        let [rows, columns] = [0, 1].map(|side: usize| self.sides[side].pixels_in(chunk));
        if rows.is_empty() || columns.is_empty() || !self.at.iter().enumerate().all(holds) {
            return [0..0, 0..0];
        }
        [rows, columns]
    }

    /// Returns the dimensions of the slice, and the indices along the others.
    pub(super) fn axes(&self, metadata: &ArrayMetadata) -> (Vec<PreviewAxis>, Vec<PreviewIndex>) {
        let names = metadata.dimension_names.as_deref().unwrap_or_default();
        let name = |dimension: usize| names.get(dimension).cloned().flatten();
        let length = |dimension: usize| metadata.shape[dimension];
        let axes = self.sides.iter().filter_map(|side| side.dimension);
        let axes = axes.map(|axis| PreviewAxis { axis: axis as u64, name: name(axis), length: length(axis) });
        let fixed = self.at.iter().enumerate().filter(|(dimension, _)| self.side(*dimension).is_none());
        let at = fixed.map(|(axis, at)| PreviewIndex { axis: axis as u64, name: name(axis), index: *at });
        (axes.collect(), at.collect())
    }

    /// Returns the description of the slice with these values.
    pub(super) fn level(&self, metadata: &ArrayMetadata, values: Vec<f64>) -> LevelResult {
        let (axes, at) = self.axes(metadata);
        let middles = |side: &Side| side.pixels.iter().map(|pixel| pixel.start).collect();
        let lines = self.sides.iter().filter(|side| side.dimension.is_some()).map(middles).collect();
        LevelResult { axes, at, lines, values, units: units(metadata), is_upside_down: false }
    }
}

pub(super) fn units(metadata: &ArrayMetadata) -> Option<String> {
    metadata.attributes.get("units").and_then(Json::as_str).map(ToOwned::to_owned)
}

/// An accumulator of the pixels of a slice.
pub(super) struct SliceReader<'a> {
    slice: &'a Slice,
    numbers: &'a Numbers,
    /// The value of elements that are not stored. NaN if they count as missing.
    absent: f64,
}

/// A rectangle of pixels.
#[derive(Debug, Default)]
pub(super) struct Pixels {
    rows: Range<usize>,
    columns: Range<usize>,
    /// The pixels in row-major order.
    of_rows: Vec<Pixel>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Pixel {
    /// The sum of the values that count. Those are the finite ones, and infinities in a picture of nearest values.
    sum: f64,
    count: u64,
    /// The number of stored elements.
    seen: u64,
}

impl Accumulator for SliceReader<'_> {
    type Part = Pixels;
    type Buffers = ();

    fn start(&self, region: &Region) -> Pixels {
        let [rows, columns] = self.slice.pixels_in(region);
        let of_rows = vec![Pixel::default(); rows.len() * columns.len()];
        Pixels { rows, columns, of_rows }
    }

    fn add(&self, part: &mut Pixels, chunk: Chunk<'_>, (): &mut ()) -> Result<(), Fault> {
        let (Some(elements), false) = (chunk.elements, part.of_rows.is_empty()) else { return Ok(()) };
        let Chunk { region, .. } = chunk;
        let stride = |dimension: usize| region.shape[dimension + 1..].iter().product::<u64>();
        let [down, right] = &self.slice.sides;
        let strides = [down, right].map(|side| side.dimension.map_or(0, stride));
        let fixed = self.slice.at.iter().enumerate().filter(|(axis, _)| self.slice.side(*axis).is_none());
        // A chunk that lacks one of these indices has no pixels, and does not get here. So nothing underflows.
        let origin: u64 = fixed.map(|(axis, at)| (at - region.start[axis]) * stride(axis)).sum();
        let size = self.numbers.size();
        down.each(region, |row, y| {
            right.each(region, |column, x| {
                let at = as_index(origin + row * strides[0] + column * strides[1]) * size;
                let element = elements.get(at..at + size);
                let value = element.map_or(f64::NAN, |element| self.numbers.value(element));
                let pixel = part.at(y, x);
                pixel.seen += 1;
                if self.counts(value) {
                    pixel.sum += value;
                    pixel.count += 1;
                }
            });
        });
        Ok(())
    }

    fn merge(&self, all: &mut Pixels, part: &Pixels) {
        let mut pixels = part.of_rows.iter();
        for row in part.rows.clone() {
            for (column, from) in part.columns.clone().zip(&mut pixels) {
                let pixel = all.at(row, column);
                pixel.sum += from.sum;
                pixel.count += from.count;
                pixel.seen += from.seen;
            }
        }
    }

    fn takes_whole(&self) -> bool {
        true
    }

    fn positions(&self, object: &OpenedObject<'_>) -> Option<Vec<Vec<u64>>> {
        if object.is_absent() {
            // Its elements count as those of no chunk. It may have millions of inner chunks.
            return Some(Vec::new());
        }
        let is_needed = |position: &Vec<u64>| !self.slice.pixels_in(&object.region_of(position))[0].is_empty();
        Some(object.subchunks_in(&self.slice.region()).cells().filter(is_needed).collect())
    }
}

impl<'a> SliceReader<'a> {
    pub(super) fn new(slice: &'a Slice, source: &OpenedArray, numbers: &'a Numbers) -> Self {
        let fill = source.fill_value.as_ref();
        SliceReader { slice, numbers, absent: fill.map_or(f64::NAN, |fill| numbers.value(&fill.0)) }
    }

    /// Reads the slice from some objects. Returns its [`values`](Self::values).
    pub(super) fn read(&self, fold: Fold<'_>, name: &str, objects: &ChunkSet) -> Result<Vec<f64>, ChunkFault> {
        fold.run_over(objects, name, self).map(|picture| self.values(&picture.part))
    }

    fn counts(&self, value: f64) -> bool {
        value.is_finite() || (!self.slice.sides[1].is_mean && !value.is_nan())
    }

    /// Returns the value of each pixel in row-major order, with absent elements that have a value. NaN if nothing
    /// counted.
    pub(super) fn values(&self, picture: &Pixels) -> Vec<f64> {
        let [down, right] = &self.slice.sides;
        let absent_counts = self.counts(self.absent);
        let mut values = Vec::with_capacity(picture.of_rows.len());
        let mut pixels = picture.of_rows.iter().copied();
        for row in picture.rows.clone() {
            for (column, mut pixel) in picture.columns.clone().zip(&mut pixels) {
                let [rows, columns] = [&down.pixels[row], &right.pixels[column]];
                let elements = (rows.end - rows.start).saturating_mul(columns.end - columns.start);
                let absent = elements.saturating_sub(pixel.seen);
                if absent_counts && absent > 0 {
                    pixel.sum += self.absent * approximate(absent);
                    pixel.count += absent;
                }
                values.push(if pixel.count == 0 { f64::NAN } else { pixel.sum / approximate(pixel.count) });
            }
        }
        values
    }
}

impl Pixels {
    fn at(&mut self, row: usize, column: usize) -> &mut Pixel {
        &mut self.of_rows[(row - self.rows.start) * self.columns.len() + (column - self.columns.start)]
    }
}

/// The maximum bytes to read a coordinate. The order of a larger one is unknown.
const MOST_COORDINATE_BYTES: u64 = 16 << 20;

/// Units of latitudes (CF conventions 4.1).
const UNITS: [&str; 6] = ["degrees_north", "degree_north", "degree_N", "degrees_N", "degreeN", "degreesN"];

/// True if the rows of a slice are latitudes from south to north, according to the coordinate of their dimension.
pub(super) fn is_upside_down(source: &OpenedArray, slice: &Slice, driver: &Driver) -> bool {
    let rows = slice.sides[0].dimension.and_then(|dimension| latitudes(source, dimension, driver));
    rows.is_some_and(|rows| rows.is_sorted_by(|south, north| south < north))
}

/// Returns two latitudes along a dimension in its order. `None` if it has no small coordinate array of latitudes.
fn latitudes(source: &OpenedArray, dimension: usize, driver: &Driver) -> Option<Vec<f64>> {
    let name = source.metadata.dimension_names.as_ref()?.get(dimension)?.as_deref()?;
    let node = source.node.parent()?.child(name).ok()?;
    // The coordinate only decides which way up a picture is, so a fault in it is not reported.
    let documents = read_documents(&node).ok()??;
    let node_path = NodePath { store: node.name(), path: "/".to_owned() };
    let coordinate = opened(Profile::Read, ArrayReading::new(node_path, node, documents)).ok()?;
    let attribute = |name| coordinate.metadata.attributes.get(name).and_then(Json::as_str);
    let is_latitude = attribute("standard_name") == Some("latitude")
        || attribute("units").is_some_and(|units| UNITS.contains(&units));
    let array = stored_array(&coordinate).ok()?;
    let is_small = array.reading_bytes() <= MOST_COORDINATE_BYTES;
    if !(is_latitude && is_small && array.metadata.shape.len() == 1 && array.metadata.shape[0] > 1) {
        return None;
    }
    let numbers = Numbers::as_cf(&coordinate, &CfOptions { missing: None, unpacks: true }).ok()??;
    // A coordinate is monotonic (CF conventions), so two of its values give the direction.
    let slice = Slice::in_middle(&array.metadata.shape, &[&array], 2)?;
    let fold = Fold { array: &array, driver, progress: &Silent };
    SliceReader::new(&slice, &coordinate, &numbers).read(fold, "latitudes", &slice.objects(&array)).ok()
}

/// Maximum number of arrays with pictures.
const MOST_ARRAYS: usize = 12;

/// Returns a level of each quantised array before and after, for the first twelve. Data that cannot be read are not an
/// error: the job is done.
///
/// # Errors
///
/// If the run was interrupted.
pub fn comparisons(
    options: &TranscodeOptions,
    result: &TranscodeResult,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<Vec<ComparedArray>> {
    if !result.complete {
        return Ok(Vec::new());
    }
    let quantised = || result.nodes.iter().filter_map(|node| Some((node, node.quantization.as_ref()?)));
    // The width and height of a picture: all pictures of a page fit into two megabytes.
    let pixels = match quantised().count() {
        0 | 1 => 480,
        2..=4 => 256,
        _ => 144,
    };
    // DEST was opened before it was complete, so nothing cached is used.
    let stores = [options.source.afresh(), options.destination.afresh()];
    let comparing = Comparing { options, stores, pixels, progress, interrupt };
    let mut compared = Vec::new();
    for (node, quantization) in quantised().take(MOST_ARRAYS) {
        let comparison = match comparing.compare(node, quantization) {
            Ok(comparison) => Ok(comparison),
            Err(error) if error.class() == FaultClass::Interrupted => return Err(error),
            Err(error) => Err(error.in_one_line()),
        };
        compared.push(ComparedArray { path: node.path.clone(), comparison });
    }
    Ok(compared)
}

/// The inputs for the pictures of SOURCE and DEST.
struct Comparing<'a> {
    options: &'a TranscodeOptions,
    stores: [Location; 2],
    pixels: u64,
    progress: &'a dyn Progress,
    interrupt: &'a Interrupt,
}

/// An array with its chain bound, and its elements as numbers.
struct Readable {
    opened: OpenedArray,
    array: StoredArray,
    numbers: Numbers,
}

impl Comparing<'_> {
    fn compare(&self, node: &NodeResult, quantization: &QuantizationResult) -> Result<Comparison> {
        let whole = CfOptions::default();
        let as_cf = CfOptions { missing: Some(Missing::Auto), unpacks: true };
        let mut source = Readable::open(&self.stores[0], &node.path, node.selection.as_deref(), &whole)?;
        let number = source.opened.data_type.number();
        if number.is_some_and(|number| !number.is_float()) {
            // The integers were unpacked.
            source.numbers = Readable::numbers(&source.opened, &as_cf)?;
        }
        let as_read = if quantization.form == "cf" { as_cf } else { whole };
        let destination = Readable::open(&self.stores[1], &node.path, None, &as_read)?;
        let metadata = &destination.opened.metadata;
        let slice = Slice::in_middle(&metadata.shape, &[&source.array, &destination.array], self.pixels)
            .ok_or_else(|| OperationError::data("the array has no elements to draw"))?;
        let unit = source.array.reading_bytes().max(destination.array.reading_bytes());
        let threads = Budget::new(&self.options.run.common)
            .threads_of(unit, || format!("for the pictures of `{}`", node.path))?;
        let driver = new_driver(threads, self.interrupt)?;
        let in_source = slice.moved_by(&source.opened.metadata.skipped);
        let mut before = self.read(&source, &in_source, &driver)?;
        let mut after = self.read(&destination, &slice, &driver)?;
        let mut errors = Vec::with_capacity(after.len());
        for (before, after) in before.iter_mut().zip(&mut after) {
            if quantization.form == "plain" {
                *after = decoded(*after, quantization);
            }
            if after.is_nan() {
                // It was NaN, or a missing value.
                *before = f64::NAN;
            }
            errors.push(*after - *before);
        }
        let finite = errors.iter().filter(|error| error.is_finite()).map(|error| error.abs());
        let most = finite.chain(quantization.bound).fold(0.0, f64::max);
        let values = Histogram::of(&before, finite_range(&before).unwrap_or((0.0, 1.0)));
        let errors = Histogram::of(&errors, (-most, most));
        let is_upside_down = is_upside_down(&source.opened, &slice, &driver);
        let before = LevelResult { is_upside_down, ..slice.level(metadata, before) };
        Ok(Comparison { before, after, values, errors })
    }

    fn read(&self, readable: &Readable, slice: &Slice, driver: &Driver) -> Result<Vec<f64>> {
        let Readable { opened, array, numbers } = readable;
        let fold = Fold { array, driver, progress: self.progress };
        let values = SliceReader::new(slice, opened, numbers).read(fold, "picture", &slice.objects(array));
        values.map_err(|fault| explain(fault, &array.metadata, &opened.store, None))
    }
}

impl Readable {
    /// Opens an array, or its selected part. `taken` is the first index and the one after the last along each
    /// dimension.
    fn open(store: &Location, path: &str, taken: Option<&[[u64; 2]]>, options: &CfOptions) -> Result<Self> {
        let mut opened = open_array(store, Some(path), Profile::AnyFillValue)?;
        if let Some(taken) = taken {
            let (start, shape) = taken.iter().map(|[start, stop]| (*start, stop.saturating_sub(*start))).unzip();
            opened.metadata = opened.metadata.part(&Region { start, shape });
        }
        let array = stored_array(&opened)?;
        let numbers = Self::numbers(&opened, options)?;
        Ok(Readable { opened, array, numbers })
    }

    fn numbers(opened: &OpenedArray, options: &CfOptions) -> Result<Numbers> {
        let numbers = Numbers::as_cf(opened, options)?;
        numbers.ok_or_else(|| OperationError::data("its values are not real numbers"))
    }
}

/// Returns the value that the codec would have for a code of `--as plain`.
#[expect(clippy::cast_precision_loss, reason = "codes of a picture: their values are drawn to a pixel")]
fn decoded(code: f64, quantization: &QuantizationResult) -> f64 {
    if quantization.nan_code.is_some_and(|nan| nan as f64 == code) {
        return f64::NAN;
    }
    let literal = |json: &Option<Json>| json.as_ref().and_then(Json::as_number).map_or(f64::NAN, Number::as_f64);
    code / literal(&quantization.scale) + literal(&quantization.offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(window: (u64, u64), pixels: u64, is_mean: bool) -> Side {
        Side::new(Some(0), window, pixels, is_mean)
    }

    fn middles(side: &Side) -> Vec<u64> {
        side.pixels.iter().map(|pixel| pixel.start).collect()
    }

    fn chunk(start: u64, length: u64) -> Region {
        Region { start: vec![start], shape: vec![length] }
    }

    #[test]
    fn every_element_has_one_pixel_and_every_pixel_an_element() {
        for (first, length, pixels) in [(0, 10, 3), (0, 7, 7), (5, 1000, 999), (0, 5, 1), (3, 64, 48)] {
            let side = side((first, length), pixels, true);
            let mut seen = vec![0; as_index(pixels)];
            for start in (0..first + length).step_by(3) {
                side.each(&chunk(start, 3), |element, pixel| {
                    let before = u128::from(start + element - first) * u128::from(pixels);
                    assert_eq!(before / u128::from(length), pixel as u128);
                    seen[pixel] += 1;
                });
            }
            let weights: Vec<u64> = side.pixels.iter().map(|pixel| pixel.end - pixel.start).collect();
            assert_eq!(seen, weights);
            assert!(seen.iter().all(|count| *count > 0));
        }
    }

    #[test]
    fn nearest_takes_one_element_of_each_pixel_whatever_the_chunks() {
        let cases = [(0, 10, 3, 4), (0, 1 << 40, 5, 1 << 30), (0, 9, 9, 2), (17, 100, 7, 1), (5, 4, 4, 10)];
        for (first, length, pixels, chunk_length) in cases {
            let side = side((first, length), pixels, false);
            let mut chunks: Vec<u64> = middles(&side).iter().map(|middle| middle / chunk_length).collect();
            chunks.dedup();
            let mut seen = Vec::new();
            for index in chunks {
                let start = index * chunk_length;
                side.each(&chunk(start, chunk_length), |element, pixel| {
                    let before = u128::from(start + element - first) * u128::from(pixels);
                    assert_eq!(before / u128::from(length), pixel as u128);
                    assert_eq!(side.pixels[pixel].start, start + element);
                    seen.push(pixel as u64);
                });
            }
            assert_eq!(seen, (0..pixels).collect::<Vec<_>>());
        }
    }

    #[test]
    fn middles_are_all_elements_or_evenly_spread() {
        assert_eq!(middles(&side((5, 4), 4, false)), [5, 6, 7, 8]);
        assert_eq!(middles(&side((0, 9), 3, false)), [1, 4, 7]);
        assert_eq!(middles(&side((100, 10), 1, false)), [105]);
        let many = middles(&side((0, u64::MAX), 512, false));
        assert!(many.len() == 512 && many.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
