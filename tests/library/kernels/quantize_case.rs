//! A quantisation, for the kernel and for the reference.

use zarrcast::kernel::quantize::{Quantize, QuantizeFigures, QuantizeOptions};
use zarrcast::kernel::{ElementFault, FaultKind, InstructionSet};

use crate::kernels::reference::number::{Number, number};
use crate::kernels::reference::{
    self, Float, Kind, OutOfRange, Rounding, cast, scale_offset_decode, scale_offset_encode,
};
use crate::kernels::subject::{
    fault_kind, instruction_sets, kernel_out_of_range, kernel_rounding, number_type, pack, stored, unpack,
};

#[derive(Clone, Debug)]
pub(crate) struct QuantizeCase {
    pub(crate) source: Kind,
    pub(crate) target: Kind,
    pub(crate) offset: Option<u64>,
    pub(crate) scale: Option<u64>,
    pub(crate) rounding: Rounding,
    pub(crate) out_of_range: OutOfRange,
    pub(crate) nan_code: Option<i64>,
    pub(crate) missing: Vec<u64>,
}

/// A code, the decoding error of a number, and whether the code was clamped.
type Coded = (i64, Option<f64>, bool);

impl QuantizeCase {
    /// Returns the range of target codes that the float type represents exactly, without a NaN code at an end.
    pub(crate) fn codes(&self) -> (i64, i64) {
        let Kind::Int { signed, bits } = self.target else { unreachable!("codes are integers") };
        let Kind::Float(Float { mantissa_bits, .. }) = self.source else { unreachable!("floats are quantised") };
        let exact = 1_i64 << (mantissa_bits + 1);
        let (least, greatest) = if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
        let (mut least, mut greatest) = (exact.wrapping_neg().max(least), exact.min(greatest));
        least += i64::from(self.nan_code == Some(least));
        greatest -= i64::from(self.nan_code == Some(greatest));
        (least, greatest)
    }

    fn options(&self) -> QuantizeOptions {
        QuantizeOptions {
            source: number_type(self.source),
            target: number_type(self.target),
            offset: self.offset,
            scale: self.scale,
            rounding: kernel_rounding(self.rounding),
            out_of_range: kernel_out_of_range(self.out_of_range),
            codes: self.codes(),
            nan_code: self.nan_code,
            negative_zero_code: None,
            missing: self.missing.clone(),
            cf: None,
        }
    }

    pub(crate) fn kernel(&self, instruction_set: InstructionSet) -> Quantize {
        instruction_set.at_most(|| Quantize::new(self.options()))
    }

    /// Readers of CF attributes compute in float64 for every array type.
    fn check_cf(&self, good: &[(u64, Coded)], context: &str) {
        let (scale_factor, add_offset) = (0.3, -7.1);
        let error = |(bits, coded): &(u64, Coded)| {
            let error = (coded.0 as f64 * scale_factor + add_offset - self.value(*bits)).abs();
            (*bits, (coded.0, coded.1.map(|_| error), false))
        };
        let expected: Vec<(u64, Coded)> = good.iter().filter(|(_, coded)| !coded.2).map(error).collect();
        let elements: Vec<u64> = expected.iter().map(|(bits, _)| *bits).collect();
        let kernel = Quantize::new(QuantizeOptions { cf: Some((scale_factor, add_offset)), ..self.options() });
        let mut target = vec![0; elements.len() * number_type(self.target).size()];
        let mut figures = QuantizeFigures::default();
        kernel.convert(&pack(&elements, self.source), &mut target, &mut figures).unwrap();
        check_figures(&figures, &expected, context);
    }

    fn expected(&self, bits: u64) -> Result<Coded, FaultKind> {
        let is_missing = |missing: &u64| match (number(*missing, self.source), number(bits, self.source)) {
            (Number::Nan, _) | (_, Number::Nan) => false,
            (Number::Finite(one), Number::Finite(other)) if one.is_zero() && other.is_zero() => true,
            (one, other) => one == other,
        };
        if number(bits, self.source) == Number::Nan || self.missing.iter().any(is_missing) {
            return self.nan_code.map(|code| (code, None, false)).ok_or(FaultKind::NotANumber);
        }
        let scaled = scale_offset_encode(bits, self.source, self.offset, self.scale).map_err(fault_kind)?;
        let int64 = Kind::int(64);
        let rounded = cast(scaled, self.source, int64, self.rounding, OutOfRange::Clamp, &[]).map_err(fault_kind)?;
        let rounded = rounded.cast_signed();
        let (least, greatest) = self.codes();
        if Some(rounded) == self.nan_code && self.out_of_range != OutOfRange::Clamp {
            return Err(FaultKind::ReservedCode);
        }
        let code = match self.out_of_range {
            _ if (least..=greatest).contains(&rounded) => rounded,
            OutOfRange::Error => return Err(FaultKind::OutOfRange),
            OutOfRange::Clamp => rounded.clamp(least, greatest),
            OutOfRange::Wrap => {
                let wrap = OutOfRange::Wrap;
                let code = cast(scaled, self.source, self.target, self.rounding, wrap, &[]).map_err(fault_kind)?;
                cast(code, self.target, int64, self.rounding, wrap, &[]).map_err(fault_kind)?.cast_signed()
            }
        };
        if Some(code) == self.nan_code {
            return Err(FaultKind::ReservedCode);
        }
        let decoded = cast(code.cast_unsigned(), int64, self.source, self.rounding, OutOfRange::Error, &[]);
        let decoded =
            scale_offset_decode(decoded.map_err(|_| FaultKind::Overflow)?, self.source, self.offset, self.scale);
        let error = (self.value(decoded.map_err(fault_kind)?) - self.value(bits)).abs();
        if error.is_finite() { Ok((code, Some(error), code != rounded)) } else { Err(FaultKind::Overflow) }
    }

    /// Returns an element of the source as float64.
    fn value(&self, bits: u64) -> f64 {
        let wide = cast(bits, self.source, Kind::F64, Rounding::NearestEven, OutOfRange::Error, &[]);
        f64::from_bits(wide.unwrap())
    }

    pub(crate) fn check(&self, elements: &[u64]) {
        let expected: Vec<_> = elements.iter().map(|bits| self.expected(*bits)).collect();
        for instruction_set in instruction_sets() {
            let context = format!("{self:x?} on {instruction_set:?}");
            let kernel = self.kernel(instruction_set);
            let run = |elements: &[u64]| {
                let mut target = vec![0xa5; elements.len() * number_type(self.target).size()];
                let mut figures = QuantizeFigures::default();
                kernel.convert(&pack(elements, self.source), &mut target, &mut figures)?;
                Ok::<_, ElementFault>((unpack(&target, self.target), figures))
            };
            let good: Vec<(u64, Coded)> =
                elements.iter().zip(&expected).filter_map(|(bits, coded)| Some((*bits, coded.ok()?))).collect();
            let bits_of_good: Vec<u64> = good.iter().map(|(bits, _)| *bits).collect();
            let (codes, figures) = run(&bits_of_good)
                .unwrap_or_else(|fault| panic!("{context}: {fault:?} at {:#x}", bits_of_good[fault.index]));
            for (code, (bits, (expected, ..))) in codes.iter().zip(&good) {
                let expected = stored(expected.cast_unsigned(), self.target) & element_mask(self.target);
                assert_eq!(*code, expected, "{context} of {bits:#x} ({})", self.value(*bits));
            }
            check_figures(&figures, &good, &context);
            self.check_cf(&good, &context);
            let first_fault = expected.iter().enumerate().find_map(|(index, coded)| Some((index, coded.err()?)));
            if let Some((index, kind)) = first_fault {
                assert_eq!(run(elements).unwrap_err(), ElementFault { kind, index }, "{context}");
            }
            for (bits, kind) in elements.iter().zip(&expected).filter_map(|(bits, coded)| Some((bits, coded.err()?))) {
                let fault = run(&[*bits; 67]).unwrap_err();
                assert_eq!(fault, ElementFault { kind, index: 0 }, "{context} of {bits:#x} ({})", self.value(*bits));
            }
        }
    }
}

fn element_mask(kind: Kind) -> u64 {
    reference::number::mask(8 * u32::try_from(number_type(kind).size()).unwrap())
}

fn check_figures(figures: &QuantizeFigures, good: &[(u64, Coded)], context: &str) {
    let greatest = |is_moved: bool| {
        let errors = good.iter().filter(|(_, coded)| coded.2 == is_moved).filter_map(|(_, coded)| coded.1);
        errors.fold(0.0, f64::max)
    };
    let num_nan = good.iter().filter(|(_, coded)| coded.1.is_none()).count() as u64;
    let num_moved = good.iter().filter(|(_, coded)| coded.2).count() as u64;
    assert_eq!((figures.count, figures.nan, figures.clamped), (good.len() as u64, num_nan, num_moved), "{context}");
    assert_eq!(figures.max_abs_error, greatest(false), "{context}: greatest error");
    assert_eq!(figures.max_abs_error_clamped, greatest(true), "{context}: greatest error of those clamped");
    let in_range = good.iter().filter(|(_, coded)| !coded.2).filter_map(|(_, coded)| coded.1);
    let scaled = |error: f64| error * figures.normalizer;
    let sum: f64 = in_range.map(|error| scaled(error) * scaled(error)).sum();
    let difference = (figures.sum_of_squares - sum).abs();
    // The loops may add in another order, and partly in float32.
    let is_near = figures.sum_of_squares == sum || difference <= 2e-6 * sum || difference < 1e-300;
    assert!(is_near, "{context}: sum of squares {} instead of {sum}", figures.sum_of_squares);
}

/// Returns the bits of the float nearest to a float64.
pub(crate) fn float(value: f64, kind: Kind) -> u64 {
    cast(value.to_bits(), Kind::F64, kind, Rounding::NearestEven, OutOfRange::Clamp, &[]).unwrap()
}
