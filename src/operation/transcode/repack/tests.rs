//! The choice of scale and offset, for every code of 8 and 16 bits.

#![expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "codes are of up to 32 bits")]

use super::*;
use crate::codec::{StepOrigin, ValueProgram, ValueStep};
use crate::kernel::unpack::Unpack;

const FACTORS: [f64; 7] = [0.01, 0.1, 1.0 / 3.0, 0.25, 1024.0, -0.001, 7e-5];
const OFFSETS: [f64; 4] = [0.0, 273.15, -1e5, 0.1];

fn number(element: ElementType) -> NumberType {
    NumberType::of(element)
}

/// Returns a packing by attributes.
fn packed(codes: NumberType, float: NumberType, [scale_factor, add_offset]: [f64; 2], missing: &[u64]) -> Packing {
    let mut decode = ValueProgram::new(codes.size());
    let code = |bits: &u64| fault::number_value(codes, *bits) as i128;
    let unpack = Unpack::new(codes, float, scale_factor, add_offset, missing.iter().map(code).collect());
    decode.push(ValueStep::Unpack(Box::new(unpack)), StepOrigin::DataType);
    let (scaling, missing) = ([add_offset, 1.0 / scale_factor], missing.to_vec());
    Packing { codes, float: FloatType(float), decode: decode.to_float64(float), scaling, missing, absent: Some(0) }
}

/// Returns the greatest difference over all codes, computed here in plain arithmetic.
fn difference(packing: &Packing, [scale_factor, add_offset]: [f64; 2], [offset, scale]: [f64; 2]) -> f64 {
    let (least, greatest) = packing.codes.integer_bounds().unwrap();
    let of = |code: i128| {
        let code = code as f64;
        let wanted = code * scale_factor + add_offset;
        if packing.float.0 == number(ElementType::Float64) {
            return (code / scale + offset - wanted).abs();
        }
        let found = code as f32 / scale as f32 + offset as f32;
        (f64::from(found) - f64::from(wanted as f32)).abs()
    };
    (least..=greatest).map(of).fold(0.0, f64::max)
}

#[test]
fn scale_and_offset_give_every_code_its_value_or_the_nearest_that_there_is() {
    let codes = [ElementType::Int8, ElementType::UInt8, ElementType::Int16, ElementType::UInt16].map(number);
    let floats = [ElementType::Float32, ElementType::Float64].map(number);
    for (codes, float) in codes.into_iter().flat_map(|codes| floats.map(|float| (codes, float))) {
        for attributes in FACTORS.into_iter().flat_map(|factor| OFFSETS.map(|offset| [factor, offset])) {
            let packing = packed(codes, float, attributes, &[]);
            let mut chosen = quantization(&packing, QuantizeForm::Codecs);
            let limit = fit(&packing, &mut chosen, "a").unwrap().1;
            let scaling = [chosen.scaling.offset.unwrap_or(0.0), chosen.scaling.scale.unwrap_or(1.0)];
            let found = difference(&packing, attributes, scaling);
            let what = format!("{codes} {float} {attributes:?} {scaling:?}: {found} of {limit}");
            assert!(found <= limit, "{what}");
            let plain = [attributes[1], 1.0 / attributes[0]];
            assert!(found <= difference(&packing, attributes, plain), "{what}");
            if attributes[0].log2().fract() == 0.0 && attributes[1] == 0.0 {
                assert_eq!(found, 0.0, "{what}");
            }
        }
    }
}

#[test]
fn no_scale_in_a_wider_search_is_nearer() {
    for (float, factor) in [ElementType::Float32, ElementType::Float64].into_iter().zip([1.0 / 3.0, 0.01]) {
        let attributes = [factor, 0.0];
        let packing = packed(number(ElementType::Int16), number(float), attributes, &[]);
        let mut chosen = quantization(&packing, QuantizeForm::Codecs);
        fit(&packing, &mut chosen, "a").unwrap();
        let least = difference(&packing, attributes, [0.0, chosen.scaling.scale.unwrap()]);
        let guess = packing.float.round(1.0 / factor, Rounding::NearestEven);
        for step in -40..=40 {
            let scale = packing.float.neighbour(guess, step).unwrap();
            assert!(least <= difference(&packing, attributes, [0.0, scale]), "{float:?} {step}");
        }
    }
}

#[test]
fn attributes_have_the_factor_of_the_scale() {
    let packing = packed(number(ElementType::Int16), number(ElementType::Float64), [0.01, 273.15], &[0x8000, 5]);
    let mut chosen = quantization(&packing, QuantizeForm::Cf);
    fit(&packing, &mut chosen, "a").unwrap();
    assert_eq!((1.0 / chosen.scaling.scale.unwrap(), chosen.scaling.offset), (0.01, Some(273.15)));
    assert_eq!((chosen.codes.nan, chosen.more_nan_codes.as_slice()), (Some(-32768), &[5][..]));
}

#[test]
fn values_that_one_side_alone_lacks_are_no_small_difference() {
    let nan = f64::NAN;
    assert_eq!(greatest_difference(&[1.0, nan, f64::INFINITY], &[1.5, nan, f64::INFINITY]), 0.5);
    assert_eq!(greatest_difference(&[nan], &[1.0]), f64::INFINITY);
    let packing = packed(number(ElementType::UInt8), number(ElementType::Float64), [0.0, 1.0], &[]);
    let error = fit(&packing, &mut quantization(&packing, QuantizeForm::Codecs), "a").unwrap_err();
    assert!(error.to_string().contains("no `scale` and `offset`"), "{error}");
}

#[test]
fn table_has_every_code_of_16_bits_and_both_ends_of_wider_ones() {
    assert_eq!(table(number(ElementType::Int8)).len(), 256);
    assert_eq!(table(number(ElementType::UInt16)).len(), 2 * 65_536);
    let wide = table(number(ElementType::UInt32));
    assert_eq!((&wide[..4], &wide[wide.len() - 4..]), (&[0; 4][..], &[255; 4][..]));
}
