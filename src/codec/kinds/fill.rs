//! Values in a configuration, and the fill value through a codec that changes numbers. It is encoded like an element,
//! and must decode to the same bits (SEMANTICS: A1.8, A2.11, B17, B18). Otherwise a missing chunk would read
//! differently from a stored one.

use super::array::Binding;
use crate::data_type::{FillValue, FillValueError, Read, value_to_json};
use crate::diagnostic::{Code, Diagnostic};
use crate::element::{NumberType, element_bits};
use crate::kernel::FaultKind;

/// Returns the fill value after the codec `name`. `None` if there is none, or if it cannot be encoded. The two codes
/// are those of a value that cannot be encoded, and of one that does not decode to the same bits.
pub(super) fn encoded_fill_value(
    to: &mut Binding<'_>,
    name: &str,
    (source, target): (NumberType, NumberType),
    [refused, lost]: [Code; 2],
    encode: impl Fn(u64) -> Result<u64, FaultKind>,
    decode: impl Fn(u64) -> Result<u64, FaultKind>,
) -> Option<FillValue> {
    let text = |number_type, bits| value_to_json(number_type, bits).to_string();
    let bits = element_bits(&to.array()?.fill_value.as_ref()?.0);
    let fill = text(source, bits);
    let encoded = match encode(bits) {
        Ok(encoded) => encoded,
        Err(kind) => {
            let reason = match kind {
                FaultKind::NotANumber => format!("{target} has no NaN, and no entry of `scalar_map` maps it"),
                FaultKind::Infinite => format!("{target} has no infinity, and no entry of `scalar_map` maps it"),
                _ => format!("the result is not a value of {target}"),
            };
            let message = format!("`{name}` cannot encode the fill value {fill} ({source}): {reason}");
            let help = "choose a fill value that the codec can encode, or map it in `scalar_map`";
            to.push(Diagnostic::new(refused, message).with_help(help));
            return None;
        }
    };
    let decoded = decode(encoded);
    if decoded != Ok(bits) {
        let back = decoded.map_or_else(|_| "an error".to_owned(), |bits| text(source, bits));
        let between = text(target, encoded);
        let message = format!(
            "the fill value {fill} does not survive `{name}`: it is encoded as {between} and decoded as {back}"
        );
        let help = "a missing chunk would read differently from a stored one; choose a fill value that is decoded \
                    bit for bit, or accept it with --no-fill-check";
        to.push(Diagnostic::new(lost, message).with_help(help));
    }
    Some(FillValue::from_bits(target, encoded))
}

/// Returns the bits of a scalar. Its notes, or the error, are added to `diagnostics`.
pub(super) fn scalar(
    (code, what): (Code, &str),
    read: Result<Read<u64>, FillValueError>,
    pointer: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<u64> {
    match read {
        Ok(Read { value, notes }) => {
            diagnostics.extend(notes.into_iter().map(|note| note.at_pointer(pointer)));
            Some(value)
        }
        Err(error) => {
            diagnostics.push(Diagnostic::new(code, format!("{what}: {error}")).at_pointer(pointer));
            None
        }
    }
}
