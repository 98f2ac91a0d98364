use super::*;
use crate::element::ElementType;
use crate::kernel::FaultKind;

#[test]
fn negative_zero_with_a_code_of_its_own_has_no_error() {
    let quantize = Quantize::new(QuantizeOptions {
        source: NumberType::of(ElementType::Float32),
        target: NumberType::of(ElementType::UInt8),
        offset: None,
        scale: None,
        rounding: Rounding::NearestEven,
        out_of_range: OutOfRange::Error,
        codes: (1, 255),
        nan_code: Some(0),
        negative_zero_code: Some(7),
        missing: Vec::new(),
    });
    let (mut codes, mut figures) = ([9; 3], QuantizeFigures::default());
    quantize.convert(bytemuck::cast_slice(&[-0.0, f32::NAN, 3.25]), &mut codes, &mut figures).unwrap();
    assert_eq!((codes, figures.max_abs_error, figures.clamped), ([7, 0, 3], 0.25, 0));
    let fault = quantize.convert(&[0; 4], &mut codes[..1], &mut figures).unwrap_err();
    assert_eq!(fault.kind, FaultKind::ReservedCode);
}
