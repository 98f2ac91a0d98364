//! The reference compared with reliable arithmetic: `as`, `f32` and `f64` of the standard library, the `half` crate,
//! and values calculated by hand.

use half::f16;
use proptest::prelude::*;

use crate::kernels::reference::{Fault, Kind, OutOfRange, Rounding, cast, scale_offset_decode, scale_offset_encode};
use crate::kernels::strategies::{finite_float32, float64};

/// Casts without clamping and scalar map.
fn plain(bits: u64, source: Kind, target: Kind, rounding: Rounding) -> Result<u64, Fault> {
    cast(bits, source, target, rounding, OutOfRange::Error, &[])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn reference_narrows_floats_as_the_hardware_does(value in float64()) {
        let narrow = value as f32;
        let expected = if narrow.is_infinite() && value.is_finite() {
            Err(Fault::OutOfRange)
        } else {
            Ok(u64::from(narrow.to_bits()))
        };
        prop_assert_eq!(plain(value.to_bits(), Kind::F64, Kind::F32, Rounding::NearestEven), expected);
        prop_assert_eq!(
            plain(u64::from(narrow.to_bits()), Kind::F32, Kind::F64, Rounding::NearestAway),
            Ok(f64::from(narrow).to_bits())
        );
    }

    // From float32, because `f16::from_f64` rounds twice or truncates on some machines.
    #[test]
    fn reference_narrows_to_float16_as_half_does(value in float64()) {
        let value = value as f32;
        let narrow = f16::from_f32(value);
        let expected = if narrow.is_infinite() && value.is_finite() {
            Err(Fault::OutOfRange)
        } else {
            Ok(u64::from(narrow.to_bits()))
        };
        let bits = u64::from(value.to_bits());
        prop_assert_eq!(plain(bits, Kind::F32, Kind::F16, Rounding::NearestEven), expected);
    }

    #[test]
    fn reference_converts_integers_to_floats_as_the_language_does(value: u64) {
        let nearest = Rounding::NearestEven;
        let signed = value.cast_signed();
        prop_assert_eq!(plain(value, Kind::uint(64), Kind::F64, nearest), Ok((value as f64).to_bits()));
        prop_assert_eq!(plain(value, Kind::int(64), Kind::F64, nearest), Ok((signed as f64).to_bits()));
        prop_assert_eq!(plain(value, Kind::uint(64), Kind::F32, nearest), Ok(u64::from((value as f32).to_bits())));
        prop_assert_eq!(plain(value, Kind::int(64), Kind::F32, nearest), Ok(u64::from((signed as f32).to_bits())));
    }

    #[test]
    fn reference_wraps_integers_as_the_language_does(value: u64) {
        let wrap = |source, target| cast(value, source, target, Rounding::TowardsZero, OutOfRange::Wrap, &[]);
        prop_assert_eq!(wrap(Kind::int(64), Kind::int(16)), Ok(u64::from((value as i16).cast_unsigned())));
        prop_assert_eq!(wrap(Kind::uint(64), Kind::uint(8)), Ok(u64::from(value as u8)));
        prop_assert_eq!(wrap(Kind::int(32), Kind::uint(64)), Ok(i64::from(value as i32).cast_unsigned()));
        prop_assert_eq!(wrap(Kind::uint(64), Kind::uint(10)), Ok(value & 1023));
    }

    #[test]
    fn reference_rounds_to_integers_as_the_language_does(value in float64(), rounding_index in 0_usize..5) {
        let rounding = Rounding::ALL[rounding_index];
        let whole = match rounding {
            Rounding::NearestEven => value.round_ties_even(),
            Rounding::TowardsZero => value.trunc(),
            Rounding::TowardsPositive => value.ceil(),
            Rounding::TowardsNegative => value.floor(),
            Rounding::NearestAway => value.round(),
        };
        // `as` saturates at the limits of i32, which are exact in f64.
        let clamped = cast(value.to_bits(), Kind::F64, Kind::int(32), rounding, OutOfRange::Clamp, &[]);
        let expected = match value {
            _ if value.is_nan() => Err(Fault::NotANumber),
            _ if value.is_infinite() => Err(Fault::Infinite),
            _ => Ok(u64::from((whole as i32).cast_unsigned())),
        };
        prop_assert_eq!(clamped, expected);
        let checked = plain(value.to_bits(), Kind::F64, Kind::int(32), rounding);
        let is_in_range = (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&whole);
        prop_assert_eq!(checked, if value.is_finite() && !is_in_range { Err(Fault::OutOfRange) } else { expected });
        // Modulo 2^64 by the floating-point remainder, which is exact.
        let wrapped = cast(value.to_bits(), Kind::F64, Kind::int(64), rounding, OutOfRange::Wrap, &[]);
        if value.is_finite() {
            let residue = (whole % 2_f64.powi(64)) as i128 as u64;
            prop_assert_eq!(wrapped, Ok(residue));
        } else {
            prop_assert!(wrapped.is_err());
        }
    }

    #[test]
    fn reference_calculates_in_float64_as_the_hardware_does(x in float64(), offset in float64(), scale in float64()) {
        let check = |first: f64, second: f64, actual: Result<u64, Fault>| {
            let overflows = |from: f64, to: f64| from.is_finite() && to.is_infinite();
            if overflows(x, first) || overflows(first, second) {
                prop_assert_eq!(actual, Err(Fault::Overflow));
            } else if second.is_nan() {
                prop_assert!(f64::from_bits(actual.unwrap()).is_nan());
            } else {
                prop_assert_eq!(actual, Ok(second.to_bits()));
            }
            Ok(())
        };
        prop_assume!(scale != 0.0);
        let (offset_bits, scale_bits) = (Some(offset.to_bits()), Some(scale.to_bits()));
        let encoded = scale_offset_encode(x.to_bits(), Kind::F64, offset_bits, scale_bits);
        check(x - offset, (x - offset) * scale, encoded)?;
        let decoded = scale_offset_decode(x.to_bits(), Kind::F64, offset_bits, scale_bits);
        check(x / scale, x / scale + offset, decoded)?;
    }

    #[test]
    fn reference_calculates_in_float32_as_the_hardware_does(
        x in finite_float32(),
        offset in finite_float32(),
        scale in finite_float32().prop_map(|scale| if scale == 0.0 { 1.0 } else { scale }),
    ) {
        let bits = |value: f32| u64::from(value.to_bits());
        let finite = |first: f32, second: f32| {
            if first.is_finite() && second.is_finite() { Ok(bits(second)) } else { Err(Fault::Overflow) }
        };
        let encoded = scale_offset_encode(bits(x), Kind::F32, Some(bits(offset)), Some(bits(scale)));
        prop_assert_eq!(encoded, finite(x - offset, (x - offset) * scale));
        let decoded = scale_offset_decode(bits(x), Kind::F32, Some(bits(offset)), Some(bits(scale)));
        prop_assert_eq!(decoded, finite(x / scale, x / scale + offset));
    }
}

#[test]
fn reference_agrees_with_float16_arithmetic() {
    // float32 has more than twice the bits of float16, so a second rounding of a float32 result is harmless.
    let values: Vec<u16> = (0..=u16::MAX).step_by(509).collect();
    for &x in &values {
        for &y in &values {
            let (left, right) = (f16::from_bits(x), f16::from_bits(y));
            if !left.is_finite() || !right.is_finite() {
                continue;
            }
            let finite = |value: f32| {
                Some(f16::from_f32(value)).filter(|value| value.is_finite()).map(|v| u64::from(v.to_bits()))
            };
            let encode = |offset, scale| scale_offset_encode(u64::from(x), Kind::F16, offset, scale).ok();
            let decode = |offset, scale| scale_offset_decode(u64::from(x), Kind::F16, offset, scale).ok();
            let right_bits = Some(u64::from(y));
            assert_eq!(encode(right_bits, None), finite(left.to_f32() - right.to_f32()), "{left} - {right}");
            assert_eq!(encode(None, right_bits), finite(left.to_f32() * right.to_f32()), "{left} * {right}");
            assert_eq!(decode(right_bits, None), finite(left.to_f32() + right.to_f32()), "{left} + {right}");
            assert_eq!(decode(None, right_bits), finite(left.to_f32() / right.to_f32()), "{left} / {right}");
        }
    }
}

#[test]
fn reference_directed_rounding_brackets_the_value() {
    // A stratified set of float32 to float16: the neighbours below and above, and the nearer of them.
    for index in 0..200_000_u32 {
        let value = f32::from_bits(index.wrapping_mul(21_473));
        if !value.is_finite() {
            continue;
        }
        let to = |rounding| plain(u64::from(value.to_bits()), Kind::F32, Kind::F16, rounding);
        let wide = |bits: u64| f16::from_bits(u16::try_from(bits).unwrap()).to_f32();
        let (below, above) = (to(Rounding::TowardsNegative), to(Rounding::TowardsPositive));
        let (Ok(below_bits), Ok(above_bits)) = (below, above) else { continue };
        let (below, above) = (wide(below_bits), wide(above_bits));
        assert!(below <= value && value <= above, "{value}");
        assert!(below_bits.abs_diff(above_bits) <= 1, "{value} lies between {below} and {above}");
        let zero = wide(to(Rounding::TowardsZero).unwrap());
        assert_eq!(zero.to_bits(), if value.is_sign_negative() { above } else { below }.to_bits());
        let even = wide(to(Rounding::NearestEven).unwrap());
        assert_eq!(even.to_bits(), f16::from_f32(value).to_f32().to_bits());
        let away = wide(to(Rounding::NearestAway).unwrap());
        // Both distances are exact in float64.
        let distance = |neighbour: f32| (f64::from(neighbour) - f64::from(value)).abs();
        let farther = if value.is_sign_negative() { below } else { above };
        let expected = match distance(below).total_cmp(&distance(above)) {
            std::cmp::Ordering::Less => below,
            std::cmp::Ordering::Equal => farther,
            std::cmp::Ordering::Greater => above,
        };
        assert_eq!(away.to_bits(), expected.to_bits(), "{value}");
    }
}
