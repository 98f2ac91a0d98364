//! The fused quantisation compared with `scale_offset`, `cast_value` and their inverses of the reference: codes, faults
//! and error figures.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use zarrcast::kernel::quantize::QuantizeFigures;
use zarrcast::kernel::{ElementFault, FaultKind};

use crate::kernels::quantize_case::{QuantizeCase, float};
use crate::kernels::reference::{Kind, OutOfRange, Rounding};
use crate::kernels::strategies::bits_of;
use crate::kernels::subject::{instruction_sets, pack};

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
        // Wrapping needs all codes of an integer type.
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
            runner.run(&(case(source, target), elements), property).unwrap_or_else(|failure| panic!("{failure}"));
        }
    }
}

#[test]
fn quantize_of_more_than_a_tile_equals_the_reference() {
    for source in [Kind::F32, Kind::F64] {
        for target in TARGETS {
            for rounding in Rounding::ALL {
                let mut elements: Vec<u64> = (0..5_000)
                    .map(|step| if step % 997 == 0 { f64::NAN } else { f64::from(step) * 0.021 - 2.0 })
                    .map(|value| float(value, source))
                    .collect();
                let (offset, scale) = (Some(float(-3.3, source)), Some(float(1.17, source)));
                let (out_of_range, nan_code) = (OutOfRange::Clamp, Some(0));
                let missing = Vec::new();
                let case = QuantizeCase { source, target, offset, scale, rounding, out_of_range, nan_code, missing };
                case.check(&elements);
                // A fault has its index in the whole slice.
                elements[4321] = float(f64::INFINITY, source);
                case.check(&elements);
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

/// A number that rounds to the NaN code becomes the neighbouring code on its side.
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
        let fault = case.kernel(instruction_set).convert(&pack(&elements, Kind::F32), &mut [0; 6], &mut figures);
        assert_eq!(fault, Err(ElementFault { kind: FaultKind::ReservedCode, index: 1 }));
    }
}
