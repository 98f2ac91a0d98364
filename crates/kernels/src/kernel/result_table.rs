//! A conversion of elements of one or two bytes as a table of all results.

use std::sync::OnceLock;

use super::FaultKind;
use super::dispatch::TileConversion;
use crate::element::{Element, with_bits};

/// The results for all values of a source type of one or two bytes.
#[derive(Debug, Clone)]
pub(crate) struct ResultTable {
    /// The results, one after the other, each with its own number of bytes. They are stored in words, so that they are
    /// aligned.
    results: Vec<u64>,
    is_fault: Vec<bool>,
    has_faults: bool,
    /// Bytes of an element and of a result.
    sizes: (usize, usize),
}

const BYTES: usize = 1 << 8;
const PAIRS: usize = 1 << 16;

impl ResultTable {
    /// Calls `convert` for all elements of one or two bytes.
    fn new(sizes: (usize, usize), convert: impl Fn(u64) -> Result<u64, FaultKind>) -> Self {
        let count = if sizes.0 == 1 { BYTES } else { PAIRS };
        let mut results = vec![0_u64; count * sizes.1 / 8];
        let mut is_fault = vec![false; count];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut results);
        for (index, is_fault) in is_fault.iter_mut().enumerate() {
            let converted = convert(index as u64);
            // The result of a fault is not used: a tile with one takes the exact path.
            super::tile::write_bits(bytes, sizes.1, index, converted.unwrap_or_default());
            *is_fault = converted.is_err();
        }
        let has_faults = is_fault.contains(&true);
        ResultTable { results, is_fault, has_faults, sizes }
    }

    /// Makes a conversion of tiles. It makes the table when it first runs.
    pub(crate) fn conversion(
        sizes: (usize, usize),
        convert: impl Fn(u64) -> Result<u64, FaultKind> + Send + Sync + 'static,
    ) -> TileConversion {
        let table = OnceLock::new();
        TileConversion::of_tile(move |source, target| {
            !table.get_or_init(|| Self::new(sizes, &convert)).convert(source, target)
        })
    }

    /// Looks up each element. Returns false if one is a fault.
    fn convert(&self, source: &[u8], target: &mut [u8]) -> bool {
        with_bits!(self.sizes.1, T => match self.sizes.0 {
            1 => self.look_up::<u8, T, BYTES>(source, target),
            _ => self.look_up::<u16, T, PAIRS>(source, target),
        })
    }

    /// Looks up each element. The compiler knows the length of the table, so it checks no index.
    fn look_up<S: Element + Into<usize>, T: Element, const COUNT: usize>(
        &self,
        source: &[u8],
        target: &mut [u8],
    ) -> bool {
        let results = bytemuck::try_cast_slice::<u64, T>(&self.results).ok();
        let results: Option<&[T; COUNT]> = results.and_then(|results| results.try_into().ok());
        let is_fault: Option<&[bool; COUNT]> = self.is_fault.as_slice().try_into().ok();
        let source: &[S] = bytemuck::try_cast_slice(source).unwrap_or_default();
        let (Some(results), Some(faults), Ok(target)) =
            (results, is_fault, bytemuck::try_cast_slice_mut::<u8, T>(target))
        else {
            return false;
        };
        for (x, result) in source.iter().zip(target) {
            *result = results[(*x).into() % COUNT];
        }
        !self.has_faults || !source.iter().fold(false, |is_any, x| is_any | faults[(*x).into() % COUNT])
    }
}
