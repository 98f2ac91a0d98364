//! Slices of bytes as elements: tiles that stay in the cache, any alignment, and single elements as bits.

use super::{ElementFault, FaultKind};
use crate::element::{Element, with_bits};

/// Elements of a tile. Its sources, results and one scratch tile fit into the first-level cache.
pub(crate) const TILE: usize = 2048;

/// Bytes of a tile of the widest element.
const TILE_BYTES: usize = TILE * 8;

/// An aligned tile of any element type.
#[repr(C, align(64))]
pub(crate) struct TileBuffer {
    bytes: [u8; TILE_BYTES],
}

impl TileBuffer {
    pub(crate) const fn new() -> Self {
        TileBuffer { bytes: [0; TILE_BYTES] }
    }

    pub(crate) fn bytes_mut(&mut self, len: usize) -> &mut [u8] {
        let len = len.min(TILE_BYTES);
        &mut self.bytes[..len]
    }
}

/// Returns the bits of element `index`, zero-extended. It is 0 beyond the end.
pub(crate) fn read_bits(bytes: &[u8], size: usize, index: usize) -> u64 {
    let Some(element) = bytes.get(index * size..(index + 1) * size) else { return 0 };
    with_bits!(size, T => bytemuck::pod_read_unaligned::<T>(element).to_bits64())
}

/// Writes the low bits as element `index`. Does nothing beyond the end.
pub(crate) fn write_bits(bytes: &mut [u8], size: usize, index: usize, bits: u64) {
    let Some(element) = bytes.get_mut(index * size..(index + 1) * size) else { return };
    with_bits!(size, T => element.copy_from_slice(bytemuck::bytes_of(&T::from_bits64(bits))));
}

/// Returns the number of whole elements that both sides have.
pub(crate) fn num_elements(source: &[u8], source_size: usize, target: &[u8], target_size: usize) -> usize {
    debug_assert_eq!(source.len() / source_size, target.len() / target_size, "equal counts of elements");
    (source.len() / source_size).min(target.len() / target_size)
}

/// Bytes of a cache line, and of the widest store. A store that crosses lines costs as much as two.
const LINE: usize = 64;

/// Calls `each(source tile, target tile, index of its first element)` on aligned tiles, or on copies of unaligned ones.
///
/// The first tile is shorter if the targets of the other tiles then begin on a cache line.
pub(crate) fn for_each_tile<E>(
    (source, source_size): (&[u8], usize),
    (target, target_size): (&mut [u8], usize),
    mut each: impl FnMut(&[u8], &mut [u8], usize) -> Result<(), E>,
) -> Result<(), E> {
    let count = num_elements(source, source_size, target, target_size);
    let (mut source, mut target) = (&source[..count * source_size], &mut target[..count * target_size]);
    let mut length = match LINE - target.as_ptr().addr() % LINE {
        LINE => TILE,
        // A target that is not aligned to its elements reaches no line exactly. Its tiles are copied anyway.
        to_line => to_line.div_ceil(target_size),
    };
    let mut first = 0;
    while first < count {
        length = length.min(count - first);
        let (source_tile, source_rest) = source.split_at(length * source_size);
        let (target_tile, target_rest) = target.split_at_mut(length * target_size);
        if is_aligned(source_tile, source_size) && is_aligned(target_tile, target_size) {
            each(source_tile, target_tile, first)?;
        } else {
            copied(source_tile, target_tile, |source, target| each(source, target, first))?;
        }
        (source, target) = (source_rest, target_rest);
        first += length;
        length = TILE;
    }
    Ok(())
}

/// Converts each element of a tile from its bits. `first` is the index of the first element.
pub(crate) fn convert_each(
    (source, source_size): (&[u8], usize),
    (target, target_size): (&mut [u8], usize),
    first: usize,
    mut convert: impl FnMut(u64) -> Result<u64, FaultKind>,
) -> Result<(), ElementFault> {
    for index in 0..source.len() / source_size {
        let converted = convert(read_bits(source, source_size, index));
        let bits = converted.map_err(|kind| ElementFault { kind, index: first + index })?;
        write_bits(target, target_size, index, bits);
    }
    Ok(())
}

/// Runs `each` on aligned copies. It is a separate function, so that aligned slices do not need the two tiles on the
/// stack.
#[inline(never)]
fn copied<E>(source: &[u8], target: &mut [u8], each: impl FnOnce(&[u8], &mut [u8]) -> Result<(), E>) -> Result<(), E> {
    let (mut source_tile, mut target_tile) = (TileBuffer::new(), TileBuffer::new());
    let source_tile = source_tile.bytes_mut(source.len());
    source_tile.copy_from_slice(source);
    let target_tile = target_tile.bytes_mut(target.len());
    let outcome = each(source_tile, target_tile);
    target.copy_from_slice(target_tile);
    outcome
}

/// Visits tiles of elements of `size` bytes in order, as copies if they are not aligned.
pub(crate) fn each_tile(source: &[u8], size: usize, mut visit: impl FnMut(&[u8])) {
    let mut buffer = None;
    let whole = source.len() / size * size;
    for tile in source[..whole].chunks(TILE * size) {
        if is_aligned(tile, size) {
            visit(tile);
        } else {
            let copy = buffer.get_or_insert_with(TileBuffer::new).bytes_mut(tile.len());
            copy.copy_from_slice(tile);
            visit(copy);
        }
    }
}

/// Returns true if elements of `size` bytes may be borrowed from these bytes.
fn is_aligned(bytes: &[u8], size: usize) -> bool {
    bytes.as_ptr().addr().is_multiple_of(size)
}
