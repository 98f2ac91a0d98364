//! One test for each sentence of the registry's page of `cast_value` on `rounding`, `out_of_range` and `scalar_map`.
//!
//! <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/cast_value>

use zarrcast::kernel::FaultKind;

use crate::kernels::one_element::{FLOATS, convert, convert_f64, from_f64, special};
use crate::kernels::reference::{Kind, OutOfRange, Rounding};
use crate::kernels::subject::{CORE, CastCase, NARROW, stored};

// "This applies to any cast where the target data type cannot exactly represent the input value, including casting
// between floating-point types of different widths and casting from integer types to floating-point types with
// insufficient mantissa bits (e.g. `int64` to `float32`)."
#[test]
fn cast_value_rounding_applies_to_every_inexact_conversion() {
    use Rounding::{NearestAway, NearestEven, TowardsNegative, TowardsPositive, TowardsZero};
    let modes = [NearestEven, TowardsZero, TowardsPositive, TowardsNegative, NearestAway];
    let all = |source, target, bits: u64| {
        modes.map(|rounding| convert(&CastCase::new(source, target).rounding(rounding), bits).unwrap())
    };
    // 2^24 + 1 and its negative, a tie in float32.
    let f32_bits = |values: [f32; 5]| values.map(|value| u64::from(value.to_bits()));
    let (low, high) = (16_777_216.0, 16_777_218.0);
    assert_eq!(all(Kind::int(64), Kind::F32, 16_777_217), f32_bits([low, low, high, low, high]));
    let negative = (-16_777_217_i64).cast_unsigned();
    assert_eq!(all(Kind::int(64), Kind::F32, negative), f32_bits([-low, -low, -low, -high, -high]));
    assert_eq!(all(Kind::F64, Kind::F32, 16_777_217_f64.to_bits()), f32_bits([low, low, high, low, high]));
    // 2^53 + 1, a tie in float64.
    let exact = |value: u64| (value as f64).to_bits();
    let (low, high) = (exact(1 << 53), exact((1 << 53) + 2));
    assert_eq!(all(Kind::uint(64), Kind::F64, (1 << 53) + 1), [low, low, high, low, high]);
    // 2049 in float16.
    assert_eq!(all(Kind::uint(16), Kind::F16, 2049), [0x6800, 0x6800, 0x6801, 0x6800, 0x6801]);
}

// "Round to the nearest representable value, with ties rounded to the value whose least significant digit is even",
// "Round towards zero", "towards positive infinity", "towards negative infinity", "with ties going away from zero".
#[test]
fn cast_value_rounding_modes_follow_their_table() {
    let expected = [
        (Rounding::NearestEven, [-4, -3, -2, -2, 0, 0, 2, 2, 3, 4]),
        (Rounding::TowardsZero, [-3, -2, -2, -1, 0, 0, 1, 2, 2, 3]),
        (Rounding::TowardsPositive, [-3, -2, -2, -1, 0, 1, 2, 3, 3, 4]),
        (Rounding::TowardsNegative, [-4, -3, -3, -2, -1, 0, 1, 2, 2, 3]),
        (Rounding::NearestAway, [-4, -3, -3, -2, -1, 1, 2, 3, 3, 4]),
    ];
    let values = [-3.5, -2.6, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.6, 3.5];
    for (rounding, expected) in expected {
        for source in FLOATS {
            for (value, expected) in values.into_iter().zip(expected) {
                let case = CastCase::new(source, Kind::int(64)).rounding(rounding);
                let converted = convert(&case, special(value, source)).map(u64::cast_signed);
                assert_eq!(converted, Ok(expected), "{value} {rounding:?} from {source:?}");
            }
        }
    }
}

// "If this field is not present, implementations MUST use `"nearest-even"`."
#[test]
fn cast_value_absent_rounding_is_nearest_even() {
    assert_eq!(zarrcast::kernel::Rounding::default(), zarrcast::kernel::Rounding::NearestEven);
}

// "If applicable, the rounding rule defined in the `rounding` field MUST be applied before the `out_of_range`
// transformation."
#[test]
fn cast_value_rounding_comes_before_the_range() {
    let uint8 = from_f64(Kind::uint(8));
    assert_eq!(convert_f64(&uint8, 255.4), Ok(255));
    assert_eq!(convert_f64(&uint8, 255.5), Err(FaultKind::OutOfRange));
    assert_eq!(convert_f64(&uint8.clone().rounding(Rounding::TowardsZero), 255.5), Ok(255));
    assert_eq!(convert_f64(&uint8.clone().rounding(Rounding::TowardsZero), 255.999), Ok(255));
    assert_eq!(convert_f64(&uint8, -0.4), Ok(0));
    assert_eq!(convert_f64(&uint8, -0.5), Ok(0));
    assert_eq!(convert_f64(&uint8.clone().rounding(Rounding::NearestAway), -0.5), Err(FaultKind::OutOfRange));
    let wrap = uint8.out_of_range(OutOfRange::Wrap);
    assert_eq!(convert_f64(&wrap, 255.5), Ok(0));
    assert_eq!(convert_f64(&wrap.clone().rounding(Rounding::TowardsNegative), -0.1), Ok(255));
    // Into a float: the greatest finite value plus less than half a unit rounds to it, and is in range.
    let max = f64::from(f32::MAX);
    let unit = 2_f64.powi(104);
    let float32 = from_f64(Kind::F32);
    assert_eq!(convert_f64(&float32, max + unit * 0.499), Ok(u64::from(f32::MAX.to_bits())));
    assert_eq!(convert_f64(&float32, max + unit * 0.5), Err(FaultKind::OutOfRange));
    assert_eq!(convert_f64(&float32.rounding(Rounding::TowardsZero), max + unit * 0.999), Ok(0x7f7f_ffff));
}

// "A value with a quantity exceeding the representable range is clamped to the minimum or maximum value of the target
// data type."
#[test]
fn cast_value_clamp_gives_the_bounds_of_an_integer() {
    for target in CORE.into_iter().chain(NARROW) {
        let Kind::Int { signed, bits: width } = target else { continue };
        let case = from_f64(target).out_of_range(OutOfRange::Clamp);
        let greatest = (u64::MAX >> (64 - width)) >> u32::from(signed);
        let least = if signed { stored(1 << (width - 1), target) } else { 0 };
        for far in [1e20, 1e300, f64::MAX] {
            assert_eq!(convert_f64(&case, far), Ok(greatest), "{target:?}");
            assert_eq!(convert_f64(&case, -far), Ok(least), "{target:?}");
        }
    }
}

// "For output data types with representations of ±Infinity, values outside the finite range of the data type MUST be
// mapped to ±Infinity."
#[test]
fn cast_value_clamp_gives_infinity_in_a_float() {
    for rounding in Rounding::ALL {
        let clamp = |source, target| CastCase::new(source, target).rounding(rounding).out_of_range(OutOfRange::Clamp);
        assert_eq!(convert_f64(&clamp(Kind::F64, Kind::F32), 1e39), Ok(0x7f80_0000));
        assert_eq!(convert_f64(&clamp(Kind::F64, Kind::F32), -1e39), Ok(0xff80_0000));
        assert_eq!(convert_f64(&clamp(Kind::F64, Kind::F16), 65_536.0), Ok(0x7c00));
        assert_eq!(convert(&clamp(Kind::F32, Kind::F16), u64::from((-1e5_f32).to_bits())), Ok(0xfc00));
        assert_eq!(convert(&clamp(Kind::uint(32), Kind::F16), 70_000), Ok(0x7c00));
        assert_eq!(convert(&clamp(Kind::int(64), Kind::F16), i64::MIN.cast_unsigned()), Ok(0xfc00));
    }
}

// "A value exceeding the representable range is mapped to the value in the representable range that is congruent to
// that input value modulo `2^N`".
#[test]
fn cast_value_wrap_is_congruent_however_large_the_value() {
    let wrap = |target| from_f64(target).out_of_range(OutOfRange::Wrap);
    assert_eq!(convert_f64(&wrap(Kind::uint(8)), 1e300), Ok(0));
    assert_eq!(convert_f64(&wrap(Kind::uint(64)), 2_f64.powi(64)), Ok(0));
    assert_eq!(convert_f64(&wrap(Kind::uint(64)), 2_f64.powi(64) + 4096.0), Ok(4096));
    assert_eq!(convert_f64(&wrap(Kind::int(64)), 2_f64.powi(63)), Ok(1 << 63));
    assert_eq!(convert_f64(&wrap(Kind::int(64)), -2_f64.powi(63) - 2048.0), Ok((1 << 63) - 2048));
    assert_eq!(convert_f64(&wrap(Kind::uint(32)), -1.0), Ok(0xffff_ffff));
    assert_eq!(convert_f64(&wrap(Kind::uint(10)), 1025.0), Ok(1));
    assert_eq!(convert_f64(&wrap(Kind::int(4)), 8.0), Ok(stored(8, Kind::int(4))), "8 is -8 in int4");
}

// "If this field is not present, ... implementations MUST treat any out-of-range value as an encoding or decoding
// failure."
#[test]
fn cast_value_absent_out_of_range_makes_every_overflow_an_error() {
    let fault = Err(FaultKind::OutOfRange);
    assert_eq!(zarrcast::kernel::OutOfRange::default(), zarrcast::kernel::OutOfRange::Error);
    assert_eq!(convert_f64(&from_f64(Kind::F32), 1e39), fault);
    assert_eq!(convert_f64(&from_f64(Kind::uint(8)), -1.0), fault);
    assert_eq!(convert(&CastCase::new(Kind::int(8), Kind::uint(64)), 0xff), fault);
    assert_eq!(convert(&CastCase::new(Kind::uint(64), Kind::int(64)), 1 << 63), fault);
    assert_eq!(convert(&CastCase::new(Kind::uint(16), Kind::F16), 65_520), fault);
    assert_eq!(convert(&CastCase::new(Kind::uint(16), Kind::F16), 65_519), Ok(0x7bff));
}

// "For example, given an input scalar of `128.0` and an output data type of `"int8"`".
#[test]
fn cast_value_128_to_int8_follows_the_example() {
    let case = from_f64(Kind::int(8));
    assert_eq!(convert_f64(&case, 128.0), Err(FaultKind::OutOfRange));
    assert_eq!(convert_f64(&case.clone().out_of_range(OutOfRange::Clamp), 128.0), Ok(127));
    assert_eq!(convert_f64(&case.out_of_range(OutOfRange::Wrap), 128.0), Ok(0x80), "-128");
}

// "For signed types, wrapping follows two's complement semantics. For example, given an output data type of `"int16"`".
#[test]
fn cast_value_wrap_to_int16_follows_the_example() {
    let int16 = |value: i16| Ok(u64::from(value.cast_unsigned()));
    for source in [Kind::int(32), Kind::int(64), Kind::F32, Kind::F64] {
        let case = CastCase::new(source, Kind::int(16)).out_of_range(OutOfRange::Wrap);
        let bits = |value: i32| match source {
            Kind::Int { bits, .. } => i64::from(value).cast_unsigned() & (u64::MAX >> (64 - bits)),
            Kind::Float(_) => special(f64::from(value), source),
        };
        assert_eq!(convert(&case, bits(32_768)), int16(-32_768));
        assert_eq!(convert(&case, bits(32_769)), int16(-32_767));
        assert_eq!(convert(&case, bits(-32_769)), int16(32_767));
    }
}

// "Readers MUST interpret each array as a mapping with unique keys (the first element in each sub-array). If the same
// input scalar is repeated, readers MUST use the first occurrence."
#[test]
fn cast_value_first_of_repeated_keys_wins() {
    let key = 1.5_f64.to_bits();
    assert_eq!(convert(&from_f64(Kind::uint(8)).scalar_map(&[(key, 7), (key, 9)]), key), Ok(7));
    let case = CastCase::new(Kind::uint(8), Kind::F32).scalar_map(&[(3, 30), (4, 40), (3, 50)]);
    assert_eq!(convert(&case, 3), Ok(30));
}

// "When encoding, if a value matches a key in `scalar_map.encode`, the corresponding mapped value is used instead of the
// normal casting rules defined by `rounding` and `out_of_range`." Keys of int64 are exact, beyond 2^53 too.
#[test]
fn cast_value_integer_keys_are_exact() {
    let key = (1_u64 << 53) + 1;
    let case = CastCase::new(Kind::int(64), Kind::F64).scalar_map(&[(key, 5_f64.to_bits())]);
    assert_eq!(convert(&case, key), Ok(5_f64.to_bits()));
    assert_eq!(convert(&case, key - 1), Ok(2_f64.powi(53).to_bits()));
    let case = CastCase::new(Kind::uint(64), Kind::uint(8)).scalar_map(&[(u64::MAX, 255)]);
    assert_eq!(convert(&case, u64::MAX), Ok(255));
    assert_eq!(convert(&case, u64::MAX - 1), Err(FaultKind::OutOfRange));
}

// "The example below demonstrates a codec configuration that models NumPy's behavior."
#[test]
fn cast_value_numpy_example_behaves_as_numpy() {
    let map = [(f64::NAN.to_bits(), 0), (f64::INFINITY.to_bits(), 0), (f64::NEG_INFINITY.to_bits(), 0)];
    let case = from_f64(Kind::uint(8)).rounding(Rounding::TowardsZero).out_of_range(OutOfRange::Wrap).scalar_map(&map);
    let values = [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.9, -1.9, 256.0, 300.5, -300.5];
    let expected = [0, 0, 0, 0, 1, 255, 0, 44, 212];
    for (value, expected) in values.into_iter().zip(expected) {
        assert_eq!(convert_f64(&case, value), Ok(expected), "{value}");
    }
}
