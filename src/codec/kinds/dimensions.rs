//! `transpose` changes the order of the dimensions. `reshape` changes the shape and keeps the elements in the same
//! order.
//!
//! `transpose` reads "C" and "F", which version 1.0 of the specification had, and the empty permutation of an array
//! without dimensions. It writes permutations.
//!
//! Specification: <https://zarr-specs.readthedocs.io/en/latest/v3/codecs/transpose/>,
//! <https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/reshape>

use std::sync::Arc;

use super::error::CodecError;
use super::members::{ConfigurationReader, Member, MemberType, shown};
use super::{ArrayRepresentation, Binding, Coder, Effect, Kind, Made, Output, Representation, copy, zeroed};
use crate::diagnostic::code;
use crate::grid::{MAX_RANK, num_elements};
use crate::kernel::transpose::Transpose;
use crate::metadata::extension::{CodecMetadata, Findings};
use crate::metadata::json::{Json, Object};

/// `transpose`. v2 has the `order` of the array instead, which allows two permutations.
pub(crate) static TRANSPOSE: Kind = Kind {
    takes_any_type: true,
    ..Kind::new(|_| const { &[Member::required("order", MemberType::Any)] }, bind_transpose)
};

const PERMUTATION: &str = "a permutation of the dimensions";

/// Reads "C" or "F". Returns true if the dimensions are reversed.
fn letter(members: &mut ConfigurationReader<'_>, letter: &str, json: &Json) -> Option<bool> {
    if !["C", "F"].contains(&letter) {
        return members.unexpected(code::TRANSPOSE_ORDER, "order", PERMUTATION, json);
    }
    let message = format!("`order` of `transpose` is {letter:?}, which the specification no longer has");
    let help = "write it as a permutation: zarr-python and zarrs reject the letter";
    members.diagnostics.advise(code::TRANSPOSE_ORDER_LETTER, members.pointer_to("order"), message, help);
    Some(letter == "F")
}

fn permutation(members: &mut ConfigurationReader<'_>, entries: &[Json]) -> Option<Vec<usize>> {
    if entries.len() > MAX_RANK {
        let message =
            format!("`order` of `transpose` permutes {} dimensions, at most {MAX_RANK} are read", entries.len());
        return members.refuse(code::TRANSPOSE_ORDER, "order", message);
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
        members.report_entry(code::TRANSPOSE_ORDER, "order", position, message);
    }
    is_valid.then_some(order)
}

fn bind_transpose(to: &mut Binding<'_>) -> Option<Made> {
    let (members, mut reversed) = (&mut to.members, false);
    let permutation = match members.get("order")? {
        Json::Array(entries) => Some(permutation(members, entries)?),
        json @ Json::String(text) => {
            reversed = letter(members, text, json)?;
            None
        }
        other => return members.unexpected(code::CONFIGURATION_TYPE, "order", PERMUTATION, other),
    };
    let array = to.array?;
    let rank = array.shape.len();
    let of_letter = || if reversed { (0..rank).rev().collect() } else { (0..rank).collect() };
    let order: Vec<usize> = permutation.unwrap_or_else(of_letter);
    if order.len() != rank {
        let message = format!("`order` of `transpose` permutes {} dimensions, but its input has {rank}", order.len());
        return to.members.refuse(code::TRANSPOSE_ORDER, "order", message);
    }
    let shape = order.iter().map(|dimension| array.shape[*dimension]).collect();
    // For opaque or variable-length elements only the order counts.
    let plan = Transpose::new(&array.shape, &order, array.data_type.size().unwrap_or(1));
    let output = Some(Representation::Array(ArrayRepresentation { shape, ..array.clone() }));
    // A chunk that does not fit into memory has no plan. It is reported when the chain is bound.
    Some(Made { codec: plan.map(|plan| Arc::new(Permuted { order, plan }) as _), output })
}

#[derive(Debug)]
struct Permuted {
    order: Vec<usize>,
    plan: Transpose,
}

impl Coder for Permuted {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        zeroed(out.bytes, decoded.len())?;
        self.plan.encode(decoded, out.bytes).map_err(CodecError::bytes)
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        zeroed(out.bytes, encoded.len())?;
        self.plan.decode(encoded, out.bytes).map_err(CodecError::bytes)
    }

    fn effect(&self) -> Effect<'_> {
        Effect::Transpose(&self.order)
    }

    fn written(&self) -> Option<CodecMetadata> {
        let order: Vec<u64> = self.order.iter().map(|&dimension| dimension as u64).collect();
        Some(CodecMetadata::new("transpose", Some(Object::new().with("order", order))))
    }
}

/// `reshape`, which v2 does not have.
pub(crate) static RESHAPE: Kind = Kind {
    takes_any_type: true,
    ..Kind::new(|_| const { &[Member::required("shape", MemberType::Any)] }, bind_reshape)
};

/// One dimension of the encoded shape.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ReshapeDimension {
    /// A number of elements.
    Size(u64),
    /// The product of these dimensions of the decoded shape.
    Dimensions(Vec<usize>),
    /// -1: the number of remaining elements.
    Rest,
}

fn shape(members: &mut ConfigurationReader<'_>, json: &Json) -> Option<Vec<ReshapeDimension>> {
    let Some(entries) = json.as_array() else {
        return members.unexpected(code::CONFIGURATION_TYPE, "shape", "an array of dimensions", json);
    };
    let mut shape = Vec::with_capacity(entries.len());
    let mut last_dimension = None;
    for (index, entry) in entries.iter().enumerate() {
        let dimension = match dimension(entry) {
            Some(ReshapeDimension::Rest) if shape.contains(&ReshapeDimension::Rest) => {
                fault(members, index, "-1 is given twice");
                continue;
            }
            Some(dimension) => dimension,
            None => {
                let expected = "a positive integer, -1 or an array of dimensions";
                fault(members, index, &format!("expected {expected}, found {}", shown(entry)));
                continue;
            }
        };
        if let ReshapeDimension::Dimensions(dimensions) = &dimension {
            for dimension in dimensions {
                // `None` is less than any dimension, so the first one is always in order.
                if last_dimension >= Some(*dimension) {
                    let message = format!("dimension {dimension} of the input does not come in order");
                    fault(members, index, &message);
                }
                last_dimension = last_dimension.max(Some(*dimension));
            }
        }
        shape.push(dimension);
    }
    let is_valid = members.diagnostics.iter().all(|found| !found.is(code::RESHAPE_SHAPE));
    (is_valid && shape.len() == entries.len()).then_some(shape)
}

fn fault(members: &mut ConfigurationReader<'_>, index: usize, message: &str) {
    let message = format!("`shape` of `reshape`, dimension {index}: {message}");
    members.report_entry(code::RESHAPE_SHAPE, "shape", index, message);
}

fn dimension(json: &Json) -> Option<ReshapeDimension> {
    if let Some(dimensions) = json.as_array() {
        let dimensions = dimensions.iter().map(|json| usize::try_from(json.as_u64()?).ok());
        return dimensions.collect::<Option<_>>().map(ReshapeDimension::Dimensions);
    }
    match json.as_i128()? {
        -1 => Some(ReshapeDimension::Rest),
        size => u64::try_from(size).ok().filter(|size| *size > 0).map(ReshapeDimension::Size),
    }
}

/// Returns the encoded shape of a chunk of shape `decoded`. The error is the reason why there is none.
fn encoded_shape(dimensions: &[ReshapeDimension], decoded: &[u64]) -> Result<Vec<u64>, String> {
    let count = |lengths: &[u64]| {
        num_elements(lengths).ok_or_else(|| "the number of elements does not fit into 64 bits".to_owned())
    };
    let total = count(decoded)?;
    let mut encoded = Vec::with_capacity(dimensions.len());
    for dimension in dimensions {
        encoded.push(match dimension {
            ReshapeDimension::Size(size) => *size,
            // Until the product of the others is known.
            ReshapeDimension::Rest => 1,
            ReshapeDimension::Dimensions(own) => {
                let lengths: Option<Vec<u64>> = own.iter().map(|dimension| decoded.get(*dimension).copied()).collect();
                let missing = || format!("{own:?} are not among its {} dimensions", decoded.len());
                count(&lengths.ok_or_else(missing)?)?
            }
        });
    }
    let known = count(&encoded)?;
    if let Some(rest) = dimensions.iter().position(|dimension| *dimension == ReshapeDimension::Rest) {
        encoded[rest] = total.checked_div(known).unwrap_or(0);
    }
    // This also rejects a -1 whose division has left a remainder.
    if num_elements(&encoded) != Some(total) {
        return Err(format!("the encoded shape {encoded:?} has another number of elements"));
    }
    check_positions(dimensions, decoded, &encoded)?;
    Ok(encoded)
}

/// Checks the position of each dimension that is the product of some of the input's. The products before and after it
/// must be the same on both sides. Otherwise it would have other coordinates.
fn check_positions(shape: &[ReshapeDimension], decoded: &[u64], encoded: &[u64]) -> Result<(), String> {
    for (index, dimension) in shape.iter().enumerate() {
        let ReshapeDimension::Dimensions(dimensions) = dimension else { continue };
        let (Some(first), Some(last)) = (dimensions.first(), dimensions.last()) else { continue };
        let is_aligned = num_elements(&encoded[..index]) == num_elements(&decoded[..*first])
            && num_elements(&encoded[index + 1..]) == num_elements(&decoded[*last + 1..]);
        if !is_aligned {
            return Err(format!("dimension {index} is not made of the input dimensions {dimensions:?}"));
        }
    }
    Ok(())
}

fn bind_reshape(to: &mut Binding<'_>) -> Option<Made> {
    let json = to.members.get("shape")?;
    let shape = shape(&mut to.members, json)?;
    let array = to.array?;
    let shape = encoded_shape(&shape, &array.shape).map_err(|reason| {
        let message = format!("`reshape` of a chunk of {:?}: {reason}", array.shape);
        to.members.report(code::RESHAPE_SHAPE, "shape", message);
    });
    Some(Made::to_array(Reshaped, ArrayRepresentation { shape: shape.ok()?, ..array.clone() }))
}

/// A bound `reshape`. Elements do not move, and the shapes on both sides contain all information.
#[derive(Debug)]
struct Reshaped;

impl Coder for Reshaped {
    fn encode(&self, decoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        copy(decoded, out.bytes)
    }

    fn decode(&self, encoded: &[u8], out: &mut Output<'_>) -> Result<(), CodecError> {
        copy(encoded, out.bytes)
    }

    fn effect(&self) -> Effect<'_> {
        Effect::Reshape
    }
}
