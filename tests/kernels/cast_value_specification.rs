//! One test for each sentence of the `cast_value` page of the registry that binds the numbers.
//!
//! What its page says of metadata (name, additional keys, fill values that do not survive) is tested with the codec.
//! <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/cast_value>

use zarrcast::kernel::FaultKind;

use crate::reference::{Kind, OutOfRange, Rounding};
use crate::subject::{CORE, CastCase, NARROW, instruction_sets, pack, stored, unpack};

const FLOATS: [Kind; 3] = [Kind::F16, Kind::F32, Kind::F64];

/// Converts one element as a slice in every instruction set, and as one value: all must agree.
pub(crate) fn convert(case: &CastCase, bits: u64) -> Result<u64, FaultKind> {
    let one = case.kernel(instruction_sets()[0]).convert_one(stored(bits, case.source));
    for instruction_set in instruction_sets() {
        // Long enough for every vector, and a remainder.
        let mut converted = vec![0; 67 * 8];
        let size = pack(&[0], case.target).len();
        let source = pack(&[bits; 67], case.source);
        let result = case.kernel(instruction_set).convert(&source, &mut converted[..67 * size]);
        let result =
            result.map(|()| unpack(&converted[..67 * size], case.target)).map_err(|fault| fault.kind);
        assert_eq!(result, one.map(|value| vec![value; 67]), "{case:?} on {instruction_set:?} of {bits:#x}");
    }
    one
}

/// A float64 into an integer or float type.
pub(crate) fn convert_f64(case: &CastCase, value: f64) -> Result<u64, FaultKind> {
    convert(case, value.to_bits())
}

fn from_f64(target: Kind) -> CastCase {
    CastCase::new(Kind::F64, target)
}

/// The bits of a special value: NaN, an infinity, a zero.
fn special(value: f64, kind: Kind) -> u64 {
    match kind {
        Kind::F16 => u64::from(half::f16::from_f64(value).to_bits()),
        Kind::F32 => u64::from((value as f32).to_bits()),
        _ => value.to_bits(),
    }
}

fn is_nan(bits: u64, kind: Kind) -> bool {
    crate::reference::number::number(bits, kind) == crate::reference::number::Number::Nan
}

// "The scalar map MUST be evaluated before any other representability checks."
#[test]
fn cast_value_scalar_map_comes_before_representability() {
    let map = [
        (f64::NAN.to_bits(), 1),
        (f64::INFINITY.to_bits(), 2),
        (1e300_f64.to_bits(), 3),
        (7_f64.to_bits(), 4),
    ];
    let case = from_f64(Kind::uint(8)).scalar_map(&map);
    assert_eq!(convert_f64(&case, f64::NAN), Ok(1), "NaN has no uint8");
    assert_eq!(convert_f64(&case, f64::INFINITY), Ok(2), "an infinity has no uint8");
    assert_eq!(convert_f64(&case, 1e300), Ok(3), "out of range");
    assert_eq!(convert_f64(&case, 7.0), Ok(4), "7 would be exact");
    assert_eq!(convert_f64(&case, 8.0), Ok(8), "not in the map");
}

// "E.g., `0` in `uint16` maps to `0` in `uint8`. No parametrization of this transformation is required."
#[test]
fn cast_value_exactly_representable_value_keeps_its_value() {
    for source in CORE.into_iter().chain(NARROW) {
        for target in CORE.into_iter().chain(NARROW) {
            for case in CastCase::new(source, target).variants() {
                for value in [0.0, 1.0] {
                    let bits = |kind: Kind| if kind.is_float() { special(value, kind) } else { value as u64 };
                    assert_eq!(convert(&case, bits(source)), Ok(bits(target)), "{case:?}");
                }
            }
        }
    }
}

// "Exact representability for floating-point types refers to numerical value only, not bit-level encoding. Payload
// preservation is not required." The sign, the leading bits of the payload and quietness are what this program keeps.
#[test]
fn cast_value_nan_keeps_sign_and_leading_payload_and_becomes_quiet() {
    let case = |source, target| CastCase::new(source, target);
    assert_eq!(convert(&case(Kind::F64, Kind::F32), 0xfff4_0000_2000_0001), Ok(0xffe0_0001));
    assert_eq!(convert(&case(Kind::F64, Kind::F32), 0x7ff0_0000_0000_0001), Ok(0x7fc0_0000));
    assert_eq!(convert(&case(Kind::F64, Kind::F16), 0x7ff8_0400_0000_0000), Ok(0x7e01));
    assert_eq!(convert(&case(Kind::F32, Kind::F64), 0xff80_0001), Ok(0xfff8_0000_2000_0000));
    assert_eq!(convert(&case(Kind::F32, Kind::F16), 0x7f80_2000), Ok(0x7e01));
    assert_eq!(convert(&case(Kind::F16, Kind::F64), 0xfc01), Ok(0xfff8_0400_0000_0000));
    assert_eq!(convert(&case(Kind::F16, Kind::F32), 0x7c01), Ok(0x7fc0_2000));
    assert_eq!(
        convert(&case(Kind::F32, Kind::F32), 0x7f80_0001),
        Ok(0x7f80_0001),
        "the same type keeps the bits"
    );
    assert_eq!(convert(&case(Kind::F64, Kind::F64), 0xfff0_0000_0000_0001), Ok(0xfff0_0000_0000_0001));
    assert_eq!(convert(&case(Kind::F16, Kind::F16), 0xfc01), Ok(0xfc01));
}

// "Codec implementations MUST evaluate these conditions in order. If none of these conditions hold for any input
// scalar, the codec implementation MUST error. This ensures that there are no undefined transformations."
#[test]
fn cast_value_one_scalar_without_a_rule_fails_the_slice() {
    let case = from_f64(Kind::uint(8));
    for instruction_set in instruction_sets() {
        for position in 0..200 {
            let mut elements = [3_f64.to_bits(); 200];
            elements[position] = 256_f64.to_bits();
            let fault =
                case.kernel(instruction_set).convert(&pack(&elements, Kind::F64), &mut [0; 200]).unwrap_err();
            assert_eq!((fault.kind, fault.index), (FaultKind::OutOfRange, position));
        }
    }
}

// "If both input and output data types support IEEE 754 semantics, NaN values MUST be propagated unless overridden by
// `scalar_map`."
#[test]
fn cast_value_nan_to_float_is_nan_unless_mapped() {
    for source in FLOATS {
        for target in FLOATS {
            for nan in
                [special(f64::NAN, source), special(-f64::NAN, source), special(f64::INFINITY, source) | 1]
            {
                for case in CastCase::new(source, target).variants() {
                    let converted = convert(&case, nan).unwrap();
                    assert!(is_nan(converted, target), "{case:?}: {nan:#x} became {converted:#x}");
                    let mapped = case.scalar_map(&[(special(f64::NAN, source), special(-1.0, target))]);
                    assert_eq!(convert(&mapped, nan), Ok(special(-1.0, target)), "{mapped:?}");
                }
            }
        }
    }
}

// "Signed zero MUST be preserved."
#[test]
fn cast_value_signed_zero_keeps_its_sign() {
    for source in FLOATS {
        for target in FLOATS {
            for case in CastCase::new(source, target).variants() {
                assert_eq!(convert(&case, special(-0.0, source)), Ok(special(-0.0, target)), "{case:?}");
                assert_eq!(convert(&case, special(0.0, source)), Ok(special(0.0, target)), "{case:?}");
            }
        }
        for target in CORE.into_iter().filter(|kind| !kind.is_float()) {
            for case in CastCase::new(source, target).variants() {
                assert_eq!(convert(&case, special(-0.0, source)), Ok(0), "{case:?}");
            }
        }
    }
    // What rounds to zero keeps its sign as well, as IEEE 754 has it.
    let narrowing = from_f64(Kind::F32);
    assert_eq!(convert_f64(&narrowing, -1e-300), Ok(0x8000_0000));
    assert_eq!(convert_f64(&narrowing.clone().rounding(Rounding::TowardsPositive), -1e-300), Ok(0x8000_0000));
    assert_eq!(convert_f64(&narrowing.rounding(Rounding::TowardsPositive), 1e-300), Ok(1));
}

// "If the output data type does not support NaN or transfinite values and the input scalar has NaN or transfinite
// semantics, the transformation MUST error unless explicitly overridden by scalar_map."
#[test]
fn cast_value_nan_and_infinity_to_integer_are_errors_unless_mapped() {
    for source in FLOATS {
        for target in CORE.into_iter().chain(NARROW).filter(|kind| !kind.is_float()) {
            for case in CastCase::new(source, target).variants() {
                let (nan, infinity) = (special(f64::NAN, source), special(f64::INFINITY, source));
                let minus_infinity = special(f64::NEG_INFINITY, source);
                assert_eq!(convert(&case, nan), Err(FaultKind::NotANumber), "{case:?}");
                assert_eq!(convert(&case, infinity), Err(FaultKind::Infinite), "{case:?}");
                assert_eq!(convert(&case, minus_infinity), Err(FaultKind::Infinite), "{case:?}");
                let mapped = case.scalar_map(&[(nan, 0), (infinity, 1), (minus_infinity, 0)]);
                assert_eq!(convert(&mapped, nan), Ok(0), "{mapped:?}");
                assert_eq!(convert(&mapped, infinity), Ok(1), "{mapped:?}");
                assert_eq!(convert(&mapped, minus_infinity), Ok(0), "{mapped:?}");
            }
        }
    }
}

// "The fill value of the output array MUST be cast to the target data type using the same casting semantics as
// elements." One value goes through `convert_one`; `CastCase::check` compares it with slices everywhere.
#[test]
fn cast_value_fill_value_is_cast_as_elements_are() {
    for case in from_f64(Kind::int(16)).scalar_map(&[(f64::NAN.to_bits(), 0x8000)]).variants() {
        for value in [f64::NAN, 0.5, -0.5, 1.5, 32_767.5, 32_768.0, -32_768.5, 1e300, f64::INFINITY] {
            // Panics unless one value and slices agree.
            let _ = convert_f64(&case, value);
        }
    }
}

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
        let clamp =
            |source, target| CastCase::new(source, target).rounding(rounding).out_of_range(OutOfRange::Clamp);
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
            Kind::Float { .. } => special(f64::from(value), source),
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
    let case = from_f64(Kind::uint(8))
        .rounding(Rounding::TowardsZero)
        .out_of_range(OutOfRange::Wrap)
        .scalar_map(&map);
    let values = [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.9, -1.9, 256.0, 300.5, -300.5];
    let expected = [0, 0, 0, 0, 1, 255, 0, 44, 212];
    for (value, expected) in values.into_iter().zip(expected) {
        assert_eq!(convert_f64(&case, value), Ok(expected), "{value}");
    }
}
