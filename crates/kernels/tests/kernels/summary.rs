use half::f16;

use zarrcast_kernels::element::{Element, ElementType, NumberType};
use zarrcast_kernels::kernel::InstructionSet;
use zarrcast_kernels::kernel::statistics::{Summary, SummaryScan};

fn summary<T: Element>(values: &[T], counted: T) -> (SummaryScan, Summary) {
    let scan = SummaryScan::new(NumberType::of(T::TYPE), counted.to_bits64());
    let mut found = Summary::default();
    scan.scan(bytemuck::cast_slice(values), &mut found);
    match scan.rescaled(&found) {
        None => (scan, found),
        Some(scan) => {
            let mut found = Summary::default();
            scan.scan(bytemuck::cast_slice(values), &mut found);
            (scan, found)
        }
    }
}

fn mean_and_deviation<T: Element>(values: &[T]) -> (f64, f64) {
    let (scan, found) = summary(values, values[0]);
    (scan.mean(&found).unwrap(), scan.standard_deviation(&found).unwrap())
}

#[test]
fn summary_counts_what_is_not_finite_and_what_is_equal() {
    let values = [1.5f32, f32::NAN, -0.0, 0.0, f32::INFINITY, f32::NEG_INFINITY, f32::INFINITY];
    let (_, found) = summary(&values, 0.0);
    assert_eq!((found.extent.count, found.extent.num_finite(), found.extent.nan, found.equal), (7, 3, 1, 2));
    assert_eq!((found.extent.positive_infinity, found.extent.negative_infinity), (2, 1));
    assert_eq!(found.extent.finite, Some(((-0.0f32).to_bits64(), 1.5f32.to_bits64())));
    assert_eq!(summary(&values, f32::NAN).1.equal, 1);
    assert_eq!(summary(&[f16::NAN; 5000], f16::NAN).1.equal, 5000);
    assert_eq!(summary(&[f16::INFINITY; 5000], f16::INFINITY).1.equal, 5000);
}

#[test]
fn deviation_far_from_zero_loses_nothing() {
    let values: Vec<f64> = (0..10_000).map(|i| 1e15 + f64::from(i % 5)).collect();
    assert_eq!(mean_and_deviation(&values), (1e15 + 2.0, 2_f64.sqrt()));
    let values: Vec<i64> = (0..10_000).map(|i| (1 << 62) + 1 + i % 5).collect();
    assert_eq!(mean_and_deviation(&values), (2_f64.powi(62), 2_f64.sqrt()));
    assert_eq!(mean_and_deviation(&[1e16, 1.0, -1e16, 3.0]).0, 1.0);
}

#[test]
fn squares_out_of_range_are_rescaled() {
    assert_eq!(mean_and_deviation(&[1e308, -1e308, 1e308, -1e308]), (0.0, 1e308));
    assert_eq!(mean_and_deviation(&[1.5e308; 9]), (1.5e308, 0.0));
    let (mean, deviation) = mean_and_deviation(&[1e-200, 3e-200]);
    assert!((mean / 2e-200 - 1.0).abs() < 1e-15 && (deviation / 1e-200 - 1.0).abs() < 1e-15);
}

#[test]
fn integers_of_all_widths_are_exact() {
    assert_eq!(mean_and_deviation(&[u64::MAX, u64::MAX - 2]), (2_f64.powi(64), 1.0));
    assert_eq!(mean_and_deviation(&[i64::MIN, i64::MAX]), (-0.5, 2_f64.powi(63)));
    assert_eq!(mean_and_deviation(&[-128_i8, 127]), (-0.5, 127.5));
    assert_eq!(mean_and_deviation(&[u32::MAX; 3000]), (4_294_967_295.0, 0.0));
}

#[test]
fn constant_is_as_if_its_elements_were_there() {
    let scan = SummaryScan::new(NumberType::of(ElementType::Float32), f32::NAN.to_bits64());
    let values = vec![0.1_f32; 5000];
    let mut merged = Summary::default();
    scan.scan(bytemuck::cast_slice(&values[..4000]), &mut merged);
    scan.merge(&mut merged, &scan.of_constant(0.1f32.to_bits64(), 1000));
    assert_eq!(scan.mean(&merged), Some(f64::from(0.1f32)));
    assert_eq!((merged.extent.count, merged.extent.num_finite()), (5000, 5000));
    scan.merge(&mut merged, &scan.of_constant(f32::NAN.to_bits64(), 1 << 40));
    assert_eq!((merged.extent.nan, merged.equal, merged.extent.num_finite()), (1 << 40, 1 << 40, 5000));
    let huge = scan.of_constant(0.1f32.to_bits64(), u64::MAX);
    assert_eq!(scan.mean(&huge), Some(f64::from(0.1f32)));
}

#[test]
fn every_instruction_set_and_any_alignment_agree() {
    let mut bits = 1_u32;
    let values: Vec<f32> = (0..6001)
        .map(|_| {
            bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f32::from_bits(bits)
        })
        .collect();
    let mut bytes = vec![0_u8; values.len() * 4 + 1];
    bytes[1..].copy_from_slice(bytemuck::cast_slice(&values));
    let number_type = NumberType::of(ElementType::Float32);
    let all: Vec<Summary> = [InstructionSet::Baseline, InstructionSet::Avx2, InstructionSet::Avx512]
        .into_iter()
        .map(|set| {
            let scan = set.at_most(|| SummaryScan::new(number_type, 0));
            let mut found = Summary::default();
            scan.scan(&bytes[1..], &mut found);
            found
        })
        .collect();
    assert!(all.iter().all(|found| *found == all[0]), "{all:?}");
    assert!(all[0].extent.nan > 0 && all[0].extent.num_finite() > 5000);
}
