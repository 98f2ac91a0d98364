//! A requested quantisation, and its resolution with the data: codes (all of a type, or those of a step), range, NaN,
//! fill value (CLI.md, "Quantising").
//!
//! A quantisation resolved with the data. A first pass determines the range. With `--max-error`, a second pass measures
//! the error of types with too many codes for a proof.

use serde::{Deserialize, Serialize};

use super::range::{Fitted, Grid, RangeFault, ScaleSearch};
use super::{Codes, FloatType, Quantization, RangeFinder, Scaling, quantization::surviving_fill};
use crate::array::{Fault, StoredArray, element_fault};
use crate::codec::{StepOrigin, Tiles, ValueProgram, ValueStep};
use crate::data_type::{DataType, value_from_json};
use crate::diagnostic::quantity::{self, counted};
use crate::element::NumberType;
use crate::engine::{Accumulator, Chunk, Driver, Fold, Progress};
use crate::kernel::quantize::QuantizeFigures;
use crate::kernel::statistics::{Extent, ExtentScan};
use crate::kernel::unpack::Unpack;
use crate::metadata::{CodecMetadata, Json};
use crate::operation::{
    ChangeOptions, FaultClass, Missing, Numbers, OpenedArray, OperationError, QuantizeForm, QuantizeOptions, Result,
    cf, draft, explain,
};

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct FirstPassStats {
    /// Extent of all elements inside the array. `None` without a pass.
    pub extent: Option<Extent>,
    /// Number of elements equal to a value that the attributes declare missing, without `--missing`.
    pub declared_missing: u64,
    /// Whether chunks or inner chunks are absent.
    pub absent_elements: bool,
}

/// A type of codes that is tried, and the rule for its scaling.
pub(crate) type Candidate = (NumberType, ScaleSearch);

/// A requested quantisation, before the range is known.
pub(crate) struct Request<'a> {
    pub source: &'a OpenedArray,
    pub options: &'a ChangeOptions,
    pub quantize: &'a QuantizeOptions,
    /// Conversion of packed integers to floats, which comes first.
    pub unpack: Option<Unpack>,
    pub float: FloatType,
    /// Bit patterns of values that are read as NaN.
    pub missing: Vec<u64>,
    pub fill_bits: u64,
}

impl<'a> Request<'a> {
    /// Creates the request. Fails if the array cannot be quantised at all.
    pub(crate) fn new(source: &'a OpenedArray, options: &'a ChangeOptions, asked: &'a QuantizeOptions) -> Result<Self> {
        let unpack = if options.unpack { cf::packing(source, None)? } else { None };
        let number_type = match (&unpack, &source.data_type) {
            (Some(unpack), _) => unpack.target,
            (None, DataType::Number(number_type)) if number_type.is_float() && !source.data_type.is_small_float() => {
                *number_type
            }
            _ => {
                let (store, data_type) = (&source.store, &source.data_type);
                let help = if cf::has_packing(source) {
                    "the integers are CF-packed: add `--unpack` to `transcode`, or `--cf` to `inspect`"
                } else if data_type.number().is_some_and(NumberType::is_float) {
                    "of floats, these are float16, float32 and float64: first convert it with `--data-type float32`"
                } else {
                    "`--compress auto:small` makes other arrays smaller"
                };
                let message = format!("only float arrays can be quantised; the data type of `{store}` is {data_type}");
                return Err(OperationError::data(message).with_help(help));
            }
        };
        if !options.unpack {
            refuse_packed(&source.metadata.codecs, &source.store)?;
        }
        if asked.form == QuantizeForm::Cf {
            check_cf(source, options.unpack, asked.data_type)?;
        }
        let fill_bits = Numbers::of(number_type, unpack.clone()).fill_of(source);
        // Unpacked values are NaN if attributes declare them missing.
        let named = asked.missing.as_ref().filter(|named| unpack.is_none() || **named != Missing::Auto);
        let missing = cf::missing_values(source, number_type, named)?;
        Ok(Request { source, options, quantize: asked, unpack, float: FloatType(number_type), missing, fill_bits })
    }

    /// Returns whether the fill value represents NaN.
    pub(crate) fn fill_is_nan(&self) -> bool {
        let fill = self.float.value(self.fill_bits);
        fill.is_nan() || self.missing.iter().any(|bits| self.float.value(*bits) == fill)
    }

    /// Returns the scaling of `--scale` and `--offset`, or of all codes over the range.
    pub(crate) fn scaling(&self, finder: &RangeFinder, range: Option<(f64, f64)>) -> Result<Scaling> {
        if self.quantize.scale.is_some() || self.quantize.offset.is_some() {
            let number = |json: &Option<Json>, option| json.as_ref().map(|json| self.number(json, option)).transpose();
            let scale = number(&self.quantize.scale, "--scale")?;
            let offset = number(&self.quantize.offset, "--offset")?;
            if scale == Some(0.0) {
                let error = OperationError::data("--scale 0 could not be decoded");
                return Err(error.with_help("give a scale that is not 0"));
            }
            return Ok(Scaling::new(offset, scale));
        }
        let Some((lo, hi)) = range else { return Ok(Scaling::default()) };
        finder.find(lo, hi).map_err(|fault| {
            OperationError::data(format!("values from {lo} to {hi} cannot be quantised to {}", finder.target))
                .because(fault)
                .with_help("give --scale and --offset, or a narrower --range with --out-of-range clamp")
        })
    }

    /// Returns the number of an option in the array's type. Fails if it is not finite.
    pub(super) fn number(&self, json: &Json, option: &str) -> Result<f64> {
        let refused =
            |why: String| OperationError::data(format!("{option} {json} is not a finite {}{why}", self.float.0));
        let read = value_from_json(self.float.0, json).map_err(|error| refused(format!(": {error}")))?;
        let value = self.float.value(read.value);
        if value.is_finite() { Ok(value) } else { Err(refused(String::new())) }
    }

    /// Returns the quantisation as far as it is known before any chunk is read.
    pub(crate) fn open(&self, lacks_chunks: bool) -> Result<Quantization> {
        let survey = FirstPassStats { absent_elements: lacks_chunks, ..FirstPassStats::default() };
        // A finite fill value depends on whether inner chunks are absent.
        let knows_fill = self.fill_is_nan() || self.source.pipeline.sharding().is_none();
        if self.fits_error() && self.quantize.range.is_some() && knows_fill {
            let mut resolved = self.first_fit(|candidate| self.resolve(candidate, &survey))?;
            resolved.is_open = !resolved.is_proved;
            resolved.is_target_open = resolved.is_open && self.quantize.data_type.is_none();
            return Ok(resolved);
        }
        // The widest type, so that the resources of the plan are enough for any.
        let widest = self.candidates().into_iter().next_back().unwrap_or(self.float.0);
        let fit = self.quantize.step.map_or(ScaleSearch::AllCodes, ScaleSearch::GridFromZero);
        let mut quantization = match self.resolve((widest, fit), &survey) {
            // Only one value is known so far, which needs no grid. The data show later whether they fit one.
            Err(_) if self.quantize.range.is_none() => self.resolve((widest, ScaleSearch::AllCodes), &survey)?,
            resolved => resolved?,
        };
        quantization.is_open = self.quantize.finds_range() || self.fits_error();
        quantization.is_target_open = self.quantize.data_type.is_none();
        Ok(quantization)
    }

    /// Resolves everything for one type of codes.
    pub(crate) fn resolve(&self, candidate: Candidate, stats: &FirstPassStats) -> Result<Quantization> {
        let fill = self.float.value(self.fill_bits);
        // If no element is absent, the range need not contain the fill value.
        let fill_is_data = !self.fill_is_nan() && stats.absent_elements;
        if fill.is_infinite() && fill_is_data {
            return Err(infinite(&self.source.store, "missing chunks have an infinite fill value"));
        }
        let is_declared = || cf::declared_missing(self.source, self.float.0).contains(&self.fill_bits);
        if fill_is_data && self.unpack.is_none() && is_declared() {
            let (store, declared) = (&self.source.store, cf::declared_by(self.source));
            let message = format!("`{store}` lacks chunks, and their fill value {fill} is equal to {declared}");
            return Err(OperationError::data(message).with_help(NAME_MISSING));
        }
        self.check_survey(stats)?;
        let saw_nan = stats.extent.is_some_and(|extent| extent.nan > 0);
        // Without absent elements the fill value of DEST becomes NaN, which needs a code.
        let wants_nan = self.quantize.nan_value.is_some() || self.fill_is_nan() || saw_nan || !fill_is_data;
        let range = self.range(stats, fill_is_data.then_some(fill))?;
        let mut quantization = self.with_codes(candidate, wants_nan, range, fill_is_data.then_some(fill))?;
        if !fill_is_data {
            quantization.fill_value = self.float.bits(f64::NAN);
            return Ok(quantization);
        }
        if let Some(moved) = surviving_fill(&quantization, fill) {
            quantization.fill_value = self.float.bits(moved);
            return Ok(quantization);
        }
        // The NaN code may take the place of a number's code, so the scaling is computed again.
        let mut quantization = self.with_codes(candidate, true, range, Some(fill))?;
        quantization.fill_value = self.float.bits(f64::NAN);
        quantization.writes_absent = true;
        Ok(quantization)
    }

    /// Fails for values of the first pass that cannot be quantised.
    fn check_survey(&self, survey: &FirstPassStats) -> Result<()> {
        let Some(extent) = survey.extent else { return Ok(()) };
        let store = &self.source.store;
        let count = extent.positive_infinity + extent.negative_infinity;
        if count > 0 {
            let are = if count == 1 { "is" } else { "are" };
            return Err(infinite(store, &format!("{} {are} infinite", counted(count, "element"))));
        }
        if survey.declared_missing > 0 {
            let (elements, declared) = (counted(survey.declared_missing, "element"), cf::declared_by(self.source));
            let message = format!("`{store}` has {elements} equal to {declared}, which would ruin the range");
            return Err(OperationError::data(message).with_help(NAME_MISSING));
        }
        Ok(())
    }

    /// Returns the quantisation with codes of a type, complete except for the fill value. If `wants_nan`, one code is
    /// NaN.
    fn with_codes(
        &self,
        (target, fit): Candidate,
        wants_nan: bool,
        range: Option<(f64, f64)>,
        fill: Option<f64>,
    ) -> Result<Quantization> {
        let nan = if wants_nan { self.quantize.nan_value.or_else(|| Codes::default_nan(target)) } else { None };
        let refused = || OperationError::data(format!("--quantize takes an integer type; {target} is not one"));
        let (least, greatest) = target.integer_bounds().ok_or_else(refused)?;
        if let Some(nan) = nan.filter(|nan| !(least..=greatest).contains(&i128::from(*nan))) {
            let message = format!("--nan-value {nan} is not a value of {target}, {least} to {greatest}");
            return Err(OperationError::data(message));
        }
        let codes = Codes::new(self.float.0, target, nan)
            .ok_or_else(|| OperationError::data(format!("{target} has too few codes")))?;
        let rounding = self.options.rounding.unwrap_or_default();
        let has_scalar_map = self.quantize.form == QuantizeForm::Codecs;
        let finder = RangeFinder { float: self.float, target, codes, rounding, has_scalar_map };
        let Fitted { scaling, codes, is_proved } = self.fitted(&finder, range, fit)?;
        if let Some(fill) = fill
            && finder.encode(scaling, fill).is_none()
        {
            let message = format!("missing chunks have the fill value {fill}, which is outside the given range");
            let help = "give a range that includes it, or leave the range out";
            return Err(OperationError::data(message).with_help(help));
        }
        Ok(Quantization {
            form: self.quantize.form,
            source: self.float.0,
            target,
            codes,
            scaling,
            range,
            rounding,
            out_of_range: self.options.out_of_range.unwrap_or_default(),
            missing: self.missing.clone(),
            fill_value: self.fill_bits,
            absent_bits: self.fill_bits,
            max_error: self.quantize.max_error,
            grid_step: self.quantize.step,
            is_proved,
            ..Quantization::default()
        })
    }

    /// Returns the least and greatest value: of `--range`, or of the first pass and the fill value.
    fn range(&self, survey: &FirstPassStats, fill: Option<f64>) -> Result<Option<(f64, f64)>> {
        if let Some((lo, hi)) = &self.quantize.range {
            let (lo, hi) = (self.number(lo, "--range")?, self.number(hi, "--range")?);
            if lo < hi {
                return Ok(Some((lo, hi)));
            }
            let message = format!("--range {lo},{hi} is empty: give the smaller value first, and then a greater one");
            return Err(OperationError::data(message));
        }
        if !self.quantize.finds_range() {
            return Ok(None);
        }
        let seen =
            survey.extent.and_then(|extent| extent.finite).map(|(lo, hi)| [lo, hi].map(|end| self.float.value(end)));
        // -0.0 is less than 0.0.
        let values = seen.into_iter().flatten().chain(fill);
        Ok(values.clone().min_by(f64::total_cmp).zip(values.max_by(f64::total_cmp)))
    }

    /// Returns whether the codes follow from the greatest error alone.
    pub(crate) fn fits_error(&self) -> bool {
        self.quantize.max_error.is_some() && self.quantize.scale.is_none() && self.quantize.offset.is_none()
    }

    /// Returns the candidates for the type of codes, narrowest first.
    pub(crate) fn candidates(&self) -> Vec<NumberType> {
        use crate::element::ElementType::{Int8, Int16, Int32, UInt8, UInt16, UInt32};
        match (self.quantize.data_type, self.quantize.step) {
            (Some(data_type), _) => vec![data_type],
            // A grid from 0 has codes on both sides of 0.
            (None, Some(_)) => [UInt8, Int8, UInt16, Int16, UInt32, Int32].map(NumberType::of).to_vec(),
            (None, None) => [UInt8, UInt16, UInt32].map(NumberType::of).to_vec(),
        }
    }

    /// Returns the first type of codes, with the rule to fit them, for which `resolve` succeeds. Otherwise returns the
    /// last error.
    pub(crate) fn first_fit(&self, resolve: impl Fn(Candidate) -> Result<Quantization>) -> Result<Quantization> {
        // All types are tried with one rule before the next rule.
        let rules = match (self.quantize.step, self.quantize.max_error) {
            (Some(step), _) => vec![ScaleSearch::GridFromZero(step), ScaleSearch::Grid(step)],
            (None, Some(max_error)) if self.fits_error() => vec![ScaleSearch::Within(max_error)],
            (None, _) => vec![ScaleSearch::AllCodes],
        };
        let mut refused = OperationError::data("there is no type of codes to try");
        for fit in rules {
            for target in self.candidates() {
                match resolve((target, fit)) {
                    // Another type may have enough codes.
                    Err(error) if error.class() == FaultClass::Data => refused = error,
                    resolved => return resolved,
                }
            }
        }
        Err(refused)
    }

    /// Returns the scaling, and the codes that it uses.
    pub(crate) fn fitted(&self, finder: &RangeFinder, range: Option<(f64, f64)>, fit: ScaleSearch) -> Result<Fitted> {
        let plain = |scaling| Fitted { scaling, codes: finder.codes, is_proved: false };
        let ends = range.unwrap_or_default();
        let beside_nan = RangeFinder { codes: finder.codes.beside_nan(), ..finder.clone() };
        let fitted = match (fit, range) {
            (ScaleSearch::AllCodes, _) => {
                let scaling = self.scaling(finder, range)?;
                // Without a greater scale in the array's type, the range needs fewer codes.
                let is_cut_off = self.quantize.scale.is_none() && scaling.is_greatest(finder.float);
                let used = range.filter(|_| is_cut_off).and_then(|range| finder.codes_of(scaling, range));
                return Ok(Fitted { codes: used.unwrap_or(finder.codes), ..plain(scaling) });
            }
            // No value is finite, so nothing can change.
            (ScaleSearch::Within(_), None) => {
                Ok(Fitted { is_proved: self.quantize.finds_range(), ..plain(Scaling::default()) })
            }
            (ScaleSearch::Within(allowed), Some(ends)) => beside_nan.widest(ends, allowed),
            (ScaleSearch::GridFromZero(step), _) => finder.on_grid_from_zero(Grid::new(step), range),
            (ScaleSearch::Grid(step), _) => beside_nan.on_grid(Grid::new(step), ends),
        };
        fitted.map_err(|fault| self.too_narrow(fault, finder, ends))
    }

    /// Returns the error for a step with too many codes for a type. The step was requested, or follows from
    /// `--max-error`.
    fn too_narrow(&self, fault: RangeFault, finder: &RangeFinder, (lo, hi): (f64, f64)) -> OperationError {
        let RangeFinder { target, float, codes, .. } = finder;
        let (asked, steps) = match (self.quantize.step, self.quantize.max_error) {
            (Some(step), _) => (format!("--step {step}"), (hi - lo) / step),
            (None, error) => {
                let error = error.unwrap_or_default();
                let errors = if finder.rounding.is_to_nearest() { 2.0 } else { 1.0 };
                (format!("--max-error {error}"), (hi - lo) / (errors * error))
            }
        };
        let count = i128::from(codes.last) - i128::from(codes.first) + 1;
        let mut message = format!("{asked} cannot be kept with {target} codes for values from {lo} to {hi}");
        if fault == RangeFault::TooFewCodes {
            let needed = format!("{:.0}", steps.ceil() + 1.0).parse();
            let needed = needed.map_or("many more".to_owned(), |count| format!("about {}", quantity::count(count)));
            let usable = quantity::count(u64::try_from(count).unwrap_or_default());
            message = format!("{message}: they need {needed} codes, and {} can use only {usable} of {target}", float.0);
        }
        let help = match (self.quantize.step, self.quantize.data_type) {
            (Some(_), Some(_)) => "give a wider --quantize TYPE, leave it out, or allow a wider --step",
            (Some(_), None) => "allow a wider --step, or leave the values as they are and only --compress them",
            (None, Some(_)) => "allow a larger error, give a wider --quantize TYPE, or leave it out",
            _ if self.quantize.max_error == Some(0.0) => {
                "give an error above 0, or leave the values as they are and only --compress them"
            }
            _ if fault == RangeFault::TooFewCodes => {
                "allow a larger error, or only --compress the values; if the least or greatest is no real value, name it \
                with `--missing`"
            }
            (None, None) => "allow a larger error, or leave the values as they are and only --compress them",
        };
        let error = OperationError::data(message).with_help(help);
        if fault == RangeFault::TooFewCodes { error } else { error.because(fault) }
    }
}

const NAME_MISSING: &str = "count them as NaN with `--missing auto`, or name other values with `--missing VALUE,...`";

const UNPACK: &str = "unpack it first: `transcode --unpack SOURCE DEST` can quantise again in the same run";

/// Fails if a chain is quantised already. `whose` names it in the message.
pub(crate) fn refuse_packed(codecs: &[CodecMetadata], whose: &str) -> Result<()> {
    let message = format!("`{whose}` already has `scale_offset` or `cast_value` in its chain");
    if is_packed(codecs) { Err(OperationError::data(message).with_help(UNPACK)) } else { Ok(()) }
}

/// The codecs that quantise.
pub(crate) const PACKING_CODECS: [&str; 2] = ["scale_offset", "cast_value"];

/// Returns whether a chain has codecs that quantise.
pub(crate) fn is_packed(codecs: &[CodecMetadata]) -> bool {
    draft::codec_names(codecs).iter().any(|name| PACKING_CODECS.contains(&name.as_str()))
}

/// Fails if CF attributes cannot express the quantisation.
fn check_cf(source: &OpenedArray, unpacks: bool, target: Option<NumberType>) -> Result<()> {
    let packed = ["scale_factor", "add_offset"].into_iter().find(|name| source.metadata.attributes.contains(name));
    if let Some(name) = packed.filter(|_| !unpacks) {
        let message = format!("`{}` has the attribute `{name}` already", source.store);
        let help = format!("write the array without the attribute `{name}` first: `transcode --attributes JSON`");
        return Err(OperationError::data(message).with_help(help));
    }
    if target.is_some_and(|target| !target.is_whole() || target.bits() >= 64) {
        return Err(OperationError::data("--as cf writes int8 to int32 and uint8 to uint32 only")
            .with_help("choose one of these types, or --as codecs"));
    }
    Ok(())
}

fn infinite(store: &str, what: &str) -> OperationError {
    let help = "integers cannot store infinity; count it as missing with `--missing Infinity,-Infinity`, or map it with \
        `--codecs` and a `scalar_map`";
    OperationError::data(format!("`{store}` cannot be quantised: {what}")).with_help(help)
}

pub(crate) struct FirstPass<'a> {
    pub request: &'a Request<'a>,
    /// The objects of the passes, and the cache for their chunks.
    pub array: StoredArray,
    /// Whether objects of the whole array are known to be absent.
    pub lacks_chunks: bool,
    pub driver: Driver,
    pub progress: &'a dyn Progress,
}

impl FirstPass<'_> {
    /// Determines what the quantisation must know of the data. Also returns the number of encoded bytes that were read.
    pub(crate) fn survey(&self) -> Result<(FirstPassStats, u64)> {
        let Some(surveyor) = FirstPassScan::new(self.request) else { return Ok((FirstPassStats::default(), 0)) };
        // Chunks that are there may lack inner chunks.
        if !surveyor.reads_values && (self.lacks_chunks || self.array.layout.is_none()) {
            return Ok((surveyor.survey(None, self.lacks_chunks), 0));
        }
        let fold = Fold { array: &self.array, driver: &self.driver, progress: self.progress };
        let found = fold.run("first pass", &surveyor);
        let found = found.map_err(|fault| explain(fault, &self.array.metadata, &self.request.source.store, None))?;
        let absent_elements = self.lacks_chunks || found.lacks_chunks;
        Ok((surveyor.survey(Some(found.part), absent_elements), found.bytes_read))
    }

    /// Returns the quantisation with the first type that has enough codes.
    pub(crate) fn resolve(&self, survey: &FirstPassStats) -> Result<Quantization> {
        self.request.first_fit(|candidate| self.keep(survey, candidate))
    }

    /// Resolves one type of codes. With `--max-error`, its error is at most that.
    ///
    /// A step with too great an error is narrowed by twice the excess, and tried again. The excess is a few roundings,
    /// because fitting has checked many codes. If no fill value survives the codes, absent chunks would have to be
    /// written. Then slightly narrower steps are tried first.
    fn keep(&self, survey: &FirstPassStats, (target, mut fit): Candidate) -> Result<Quantization> {
        let Some(max_error) = self.request.quantize.max_error else {
            return self.request.resolve((target, fit), survey);
        };
        let (mut least, mut writing_absent) = (f64::INFINITY, None);
        for round in 0..MOST_ROUNDS {
            let resolved = match self.request.resolve((target, fit), survey) {
                // The narrower step may need more codes than the type has. Then absent chunks are written.
                Err(_) if writing_absent.is_some() => break,
                resolved => resolved?,
            };
            let mut found = resolved.absent_error().filter(|_| survey.absent_elements).unwrap_or(0.0);
            if !resolved.is_proved {
                found = found.max(self.measure(&resolved)? + resolved.cf_rounding());
            }
            least = least.min(found);
            let is_kept = found <= max_error;
            // Narrower steps are tried for the fill value only if no attempt needs a pass over the data.
            let is_narrowed = matches!(fit, ScaleSearch::Within(_)) && resolved.writes_absent && resolved.is_proved;
            if is_kept && !is_narrowed {
                return Ok(resolved);
            }
            // A scale that was given is not narrowed.
            let ScaleSearch::Within(allowed) = fit else { break };
            // The least change grows 16-fold in each round, to an eighth of the limit in the last one. So few rounds
            // are enough.
            let sliver = allowed * 2_f64.powi(4 * round - 32);
            let excess = if is_kept { sliver } else { (found - max_error).max(sliver) };
            if is_kept {
                writing_absent.get_or_insert(resolved);
            }
            fit = ScaleSearch::Within(allowed - 2.0 * excess);
            if allowed <= 2.0 * excess {
                break;
            }
        }
        writing_absent.ok_or_else(|| {
            let message = format!("--max-error {max_error} cannot be kept: the smallest error reached is {least}");
            OperationError::data(message).with_help("allow a larger error, or give a wider --quantize TYPE")
        })
    }

    /// Measures the greatest error of a quantisation over all stored data. Writes nothing.
    fn measure(&self, quantization: &Quantization) -> Result<f64> {
        let measure = Measure::new(self.request.unpack.as_ref(), quantization);
        let fold = Fold { array: &self.array, driver: &self.driver, progress: self.progress };
        let (found, store) = (fold.run("measuring", &measure), self.array.node.name());
        let found = found.map_err(|fault| explain(fault, &self.array.metadata, &store, Some(quantization)))?;
        Ok(found.part.max_abs_error)
    }
}

/// Maximum number of attempts to narrow a step because the measured error is too great.
const MOST_ROUNDS: i32 = 8;

/// Determines the extent of the values of an array.
pub(crate) struct FirstPassScan {
    /// The conversion of its elements to the floats that are quantised.
    numbers: Numbers,
    /// Whether values are read, or only the presence of chunks.
    reads_values: bool,
    /// Treats missing values as NaN.
    scan: ExtentScan,
    /// Also treats values that the attributes declare missing as NaN. `None` if there are none, or all are treated so
    /// anyway.
    declared: Option<ExtentScan>,
}

impl Accumulator for FirstPassScan {
    /// The extent, and the extent in which values that are declared missing count as NaN, too.
    type Part = [Extent; 2];
    type Buffers = ();

    fn add(&self, part: &mut Self::Part, chunk: Chunk<'_>, (): &mut ()) -> Result<(), Fault> {
        let [extent, declared] = part;
        if self.reads_values {
            self.numbers.each_piece(chunk.elements.unwrap_or_default(), |values| {
                self.scan.scan(values, extent);
                if let Some(scan) = &self.declared {
                    scan.scan(values, declared);
                }
            });
        }
        Ok(())
    }

    fn merge(&self, all: &mut Self::Part, part: &Self::Part) {
        all.iter_mut().zip(part).for_each(|(all, part)| self.scan.merge(all, part));
    }
}

impl FirstPassScan {
    /// Returns the search for everything that a quantisation must know of the data. `None` if it needs nothing.
    pub(crate) fn new(request: &Request<'_>) -> Option<Self> {
        let reads_values = request.quantize.finds_range();
        if !reads_values && request.fill_is_nan() {
            return None;
        }
        let is_packed = request.unpack.is_some();
        // Unpacking makes NaN of declared values before they are scanned.
        let declared = if is_packed { Vec::new() } else { cf::declared_missing(request.source, request.float.0) };
        let missing = &request.missing;
        let unnamed: Vec<u64> = declared.into_iter().filter(|bits| !missing.contains(bits)).collect();
        let scan = |missing: &[u64]| ExtentScan::new(request.float.0, missing);
        let declared = (!unnamed.is_empty()).then(|| scan(&[missing.as_slice(), &unnamed].concat()));
        let numbers = Numbers::of(request.float.0, request.unpack.clone());
        Some(FirstPassScan { numbers, reads_values, scan: scan(missing), declared })
    }

    /// Returns the results of the pass. `found` is `None` without a pass.
    pub(crate) fn survey(&self, found: Option<[Extent; 2]>, absent_elements: bool) -> FirstPassStats {
        let [extent, declared] = found.unwrap_or_default();
        // Both extents count NaN and the values of `--missing`, so the difference is the other declared values.
        let declared_missing = self.declared.as_ref().map_or(0, |_| declared.nan.saturating_sub(extent.nan));
        FirstPassStats { extent: self.reads_values.then_some(extent), declared_missing, absent_elements }
    }
}

/// Quantises all stored elements, after unpacking, and sums the error figures.
pub(crate) struct Measure(ValueProgram);

impl Measure {
    pub(crate) fn new(unpack: Option<&Unpack>, quantization: &Quantization) -> Self {
        let stored = unpack.map_or(quantization.source, |unpack| unpack.source);
        let mut program = ValueProgram::new(stored.size());
        let unpack = unpack.map(|unpack| ValueStep::Unpack(Box::new(unpack.clone())));
        let steps = unpack.into_iter().chain([ValueStep::Quantize(Box::new(quantization.bind()))]);
        steps.for_each(|step| program.push(step, StepOrigin::DataType));
        Measure(program)
    }
}

impl Accumulator for Measure {
    type Part = QuantizeFigures;
    /// The codes, and unpacked elements.
    type Buffers = (Vec<u8>, Tiles);

    fn add(&self, part: &mut QuantizeFigures, chunk: Chunk<'_>, buffers: &mut Self::Buffers) -> Result<(), Fault> {
        let (codes, tiles) = buffers;
        let converted = self.0.run(chunk.elements.unwrap_or_default(), codes, tiles, Some(part));
        converted.map_err(|fault| element_fault(chunk.region, &fault))
    }

    fn merge(&self, all: &mut QuantizeFigures, part: &QuantizeFigures) {
        all.merge(part);
    }

    /// The position of a fault is counted from the elements before it.
    fn takes_whole(&self) -> bool {
        true
    }
}
