//! One test for each sentence of the `scale_offset` page of the registry that binds the numbers.
//!
//! What its page says of metadata (name, additional keys, the encoding of scalars) is tested with the codec.
//! <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/scale_offset>

use zarrcast::kernel::FaultKind;
use zarrcast::kernel::scale_offset::ScaleOffset;

use crate::kernels::one_element::{both, convert, decode, encode, f32_bits};
use crate::kernels::reference::Kind;
use crate::kernels::subject::{CORE, CastCase, number_type};

// "If neither `scale` nor `offset` are specified, ... the codec is effectively a no-op."
#[test]
fn scale_offset_without_parameters_is_a_no_op() {
    for kind in CORE {
        for bits in crate::kernels::strategies::landmarks_of(kind) {
            assert_eq!(both(kind, None, None, bits), (Ok(bits), Ok(bits)), "{kind:?}");
        }
    }
}

// "A missing `offset` field encodes the additive identity element for the data type", "A missing `scale` field encodes
// the multiplicative identity element". An operation without its parameter is left out, so -0.0 stays what it is.
#[test]
fn scale_offset_missing_parameter_leaves_the_value_alone() {
    let two = Some(f32_bits(2.0));
    assert_eq!(decode(Kind::F32, None, two, f32_bits(-0.0)), Ok(f32_bits(-0.0)));
    assert_eq!(decode(Kind::F32, Some(f32_bits(0.0)), two, f32_bits(-0.0)), Ok(f32_bits(0.0)), "-0 + 0 is +0");
    assert_eq!(encode(Kind::F32, two, None, f32_bits(5.5)), Ok(f32_bits(3.5)));
    assert_eq!(encode(Kind::F32, None, two, f32_bits(5.5)), Ok(f32_bits(11.0)));
    assert_eq!(encode(Kind::uint(16), Some(1000), None, 1255), Ok(255));
    assert_eq!(encode(Kind::uint(16), None, Some(3), 5), Ok(15));
}

// "The encoding and decoding transformations MUST be performed using the arithmetic semantics of the input array's data
// type."
#[test]
fn scale_offset_calculates_in_the_type_of_the_array() {
    for x in [0.1_f32, 1e-7, 3.3, 16_777_217.0, -2.7] {
        let (offset, scale) = (0.3_f32, 0.7_f32);
        let (encoded, decoded) = both(Kind::F32, Some(f32_bits(offset)), Some(f32_bits(scale)), f32_bits(x));
        // Each operation rounded to float32: neither in float64, nor fused, nor by the reciprocal.
        assert_eq!(encoded, Ok(f32_bits((x - offset) * scale)));
        assert_eq!(decoded, Ok(f32_bits(x / scale + offset)));
    }
    // Float16: 2049 is not one of its numbers, so 2048 + 1 is 2048.
    assert_eq!(decode(Kind::F16, Some(0x3c00), None, 0x6800), Ok(0x6800));
}

// "If any intermediate or final value produced during encoding or decoding is not representable in that data type,
// implementations MUST treat this as an error."
#[test]
fn scale_offset_value_that_is_not_representable_is_an_error() {
    let overflow = Err(FaultKind::Overflow);
    let int8 = |value: i8| u64::from(value.cast_unsigned());
    assert_eq!(encode(Kind::int(8), Some(int8(-1)), None, int8(127)), overflow, "the difference");
    assert_eq!(encode(Kind::int(8), None, Some(int8(2)), int8(64)), overflow, "the product");
    assert_eq!(encode(Kind::uint(8), Some(5), None, 4), overflow, "below zero");
    assert_eq!(encode(Kind::int(8), Some(int8(-1)), Some(int8(-1)), int8(127)), overflow, "128, then -128");
    assert_eq!(decode(Kind::int(8), Some(int8(-1)), Some(int8(-1)), int8(-128)), overflow, "128, then 127");
    assert_eq!(decode(Kind::int(8), Some(int8(1)), None, int8(127)), overflow, "the sum");
    assert_eq!(decode(Kind::int(8), None, Some(int8(2)), int8(3)), Err(FaultKind::Remainder), "1.5");
    assert_eq!(decode(Kind::int(8), None, Some(int8(2)), int8(-4)), Ok(int8(-2)));
    let max = f32_bits(f32::MAX);
    assert_eq!(encode(Kind::F32, None, Some(f32_bits(2.0)), max), overflow);
    assert_eq!(encode(Kind::F32, Some(f32_bits(f32::MIN)), Some(f32_bits(0.5)), max), overflow, "the difference");
    assert_eq!(decode(Kind::F32, None, Some(f32_bits(0.5)), max), overflow);
    assert_eq!(decode(Kind::F16, Some(0x7bff), None, 0x7bff), overflow);
}

// What is infinite or NaN before the calculation is representable, and stays so.
#[test]
fn scale_offset_infinity_and_nan_that_come_in_pass() {
    let (offset, scale) = (Some(f32_bits(1.0)), Some(f32_bits(-2.0)));
    let (infinity, minus_infinity) = (f32_bits(f32::INFINITY), f32_bits(f32::NEG_INFINITY));
    assert_eq!(both(Kind::F32, offset, scale, infinity), (Ok(minus_infinity), Ok(minus_infinity)));
    assert_eq!(both(Kind::F32, offset, scale, minus_infinity), (Ok(infinity), Ok(infinity)));
    let kernel = ScaleOffset::new(number_type(Kind::F64), Some(1_f64.to_bits()), Some(2_f64.to_bits()));
    assert!(kernel.encode_one(f64::NAN.to_bits()).is_ok_and(|bits| f64::from_bits(bits).is_nan()));
    assert!(kernel.decode_one(f64::NAN.to_bits()).is_ok_and(|bits| f64::from_bits(bits).is_nan()));
}

// "Implementations MUST transform the fill value as it propagates through the codec chain, using the same semantics as
// the element transformation." `both` compares one value with slices; here a fill value that is out of range.
#[test]
fn scale_offset_fill_value_is_transformed_as_elements_are() {
    assert_eq!(encode(Kind::uint(16), Some(1000), None, 1000), Ok(0));
    assert_eq!(encode(Kind::uint(16), Some(1000), None, 0), Err(FaultKind::Overflow));
}

// The example "Float32 with scale and offset".
#[test]
fn scale_offset_float32_example() {
    let (offset, scale) = (Some(f32_bits(5.0)), Some(f32_bits(0.1)));
    assert_eq!(encode(Kind::F32, offset, scale, f32_bits(15.0)), Ok(f32_bits(10.0 * 0.1)));
    assert_eq!(decode(Kind::F32, offset, scale, f32_bits(1.0)), Ok(f32_bits(15.0)));
}

// The example "Uint16 range reduction": "values fall in the range `[0, 255]`, then cast to `uint8`".
#[test]
fn scale_offset_uint16_example() {
    for value in 1000..=1255 {
        let code = encode(Kind::uint(16), Some(1000), None, value).unwrap();
        assert_eq!(convert(&CastCase::new(Kind::uint(16), Kind::uint(8)), code), Ok(value - 1000));
        let back = convert(&CastCase::new(Kind::uint(8), Kind::uint(16)), code).unwrap();
        assert_eq!(decode(Kind::uint(16), Some(1000), None, back), Ok(value));
    }
}

// The example "Float64 to uint8 with NaN preservation".
#[test]
fn scale_offset_nan_preservation_example() {
    let (offset, scale) = (Some((-10_f64).to_bits()), Some(0.1_f64.to_bits()));
    let nan = f64::NAN.to_bits();
    let encode_case = CastCase::new(Kind::F64, Kind::uint(8)).scalar_map(&[(nan, 0)]);
    let decode_case = CastCase::new(Kind::uint(8), Kind::F64).scalar_map(&[(0, nan)]);
    for (value, code) in [(f64::NAN, 0), (0.0, 1), (2540.0, 255), (1234.0, 124)] {
        let shifted = ScaleOffset::new(number_type(Kind::F64), offset, scale).encode_one(value.to_bits()).unwrap();
        assert_eq!(convert(&encode_case, shifted), Ok(code), "{value}");
    }
    assert_eq!(convert(&decode_case, 0), Ok(nan));
    let back = convert(&decode_case, 255).unwrap();
    assert_eq!(decode(Kind::F64, offset, scale, back), Ok(2540_f64.to_bits()));
}
