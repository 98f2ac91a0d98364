//! One test for each number on which implementations or specifications disagree, and for each that another
//! implementation is known to get wrong, so that it is not got wrong again.
//!
//! Named elsewhere: cast-value-rs is the crate `zarr-cast-value`; zarr-python runs it under `cast_value` and has its own
//! `scale_offset`; zarrs has its own `cast_value`, unreleased.

use zarrcast::kernel::FaultKind;

use crate::kernels::one_element::{convert, convert_f64, decode, encode, from_f64};
use crate::kernels::reference::{Kind, OutOfRange, Rounding};
use crate::kernels::subject::CastCase;

const OUT_OF_RANGE: Result<u64, FaultKind> = Err(FaultKind::OutOfRange);

fn from_f32(value: f32, case: &CastCase) -> Result<u64, FaultKind> {
    convert(case, u64::from(value.to_bits()))
}

/// An early design refused integers that a float cannot hold; the registry rounds them.
#[test]
fn integer_beyond_the_significand_is_rounded() {
    let case = CastCase::new(Kind::int(64), Kind::F64);
    assert_eq!(convert(&case, (1 << 53) + 1), Ok(2_f64.powi(53).to_bits()));
    let case = CastCase::new(Kind::int(32), Kind::F32).rounding(Rounding::TowardsPositive);
    assert_eq!(convert(&case, (1 << 24) + 1), Ok(u64::from(16_777_218_f32.to_bits())));
}

/// cast-value-rs 0.4.2 gave infinity without a word.
#[test]
fn integer_to_float16_overflow_is_an_error() {
    assert_eq!(convert(&CastCase::new(Kind::int(32), Kind::F16), 65_520), OUT_OF_RANGE);
    assert_eq!(convert(&CastCase::new(Kind::uint(64), Kind::F16), u64::MAX), OUT_OF_RANGE);
    assert_eq!(convert(&CastCase::new(Kind::int(32), Kind::F16), 65_519), Ok(0x7bff));
}

#[test]
fn float_overflow_without_out_of_range_is_an_error() {
    assert_eq!(convert_f64(&from_f64(Kind::F32), 1e39), OUT_OF_RANGE);
    assert_eq!(from_f32(-1e5, &CastCase::new(Kind::F32, Kind::F16)), OUT_OF_RANGE);
}

/// cast-value-rs 0.4.2 gave the greatest finite value under directed rounding.
#[test]
fn clamp_to_float_under_directed_rounding_is_infinity() {
    for rounding in [Rounding::TowardsZero, Rounding::TowardsNegative] {
        let case = from_f64(Kind::F32).rounding(rounding).out_of_range(OutOfRange::Clamp);
        assert_eq!(convert_f64(&case, 1e39), Ok(0x7f80_0000));
    }
}

/// cast-value-rs 0.4.2 gave the greatest finite value, however far beyond it the value was.
#[test]
fn directed_rounding_from_one_unit_beyond_the_greatest_float_is_out_of_range() {
    let case = from_f64(Kind::F32).rounding(Rounding::TowardsZero);
    assert_eq!(convert_f64(&case, 1e39), OUT_OF_RANGE);
    assert_eq!(convert_f64(&case, 2_f64.powi(128)), OUT_OF_RANGE);
    assert_eq!(convert_f64(&case, 2_f64.powi(128).next_down()), Ok(0x7f7f_ffff));
    let case = from_f64(Kind::F32).rounding(Rounding::TowardsPositive);
    assert_eq!(convert_f64(&case, f64::from(f32::MAX).next_up()), OUT_OF_RANGE);
    assert_eq!(convert_f64(&case, -2_f64.powi(128).next_down()), Ok(0xff7f_ffff));
}

/// zarrs compares with the greatest value before it rounds.
#[test]
fn value_that_rounds_to_the_greatest_float_is_in_range() {
    let half_unit = f64::from(f32::MAX) + 2_f64.powi(103);
    assert_eq!(convert_f64(&from_f64(Kind::F32), half_unit.next_down()), Ok(0x7f7f_ffff));
    assert_eq!(convert_f64(&from_f64(Kind::F32), half_unit), OUT_OF_RANGE);
    assert_eq!(convert_f64(&from_f64(Kind::F16), 65_519.999), Ok(0x7bff));
    let clamp = from_f64(Kind::F32).out_of_range(OutOfRange::Clamp);
    assert_eq!(convert_f64(&clamp, half_unit.next_down()), Ok(0x7f7f_ffff));
}

/// cast-value-rs 0.4.2 clamped infinities to the bounds of the integer.
#[test]
fn clamp_of_infinity_to_integer_is_an_error() {
    let case = from_f64(Kind::uint(8)).out_of_range(OutOfRange::Clamp);
    assert_eq!(convert_f64(&case, f64::INFINITY), Err(FaultKind::Infinite));
    assert_eq!(convert_f64(&case, f64::NEG_INFINITY), Err(FaultKind::Infinite));
    let half = CastCase::new(Kind::F16, Kind::int(32)).out_of_range(OutOfRange::Clamp);
    assert_eq!(convert(&half, 0x7c00), Err(FaultKind::Infinite));
}

/// cast-value-rs 0.4.2 saturated: 2147483648.0 became 2147483647.
#[test]
fn float_at_the_bound_of_an_integer_is_compared_exactly() {
    for (power, target) in [(31, Kind::int(32)), (32, Kind::uint(32)), (63, Kind::int(64)), (64, Kind::uint(64))] {
        let bound = 2_f64.powi(power);
        let case = from_f64(target);
        assert_eq!(convert_f64(&case, bound), OUT_OF_RANGE, "2^{power}");
        let below_f32 = (bound as f32).next_down();
        let case_f32 = CastCase::new(Kind::F32, target);
        assert_eq!(from_f32(bound as f32, &case_f32), OUT_OF_RANGE, "2^{power}");
        assert_eq!(from_f32(below_f32, &case_f32), Ok(below_f32 as u64));
        // The next lower float64 rounds up to the bound, where it has a fraction at all.
        let below = bound.next_down();
        let expected = if below.fract() == 0.0 { Ok(below as u64) } else { OUT_OF_RANGE };
        assert_eq!(convert_f64(&case, below), expected);
        let wrap = case.out_of_range(OutOfRange::Wrap);
        assert_eq!(
            convert_f64(&wrap, bound),
            Ok(if matches!(target, Kind::Int { signed: true, .. }) { 1 << power } else { 0 })
        );
        let clamp = wrap.out_of_range(OutOfRange::Clamp);
        assert_eq!(convert_f64(&clamp, bound), Ok(((1_u128 << power) - 1) as u64));
    }
}

/// cast-value-rs 0.4.2 wrapped by a range that it calculated in the float type.
#[test]
fn wrap_of_float_is_exact() {
    let wrap = |target| CastCase::new(Kind::F32, target).out_of_range(OutOfRange::Wrap);
    assert_eq!(from_f32(16_777_216.0 * 1.5, &wrap(Kind::uint(8))), Ok(0));
    assert_eq!(from_f32(2_147_483_904.0, &wrap(Kind::int(32))), Ok(0x8000_0100));
    assert_eq!(from_f32(-2_147_483_904.0, &wrap(Kind::int(32))), Ok(0x7fff_ff00));
    assert_eq!(from_f32(1e30, &wrap(Kind::uint(64))), Ok(0));
}

/// cast-value-rs 0.4.2 took floor(|x| + 0.5), which the addition rounds up.
#[test]
fn nearest_away_does_not_add_a_half() {
    let case = from_f64(Kind::int(64)).rounding(Rounding::NearestAway);
    assert_eq!(convert_f64(&case, 0.499_999_999_999_999_94), Ok(0));
    assert_eq!(convert_f64(&case, -0.499_999_999_999_999_94), Ok(0));
    assert_eq!(convert_f64(&case, 4_503_599_627_370_497.0), Ok((1 << 52) + 1));
    assert_eq!(convert_f64(&case, 0.5), Ok(1));
    let case = CastCase::new(Kind::F32, Kind::int(32)).rounding(Rounding::NearestAway);
    assert_eq!(from_f32(0.5_f32.next_down(), &case), Ok(0));
    assert_eq!(from_f32(8_388_609.0, &case), Ok(8_388_609));
}

/// cast-value-rs rounds to float32 on the way, 0.5.1 too; so does `half::f16::from_f64` on x86.
#[test]
fn float64_to_float16_is_rounded_once() {
    assert_eq!(convert_f64(&from_f64(Kind::F16), 1.000_488_281_250_000_4), Ok(0x3c01), "1.0009765625, not 1");
    assert_eq!(convert_f64(&from_f64(Kind::F16), 65_519.999_97), Ok(0x7bff), "65504, no overflow");
    assert_eq!(convert_f64(&from_f64(Kind::F16), 2_f64.powi(-25).next_up()), Ok(1), "above half the least float16");
    assert_eq!(convert_f64(&from_f64(Kind::F16), 2_f64.powi(-25)), Ok(0));
    let away = from_f64(Kind::F16).rounding(Rounding::NearestAway);
    assert_eq!(convert_f64(&away, 1.000_488_281_249_999_8), Ok(0x3c00), "just below the tie");
}

/// By way of float64 the first of these would become a tie.
#[test]
fn integer_of_64_bits_to_float32_is_rounded_once() {
    let above_tie = (1_u64 << 62) + (1 << 38) + 1;
    let next = u64::from((2_f32.powi(62) + 2_f32.powi(39)).to_bits());
    assert_eq!(convert(&CastCase::new(Kind::int(64), Kind::F32), above_tie), Ok(next));
    assert_eq!(convert(&CastCase::new(Kind::uint(64), Kind::F32), above_tie), Ok(next));
    let down = CastCase::new(Kind::uint(64), Kind::F32).rounding(Rounding::TowardsZero);
    assert_eq!(convert(&down, u64::MAX), Ok(u64::from(2_f32.powi(64).next_down().to_bits())));
    let down = CastCase::new(Kind::uint(64), Kind::F64).rounding(Rounding::TowardsNegative);
    assert_eq!(convert(&down, u64::MAX), Ok(2_f64.powi(64).next_down().to_bits()));
}

/// zarrs matches keys by their bits, and so misses the negative NaN that x86 gives for 0/0; for zarr-python a
/// hexadecimal key is a crash.
#[test]
fn canonical_nan_key_matches_every_nan_and_another_only_itself() {
    let canonical = 0x7ff8_0000_0000_0000;
    let negative = 0xfff8_0000_0000_0000;
    let case = from_f64(Kind::uint(8)).scalar_map(&[(canonical, 1)]);
    assert_eq!(convert(&case, negative), Ok(1));
    assert_eq!(convert(&case, 0x7ff0_0000_0000_0001), Ok(1));
    let case = from_f64(Kind::uint(8)).scalar_map(&[(negative, 2)]);
    assert_eq!(convert(&case, negative), Ok(2));
    assert_eq!(convert(&case, canonical), Err(FaultKind::NotANumber));
    let case = from_f64(Kind::uint(8)).scalar_map(&[(canonical, 1), (negative, 2)]);
    assert_eq!(convert(&case, negative), Ok(2), "exactly the same bits come first");
    assert_eq!(convert(&case, negative | 1), Ok(1));
}

/// cast-value-rs loses the payload in float32.
#[test]
fn nan_of_a_scalar_map_keeps_its_bits() {
    let case = CastCase::new(Kind::uint(8), Kind::F32).scalar_map(&[(255, 0x7fc0_0001), (254, 0xff80_0001)]);
    assert_eq!(convert(&case, 255), Ok(0x7fc0_0001));
    assert_eq!(convert(&case, 254), Ok(0xff80_0001), "a signalling one, too");
}

/// zarrs compares bits, cast-value-rs values.
#[test]
fn zero_key_matches_exact_bits_first_then_either_zero() {
    let (zero, minus_zero) = (0_f64.to_bits(), (-0_f64).to_bits());
    let case = from_f64(Kind::uint(8)).scalar_map(&[(zero, 1)]);
    assert_eq!(convert(&case, minus_zero), Ok(1));
    let case = from_f64(Kind::uint(8)).scalar_map(&[(zero, 1), (minus_zero, 2)]);
    assert_eq!(convert(&case, minus_zero), Ok(2));
    assert_eq!(convert(&case, zero), Ok(1));
}

/// zarr-python builds a dictionary, in which the last one wins.
#[test]
fn first_of_repeated_scalar_map_keys_wins() {
    let key = 1.5_f64.to_bits();
    assert_eq!(convert(&from_f64(Kind::uint(8)).scalar_map(&[(key, 7), (key, 9)]), key), Ok(7));
}

/// zarrs rounds to infinity or the greatest value.
#[test]
fn wrap_into_a_float_is_an_error() {
    let case = CastCase::new(Kind::uint(32), Kind::F16).out_of_range(OutOfRange::Wrap);
    assert_eq!(convert(&case, 70_000), OUT_OF_RANGE);
    assert_eq!(convert(&case, 65_519), Ok(0x7bff));
}

/// The `/` of Python would make a float64 of it.
#[test]
fn integer_division_with_a_remainder_is_an_error() {
    assert_eq!(decode(Kind::int(32), None, Some(3), 10), Err(FaultKind::Remainder));
    assert_eq!(decode(Kind::int(32), None, Some(3), 9), Ok(3));
    assert_eq!(decode(Kind::uint(64), Some(1), Some(u64::MAX), u64::MAX), Ok(2));
}

/// zarr-python gives 9223372036854775803.
#[test]
fn int64_overflow_in_scale_offset_is_an_error() {
    let overflow = Err(FaultKind::Overflow);
    let int64 = Kind::int(64);
    assert_eq!(encode(int64, Some(5), None, 1 << 63), overflow);
    assert_eq!(encode(int64, None, Some(2), 1 << 62), overflow);
    assert_eq!(encode(int64, None, Some(u64::MAX), 1 << 63), overflow, "-2^63 * -1");
    assert_eq!(decode(int64, None, Some(u64::MAX), 1 << 63), overflow, "-2^63 / -1");
    assert_eq!(decode(int64, Some(1), None, (1 << 63) - 1), overflow);
    assert_eq!(encode(Kind::uint(64), None, Some(u64::MAX), u64::MAX), overflow);
}

/// zarr-python tests the final value alone.
#[test]
fn intermediate_out_of_range_is_an_error_though_the_final_value_fits() {
    let int8 = |value: i8| u64::from(value.cast_unsigned());
    let overflow = Err(FaultKind::Overflow);
    assert_eq!(encode(Kind::int(8), Some(int8(-1)), Some(int8(-1)), int8(127)), overflow, "128, then -128");
    assert_eq!(decode(Kind::int(8), Some(int8(-1)), Some(int8(-1)), int8(-128)), overflow, "128, then 127");
    assert_eq!(encode(Kind::uint(8), Some(5), Some(0xff), 4), overflow);
}

/// For zarr-python infinity is a representable value.
#[test]
fn finite_value_that_becomes_infinite_in_scale_offset_is_an_error() {
    let overflow = Err(FaultKind::Overflow);
    let max = f64::MAX.to_bits();
    assert_eq!(encode(Kind::F64, None, Some(2_f64.to_bits()), max), overflow);
    assert_eq!(encode(Kind::F64, Some(f64::MIN.to_bits()), Some(0.25_f64.to_bits()), max), overflow);
    assert_eq!(decode(Kind::F64, Some(max), None, max), overflow);
    let infinity = f64::INFINITY.to_bits();
    assert_eq!(encode(Kind::F64, Some(1_f64.to_bits()), Some(2_f64.to_bits()), infinity), Ok(infinity));
    assert_eq!(encode(Kind::F16, None, Some(0x4000), 0x7bff), overflow);
    assert_eq!(encode(Kind::F16, None, Some(0x4000), 0x77ff), Ok(0x7bff));
}

/// IEEE 754 has -0.0 + 0 = 0, but an absent offset is not added at all.
#[test]
fn minus_zero_survives_an_absent_offset() {
    let minus_zero = (-0_f64).to_bits();
    assert_eq!(decode(Kind::F64, None, Some(2_f64.to_bits()), minus_zero), Ok(minus_zero));
    assert_eq!(decode(Kind::F64, Some(0), None, minus_zero), Ok(0));
    assert_eq!(encode(Kind::F64, Some(0), None, minus_zero), Ok(minus_zero), "-0 - 0 is -0");
}
