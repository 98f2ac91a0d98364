//! `numcodecs.delta`: the differences between neighbours.
//!
//! Documentation: <https://numcodecs.readthedocs.io/en/stable/filter/delta.html>

use std::sync::Arc;

use super::array::{ArrayCodec, ArrayFault, ArrayKind, Role};
use super::filter::{self, BoundFilter, Filter, FilterConfiguration, data_type, numbers};
use super::members::Members;
use super::numcodecs::{Form, Member};
use crate::kernel::numcodecs::{Delta, NumpyType};

/// `numcodecs.delta`.
pub(crate) static DELTA: ArrayKind = ArrayKind::new::<FilterConfiguration<Differences>>();

struct Differences;

impl Filter for Differences {
    const NAME: &'static str = "numcodecs.delta";
    const MEMBERS: &'static [Member] = &[Member::required("dtype", Form::DataType), data_type("astype")];

    fn read(_: &Members<'_>) -> Option<Self> {
        Some(Differences)
    }

    fn bound(&self, types: (NumpyType, NumpyType), swap: Option<usize>) -> Result<BoundFilter, &'static str> {
        let (decoded, encoded) = numbers(types)?;
        Ok(Arc::new(BoundDelta { delta: Delta::new(decoded, encoded), swap }))
    }
}

/// `numcodecs.delta` of two types.
#[derive(Debug)]
struct BoundDelta {
    delta: Delta,
    /// Bytes of an element that are swapped before it.
    swap: Option<usize>,
}

impl ArrayCodec for BoundDelta {
    fn encode(&self, decoded: &[u8], encoded: &mut Vec<u8>) -> Result<(), ArrayFault> {
        let differences = |source: &[u8], target: &mut [u8]| self.delta.encode(source, target);
        filter::encode(self.delta.types(), self.swap, differences, decoded, encoded)
    }

    fn decode(&self, encoded: &[u8], decoded: &mut Vec<u8>) -> Result<(), ArrayFault> {
        let sums = |source: &[u8], target: &mut [u8]| self.delta.decode(source, target);
        filter::decode(self.delta.types(), self.swap, sums, encoded, decoded)
    }

    fn role(&self) -> Role<'_> {
        Role::Delta(&self.delta)
    }
}
