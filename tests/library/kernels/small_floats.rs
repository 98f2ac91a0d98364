//! `cast_value` and `scale_offset` of `bfloat16` and floats of up to 8 bits, compared with the reference. Sources of up
//! to 16 bits are tested exhaustively. `tests/cli/cases/cast_value.txt` and `scale_offset.txt` test the sentences on
//! them.

use proptest::prelude::*;

use crate::kernels::cast::run;

use crate::kernels::reference::number::{Number, mask, number};
use crate::kernels::reference::{Kind, OutOfRange, Rounding};
use crate::kernels::scale_offset::{DIRECTIONS, ScaleOffsetCase, is_zero, parameters};
use crate::kernels::strategies::{bits_of, landmarks_of};
use crate::kernels::subject::{CORE, CastCase, NARROW, all_kinds, small_floats};

fn kind(name: &str) -> Kind {
    Kind::SMALL.into_iter().find(|(small, _)| *small == name).unwrap().1
}

/// Returns the value of a pattern, or `None` if it is not a finite number.
fn value(bits: u64, kind: Kind) -> Option<f64> {
    match number(bits, kind) {
        Number::Finite(exact) => {
            let magnitude = exact.magnitude as f64 * 2_f64.powi(exact.exponent);
            Some(if exact.negative { -magnitude } else { magnitude })
        }
        _ => None,
    }
}

/// Returns the sorted finite values of a type.
fn values(kind: Kind) -> Vec<f64> {
    let mut values: Vec<f64> = (0..=mask(kind.width())).filter_map(|bits| value(bits, kind)).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Returns the values of a type, midpoints, their float64 neighbours, and values outside the range.
fn float64_around(kind: Kind) -> Vec<f64> {
    let values = values(kind);
    let ends = [values[0], values[values.len() - 1]];
    let step = values.len() / 512 + 1;
    let pairs = values.windows(2).step_by(step).chain(values.windows(2).rev().take(3));
    let between = pairs.flat_map(|pair| [pair[0], pair[0] / 2.0 + pair[1] / 2.0]);
    let outside = (1..40).flat_map(|part| ends.map(|end| end + end * f64::from(part) / 128.0));
    let least = (1..40).map(|part| 2_f64.powi(-127) * f64::from(part) / 32.0);
    let all = between.chain(outside).chain(least).chain(ends);
    all.flat_map(|value| [value, value.next_up(), value.next_down()]).flat_map(|value| [value, -value]).collect()
}

// The reference must match the definition of rounding: no value of the type is nearer, in each direction.
#[test]
fn reference_rounds_to_the_values_of_the_type_that_are_next() {
    for (name, kind) in Kind::SMALL {
        let list = values(kind);
        let cast = |value: f64, rounding| {
            let bits =
                crate::kernels::reference::cast(value.to_bits(), Kind::F64, kind, rounding, OutOfRange::Error, &[]);
            bits.ok().map(|bits| (bits, self::value(bits, kind).unwrap()))
        };
        for x in float64_around(kind) {
            // The tests of limits check values that round to outside the finite numbers.
            if x < list[0] || x > list[list.len() - 1] {
                continue;
            }
            let above = list[list.partition_point(|value| *value < x)];
            let below = list[list.partition_point(|value| *value <= x) - 1];
            let context = format!("{x:e} to {name}");
            assert_eq!(cast(x, Rounding::TowardsPositive).unwrap().1, above, "{context}");
            assert_eq!(cast(x, Rounding::TowardsNegative).unwrap().1, below, "{context}");
            let towards_zero = if x < 0.0 { above } else { below };
            assert_eq!(cast(x, Rounding::TowardsZero).unwrap().1, towards_zero, "{context}");
            let (bits, even) = cast(x, Rounding::NearestEven).unwrap();
            let away = cast(x, Rounding::NearestAway).unwrap().1;
            match (x - below).total_cmp(&(above - x)) {
                std::cmp::Ordering::Less => assert_eq!((even, away), (below, below), "{context}"),
                std::cmp::Ordering::Greater => assert_eq!((even, away), (above, above), "{context}"),
                std::cmp::Ordering::Equal if below == above => assert_eq!((even, away), (x, x), "{context}"),
                std::cmp::Ordering::Equal => {
                    assert_eq!(away, if x < 0.0 { below } else { above }, "{context}");
                    assert!(bits % 2 == 0 || name == "float8_e8m0fnu" && even == above, "{context}");
                }
            }
        }
    }
}

#[test]
fn cast_of_every_float_of_a_byte_to_every_type_equals_the_reference() {
    for source in small_floats().filter(|kind| kind.width() <= 8) {
        let elements: Vec<u64> = (0..=mask(source.width())).collect();
        for target in all_kinds().chain(small_floats()) {
            CastCase::new(source, target).variants().for_each(|case| case.check(&elements));
        }
    }
}

#[test]
fn cast_of_every_bfloat16_to_core_types_equals_the_reference() {
    let elements: Vec<u64> = (0..=0xffff).collect();
    for target in CORE.into_iter().chain([Kind::int(2), Kind::uint(4), Kind::uint(10)]) {
        CastCase::new(Kind::BF16, target).variants().for_each(|case| case.check(&elements));
    }
}

#[test]
fn cast_of_every_bfloat16_to_small_floats_equals_the_reference() {
    let elements: Vec<u64> = (0..=0xffff).collect();
    for target in small_floats() {
        CastCase::new(Kind::BF16, target).variants().for_each(|case| case.check(&elements));
    }
}

#[test]
fn cast_of_every_float16_to_small_floats_equals_the_reference() {
    let elements: Vec<u64> = (0..=0xffff).collect();
    for target in small_floats() {
        CastCase::new(Kind::F16, target).variants().for_each(|case| case.check(&elements));
    }
}

#[test]
fn cast_of_every_integer_of_16_bits_to_small_floats_equals_the_reference() {
    for source in [Kind::int(16), Kind::uint(16)] {
        let elements: Vec<u64> = (0..=0xffff).collect();
        for target in small_floats() {
            CastCase::new(source, target).variants().for_each(|case| case.check(&elements));
        }
    }
}

#[test]
fn cast_of_every_narrow_integer_to_small_floats_equals_the_reference() {
    for source in NARROW.into_iter().chain([Kind::int(8), Kind::uint(8)]).filter(|kind| kind.width() <= 12) {
        let elements: Vec<u64> = (0..=mask(source.width())).collect();
        for target in small_floats() {
            CastCase::new(source, target).variants().for_each(|case| case.check(&elements));
        }
    }
}

#[test]
fn cast_of_floats_around_every_tie_and_bound_of_small_floats_equals_the_reference() {
    for target in small_floats() {
        let around = float64_around(target);
        let float64: Vec<u64> = around.iter().map(|value| value.to_bits()).chain(landmarks_of(Kind::F64)).collect();
        let float32: Vec<u64> = around
            .iter()
            .flat_map(|value| [*value as f32, (*value as f32).next_up(), (*value as f32).next_down()])
            .map(|value| u64::from(value.to_bits()))
            .chain(landmarks_of(Kind::F32))
            .collect();
        CastCase::new(Kind::F64, target).variants().for_each(|case| case.check(&float64));
        CastCase::new(Kind::F32, target).variants().for_each(|case| case.check(&float32));
    }
}

#[test]
fn cast_of_wide_integers_around_every_tie_of_small_floats_equals_the_reference() {
    for source in [Kind::int(32), Kind::uint(32), Kind::int(64), Kind::uint(64), Kind::int(63), Kind::uint(53)] {
        // A conversion via float64 loses an odd last bit below a tie.
        let ties = (0..source.width()).flat_map(|power| {
            (1..=9).flat_map(move |precision| {
                let power = 1_u64 << power;
                let tie = power | power >> precision;
                [tie, tie | 1, tie.wrapping_sub(1), power | power >> precision | power >> (precision - 1)]
            })
        });
        let mut elements: Vec<u64> = ties
            .chain(landmarks_of(source))
            .flat_map(|bits| [bits, bits.wrapping_neg()])
            .map(|bits| bits & mask(source.width()))
            .collect();
        elements.sort_unstable();
        elements.dedup();
        for target in small_floats() {
            CastCase::new(source, target).variants().for_each(|case| case.check(&elements));
        }
    }
}

#[test]
fn cast_with_scalar_map_of_small_floats_equals_the_reference() {
    for small in small_floats() {
        for other in all_kinds().chain([Kind::BF16, kind("float8_e4m3fnuz"), kind("float8_e8m0fnu")]) {
            for (source, target) in [(small, other), (other, small)] {
                let entries = prop::collection::vec((bits_of(source), bits_of(target)), 0..5);
                let elements = prop::collection::vec(bits_of(source), 1..90);
                // Each map makes a table of up to 65,536 results.
                run(2, &(entries, elements), |(mut entries, elements)| {
                    for ((key, _), element) in entries.iter_mut().step_by(2).zip(&elements) {
                        *key = *element;
                    }
                    let case = CastCase::new(source, target).scalar_map(&entries);
                    case.variants().step_by(2).for_each(|case| case.check(&elements));
                    Ok(())
                });
            }
        }
    }
}

#[test]
fn scale_offset_of_every_float_of_a_byte_equals_the_reference() {
    for kind in small_floats().filter(|kind| kind.width() <= 8) {
        let elements: Vec<u64> = (0..=mask(kind.width())).collect();
        let parameters: Vec<Option<u64>> =
            elements.iter().step_by(elements.len() / 24 + 1).copied().map(Some).chain([None]).collect();
        for &offset in &parameters {
            for &scale in parameters.iter().filter(|scale| scale.is_none_or(|bits| !is_zero(bits, kind))) {
                for direction in DIRECTIONS {
                    ScaleOffsetCase { kind, offset, scale, direction }.check(&elements);
                }
            }
        }
    }
}

#[test]
fn scale_offset_of_every_bfloat16_equals_the_reference() {
    let kind = Kind::BF16;
    let elements: Vec<u64> = (0..=0xffff).collect();
    // 1, 0.1, -10.5, the greatest, the least subnormal, the least normal, an infinity, NaN.
    let parameters = [0x3f80, 0x3dcd, 0xc128, 0x7f7f, 0x0001, 0x0080, 0x7f80, 0x7fc0];
    for offset in parameters.into_iter().map(Some).chain([None]) {
        for scale in parameters.into_iter().map(Some).chain([None]) {
            for direction in DIRECTIONS {
                ScaleOffsetCase { kind, offset, scale, direction }.check(&elements);
            }
        }
    }
}

#[test]
fn scale_offset_of_random_bfloat16_equals_the_reference() {
    let kind = Kind::BF16;
    run(400, &(parameters(kind), prop::collection::vec(bits_of(kind), 1..60)), |((offset, scale), elements)| {
        for direction in DIRECTIONS {
            ScaleOffsetCase { kind, offset, scale, direction }.check(&elements);
        }
        Ok(())
    });
}
