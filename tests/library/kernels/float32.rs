//! Every float32 to uint8 and int16, with every rounding and every `out_of_range`. With `ZARRCAST_EXHAUSTIVE=1` these
//! are 2^32 values, else every 16,381st and the landmarks.
//!
//! One rounding by the reference is used for both targets and all three `out_of_range`. The sample checks this against
//! the reference itself.

use std::sync::atomic::{AtomicU32, Ordering};

use zarrcast::kernel::{ElementFault, FaultKind, InstructionSet};

use crate::kernels::reference::{self, Fault, Kind, OutOfRange, Rounding};
use crate::kernels::strategies::landmarks_of;
use crate::kernels::subject::{CastCase, instruction_sets, stored};

const TARGETS: [Kind; 2] = [Kind::uint(8), Kind::int(16)];

/// Rounds a float32 to an integer, clamped to the range of int64.
fn rounded(bits: u32, rounding: Rounding) -> Result<i64, FaultKind> {
    let int64 = Kind::int(64);
    match reference::cast(u64::from(bits), Kind::F32, int64, rounding, OutOfRange::Clamp, &[]) {
        Ok(value) => Ok(value.cast_signed()),
        Err(Fault::NotANumber) => Err(FaultKind::NotANumber),
        Err(_) => Err(FaultKind::Infinite),
    }
}

/// Returns the expected result in one of the targets.
fn expected(rounded: Result<i64, FaultKind>, target: Kind, out_of_range: OutOfRange) -> Result<u64, FaultKind> {
    let value = rounded?;
    let (least, greatest) = if target == Kind::uint(8) { (0, 255) } else { (-32_768, 32_767) };
    let bits = |value: i64| value.cast_unsigned() & reference::number::mask(target.width());
    match out_of_range {
        _ if (least..=greatest).contains(&value) => Ok(bits(value)),
        OutOfRange::Error => Err(FaultKind::OutOfRange),
        OutOfRange::Clamp => Ok(bits(value.clamp(least, greatest))),
        // From 2^40 on, every float32 is a multiple of 2^17, with residue 0.
        OutOfRange::Wrap if value.unsigned_abs() >= 1 << 40 => Ok(0),
        OutOfRange::Wrap => Ok(bits(value)),
    }
}

fn values_of(patterns: &[u32]) -> Vec<u8> {
    patterns.iter().flat_map(|bits| bits.to_ne_bytes()).collect()
}

/// Converts the patterns with faulty ones replaced by zero. Then converts some faulty ones among zeros.
fn check(patterns: &[u32], stride_of_faults: usize, instruction_set: InstructionSet) {
    for rounding in Rounding::ALL {
        let rounded: Vec<_> = patterns.iter().map(|bits| rounded(*bits, rounding)).collect();
        for target in TARGETS {
            for out_of_range in OutOfRange::ALL {
                let case = CastCase::new(Kind::F32, target).rounding(rounding).out_of_range(out_of_range);
                let kernel = case.kernel(instruction_set);
                let expected: Vec<_> = rounded.iter().map(|value| expected(*value, target, out_of_range)).collect();
                let is_fault = |(_, result): &(&u32, &Result<u64, FaultKind>)| result.is_err();
                let good: Vec<u32> = patterns
                    .iter()
                    .zip(&expected)
                    .map(|(bits, result)| if result.is_ok() { *bits } else { 0 })
                    .collect();
                let target_size = if target == Kind::uint(8) { 1 } else { 2 };
                let mut converted = vec![0xa5; patterns.len() * target_size];
                if let Err(fault) = kernel.convert(&values_of(&good), &mut converted) {
                    panic!("{case:?} on {instruction_set:?}: {fault:?} at {:#x}", good[fault.index]);
                }
                for ((bits, expected), actual) in good.iter().zip(&expected).zip(converted.chunks_exact(target_size)) {
                    let actual = match *actual {
                        [byte] => u64::from(byte),
                        _ => u64::from(u16::from_ne_bytes([actual[0], actual[1]])),
                    };
                    assert_eq!(actual, expected.unwrap_or(0), "{case:?} on {instruction_set:?} of {bits:#x}");
                }
                let faults = patterns.iter().zip(&expected).filter(is_fault);
                for (index, (bits, expected)) in faults.enumerate().step_by(stride_of_faults) {
                    let index = index % 64;
                    let mut source = [0; 64];
                    source[index] = *bits;
                    let actual = kernel.convert(&values_of(&source), &mut vec![0; 64 * target_size]);
                    let fault = ElementFault { kind: expected.unwrap_err(), index };
                    assert_eq!(actual, Err(fault), "{case:?} on {instruction_set:?} of {bits:#x}");
                }
            }
        }
    }
}

fn sample() -> Vec<u32> {
    let landmarks = landmarks_of(Kind::F32).into_iter().map(|bits| u32::try_from(bits).unwrap());
    let around_bounds = [-32_768.5_f32, -32_769.0, -0.5, -1.0, 0.5, 255.0, 255.5, 256.0, 32_767.5, 32_768.0];
    let around_bounds = around_bounds.into_iter().flat_map(|value| {
        let bits = value.to_bits();
        bits - 300..bits + 300
    });
    (0..=u32::MAX).step_by(16_381).chain(landmarks).chain(around_bounds).collect()
}

#[test]
fn float32_sample_derives_from_one_rounding_what_the_reference_says() {
    for bits in sample() {
        for rounding in Rounding::ALL {
            for target in TARGETS {
                for out_of_range in OutOfRange::ALL {
                    let case = CastCase::new(Kind::F32, target).rounding(rounding).out_of_range(out_of_range);
                    let derived = expected(rounded(bits, rounding), target, out_of_range);
                    assert_eq!(derived.map(|value| stored(value, target)), case.expected(u64::from(bits)), "{bits:#x}");
                }
            }
        }
    }
}

/// Rounded finite neighbours of one sign: clamped far outside the targets, and their low 16 bits.
struct RoundedRun {
    saturated: Vec<i32>,
    low: Vec<u16>,
}

fn rounded_run(patterns: &[u32], rounding: Rounding) -> RoundedRun {
    let mut run = RoundedRun { saturated: Vec::new(), low: Vec::new() };
    for block in patterns.chunks(64) {
        let ends = [block[0], block[block.len() - 1]].map(|bits| rounded(bits, rounding).unwrap());
        for bits in block {
            // Rounding is monotonic, so all values between equal ends are equal.
            let value = if ends[0] == ends[1] { ends[0] } else { rounded(*bits, rounding).unwrap() };
            run.saturated.push(i32::try_from(value.clamp(-(1 << 30), 1 << 30)).unwrap());
            run.low.push(if value.unsigned_abs() >= 1 << 40 { 0 } else { value as u16 });
        }
    }
    run
}

/// Does the same as [`check`] for finite neighbours of one sign, fast enough for all of them.
fn check_run(patterns: &[u32], instruction_set: InstructionSet) {
    for rounding in Rounding::ALL {
        let run = rounded_run(patterns, rounding);
        for target in TARGETS {
            let (least, greatest) = if target == Kind::uint(8) { (0, 255) } else { (-32_768, 32_767) };
            let is_fault = |value: i32| value < least || value > greatest;
            for out_of_range in OutOfRange::ALL {
                let strict = out_of_range == OutOfRange::Error;
                let good = |(bits, value): (&u32, &i32)| if strict && is_fault(*value) { 0 } else { *bits };
                let source: Vec<u32> = patterns.iter().zip(&run.saturated).map(good).collect();
                let expected: Vec<u16> = match out_of_range {
                    OutOfRange::Error => {
                        run.saturated.iter().map(|value| if is_fault(*value) { 0 } else { *value as u16 }).collect()
                    }
                    OutOfRange::Clamp => {
                        run.saturated.iter().map(|value| (*value).clamp(least, greatest) as u16).collect()
                    }
                    OutOfRange::Wrap => run.low.clone(),
                };
                let (expected, target_size): (Vec<u8>, usize) = if target == Kind::uint(8) {
                    (expected.iter().map(|value| *value as u8).collect(), 1)
                } else {
                    (bytemuck::cast_slice(&expected).to_vec(), 2)
                };
                let case = CastCase::new(Kind::F32, target).rounding(rounding).out_of_range(out_of_range);
                let kernel = case.kernel(instruction_set);
                let mut converted = vec![0xa5; expected.len()];
                let result = kernel.convert(bytemuck::cast_slice(&source), &mut converted);
                assert_eq!(result, Ok(()), "{case:?} on {instruction_set:?} from {:#x} on", patterns[0]);
                if converted != expected {
                    let at = converted.iter().zip(&expected).position(|(one, other)| one != other).unwrap();
                    panic!("{case:?} on {instruction_set:?} of {:#x}", source[at / target_size]);
                }
                let faults = patterns.iter().zip(&run.saturated).filter(|(_, value)| strict && is_fault(**value));
                for (index, (bits, _)) in faults.enumerate().step_by(1021) {
                    let index = index % 64;
                    let mut source = [0; 64];
                    source[index] = *bits;
                    let actual = kernel.convert(bytemuck::cast_slice(&source), &mut [0; 128][..64 * target_size]);
                    let fault = ElementFault { kind: FaultKind::OutOfRange, index };
                    assert_eq!(actual, Err(fault), "{case:?} on {instruction_set:?} of {bits:#x}");
                }
            }
        }
    }
}

#[test]
fn float32_to_uint8_and_int16_equals_the_reference() {
    let is_exhaustive = std::env::var_os("ZARRCAST_EXHAUSTIVE").is_some_and(|value| value == "1");
    if !is_exhaustive {
        let around = [0.5_f32, -0.5, 1.0, 127.0, 255.5, 32_767.5, -32_768.5, 65_536.0, 1e9, -1e9, 1e12, 1e30];
        for instruction_set in instruction_sets() {
            check(&sample(), 97, instruction_set);
            for value in around {
                let patterns: Vec<u32> = (value.to_bits() - 2000..value.to_bits() + 2000).collect();
                check_run(&patterns, instruction_set);
            }
        }
        return;
    }
    // 2^16 runs of 2^16 neighbouring bit patterns, with one thread per processor.
    let next = AtomicU32::new(0);
    let num_threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..num_threads {
            scope.spawn(|| {
                loop {
                    let run = next.fetch_add(1, Ordering::Relaxed);
                    if run > 0xffff {
                        return;
                    }
                    let patterns: Vec<u32> = (0..=0xffff).map(|low| (run << 16) | low).collect();
                    if f32::from_bits(patterns[0]).is_finite() {
                        check_run(&patterns, InstructionSet::detect());
                    } else {
                        check(&patterns, 1021, InstructionSet::detect());
                    }
                }
            });
        }
    });
}
