//! Scalars in a configuration, in the encoding of fill values.

use crate::data_type::{FillValueError, Read};
use crate::diagnostic::{Code, Diagnostic};

/// The bits of a scalar that was read leniently or not at all; what is to be said goes to `diagnostics`.
pub(super) fn scalar(
    (code, what): (Code, &str),
    read: Result<Read<u64>, FillValueError>,
    pointer: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<u64> {
    match read {
        Ok(Read { value, notes }) => {
            diagnostics.extend(notes.iter().map(|note| note.diagnostic().at_pointer(pointer)));
            Some(value)
        }
        Err(error) => {
            diagnostics.push(Diagnostic::new(code, format!("{what}: {error}")).at_pointer(pointer));
            None
        }
    }
}
