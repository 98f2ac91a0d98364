//! A requested quantisation resolved by the data: codes (all of a type, or those of a step), range, NaN, fill value (CLI.md,
//! "Quantising").

use super::quantization::surviving_fill;
use super::range::{Fit, Fitted, Grid, RangeFault};
use super::{Codes, Quantization, RangeFinder, Request, Scaling, Survey};
use crate::diagnostic::quantity::{self, counted};
use crate::diagnostic::{Diagnostic, code};
use crate::element::NumberType;
use crate::operation::cf::declared_by;
use crate::operation::{FaultClass, OperationError, QuantizeForm};

impl Request<'_> {
    /// The quantisation as far as it is known before any chunk is read.
    pub(crate) fn open(&self, lacks_chunks: bool) -> Result<Quantization, OperationError> {
        let survey = Survey { absent_elements: lacks_chunks, ..Survey::default() };
        // Whether inner chunks are absent decides what becomes of a finite fill value.
        let knows_fill = self.fill_is_nan() || self.source.pipeline.sharding().is_none();
        if self.fits_error() && self.quantize.range.is_some() && knows_fill {
            let mut settled = self.first_fit(|target, fit| self.settle(target, &survey, fit))?;
            settled.is_open = !settled.is_proved;
            settled.is_target_settled = settled.is_proved || self.quantize.data_type.is_some();
            return Ok(settled);
        }
        // The widest, so that what the plan needs is enough for any.
        let widest = self.candidates().into_iter().next_back().unwrap_or(self.float.0);
        let fit = self.quantize.step.map_or(Fit::AllCodes, Fit::GridFromZero);
        let mut quantization = match self.settle(widest, &survey, fit) {
            // What is known so far is one value, which needs no grid; whether the data fit one, they tell.
            Err(_) if self.quantize.range.is_none() => self.settle(widest, &survey, Fit::AllCodes)?,
            settled => settled?,
        };
        quantization.is_open = self.needs_first_pass() || self.fits_error();
        quantization.is_target_settled = self.quantize.data_type.is_some();
        quantization.warnings.clear();
        Ok(quantization)
    }

    /// Settles everything for one type of codes.
    pub(crate) fn settle(&self, target: NumberType, survey: &Survey, fit: Fit) -> Result<Quantization, OperationError> {
        let fill = self.float.value(self.fill_bits);
        let fill_is_data = !self.fill_is_nan() && survey.absent_elements;
        if fill.is_infinite() && fill_is_data {
            return Err(infinite(&self.source.store, "missing chunks have an infinite fill value"));
        }
        self.check_survey(survey)?;
        let saw_nan = survey.extent.is_some_and(|extent| extent.nan > 0);
        let wants_nan = self.quantize.nan_value.is_some() || self.fill_is_nan() || saw_nan || !fill_is_data;
        let range = self.range(survey, fill_is_data.then_some(fill))?;
        let mut quantization = self.with_codes((target, wants_nan), range, fill_is_data.then_some(fill), fit)?;
        if !fill_is_data {
            quantization.fill_value = self.float.bits(f64::NAN);
            return Ok(quantization);
        }
        if let Some(moved) = surviving_fill(&quantization, fill) {
            quantization.fill_value = self.float.bits(moved);
            if moved != fill {
                quantization.warnings.push(Diagnostic::new(
                    code::QUANTIZE_FILL_VALUE_MOVED,
                    format!("the fill value {fill} becomes {moved}, which the integers can store exactly"),
                ));
            }
            return Ok(quantization);
        }
        let mut quantization = self.with_codes((target, true), range, Some(fill), fit)?;
        quantization.fill_value = self.float.bits(f64::NAN);
        quantization.writes_absent = true;
        quantization.warnings.push(Diagnostic::new(
            code::QUANTIZE_FILL_VALUE_MOVED,
            format!(
                "the integers can store no value near the fill value {fill}: missing chunks are written, and the \
                    fill value becomes NaN"
            ),
        ));
        Ok(quantization)
    }

    /// Refuses values of the first pass that cannot be quantised.
    fn check_survey(&self, survey: &Survey) -> Result<(), OperationError> {
        let Some(extent) = survey.extent else { return Ok(()) };
        if extent.positive_infinity + extent.negative_infinity > 0 {
            let count = extent.positive_infinity + extent.negative_infinity;
            let are = if count == 1 { "is" } else { "are" };
            let elements = counted(count, "element");
            return Err(infinite(&self.source.store, &format!("{elements} {are} infinite")));
        }
        if survey.declared_missing > 0 {
            return Err(OperationError::data(format!(
                "`{}` has {} equal to {}, which would ruin the range",
                self.source.store,
                counted(survey.declared_missing, "element"),
                declared_by(self.source)
            ))
            .with_help("count them as NaN with `--missing auto`, or name other values with `--missing VALUE,...`"));
        }
        Ok(())
    }

    /// The quantisation with codes of a type, of which one is NaN's if it is wanted; all but the fill value.
    fn with_codes(
        &self,
        (target, wants_nan): (NumberType, bool),
        range: Option<(f64, f64)>,
        fill: Option<f64>,
        fit: Fit,
    ) -> Result<Quantization, OperationError> {
        let nan = if wants_nan { self.quantize.nan_value.or_else(|| Codes::default_nan(target)) } else { None };
        let (least, greatest) = target
            .integer_bounds()
            .ok_or_else(|| OperationError::data(format!("--quantize takes an integer type; {target} is not one")))?;
        if nan.is_some_and(|nan| !(least..=greatest).contains(&i128::from(nan))) {
            return Err(OperationError::data(format!(
                "--nan-value {} is not a value of {target}, {least} to {greatest}",
                nan.unwrap_or_default()
            )));
        }
        let codes = Codes::of(self.float.0, target, nan)
            .ok_or_else(|| OperationError::data(format!("{target} has too few codes")))?;
        let rounding = self.options.rounding.unwrap_or_default();
        let finder = RangeFinder {
            float: self.float,
            target,
            codes,
            rounding,
            has_scalar_map: self.quantize.form == QuantizeForm::Codecs,
        };
        let Fitted { scaling, codes, is_proved } = self.fitted(&finder, range, fit)?;
        if let Some(fill) = fill
            && finder.encode(scaling, fill).is_none()
        {
            return Err(OperationError::data(format!(
                "missing chunks have the fill value {fill}, which is outside the given range"
            ))
            .with_help("give a range that includes it, or leave the range out"));
        }
        Ok(Quantization {
            form: self.quantize.form,
            source: self.float.0,
            target,
            codes,
            more_nan_codes: Vec::new(),
            scaling,
            range,
            rounding,
            out_of_range: self.options.out_of_range.unwrap_or_default(),
            missing: self.missing.clone(),
            fill_value: self.fill_bits,
            absent_bits: self.fill_bits,
            writes_absent: false,
            max_error: self.quantize.max_error,
            grid_step: self.quantize.step,
            is_proved,
            is_open: false,
            is_target_settled: true,
            reader_workaround: None,
            warnings: Vec::new(),
        })
    }

    /// The least and greatest value, from `--range` or the first pass and the fill value.
    fn range(&self, survey: &Survey, fill: Option<f64>) -> Result<Option<(f64, f64)>, OperationError> {
        if let Some((lo, hi)) = &self.quantize.range {
            let (lo, hi) = (self.number(lo, "--range")?, self.number(hi, "--range")?);
            if lo <= hi {
                return Ok(Some((lo, hi)));
            }
            return Err(OperationError::data(format!("--range {lo},{hi} is empty: give the smaller value first")));
        }
        if !self.needs_first_pass() {
            return Ok(None);
        }
        let seen = survey.extent.and_then(|extent| extent.finite);
        let seen = seen.map(|(lo, hi)| (self.float.value(lo), self.float.value(hi)));
        Ok(match (seen, fill) {
            (Some((lo, hi)), Some(fill)) => Some((least(lo, fill), -least(-hi, -fill))),
            (None, Some(fill)) => Some((fill, fill)),
            (seen, None) => seen,
        })
    }
}

/// The lesser of two values; -0.0 before 0.0.
fn least(one: f64, other: f64) -> f64 {
    if one.total_cmp(&other).is_le() { one } else { other }
}

fn infinite(store: &str, what: &str) -> OperationError {
    OperationError::data(format!("`{store}` cannot be quantised: {what}")).with_help(
        "integers cannot store infinity; count it as missing with `--missing Infinity,-Infinity`, or map it with \
            `--codecs` and a `scalar_map`",
    )
}

/// A scaling with the codes that the values of a range get, of all that the type has.
fn in_use(fitted: Fitted, finder: &RangeFinder, range: Option<(f64, f64)>) -> Fitted {
    let code = |value| finder.encode(fitted.scaling, value);
    match range.and_then(|(lo, hi)| code(lo).zip(code(hi))) {
        Some((first, last)) => Fitted { codes: Codes { first, last, ..fitted.codes }, ..fitted },
        None => fitted,
    }
}

impl Request<'_> {
    /// Whether the codes follow from the greatest error alone.
    pub(crate) fn fits_error(&self) -> bool {
        self.quantize.max_error.is_some() && self.quantize.scale.is_none() && self.quantize.offset.is_none()
    }

    /// The candidates for the codes' type, narrowest first.
    pub(crate) fn candidates(&self) -> Vec<NumberType> {
        use crate::element::ElementType::{Int8, Int16, Int32, UInt8, UInt16, UInt32};
        match (self.quantize.data_type, self.quantize.step) {
            (Some(data_type), _) => vec![data_type],
            // From 0 there are codes on both sides.
            (None, Some(_)) => [UInt8, Int8, UInt16, Int16, UInt32, Int32].map(NumberType::of).to_vec(),
            (None, None) => [UInt8, UInt16, UInt32].map(NumberType::of).to_vec(),
        }
    }

    /// The first type of codes, with the way to fit them, for which `settle` succeeds; else the last refusal.
    pub(crate) fn first_fit(
        &self,
        settle: impl Fn(NumberType, Fit) -> Result<Quantization, OperationError>,
    ) -> Result<Quantization, OperationError> {
        // All types are tried by one rule before the next.
        let rules = match (self.quantize.step, self.quantize.max_error) {
            (Some(step), _) => vec![Fit::GridFromZero(step), Fit::Grid(step)],
            (None, Some(max_error)) if self.fits_error() => vec![Fit::Within(max_error)],
            (None, _) => vec![Fit::AllCodes],
        };
        let mut refused = OperationError::data("there is no type of codes to try");
        for fit in rules {
            for target in self.candidates() {
                match settle(target, fit) {
                    // Another type may have room for what this one refuses.
                    Err(error) if error.class() == FaultClass::Data => refused = error,
                    settled => return settled,
                }
            }
        }
        Err(refused)
    }

    /// The scaling, and the codes that it takes.
    pub(crate) fn fitted(
        &self,
        finder: &RangeFinder,
        range: Option<(f64, f64)>,
        fit: Fit,
    ) -> Result<Fitted, OperationError> {
        let codes = finder.codes;
        let plain = |scaling| Fitted { scaling, codes, is_proved: false };
        let on_grid = |scaling| in_use(plain(scaling), finder, range);
        let ends = range.unwrap_or_default();
        let fitted = match (fit, range) {
            (Fit::AllCodes, _) => return self.scaling(finder, range).map(plain),
            // No value is finite: nothing can be changed.
            (Fit::Within(_), None) => Ok(Fitted { is_proved: self.needs_first_pass(), ..plain(Scaling::default()) }),
            (Fit::Within(allowed), Some(ends)) => finder.widest(ends, allowed),
            (Fit::GridFromZero(step), _) => finder.on_grid_from_zero(Grid::new(step), range).map(on_grid),
            (Fit::Grid(step), _) => finder.on_grid(Grid::new(step), ends).map(on_grid),
        };
        fitted.map_err(|fault| self.too_narrow(fault, finder, ends))
    }

    /// A step, asked for or following from `--max-error`, for which a type of codes has no room.
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
            (None, None) => "allow a larger error, or leave the values as they are and only --compress them",
        };
        let error = OperationError::data(message).with_help(help);
        if fault == RangeFault::TooFewCodes { error } else { error.because(fault) }
    }
}
