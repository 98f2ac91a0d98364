//! `--step S`: codes that count steps of S from 0, or from a multiple of S (CLI.md, "Quantising").

use super::range::{FloatType, RangeFault, RangeFinder, Scaling, float_of};
use crate::kernel::Rounding;

/// The multiples of a step.
#[derive(Debug, Clone, Copy)]
pub(in crate::operation) struct Grid {
    /// S.
    step: f64,
    /// 1/S, where that is an integer: then a multiple divided by it is rounded once, as a decimal is that is read.
    per_unit: Option<f64>,
}

impl Grid {
    pub(in crate::operation) fn new(step: f64) -> Self {
        let per_unit = (1.0 / step).round();
        let is_whole = (1.0 / step - per_unit).abs() <= per_unit * f64::EPSILON;
        Grid { step, per_unit: Some(per_unit).filter(|per_unit| is_whole && *per_unit >= 1.0) }
    }

    /// The scale in an array's type.
    fn scale(self, float: FloatType) -> Option<f64> {
        let scale = float.round(self.per_unit.unwrap_or(1.0 / self.step), Rounding::NearestEven);
        Some(scale).filter(|scale| scale.is_finite() && *scale > 0.0)
    }

    /// The value of a multiple, in float64.
    fn value(self, multiple: f64) -> f64 {
        self.per_unit.map_or(multiple * self.step, |per_unit| multiple / per_unit)
    }

    /// The multiple that a value is rounded to.
    fn multiple(self, value: f64, rounding: Rounding) -> f64 {
        let steps = self.per_unit.map_or(value / self.step, |per_unit| value * per_unit);
        match rounding {
            Rounding::NearestEven => steps.round_ties_even(),
            Rounding::NearestAway => steps.round(),
            Rounding::TowardsPositive => steps.ceil(),
            // From an offset below all values, towards zero is down.
            Rounding::TowardsNegative | Rounding::TowardsZero => steps.floor(),
        }
    }
}

impl RangeFinder {
    /// The scaling of a grid with offset 0, if values from `lo` to `hi` have codes then.
    pub(in crate::operation) fn on_grid_from_zero(
        &self,
        grid: Grid,
        range: Option<(f64, f64)>,
    ) -> Result<Scaling, RangeFault> {
        let scale = grid.scale(FloatType(self.source)).ok_or(RangeFault::NoScale)?;
        let scaling = Scaling::of(None, Some(scale));
        let (lo, hi) = range.unwrap_or_default();
        let fits = range.is_none() || self.are_inside(scaling, (lo, hi));
        if fits { Ok(scaling) } else { Err(RangeFault::TooFewCodes) }
    }

    /// The scaling of a grid whose offset is the roundest multiple of the step that brings `lo` and `hi` inside.
    ///
    /// The roundest is divisible by the highest power of ten: the arithmetic is likely to hold it exactly, and other
    /// stores of the same kind to have the same. It follows from the codes of `lo` and `hi` alone, so that what was
    /// quantised gets the same again.
    pub(in crate::operation) fn on_grid(
        &self,
        grid: Grid,
        (lo, hi): (f64, f64),
    ) -> Result<Scaling, RangeFault> {
        let float = FloatType(self.source);
        let scale = grid.scale(float).ok_or(RangeFault::NoScale)?;
        let (first, last) = (float_of(self.codes.first), float_of(self.codes.last));
        let least = grid.multiple(hi, self.rounding) - last;
        let greatest = grid.multiple(lo, self.rounding) - first;
        let powers = (0..=15).rev().map(|exponent| 10_f64.powi(exponent));
        // The next round multiple below 0 may lie far beyond the values, where the arithmetic is coarser than there.
        let multiples = powers
            .filter(|power| greatest >= 0.0 || *power <= greatest.abs())
            .map(|power| (greatest / power).floor() * power);
        // Where rounding in the array's type takes an end to the next code, the multiple beside it may do.
        multiples
            .chain([greatest - 1.0, least + 1.0])
            .filter(|multiple| (least..=greatest).contains(multiple))
            .map(|multiple| {
                Scaling::of(Some(float.round(grid.value(multiple), Rounding::NearestEven)), Some(scale))
            })
            .find(|scaling| self.are_inside(*scaling, (lo, hi)))
            .ok_or(RangeFault::TooFewCodes)
    }

    fn are_inside(&self, scaling: Scaling, (lo, hi): (f64, f64)) -> bool {
        self.encode(scaling, lo).is_some() && self.encode(scaling, hi).is_some()
    }
}
