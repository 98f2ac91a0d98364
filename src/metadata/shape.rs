//! Shapes: lists of sizes whose product can be worked with.

use super::extension::Findings;
use super::json::{Json, Number};
use crate::diagnostic::{Code, Diagnostic, code};
pub use crate::grid::{MAX_RANK, num_elements};

/// A list of integers from 0 to 2^64-1, at most [`MAX_RANK`] of them; a list that is no such one is of code `fault_code`.
pub(super) fn read_sizes(
    json: &Json,
    pointer: &str,
    fault_code: Code,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Vec<u64>> {
    let Some(elements) = json.as_array() else {
        return diagnostics.unexpected(fault_code, json, "an array of integers", pointer);
    };
    if elements.len() > MAX_RANK {
        let message = format!("{} dimensions, of which {MAX_RANK} are read", elements.len());
        return diagnostics.refuse(code::RANK_LIMIT, pointer, message);
    }
    let mut sizes = Vec::with_capacity(elements.len());
    for (index, element) in elements.iter().enumerate() {
        let pointer_to_it = format!("{pointer}/{index}");
        let is_negative = |number: &Number| number.as_f64() < 0.0;
        match element.as_u64() {
            Some(size) => sizes.push(size),
            None if element.as_number().is_some_and(is_negative) => {
                let message = format!(
                    "`{}` has the negative length {} in dimension {index}: lengths are 0 or more",
                    pointer.rsplit('/').next().unwrap_or(pointer),
                    element.excerpt(),
                );
                diagnostics.add(fault_code, pointer_to_it, message);
            }
            None => {
                let expected = "an integer from 0 to 2^64-1";
                diagnostics.unexpected::<()>(fault_code, element, expected, &pointer_to_it);
            }
        }
    }
    (sizes.len() == elements.len()).then_some(sizes)
}

/// The shape of an array.
pub(super) fn read_shape(json: &Json, diagnostics: &mut Vec<Diagnostic>) -> Option<Vec<u64>> {
    let shape = read_sizes(json, "/shape", code::MEMBER_TYPE, diagnostics)?;
    if num_elements(&shape).is_none() {
        let message = format!("the number of elements of {shape:?} does not fit into 64 bits");
        return diagnostics.refuse(code::SHAPE_OVERFLOW, "/shape", message);
    }
    Some(shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn num_elements_is_checked() {
        assert_eq!(num_elements(&[]), Some(1));
        assert_eq!(num_elements(&[3, 4]), Some(12));
        assert_eq!(num_elements(&[u64::MAX, u64::MAX, 0]), Some(0));
        assert_eq!(num_elements(&[1 << 32, 1 << 32]), None);
        assert_eq!(num_elements(&[u64::MAX, 1]), Some(u64::MAX));
    }
}
