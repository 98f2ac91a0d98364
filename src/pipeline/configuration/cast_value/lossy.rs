//! Casts of integers to floats that do not hold all of them.

use super::BoundCastValue;
use crate::diagnostic::{Diagnostic, code};
use crate::element::NumberType;
use crate::pipeline::configuration::lenient;

impl BoundCastValue {
    /// Whether encoding casts integers to a float type that does not hold all of them.
    pub fn is_encode_lossy(&self) -> bool {
        is_lossy(self.decoded, self.encoded)
    }

    /// Whether decoding does.
    pub fn is_decode_lossy(&self) -> bool {
        is_lossy(self.encoded, self.decoded)
    }

    pub(super) fn lossy_diagnostic(&self, pointer: &str) -> Option<Diagnostic> {
        let (direction, integer, float) = if self.is_encode_lossy() {
            ("encodes", self.decoded, self.encoded)
        } else if self.is_decode_lossy() {
            ("decodes", self.encoded, self.decoded)
        } else {
            return None;
        };
        let message = format!(
            "`cast_value` {direction} `{integer}` as `{float}`, which does not hold all of its values"
        );
        Some(lenient(Diagnostic::new(code::CAST_VALUE_LOSSY, message).at_pointer(pointer)))
    }
}

/// Whether a float type lacks values of an integer type: those beyond its significand, or beyond its range.
pub fn is_lossy(source: NumberType, target: NumberType) -> bool {
    match (source.integer_bounds(), target.significand_bits()) {
        (Some((_, greatest)), Some(significand)) => greatest >= 1_i128 << significand,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::ElementType;

    #[test]
    fn integers_are_lossy_in_floats_with_a_shorter_significand() {
        let integer = |signed, bits| NumberType::integer(signed, bits).unwrap();
        let float = NumberType::of;
        for (source, target, expected) in [
            (integer(true, 32), float(ElementType::Float64), false),
            (integer(true, 64), float(ElementType::Float64), true),
            (integer(false, 24), float(ElementType::Float32), false),
            (integer(true, 25), float(ElementType::Float32), false),
            (integer(false, 25), float(ElementType::Float32), true),
            (integer(false, 11), float(ElementType::Float16), false),
            (integer(false, 16), float(ElementType::Float16), true),
            (float(ElementType::Float64), integer(false, 8), false),
            (float(ElementType::Float64), float(ElementType::Float32), false),
        ] {
            assert_eq!(is_lossy(source, target), expected, "{source} -> {target}");
        }
    }
}
