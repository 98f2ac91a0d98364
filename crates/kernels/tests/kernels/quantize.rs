use zarrcast_kernels::element::{ElementType, NumberType};
use zarrcast_kernels::kernel::quantize::{Quantize, QuantizeFigures, QuantizeOptions};
use zarrcast_kernels::kernel::{FaultKind, OutOfRange, Rounding};

#[test]
fn negative_zero_with_a_code_of_its_own_has_no_error() {
    let kernel = Quantize::new(QuantizeOptions {
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
        cf: None,
    });
    let (mut codes, mut figures) = ([0; 3], QuantizeFigures::default());
    kernel.convert(bytemuck::cast_slice(&[-0.0_f32, f32::NAN, 3.25]), &mut codes, &mut figures).unwrap();
    assert_eq!((codes, figures.max_abs_error, figures.clamped), ([7, 0, 3], 0.25, 0));
    let fault = kernel.convert(bytemuck::cast_slice(&[0.0_f32]), &mut codes[..1], &mut figures).unwrap_err();
    assert_eq!(fault.kind, FaultKind::ReservedCode);
}
