//! How the codes of a quantisation are fitted to its range: all of a type, or those of a step (CLI.md, "Quantising").

use super::grid::Grid;
use super::quantization::Quantization;
use super::range::{Codes, Fitted, RangeFault, RangeFinder, Scaling};
use super::request::Request;
use crate::element::NumberType;
use crate::operation::error::{FaultClass, OperationError};

/// How the scaling of a type of codes is found.
#[derive(Debug, Clone, Copy)]
pub(in crate::operation) enum Fit {
    /// As `--scale` and `--offset` say, else over all codes of the type.
    AllCodes,
    /// In the widest step whose error is at most this.
    Within(f64),
    /// In steps of this size, from 0.
    GridFromZero(f64),
    /// In steps of this size, from some multiple of it.
    Grid(f64),
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
    pub(in crate::operation) fn fits_error(&self) -> bool {
        self.quantize.max_error.is_some() && self.quantize.scale.is_none() && self.quantize.offset.is_none()
    }

    /// The candidates for the codes' type, narrowest first.
    pub(in crate::operation) fn candidates(&self) -> Vec<NumberType> {
        use crate::element::ElementType::{Int8, Int16, Int32, UInt8, UInt16, UInt32};
        match (self.quantize.data_type, self.quantize.step) {
            (Some(data_type), _) => vec![data_type],
            // From 0 there are codes on both sides.
            (None, Some(_)) => [UInt8, Int8, UInt16, Int16, UInt32, Int32].map(NumberType::of).to_vec(),
            (None, None) => [UInt8, UInt16, UInt32].map(NumberType::of).to_vec(),
        }
    }

    /// The first type of codes, with the way to fit them, for which `settle` succeeds; else the last refusal.
    pub(in crate::operation) fn first_fit(
        &self,
        settle: impl Fn(NumberType, Fit) -> Result<Quantization, OperationError>,
    ) -> Result<Quantization, OperationError> {
        let mut refused = None;
        for (target, fit) in self.fits() {
            match settle(target, fit) {
                Ok(settled) => return Ok(settled),
                // Another type may have room for what this one refuses.
                Err(error) if error.class() == FaultClass::Data => refused = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(refused.unwrap_or_else(|| OperationError::data("there is no type of codes to try")))
    }

    /// The types of codes in the order in which they are tried, each with how they are fitted.
    fn fits(&self) -> Vec<(NumberType, Fit)> {
        let with = |fit: Fit| self.candidates().into_iter().map(move |target| (target, fit));
        match (self.quantize.step, self.quantize.max_error) {
            (Some(step), _) => with(Fit::GridFromZero(step)).chain(with(Fit::Grid(step))).collect(),
            (None, Some(max_error)) if self.fits_error() => with(Fit::Within(max_error)).collect(),
            (None, _) => with(Fit::AllCodes).collect(),
        }
    }

    /// The scaling, and the codes that it takes.
    pub(in crate::operation) fn fitted(
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
            (Fit::Within(_), None) => {
                Ok(Fitted { is_proved: self.needs_first_pass(), ..plain(Scaling::default()) })
            }
            (Fit::Within(allowed), Some(ends)) => finder.widest(ends, allowed),
            (Fit::GridFromZero(step), _) => finder.on_grid_from_zero(Grid::new(step), range).map(on_grid),
            (Fit::Grid(step), _) => finder.on_grid(Grid::new(step), ends).map(on_grid),
        };
        fitted.map_err(|fault| self.too_narrow(fault, finder, ends))
    }

    /// A step, asked for or following from `--max-error`, for which a type of codes has no room.
    fn too_narrow(&self, fault: RangeFault, finder: &RangeFinder, (lo, hi): (f64, f64)) -> OperationError {
        let RangeFinder { target, source, codes, .. } = finder;
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
            message = format!(
                "{message}: they take about {:.0} codes, and of those that {source} holds exactly it has {count}",
                steps.ceil() + 1.0
            );
        }
        let help = match (self.quantize.step, self.quantize.data_type) {
            (Some(_), Some(_)) => "give a wider --quantize TYPE, leave it out, or allow a wider --step",
            (Some(_), None) => {
                "allow a wider --step, or leave the values as they are and only --compress them"
            }
            (None, Some(_)) => "allow a larger error, give a wider --quantize TYPE, or leave it out",
            (None, None) => "allow a larger error, or leave the values as they are and only --compress them",
        };
        let error = OperationError::data(message).with_help(help);
        if fault == RangeFault::TooFewCodes { error } else { error.because(fault) }
    }
}
