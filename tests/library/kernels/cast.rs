//! `cast_value` over slices compared with the reference: for every pair of types, every rounding, every `out_of_range`
//! and every instruction set of the machine.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::kernels::reference::Kind;
use crate::kernels::reference::number::mask;
use crate::kernels::strategies::{bits_of, landmarks_of};
use crate::kernels::subject::{CORE, CastCase, NARROW, all_kinds, instruction_sets, pack, stored, unpack};

/// Runs a property test. Panics with its smallest counterexample.
pub(crate) fn run<S: Strategy>(cases: u32, strategy: &S, property: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new(config).run(strategy, property).unwrap_or_else(|failure| panic!("{failure}"));
}

fn check_random_elements(source: Kind, target: Kind) {
    let case = CastCase::new(source, target);
    run(12, &prop::collection::vec(bits_of(source), 1..40), |elements| {
        case.variants().for_each(|case| case.check(&elements));
        Ok(())
    });
}

#[test]
fn cast_of_random_elements_between_core_types_equals_the_reference() {
    for source in CORE {
        for target in CORE {
            check_random_elements(source, target);
        }
    }
}

#[test]
fn cast_of_random_elements_between_narrow_integers_and_core_types_equals_the_reference() {
    for narrow in NARROW {
        for other in all_kinds() {
            check_random_elements(narrow, other);
            check_random_elements(other, narrow);
        }
    }
}

#[test]
fn cast_of_every_bound_and_its_neighbours_equals_the_reference() {
    for source in all_kinds() {
        let landmarks = landmarks_of(source);
        for target in CORE {
            CastCase::new(source, target).variants().for_each(|case| case.check(&landmarks));
        }
    }
}

#[test]
fn cast_with_scalar_map_equals_the_reference() {
    for source in all_kinds() {
        for target in CORE.into_iter().chain([Kind::uint(10)]) {
            let entries = prop::collection::vec((bits_of(source), bits_of(target)), 0..5);
            let elements = prop::collection::vec(bits_of(source), 1..30);
            run(12, &(entries, elements), |(mut entries, elements)| {
                // Half of the keys are elements, so that they match.
                for ((key, _), element) in entries.iter_mut().step_by(2).zip(&elements) {
                    *key = *element;
                }
                let case = CastCase::new(source, target).scalar_map(&entries);
                case.variants().for_each(|case| case.check(&elements));
                Ok(())
            });
        }
    }
}

#[test]
fn cast_with_special_keys_equals_the_reference() {
    // Zeros of either sign, canonical and other NaNs, and infinities as keys, in every ordered pair.
    for (source, mantissa_bits) in [(Kind::F16, 10), (Kind::F32, 23), (Kind::F64, 52)] {
        let sign = 1_u64 << (source.width() - 1);
        let infinity = (sign - 1) & !mask(mantissa_bits);
        let canonical = infinity | 1 << (mantissa_bits - 1);
        let keys = [0, sign, canonical, canonical | sign, canonical | 5, infinity | 1, infinity, infinity | sign];
        let elements: Vec<u64> = keys.into_iter().chain([canonical | 6, 1, sign | 1]).collect();
        for target in all_kinds() {
            for first in keys {
                for second in keys {
                    CastCase::new(source, target).scalar_map(&[(first, 1), (second, 0)]).check(&elements);
                }
            }
        }
    }
}

#[test]
fn cast_with_one_entry_for_nan_equals_the_reference() {
    for (source, canonical) in [(Kind::F16, 0x7e00), (Kind::F32, 0x7fc0_0000), (Kind::F64, 0x7ff8 << 48)] {
        let landmarks = landmarks_of(source);
        let elements: Vec<u64> =
            landmarks.iter().copied().step_by(97).chain([canonical, canonical + 1, canonical - 1]).collect();
        for target in all_kinds() {
            let values = landmarks_of(target);
            for value in values.iter().copied().step_by(values.len() / 20 + 1).chain(values.last().copied()) {
                for case in CastCase::new(source, target).scalar_map(&[(canonical, value)]).variants().step_by(4) {
                    case.check(&elements);
                }
            }
        }
    }
}

#[test]
fn cast_with_long_scalar_map_equals_the_reference() {
    for source in CORE {
        for target in [Kind::uint(8), Kind::int(64), Kind::F16, Kind::F32] {
            let entries = prop::collection::vec((bits_of(source), bits_of(target)), 6..30);
            run(6, &(entries, prop::collection::vec(bits_of(source), 1..30)), |(entries, mut elements)| {
                elements.extend(entries.iter().map(|(key, _)| *key));
                CastCase::new(source, target).scalar_map(&entries).variants().for_each(|case| case.check(&elements));
                Ok(())
            });
        }
    }
}

/// Checks every element of a source with at most 16 bits, to every target.
fn check_every_element(source: Kind) {
    let elements: Vec<u64> = (0..=mask(source.width())).collect();
    for target in CORE {
        CastCase::new(source, target).variants().for_each(|case| case.check(&elements));
    }
}

#[test]
fn cast_of_every_int8_equals_the_reference() {
    check_every_element(Kind::int(8));
}

#[test]
fn cast_of_every_uint8_equals_the_reference() {
    check_every_element(Kind::uint(8));
}

#[test]
fn cast_of_every_int16_equals_the_reference() {
    check_every_element(Kind::int(16));
}

#[test]
fn cast_of_every_uint16_equals_the_reference() {
    check_every_element(Kind::uint(16));
}

#[test]
fn cast_of_every_float16_equals_the_reference() {
    check_every_element(Kind::F16);
}

#[test]
fn cast_of_every_element_of_narrow_integers_equals_the_reference() {
    NARROW.into_iter().filter(|kind| kind.width() <= 12).for_each(check_every_element);
}

#[test]
fn cast_of_slices_of_any_length_and_alignment_equals_the_reference() {
    for source in CORE {
        let landmarks = landmarks_of(source);
        for target in CORE {
            let case = CastCase::new(source, target);
            let good: Vec<u64> =
                landmarks.iter().copied().filter(|bits| case.expected(*bits).is_ok()).cycle().take(200).collect();
            let expected: Vec<u64> = good.iter().map(|bits| case.expected(*bits).unwrap()).collect();
            let source_bytes = pack(&good, source);
            let (source_size, target_size) = (source_bytes.len() / 200, case_size(target));
            for instruction_set in instruction_sets() {
                let kernel = case.kernel(instruction_set);
                for length in (0..=70).chain([127, 128, 129, 200]) {
                    // Bytes before and after the slice must not change.
                    let (lead, end) = (length % 8, length * target_size);
                    let mut unaligned = vec![0x5a; lead];
                    unaligned.extend_from_slice(&source_bytes[..length * source_size]);
                    let mut target_bytes = vec![0xa5; 3 + end + 64];
                    kernel.convert(&unaligned[lead..], &mut target_bytes[3..3 + end]).unwrap();
                    let converted = unpack(&target_bytes[3..3 + end], target);
                    assert_eq!(converted, expected[..length], "{case:?} on {instruction_set:?}, {length} elements");
                    assert!(target_bytes[..3].iter().chain(&target_bytes[3 + end..]).all(|byte| *byte == 0xa5));
                }
            }
        }
    }
}

fn case_size(kind: Kind) -> usize {
    crate::kernels::subject::number_type(kind).size()
}

#[test]
fn cast_names_the_first_fault_of_a_long_slice() {
    let sources = [Kind::F16, Kind::F32, Kind::F64, Kind::int(32), Kind::uint(64)];
    let beyond = [0x7c00, 256_f32.to_bits().into(), 256_f64.to_bits(), 256, 256];
    for (source, fault) in sources.into_iter().zip(beyond) {
        let case = CastCase::new(source, Kind::uint(8));
        let kind = case.expected(fault).unwrap_err();
        for instruction_set in instruction_sets() {
            let kernel = case.kernel(instruction_set);
            for first in [0, 1, 31, 64, 1023, 4096, 65_535, 99_998, 99_999] {
                let mut elements = vec![0; 100_000];
                elements[first] = fault;
                elements[99_999] = fault;
                let result = kernel.convert(&pack(&elements, source), &mut vec![0; 100_000]);
                let expected = Err(zarrcast::kernel::ElementFault { kind, index: first });
                assert_eq!(result, expected, "{case:?} on {instruction_set:?}");
            }
        }
    }
}

#[test]
fn cast_refuses_stored_values_outside_a_narrow_type() {
    use zarrcast::kernel::{ElementFault, FaultKind};
    for (source, bits) in [(Kind::uint(10), 1024), (Kind::uint(4), 16), (Kind::int(4), 8), (Kind::int(12), 0xf7ff)] {
        for target in [Kind::uint(8), Kind::int(16), Kind::F32, Kind::F64, source] {
            let case = CastCase::new(source, target).out_of_range(crate::kernels::reference::OutOfRange::Error);
            for instruction_set in instruction_sets() {
                let kernel = case.kernel(instruction_set);
                let mut elements = vec![stored(1, source); 100];
                elements[77] = bits;
                let packed = crate::kernels::subject::pack_stored(elements.into_iter(), source);
                let result = kernel.convert(&packed, &mut vec![0; 100 * case_size(target)]);
                assert_eq!(result, Err(ElementFault { kind: FaultKind::NotOfType, index: 77 }), "{case:?}");
                assert_eq!(kernel.convert_one(bits), Err(FaultKind::NotOfType), "{case:?}");
            }
        }
    }
}
