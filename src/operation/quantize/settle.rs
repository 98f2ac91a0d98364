//! What the data make of a quantisation that was asked for: codes, range, NaN, fill value (CLI.md, "Quantising").

use super::fit::Fit;
use super::quantization::{Quantization, surviving_fill};
use super::range::{Codes, Fitted, FloatType, RangeFinder};
use super::request::Request;
use super::survey::Survey;
use crate::array::ChunkSet;
use crate::diagnostic::quantity::counted;
use crate::diagnostic::{Diagnostic, code};
use crate::element::NumberType;
use crate::operation::error::OperationError;
use crate::operation::missing::declared_by;
use crate::operation::options::QuantizeForm;

impl Request<'_> {
    /// The quantisation as far as it is known before any chunk is read.
    pub(in crate::operation) fn open(&self, present: &ChunkSet) -> Result<Quantization, OperationError> {
        let total: u64 = self.source.metadata.num_chunks();
        let survey = Survey { absent_elements: present.len() < total, ..Survey::default() };
        // Whether inner chunks are absent decides what becomes of a finite fill value.
        let knows_fill = self.fill_is_nan() || self.source.pipeline.sharding().is_none();
        if self.fits_error() && self.quantize.range.is_some() && knows_fill {
            let mut settled = self.first_fit(|target, fit| self.settle(target, &survey, fit))?;
            settled.is_open = !settled.is_proved;
            settled.is_target_settled = settled.is_proved || self.quantize.data_type.is_some();
            return Ok(settled);
        }
        // The widest, so that what the plan needs is enough for any.
        let widest = self.candidates().into_iter().next_back().unwrap_or(self.number_type);
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
    pub(in crate::operation) fn settle(
        &self,
        target: NumberType,
        survey: &Survey,
        fit: Fit,
    ) -> Result<Quantization, OperationError> {
        let fill = self.float().value(self.fill_bits);
        let fill_is_data = !self.fill_is_nan() && survey.absent_elements;
        if fill.is_infinite() && fill_is_data {
            return Err(infinite(&self.source.store, "absent chunks hold the fill value, an infinity"));
        }
        self.check_survey(survey)?;
        let saw_nan = survey.extent.is_some_and(|extent| extent.nan > 0);
        let wants_nan = self.quantize.nan_value.is_some() || self.fill_is_nan() || saw_nan || !fill_is_data;
        let range = self.range(survey, fill_is_data.then_some(fill))?;
        let mut quantization =
            self.with_codes((target, wants_nan), range, fill_is_data.then_some(fill), fit)?;
        if !fill_is_data {
            quantization.fill_value = FloatType(self.number_type).bits(f64::NAN);
            return Ok(quantization);
        }
        if let Some(moved) = surviving_fill(&quantization, fill) {
            quantization.fill_value = self.float().bits(moved);
            if moved != fill {
                quantization.warnings.push(Diagnostic::new(
                    code::QUANTIZE_FILL_VALUE_MOVED,
                    format!("the fill value {fill} becomes {moved}, which the codes bring back bit for bit"),
                ));
            }
            return Ok(quantization);
        }
        let mut quantization = self.with_codes((target, true), range, Some(fill), fit)?;
        quantization.fill_value = self.float().bits(f64::NAN);
        quantization.writes_absent = true;
        quantization.warnings.push(Diagnostic::new(
            code::QUANTIZE_FILL_VALUE_MOVED,
            format!(
                "no value near the fill value {fill} survives the codes: absent chunks are written out, and the fill \
                 value becomes NaN"
            ),
        ));
        Ok(quantization)
    }

    /// What the first pass found that cannot be quantised.
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
                "`{}` holds {} equal to {}, which would ruin the range",
                self.source.store,
                counted(survey.declared_missing, "element"),
                declared_by(self.source)
            ))
            .with_help(
                "count them as NaN with `--missing auto`, or name other values with `--missing VALUE,...`",
            ));
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
        let nan =
            if wants_nan { self.quantize.nan_value.or_else(|| Codes::default_nan(target)) } else { None };
        let (least, greatest) = target.integer_bounds().ok_or_else(|| {
            OperationError::data(format!("--quantize takes an integer type; {target} is not one"))
        })?;
        if nan.is_some_and(|nan| !(least..=greatest).contains(&i128::from(nan))) {
            return Err(OperationError::data(format!(
                "--nan-value {} is not a value of {target}, {least} to {greatest}",
                nan.unwrap_or_default()
            )));
        }
        let codes = Codes::of(self.number_type, target, nan)
            .ok_or_else(|| OperationError::data(format!("{target} has too few codes")))?;
        let rounding = self.options.rounding.unwrap_or_default();
        let finder = RangeFinder {
            source: self.number_type,
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
                "absent chunks hold the fill value {fill}, which the given range leaves out"
            ))
            .with_help("widen the range to take it in, or leave the range out"));
        }
        Ok(Quantization {
            form: self.quantize.form,
            source: self.number_type,
            target,
            codes,
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
            return Err(OperationError::data(format!(
                "--range {lo},{hi} is empty: the least value comes first"
            )));
        }
        if !self.needs_first_pass() {
            return Ok(None);
        }
        let float = self.float();
        let seen = survey.extent.and_then(|extent| extent.finite);
        let seen = seen.map(|(lo, hi)| (float.value(lo), float.value(hi)));
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
        "no code stands for an infinity; count them as missing with `--missing Infinity,-Infinity`, or map them with \
         `--codecs` and a `scalar_map`",
    )
}
