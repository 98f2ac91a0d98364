use super::*;
use crate::element::{Element, ElementType};
use crate::kernel::{FaultKind, InstructionSet};

fn options(out_of_range: OutOfRange) -> QuantizeOptions {
    QuantizeOptions {
        source: NumberType::of(ElementType::Float32),
        target: NumberType::of(ElementType::UInt8),
        offset: Some(10f32.to_bits64()),
        scale: Some(4f32.to_bits64()),
        rounding: Rounding::NearestEven,
        out_of_range,
        codes: (1, 255),
        nan_code: Some(0),
        negative_zero_code: None,
        missing: Vec::new(),
    }
}

fn encode(options: QuantizeOptions, values: &[f32]) -> Result<(Vec<u8>, QuantizeFigures), FaultKind> {
    let mut codes = vec![0; values.len()];
    let mut figures = QuantizeFigures::default();
    Quantize::new(options)
        .convert(bytemuck::cast_slice(values), &mut codes, &mut figures)
        .map_err(|fault| fault.kind)?;
    Ok((codes, figures))
}

#[test]
fn codes_and_figures_of_a_few_values() {
    let (codes, figures) = encode(options(OutOfRange::Error), &[10.25, 10.35, f32::NAN, 73.75]).unwrap();
    assert_eq!(codes, [1, 1, 0, 255]);
    assert_eq!((figures.count, figures.nan, figures.clamped), (4, 1, 0));
    let error = f64::from(10.35f32) - 10.25;
    assert!((figures.max_abs_error - error).abs() < 1e-18);
    assert!((figures.rms_error() - (error * error / 3.0).sqrt()).abs() < 1e-9);
}

#[test]
fn out_of_range_values_are_faults_or_clamped_and_counted() {
    assert_eq!(encode(options(OutOfRange::Error), &[10.0]), Err(FaultKind::ReservedCode));
    assert_eq!(encode(options(OutOfRange::Error), &[9.0]), Err(FaultKind::OutOfRange));
    assert_eq!(encode(options(OutOfRange::Clamp), &[f32::INFINITY]), Err(FaultKind::Infinite));
    let (codes, figures) = encode(options(OutOfRange::Clamp), &[10.0, -1000.0, 74.0, 20.0]).unwrap();
    assert_eq!(codes, [1, 1, 255, 40]);
    assert_eq!((figures.clamped, figures.max_abs_error, figures.max_abs_error_clamped), (3, 0.0, 1010.25));
    let (codes, figures) = encode(options(OutOfRange::Wrap), &[74.25, 75.0]).unwrap();
    assert_eq!((codes, figures.clamped), (vec![1, 4], 2));
    assert_eq!(encode(options(OutOfRange::Wrap), &[74.0]), Err(FaultKind::ReservedCode));
}

#[test]
fn a_number_never_gets_an_inner_nan_code() {
    let inner = |out_of_range| QuantizeOptions { codes: (0, 255), nan_code: Some(40), ..options(out_of_range) };
    assert_eq!(encode(inner(OutOfRange::Error), &[20.0]), Err(FaultKind::ReservedCode));
    let (codes, figures) = encode(inner(OutOfRange::Clamp), &[19.9, 20.1, f32::NAN]).unwrap();
    assert_eq!((codes, figures.clamped), (vec![39, 41, 40], 2));
}

#[test]
fn missing_values_count_as_nan() {
    let missing = QuantizeOptions { missing: vec![(-999f32).to_bits64()], ..options(OutOfRange::Error) };
    let (codes, figures) = encode(missing, &[-999.0, 11.0]).unwrap();
    assert_eq!((codes, figures.nan), (vec![0, 4], 1));
    let no_code = QuantizeOptions { nan_code: None, ..options(OutOfRange::Error) };
    assert_eq!(encode(no_code, &[f32::NAN]), Err(FaultKind::NotANumber));
}

#[test]
fn negative_zero_with_a_code_of_its_own_has_no_error() {
    let mut options = options(OutOfRange::Error);
    (options.offset, options.scale, options.negative_zero_code) = (None, None, Some(7));
    let (codes, figures) = encode(options.clone(), &[-0.0, f32::NAN, 3.25]).unwrap();
    assert_eq!((codes, figures.max_abs_error, figures.clamped), (vec![7, 0, 3], 0.25, 0));
    assert_eq!(encode(options, &[0.0]), Err(FaultKind::ReservedCode));
}

#[test]
fn spans_equal_the_exact_path_and_faults_are_named_by_their_place_in_all() {
    let count: u16 = 20_001;
    let unscaled = QuantizeOptions { offset: Some((-0.3f32).to_bits64()), ..options(OutOfRange::Error) };
    // Some values are much smaller than their errors, which float32 does not hold exactly then.
    let mut values: Vec<f32> = (0..count).map(|index| f32::from(index % 1009) * 0.061 + 1e-9).collect();
    for has_nan in [false, true] {
        if has_nan {
            values[9_000..9_700].fill(f32::NAN);
        }
        for instruction_set in [InstructionSet::Baseline, InstructionSet::Avx2, InstructionSet::Avx512] {
            let quantize = instruction_set.at_most(|| Quantize::new(unscaled.clone()));
            let run = |values: &[f32], codes: &mut [u8]| {
                let mut figures = QuantizeFigures::default();
                quantize.convert(bytemuck::cast_slice(values), codes, &mut figures).map(|()| figures)
            };
            let (mut codes, mut expected) = (vec![0; values.len()], QuantizeFigures::default());
            let figures = run(&values, &mut codes).unwrap();
            for (value, code) in values.iter().zip(&codes) {
                let coded = quantize.exact.encode(value.to_bits64(), &mut expected).unwrap();
                assert_eq!(coded, u64::from(*code), "{value} on {instruction_set:?}");
            }
            assert_eq!((figures.count, figures.nan), (expected.count, expected.nan));
            assert_eq!(figures.max_abs_error, expected.max_abs_error, "{instruction_set:?}");
            let difference = (figures.sum_of_squares - expected.sum_of_squares).abs();
            assert!(difference <= 2e-6 * expected.sum_of_squares, "{instruction_set:?}: {difference}");
            let mut at_fault = values.clone();
            at_fault[17_003] = 1000.0;
            let fault = ElementFault { kind: FaultKind::OutOfRange, index: 17_003 };
            assert_eq!(run(&at_fault, &mut codes), Err(fault), "{instruction_set:?}");
        }
    }
}
