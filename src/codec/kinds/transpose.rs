//! `transpose`: the order of the dimensions.
//!
//! It reads "C" and "F", which version 1.0 of the specification had, and the empty permutation of an array without
//! dimensions; it writes permutations.
//!
//! Specification: <https://zarr-specs.readthedocs.io/en/latest/v3/codecs/transpose/>

use super::array::{ArrayKind, Binding, BoundArray, Role, zeroed};
use super::error::CodecError;
use super::member::{Form, Member};
use super::members::{Members, shown};
use super::{ArrayRepresentation, Coder, Output};
use crate::diagnostic::{Diagnostic, code};
use crate::grid::MAX_RANK;
use crate::kernel::transpose::{Transpose, TransposeError};
use crate::metadata::extension::CodecMetadata;
use crate::metadata::json::{Json, Object};

/// `transpose`. v2 has an `order` of its own instead, which knows of two permutations.
pub(crate) static TRANSPOSE: ArrayKind =
    ArrayKind { takes_any_type: true, ..ArrayKind::new(|_| const { &[Member::required("order", Form::Any)] }, bind) };

/// "C" and "F", by whether the dimensions are reversed.
fn letter(members: &mut Members<'_>, letter: &str, json: &Json) -> Option<bool> {
    if !["C", "F"].contains(&letter) {
        members.report_found(code::TRANSPOSE_ORDER, "order", "a permutation of the dimensions", json);
        return None;
    }
    let message = format!("`order` of `transpose` is {letter:?}, which the specification no longer has");
    let diagnostic = Diagnostic::new(code::TRANSPOSE_ORDER_LETTER, message)
        .with_help("write it as a permutation: zarr-python and zarrs reject the letter")
        .at_pointer(members.pointer_to("order"));
    members.diagnostics.push(diagnostic);
    Some(letter == "F")
}

fn permutation(members: &mut Members<'_>, entries: &[Json]) -> Option<Vec<usize>> {
    if entries.len() > MAX_RANK {
        let message =
            format!("`order` of `transpose` permutes {} dimensions, at most {MAX_RANK} are read", entries.len());
        members.report(code::TRANSPOSE_ORDER, "order", message);
        return None;
    }
    let mut order = Vec::with_capacity(entries.len());
    let mut seen = vec![false; entries.len()];
    let mut is_valid = true;
    for (position, entry) in entries.iter().enumerate() {
        let dimension = entry.as_u64().and_then(|value| usize::try_from(value).ok());
        let fault = match dimension.and_then(|dimension| seen.get_mut(dimension)) {
            Some(seen) if !*seen => {
                *seen = true;
                order.extend(dimension);
                continue;
            }
            Some(_) => "given before".to_owned(),
            None if entries.len() == 1 => "expected 0".to_owned(),
            None => format!("expected an integer from 0 to {}", entries.len() - 1),
        };
        is_valid = false;
        let message = format!("`order` of `transpose` has {} at position {position}: {fault}", shown(entry));
        let pointer = format!("{}/{position}", members.pointer_to("order"));
        members.diagnostics.push(Diagnostic::new(code::TRANSPOSE_ORDER, message).at_pointer(pointer));
    }
    is_valid.then_some(order)
}

fn bind(to: &mut Binding<'_>) -> Option<BoundArray> {
    let (members, mut reversed) = (&mut to.members, false);
    let permutation = match members.get("order")? {
        Json::Array(entries) => Some(permutation(members, entries)?),
        json @ Json::String(text) => {
            reversed = letter(members, text, json)?;
            None
        }
        other => {
            let expected = "a permutation of the dimensions";
            members.report_found(code::CONFIGURATION_TYPE, "order", expected, other);
            return None;
        }
    };
    let array = to.array()?;
    let rank = array.shape.len();
    let of_letter = || if reversed { (0..rank).rev().collect() } else { (0..rank).collect() };
    let order: Vec<usize> = permutation.unwrap_or_else(of_letter);
    if order.len() != rank {
        let message = format!(
            "`order` of `transpose` permutes {} dimensions, but the array that reaches it has {rank}",
            order.len()
        );
        to.members.report(code::TRANSPOSE_ORDER, "order", message);
        return None;
    }
    let shape = order.iter().map(|dimension| array.shape[*dimension]).collect();
    // Of elements that are not looked at, or lie in no fixed places, only the order counts.
    let plan = Transpose::new(&array.shape, &order, array.data_type.size().unwrap_or(1));
    let output = ArrayRepresentation { shape, ..array.clone() };
    Some(BoundArray::to_array(Permuted { order, plan }, output))
}

/// A bound `transpose`.
#[derive(Debug)]
struct Permuted {
    order: Vec<usize>,
    /// The moves of the elements; an error for a chunk that no memory holds.
    plan: Result<Transpose, TransposeError>,
}

impl Permuted {
    fn plan(&self) -> Result<&Transpose, CodecError> {
        self.plan.as_ref().map_err(CodecError::bytes)
    }
}

impl Coder for Permuted {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        zeroed(out.bytes, decoded.len())?;
        self.plan()?.encode(decoded, out.bytes).map_err(CodecError::bytes)
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        zeroed(out.bytes, encoded.len())?;
        self.plan()?.decode(encoded, out.bytes).map_err(CodecError::bytes)
    }

    fn role(&self) -> Role<'_> {
        Role::Transpose(&self.order)
    }

    fn refusal(&self) -> Option<String> {
        self.plan.as_ref().err().map(ToString::to_string)
    }

    fn written(&self) -> Option<CodecMetadata> {
        let order: Vec<u64> = self.order.iter().map(|&dimension| dimension as u64).collect();
        Some(CodecMetadata::new("transpose", Some(Object::new().with("order", order))))
    }
}
