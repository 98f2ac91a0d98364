//! Elements of types not all of whose bits are values, where no codec looks at them.

use crate::codec::region::unravel;
use crate::data_type::DataType;
use crate::pipeline::ArrayRepresentation;

/// A decoded chunk in its array.
pub(super) struct Elements<'a> {
    pub(super) representation: &'a ArrayRepresentation,
    /// The first element of the chunk.
    pub(super) start: &'a [u64],
    pub(super) array_shape: &'a [u64],
}

impl Elements<'_> {
    /// Whether elements of a type are looked at.
    pub(super) fn are_checked(data_type: &DataType) -> bool {
        *data_type == DataType::Bool
    }

    /// The first element inside the array that is no value of its type. What lies beyond the edge of the array is
    /// padding, which means nothing.
    pub(super) fn fault(&self, decoded: &[u8]) -> Option<String> {
        if !Self::are_checked(&self.representation.data_type) {
            return None;
        }
        let wrong = decoded.iter().enumerate().filter(|(_, byte)| **byte > 1);
        wrong
            .map(|(index, byte)| (unravel(index as u64, &self.representation.shape), byte))
            .map(|(offset, byte)| {
                let position: Vec<u64> =
                    offset.iter().zip(self.start).map(|(o, s)| o.saturating_add(*s)).collect();
                (position, byte)
            })
            .find(|(position, _)| position.iter().zip(self.array_shape).all(|(index, end)| index < end))
            .map(|(position, byte)| {
                format!("element {position:?} is the byte {byte}, expected 0 or 1 for bool")
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bool_of_other_bytes_is_found_inside_the_array_only() {
        let representation =
            ArrayRepresentation { data_type: DataType::Bool, shape: vec![2, 2], fill_value: None };
        let elements = Elements { representation: &representation, start: &[2, 0], array_shape: &[3, 2] };
        assert_eq!(elements.fault(&[0, 1, 7, 7]), None);
        let found = elements.fault(&[0, 3, 7, 7]).unwrap();
        assert!(found.contains("[2, 1]") && found.contains("byte 3"), "{found}");
    }
}
