//! `astype` of numpy between numbers, and the pass over tiles that ends or begins with it.

use super::number::Real;
use crate::element::NumberType;
use crate::kernel::cast::{Cast, CastOptions};
use crate::kernel::tile::{TileBuffer, for_each_tile};
use crate::kernel::{ElementFault, FaultKind, OutOfRange, Rounding};
use crate::with_float;

/// Treatment of a value that the target cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Excess {
    /// As numpy has it: integers wrap, floats become infinite. A float outside of an integer type is a fault.
    Numpy,
    /// The same, and a float wraps to an integer type as far as numpy does: within 32 bits, of 64-bit types within 64.
    Wrapping,
    /// Integers may wrap where wrapping back restores them; anything else is a fault.
    Reversible,
    /// A fault.
    Fault,
}

/// A cast between two types; nothing where they are one.
#[derive(Debug, Clone)]
pub(super) struct NumpyCast {
    cast: Option<Cast>,
    /// The integers that floats wrap from; another is a fault.
    wraps: Option<NumberType>,
}

impl NumpyCast {
    pub(super) fn new(source: NumberType, target: NumberType, excess: Excess) -> Self {
        let are_integers = !source.is_float() && !target.is_float();
        let narrows = target.bits() < source.bits();
        let is_signed = target.element().is_signed_integer();
        let wraps = (excess == Excess::Wrapping && source.is_float() && !target.is_float()).then_some(target);
        let (source, out_of_range) = match excess {
            Excess::Numpy | Excess::Wrapping if are_integers => (source, OutOfRange::Wrap),
            Excess::Numpy | Excess::Wrapping if target.is_float() => (source, OutOfRange::Clamp),
            Excess::Wrapping => (source, OutOfRange::Wrap),
            // 65535 as an int16 is -1, which an int8 can hold and bring back.
            Excess::Reversible if are_integers && narrows => {
                (NumberType::integer(is_signed, source.bits()).unwrap_or(source), OutOfRange::Error)
            }
            Excess::Reversible if are_integers => (source, OutOfRange::Wrap),
            _ => (source, OutOfRange::Error),
        };
        let rounding = if target.is_float() { Rounding::NearestEven } else { Rounding::TowardsZero };
        let options = CastOptions { source, target, rounding, out_of_range, scalar_map: Vec::new() };
        NumpyCast { cast: (source != target).then(|| Cast::new(options)), wraps }
    }

    /// Casts elements, as many as both slices hold.
    pub(super) fn convert(&self, source: &[u8], target: &mut [u8]) -> Result<(), ElementFault> {
        let Some(cast) = &self.cast else {
            let length = source.len().min(target.len());
            target[..length].copy_from_slice(&source[..length]);
            return Ok(());
        };
        if let Some(target) = self.wraps {
            with_float!(cast.options().source.element(), T => check_wrapping::<T>(source, target), else Ok(()))?;
        }
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

/// Refuses finite floats that numpy does not wrap to an integer type: C leaves their cast undefined. It goes through a
/// signed integer of 32 bits, or of 64 for types of as many, unless the type itself holds the value.
fn check_wrapping<T: Real>(source: &[u8], target: NumberType) -> Result<(), ElementFault> {
    let through = if target.size() == 8 { 63 } else { 31 };
    let unsigned = if target.element().is_signed_integer() { 0 } else { target.bits() };
    let (least, beyond) = (-2_f64.powi(through), 2_f64.powi(through.max(unsigned.cast_signed())));
    let source = bytemuck::try_cast_slice::<u8, T>(source).unwrap_or_default();
    let is_undefined = |value: &T| {
        let value = value.to_f64().trunc();
        value.is_finite() && !(least..beyond).contains(&value)
    };
    match source.iter().position(is_undefined) {
        Some(index) => Err(ElementFault { kind: FaultKind::Overflow, index }),
        None => Ok(()),
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
