use super::*;
use crate::element::{Element, ElementType};
use crate::kernel::FaultKind;

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
fn negative_zero_with_a_code_of_its_own_has_no_error() {
    let mut options = options(OutOfRange::Error);
    (options.offset, options.scale, options.negative_zero_code) = (None, None, Some(7));
    let (codes, figures) = encode(options.clone(), &[-0.0, f32::NAN, 3.25]).unwrap();
    assert_eq!((codes, figures.max_abs_error, figures.clamped), (vec![7, 0, 3], 0.25, 0));
    assert_eq!(encode(options, &[0.0]), Err(FaultKind::ReservedCode));
}
