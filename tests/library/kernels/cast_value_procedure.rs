//! One test for each sentence on the procedure and on special values in the registry's page of `cast_value`.
//!
//! Its sentences on metadata (name, additional keys, fill values that do not survive) are tested with the codec.
//! `tests/cli/cases/cast_value.txt` tests single values.
//! <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/cast_value>

use zarrcast::kernel::FaultKind;

use crate::kernels::one_element::{FLOATS, convert, convert_f64, from_f64, is_nan, special};
use crate::kernels::reference::{Kind, OutOfRange};
use crate::kernels::subject::{CORE, CastCase, NARROW, instruction_sets, pack};

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
// elements." `convert_one` converts one value, and `CastCase::check` compares it with slices everywhere.
#[test]
fn cast_value_fill_value_is_cast_as_elements_are() {
    for case in from_f64(Kind::int(16)).scalar_map(&[(f64::NAN.to_bits(), 0x8000)]).variants() {
        for value in [f64::NAN, 0.5, -0.5, 1.5, 32_767.5, 32_768.0, -32_768.5, 1e300, f64::INFINITY] {
            // Panics if one value and slices differ.
            let _ = convert_f64(&case, value);
        }
    }
}

/// The specification does not define it. zarrs rounds to infinity or to the greatest value.
#[test]
fn wrap_into_a_float_is_an_error() {
    let case = CastCase::new(Kind::uint(32), Kind::F16).out_of_range(OutOfRange::Wrap);
    assert_eq!(convert(&case, 70_000), Err(FaultKind::OutOfRange));
    assert_eq!(convert(&case, 65_519), Ok(0x7bff));
}
