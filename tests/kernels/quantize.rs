//! The fused quantisation against `scale_offset`, `cast_value` and their inverses of the reference, one after another;
//! codes, faults and error figures.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use zarrcast::kernel::quantize::{Quantize, QuantizeFigures, QuantizeOptions};
use zarrcast::kernel::{ElementFault, FaultKind, InstructionSet};

use crate::reference::number::{Number, number};
use crate::reference::{self, Kind, OutOfRange, Rounding, cast, scale_offset_decode, scale_offset_encode};
use crate::strategies::bits_of;
use crate::subject::{
    fault_kind, instruction_sets, kernel_out_of_range, kernel_rounding, number_type, pack, stored, unpack,
};

#[derive(Clone, Debug)]
struct QuantizeCase {
    source: Kind,
    target: Kind,
    offset: Option<u64>,
    scale: Option<u64>,
    rounding: Rounding,
    out_of_range: OutOfRange,
    nan_code: Option<i64>,
    missing: Vec<u64>,
}

/// A code, and the error of decoding it where the element is a number; whether it was moved into the range.
type Coded = (i64, Option<f64>, bool);

impl QuantizeCase {
    /// The codes of the target that its float type holds, less a NaN code at an end.
    fn codes(&self) -> (i64, i64) {
        let Kind::Int { signed, bits } = self.target else { unreachable!("codes are integers") };
        let Kind::Float { mantissa_bits, .. } = self.source else { unreachable!("floats are quantised") };
        let exact = 1_i64 << (mantissa_bits + 1);
        let (least, greatest) =
            if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
        let (mut least, mut greatest) = (exact.wrapping_neg().max(least), exact.min(greatest));
        least += i64::from(self.nan_code == Some(least));
        greatest -= i64::from(self.nan_code == Some(greatest));
        (least, greatest)
    }

    fn kernel(&self, instruction_set: InstructionSet) -> Quantize {
        let options = QuantizeOptions {
            source: number_type(self.source),
            target: number_type(self.target),
            offset: self.offset,
            scale: self.scale,
            rounding: kernel_rounding(self.rounding),
            out_of_range: kernel_out_of_range(self.out_of_range),
            codes: self.codes(),
            nan_code: self.nan_code,
            missing: self.missing.clone(),
        };
        Quantize::with_instruction_set(options, instruction_set)
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
        let rounded =
            cast(scaled, self.source, int64, self.rounding, OutOfRange::Clamp, &[]).map_err(fault_kind)?;
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
                let code =
                    cast(scaled, self.source, self.target, self.rounding, wrap, &[]).map_err(fault_kind)?;
                cast(code, self.target, int64, self.rounding, wrap, &[]).map_err(fault_kind)?.cast_signed()
            }
        };
        if Some(code) == self.nan_code {
            return Err(FaultKind::ReservedCode);
        }
        let decoded = cast(code.cast_unsigned(), int64, self.source, self.rounding, OutOfRange::Error, &[]);
        let decoded = scale_offset_decode(
            decoded.map_err(|_| FaultKind::Overflow)?,
            self.source,
            self.offset,
            self.scale,
        );
        let error = (self.value(decoded.map_err(fault_kind)?) - self.value(bits)).abs();
        if error.is_finite() { Ok((code, Some(error), code != rounded)) } else { Err(FaultKind::Overflow) }
    }

    /// The float64 that an element of the source is.
    fn value(&self, bits: u64) -> f64 {
        let wide = cast(bits, self.source, Kind::F64, Rounding::NearestEven, OutOfRange::Error, &[]);
        f64::from_bits(wide.unwrap())
    }

    fn check(&self, elements: &[u64]) {
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
            let good: Vec<(u64, Coded)> = elements
                .iter()
                .zip(&expected)
                .filter_map(|(bits, coded)| Some((*bits, coded.ok()?)))
                .collect();
            let bits_of_good: Vec<u64> = good.iter().map(|(bits, _)| *bits).collect();
            let (codes, figures) = run(&bits_of_good)
                .unwrap_or_else(|fault| panic!("{context}: {fault:?} at {:#x}", bits_of_good[fault.index]));
            for (code, (bits, (expected, ..))) in codes.iter().zip(&good) {
                let expected = stored(expected.cast_unsigned(), self.target) & element_mask(self.target);
                assert_eq!(*code, expected, "{context} of {bits:#x} ({})", self.value(*bits));
            }
            check_figures(&figures, &good, &context);
            let first_fault =
                expected.iter().enumerate().find_map(|(index, coded)| Some((index, coded.err()?)));
            if let Some((index, kind)) = first_fault {
                assert_eq!(run(elements).unwrap_err(), ElementFault { kind, index }, "{context}");
            }
            for (bits, kind) in
                elements.iter().zip(&expected).filter_map(|(bits, coded)| Some((bits, coded.err()?)))
            {
                let fault = run(&[*bits; 67]).unwrap_err();
                assert_eq!(
                    fault,
                    ElementFault { kind, index: 0 },
                    "{context} of {bits:#x} ({})",
                    self.value(*bits)
                );
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
    assert_eq!(
        (figures.count, figures.nan, figures.clamped),
        (good.len() as u64, num_nan, num_moved),
        "{context}"
    );
    assert_eq!(figures.max_abs_error, greatest(false), "{context}: greatest error");
    assert_eq!(figures.max_abs_error_clamped, greatest(true), "{context}: greatest error of those clamped");
    let in_range = good.iter().filter(|(_, coded)| !coded.2).filter_map(|(_, coded)| coded.1);
    let scaled = |error: f64| error * figures.normalizer;
    let sum: f64 = in_range.map(|error| scaled(error) * scaled(error)).sum();
    let difference = (figures.sum_of_squares - sum).abs();
    // The loops may add in another order, and in parts in float32.
    let is_near = figures.sum_of_squares == sum || difference <= 2e-6 * sum || difference < 1e-300;
    assert!(is_near, "{context}: sum of squares {} instead of {sum}", figures.sum_of_squares);
}

/// The bits of the float nearest to a float64.
fn float(value: f64, kind: Kind) -> u64 {
    cast(value.to_bits(), Kind::F64, kind, Rounding::NearestEven, OutOfRange::Clamp, &[]).unwrap()
}

const TARGETS: [Kind; 8] = [
    Kind::int(8),
    Kind::uint(8),
    Kind::int(16),
    Kind::uint(16),
    Kind::int(32),
    Kind::uint(32),
    Kind::uint(10),
    Kind::int(12),
];

fn case(source: Kind, target: Kind) -> impl Strategy<Value = QuantizeCase> {
    let offset = prop_oneof![Just(None), (-1000_i32..1000).prop_map(|tenths| Some(f64::from(tenths) / 10.0))];
    let scale = prop_oneof![Just(None), (1_i32..4000).prop_map(|tenths| Some(f64::from(tenths) / 10.0))];
    let options = (0_usize..5, 0_usize..3, 0_usize..4);
    (offset, scale, options).prop_map(move |(offset, scale, (rounding, out_of_range, nan_code))| {
        let mut case = QuantizeCase {
            source,
            target,
            offset: offset.map(|offset| float(offset, source)),
            scale: scale.map(|scale| float(scale, source)),
            rounding: Rounding::ALL[rounding],
            out_of_range: OutOfRange::ALL[out_of_range],
            nan_code: None,
            missing: if nan_code == 3 { vec![float(0.0, source), float(-999.0, source)] } else { Vec::new() },
        };
        let (least, greatest) = case.codes();
        case.nan_code = [None, Some(least), Some(greatest), Some(greatest)][nan_code];
        // Wrapping is for the codes of a whole integer type.
        let is_whole = case.codes() == (least, greatest) && least + greatest <= 0xff && target.width() == 8;
        if case.out_of_range == OutOfRange::Wrap && !is_whole {
            case.out_of_range = OutOfRange::Error;
        }
        case
    })
}

#[test]
fn quantize_equals_scale_offset_then_cast_value_of_the_reference() {
    let config = Config { cases: 150, failure_persistence: None, ..Config::default() };
    for source in [Kind::F16, Kind::F32, Kind::F64] {
        for target in TARGETS {
            let near = (-2000_i32..2000, -40_i32..40)
                .prop_map(move |(value, power)| float(f64::from(value) * 1.1_f64.powi(power), source));
            let special = prop::sample::select(vec![f64::NAN, -999.0, 0.0, -0.0, f64::INFINITY]);
            let special = special.prop_map(move |value| float(value, source));
            let element = prop_oneof![8 => near, 1 => bits_of(source), 1 => special];
            let elements = prop::collection::vec(element, 0..300);
            let property = |(case, elements): (QuantizeCase, Vec<u64>)| {
                case.check(&elements);
                Ok(())
            };
            let mut runner = TestRunner::new(config.clone());
            runner
                .run(&(case(source, target), elements), property)
                .unwrap_or_else(|failure| panic!("{failure}"));
        }
    }
}

#[test]
fn quantize_of_more_than_a_tile_equals_the_reference() {
    for source in [Kind::F32, Kind::F64] {
        for target in TARGETS {
            for rounding in Rounding::ALL {
                let elements: Vec<u64> = (0..5_000)
                    .map(|step| if step % 997 == 0 { f64::NAN } else { f64::from(step) * 0.021 - 2.0 })
                    .map(|value| float(value, source))
                    .collect();
                let (offset, scale) = (Some(float(-3.3, source)), Some(float(1.17, source)));
                let (out_of_range, nan_code) = (OutOfRange::Clamp, Some(0));
                QuantizeCase {
                    source,
                    target,
                    offset,
                    scale,
                    rounding,
                    out_of_range,
                    nan_code,
                    missing: Vec::new(),
                }
                .check(&elements);
            }
        }
    }
}

#[test]
fn quantize_of_every_float16_equals_the_reference() {
    let elements: Vec<u64> = (0..=0xffff).collect();
    for target in [Kind::uint(8), Kind::int(16)] {
        for out_of_range in [OutOfRange::Error, OutOfRange::Clamp] {
            for nan_code in [None, Some(0)] {
                let case = QuantizeCase {
                    source: Kind::F16,
                    target,
                    offset: Some(float(-10.0, Kind::F16)),
                    scale: Some(float(0.1, Kind::F16)),
                    rounding: Rounding::NearestEven,
                    out_of_range,
                    nan_code: if target == Kind::uint(8) { nan_code } else { nan_code.map(|_| -2048) },
                    missing: vec![float(5.0, Kind::F16)],
                };
                case.check(&elements);
            }
        }
    }
}

/// A number that is rounded to the NaN code goes to the code beside it, on the side on which it lies.
#[test]
fn quantize_clamp_moves_numbers_off_an_inner_nan_code() {
    let mut case = QuantizeCase {
        source: Kind::F32,
        target: Kind::int(8),
        offset: None,
        scale: None,
        rounding: Rounding::NearestEven,
        out_of_range: OutOfRange::Clamp,
        nan_code: Some(5),
        missing: Vec::new(),
    };
    let values = [4.4_f32, 4.6, 5.0, 5.4, 5.6, f32::NAN];
    let elements: Vec<u64> = values.iter().map(|value| u64::from(value.to_bits())).collect();
    for instruction_set in instruction_sets() {
        let (mut target, mut figures) = ([0; 6], QuantizeFigures::default());
        case.kernel(instruction_set).convert(&pack(&elements, Kind::F32), &mut target, &mut figures).unwrap();
        assert_eq!((target[0], target[1], target[3], target[4], target[5]), (4, 4, 6, 6, 5));
        assert!(target[2] == 4 || target[2] == 6, "5.0 lies on neither side");
        assert_eq!((figures.count, figures.nan, figures.clamped), (6, 1, 3));
    }
    case.out_of_range = OutOfRange::Error;
    for instruction_set in instruction_sets() {
        let mut figures = QuantizeFigures::default();
        let fault =
            case.kernel(instruction_set).convert(&pack(&elements, Kind::F32), &mut [0; 6], &mut figures);
        assert_eq!(fault, Err(ElementFault { kind: FaultKind::ReservedCode, index: 1 }));
    }
}
