//! `astype` of numpy between numbers, and the pass over tiles that ends or begins with it.

use crate::element::NumberType;
use crate::kernel::cast::{Cast, CastOptions};
use crate::kernel::tile::{TileBuffer, for_each_tile};
use crate::kernel::{ElementFault, FaultKind, OutOfRange, Rounding};

/// What becomes of a value that the target cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Excess {
    /// As numpy has it: integers wrap, floats become infinite.
    Numpy,
    /// Integers may wrap where wrapping back restores them; anything else is a fault.
    Reversible,
    /// A fault.
    Fault,
}

/// A cast between two types; nothing where they are one.
#[derive(Debug, Clone)]
pub(super) struct NumpyCast {
    cast: Option<Cast>,
}

impl NumpyCast {
    pub(super) fn new(source: NumberType, target: NumberType, excess: Excess) -> Self {
        let are_integers = !source.is_float() && !target.is_float();
        let narrows = target.bits() < source.bits();
        let is_signed = target.element().is_signed_integer();
        let (source, out_of_range) = match excess {
            Excess::Numpy if are_integers => (source, OutOfRange::Wrap),
            Excess::Numpy if target.is_float() => (source, OutOfRange::Clamp),
            // 65535 as an int16 is -1, which an int8 can hold and bring back.
            Excess::Reversible if are_integers && narrows => {
                (NumberType::integer(is_signed, source.bits()).unwrap_or(source), OutOfRange::Error)
            }
            Excess::Reversible if are_integers => (source, OutOfRange::Wrap),
            _ => (source, OutOfRange::Error),
        };
        let rounding = if target.is_float() { Rounding::NearestEven } else { Rounding::TowardsZero };
        let options = CastOptions { source, target, rounding, out_of_range, scalar_map: Vec::new() };
        NumpyCast { cast: (source != target).then(|| Cast::new(options)) }
    }

    /// Casts elements, as many as both slices hold.
    pub(super) fn convert(&self, source: &[u8], target: &mut [u8]) -> Result<(), ElementFault> {
        let Some(cast) = &self.cast else {
            let length = source.len().min(target.len());
            target[..length].copy_from_slice(&source[..length]);
            return Ok(());
        };
        cast.convert(source, target).map_err(|fault| match fault.kind {
            // There is no `out_of_range` that could be chosen.
            FaultKind::OutOfRange => ElementFault { kind: FaultKind::Overflow, ..fault },
            _ => fault,
        })
    }

    /// Runs `arithmetic` from tile to tile, and casts what it gives, of `size` bytes each. Sources and targets come
    /// with the sizes of their elements.
    pub(super) fn after(
        &self,
        (source, source_size): (&[u8], usize),
        target: (&mut [u8], usize),
        size: usize,
        mut arithmetic: impl FnMut(&[u8], &mut [u8]) -> Result<(), ElementFault>,
    ) -> Result<(), ElementFault> {
        let mut scratch = TileBuffer::new();
        for_each_tile((source, source_size), target, |source, target, first| {
            let at = |fault: ElementFault| ElementFault { index: first + fault.index, ..fault };
            if self.cast.is_none() {
                return arithmetic(source, target).map_err(at);
            }
            let results = scratch.bytes_mut(source.len() / source_size * size);
            arithmetic(source, results).map_err(at)?;
            self.convert(results, target).map_err(at)
        })
    }
}

/// Calls `each` on the elements of aligned tiles; the first fault is named.
pub(super) fn map_elements<S: bytemuck::Pod, T: bytemuck::Pod>(
    source: &[u8],
    target: &mut [u8],
    mut each: impl FnMut(S) -> Result<T, FaultKind>,
) -> Result<(), ElementFault> {
    let source = bytemuck::try_cast_slice::<u8, S>(source).unwrap_or_default();
    let target = bytemuck::try_cast_slice_mut::<u8, T>(target).unwrap_or_default();
    for (index, (source, target)) in source.iter().zip(target).enumerate() {
        *target = each(*source).map_err(|kind| ElementFault { kind, index })?;
    }
    Ok(())
}
