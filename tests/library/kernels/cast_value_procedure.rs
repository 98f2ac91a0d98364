//! One test for each sentence of the registry's page of `cast_value` on its procedure and on special values.
//!
//! What it says of metadata (name, additional keys, fill values that do not survive) is tested with the codec.
//! <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/cast_value>

use zarrcast::kernel::FaultKind;

use crate::kernels::one_element::{FLOATS, convert, convert_f64, from_f64, is_nan, special};
use crate::kernels::reference::{Kind, Rounding};
use crate::kernels::subject::{CORE, CastCase, NARROW, instruction_sets, pack};

// "The scalar map MUST be evaluated before any other representability checks."
#[test]
fn cast_value_scalar_map_comes_before_representability() {
    let map = [(f64::NAN.to_bits(), 1), (f64::INFINITY.to_bits(), 2), (1e300_f64.to_bits(), 3), (7_f64.to_bits(), 4)];
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
    assert_eq!(convert(&case(Kind::F32, Kind::F32), 0x7f80_0001), Ok(0x7f80_0001), "the same type keeps the bits");
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
            let fault = case.kernel(instruction_set).convert(&pack(&elements, Kind::F64), &mut [0; 200]).unwrap_err();
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
            for nan in [special(f64::NAN, source), special(-f64::NAN, source), special(f64::INFINITY, source) | 1] {
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
