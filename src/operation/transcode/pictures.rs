//! `--report`: the effect of a quantisation on the values, read from SOURCE and DEST as readers do, after DEST is
//! complete.

use crate::array::{Interrupt, StoredArray};
use crate::diagnostic::Profile;
use crate::engine::{Driver, Fold, Progress};
use crate::grid::Region;
use crate::metadata::{Json, Number};
use crate::operation::slice::{Comparison, Slice, SliceReader, finite_range, is_upside_down};
use crate::operation::{
    Budget, CfNumbers, CfOptions, ComparedArray, FaultClass, Histogram, LevelResult, Missing, OpenedArray,
    OperationError, QuantizationResult, Result, TranscodeOptions, TranscodeResult, explain, new_driver, open,
    stored_array, transcode_result::NodeResult,
};
use crate::store::Location;

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
    numbers: CfNumbers,
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
        let mut opened = open::open_array(store, Some(path), Profile::AnyFillValue)?;
        if let Some(taken) = taken {
            let (start, shape) = taken.iter().map(|[start, stop]| (*start, stop.saturating_sub(*start))).unzip();
            opened.metadata = opened.metadata.part(&Region { start, shape });
        }
        let array = stored_array(&opened)?;
        let numbers = Self::numbers(&opened, options)?;
        Ok(Readable { opened, array, numbers })
    }

    fn numbers(opened: &OpenedArray, options: &CfOptions) -> Result<CfNumbers> {
        let numbers = CfNumbers::new(opened, options)?;
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
