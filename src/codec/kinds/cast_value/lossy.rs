//! Casts of integers to floats that do not hold all of them.

use super::BoundCastValue;
use crate::diagnostic::{Diagnostic, code};
use crate::element::{NumberType, SmallFloat};

impl BoundCastValue {
    pub(super) fn lossy_diagnostic(&self, pointer: &str) -> Option<Diagnostic> {
        let (direction, integer, float) = if is_lossy(self.decoded, self.encoded) {
            ("encodes", self.decoded, self.encoded)
        } else if is_lossy(self.encoded, self.decoded) {
            ("decodes", self.encoded, self.decoded)
        } else {
            return None;
        };
        let message = format!(
            "`cast_value` {direction} `{integer}` as `{float}`, which does not hold all of its values"
        );
        Some(Diagnostic::new(code::CAST_VALUE_LOSSY, message).at_pointer(pointer))
    }
}

/// True if a float type lacks values of an integer type: those beyond its significand, or beyond its range.
pub fn is_lossy(source: NumberType, target: NumberType) -> bool {
    let (Some((_, greatest)), Some(format)) = (source.integer_bounds(), target.float_format()) else {
        return false;
    };
    // Only small floats have more precision than range, and one of them has no zero.
    let is_beyond = |float: SmallFloat| {
        #[expect(clippy::cast_precision_loss, reason = "a bound that is rounded stays beyond theirs")]
        let greatest = greatest as f64;
        format.is_unsigned() || float.to_f64(format.greatest()).is_some_and(|bound| greatest > bound)
    };
    greatest >= 1_i128 << (format.fraction_bits + 1) || target.small_float().is_some_and(is_beyond)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::ElementType;

    #[test]
    fn integers_are_lossy_in_floats_with_a_shorter_significand() {
        let integer = |signed, bits| NumberType::integer(signed, bits).unwrap();
        let float = NumberType::of;
        let small = |name| NumberType::small(SmallFloat::from_name(name).unwrap());
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
            (integer(false, 8), small("bfloat16"), false),
            (integer(false, 9), small("bfloat16"), true),
            (integer(true, 5), small("float8_e4m3"), false),
            (integer(false, 5), small("float8_e4m3"), true),
            (integer(false, 4), small("float8_e3m4"), false),
            // 31 has 5 bits, as the type has, but its greatest value is 15.5.
            (integer(false, 5), small("float8_e3m4"), true),
            (integer(true, 2), small("float8_e8m0fnu"), true),
        ] {
            assert_eq!(is_lossy(source, target), expected, "{source} -> {target}");
        }
    }
}
