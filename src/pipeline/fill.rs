//! The fill value through `scale_offset`, `cast_value` and `bitround`: encoded like an element, and proved to come back bit for
//! bit (SEMANTICS: A1.8, A2.11, B17, B18). A missing chunk would otherwise read differently from a stored one.

use crate::data_type::{DataType, FillValue, value_to_json};
use crate::diagnostic::{Code, Diagnostic, code};
use crate::element::NumberType;
use crate::kernel::FaultKind;
use crate::kernel::bit_round::BitRound;
use crate::kernel::cast::{Cast, CastOptions};
use crate::kernel::scale_offset::ScaleOffset;

/// The fill value after `scale_offset`.
pub(super) fn through_scale_offset(
    codec: &ScaleOffset,
    fill_value: &FillValue,
    pointer: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<FillValue> {
    let number_type = codec.number_type();
    Passage {
        name: "scale_offset",
        types: (number_type, number_type),
        refused: code::SCALE_OFFSET_FILL_VALUE,
        lost: code::SCALE_OFFSET_FILL_VALUE_LOST,
        pointer,
    }
    .run(fill_value, |bits| codec.encode_one(bits), |bits| codec.decode_one(bits), diagnostics)
}

/// The fill value after `cast_value`.
pub(super) fn through_cast_value(
    encode: &CastOptions,
    decode: &CastOptions,
    fill_value: &FillValue,
    pointer: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<FillValue> {
    let (forward, backward) = (Cast::new(encode.clone()), Cast::new(decode.clone()));
    Passage {
        name: "cast_value",
        types: (encode.source, encode.target),
        refused: code::CAST_VALUE_FILL_VALUE,
        lost: code::CAST_VALUE_FILL_VALUE_LOST,
        pointer,
    }
    .run(fill_value, |bits| forward.convert_one(bits), |bits| backward.convert_one(bits), diagnostics)
}

/// The fill value after `bitround`, which decoding leaves as it is.
pub(super) fn through_bitround(
    codec: BitRound,
    data_type: &DataType,
    fill_value: &FillValue,
    pointer: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> FillValue {
    let mut encoded = fill_value.clone();
    codec.encode(&mut encoded.0);
    if encoded != *fill_value {
        let text = |fill: &FillValue| {
            data_type
                .fill_value_to_json(fill)
                .map_or_else(|_| "no value".to_owned(), |json| json.to_string_compact())
        };
        let message = format!(
            "the fill value {} does not survive `bitround`: it is rounded to {}",
            text(fill_value),
            text(&encoded)
        );
        diagnostics.push(
            Diagnostic::new(code::BITROUND_FILL_VALUE_LOST, message)
                .with_help("a missing chunk reads differently from a stored one: keep more bits, or take another value")
                .at_pointer(pointer),
        );
    }
    encoded
}

/// One codec that a fill value passes.
struct Passage<'a> {
    name: &'static str,
    types: (NumberType, NumberType),
    refused: Code,
    lost: Code,
    pointer: &'a str,
}

impl Passage<'_> {
    fn run(
        &self,
        fill_value: &FillValue,
        encode: impl Fn(u64) -> Result<u64, FaultKind>,
        decode: impl Fn(u64) -> Result<u64, FaultKind>,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<FillValue> {
        let (source, target) = self.types;
        let text = |number_type, bits| value_to_json(number_type, bits).to_string_compact();
        let bits = bits_of(fill_value);
        let fill = text(source, bits);
        let encoded = match encode(bits) {
            Ok(encoded) => encoded,
            Err(kind) => {
                let reason = match kind {
                    FaultKind::NotANumber => {
                        format!("{target} has no NaN, and no entry of `scalar_map` maps it")
                    }
                    FaultKind::Infinite => {
                        format!("{target} has no infinity, and no entry of `scalar_map` maps it")
                    }
                    _ => format!("the result is not a value of {target}"),
                };
                diagnostics.push(
                    Diagnostic::new(
                        self.refused,
                        format!("`{}` cannot encode the fill value {fill} ({source}): {reason}", self.name),
                    )
                    .with_help("choose a fill value that the codec can encode, or map it in `scalar_map`")
                    .at_pointer(self.pointer),
                );
                return None;
            }
        };
        let decoded = decode(encoded);
        if decoded != Ok(bits) {
            let back = decoded.map_or_else(|_| "an error".to_owned(), |bits| text(source, bits));
            diagnostics.push(
                Diagnostic::new(
                    self.lost,
                    format!(
                        "the fill value {fill} does not survive `{}`: it is encoded as {} and comes back as {back}",
                        self.name,
                        text(target, encoded)
                    ),
                )
                .with_help(
                    "a missing chunk would read differently from a stored one; choose a fill value that comes back \
                     bit for bit, or accept it with --no-fill-check",
                )
                .at_pointer(self.pointer),
            );
        }
        Some(FillValue::from_bits(target, encoded))
    }
}

/// The bits of a number's fill value, zero-extended.
fn bits_of(fill_value: &FillValue) -> u64 {
    let fold = |bits: u64, byte: &u8| (bits << 8) | u64::from(*byte);
    let bytes = fill_value.0.iter();
    if cfg!(target_endian = "big") { bytes.fold(0, fold) } else { bytes.rev().fold(0, fold) }
}
