//! A conversion of elements of one byte as a table of its 256 results.

use super::FaultKind;
use crate::element::Element;

/// What each byte becomes.
#[derive(Debug, Clone)]
pub(crate) struct ByteTable(Box<Entries>);

#[derive(Debug, Clone)]
struct Entries {
    results: [u64; 256],
    is_fault: [bool; 256],
    target_size: usize,
}

impl ByteTable {
    /// Asks `convert` for every byte; `target_size` is the bytes of a result.
    pub(crate) fn new(target_size: usize, convert: impl Fn(u64) -> Result<u64, FaultKind>) -> Self {
        let mut entries = Entries { results: [0; 256], is_fault: [false; 256], target_size };
        for byte in 0..=u8::MAX {
            let converted = convert(u64::from(byte));
            entries.results[usize::from(byte)] = converted.unwrap_or_default();
            entries.is_fault[usize::from(byte)] = converted.is_err();
        }
        ByteTable(Box::new(entries))
    }

    /// Looks each element up; `false` where one is a fault.
    pub(crate) fn convert(&self, source: &[u8], target: &mut [u8]) -> bool {
        match self.0.target_size {
            1 => self.look_up::<u8>(source, target),
            2 => self.look_up::<u16>(source, target),
            4 => self.look_up::<u32>(source, target),
            _ => self.look_up::<u64>(source, target),
        }
    }

    fn look_up<T: Element>(&self, source: &[u8], target: &mut [u8]) -> bool {
        let Ok(target) = bytemuck::try_cast_slice_mut::<u8, T>(target) else { return false };
        let mut is_fault = false;
        for (byte, result) in source.iter().zip(target) {
            *result = T::from_bits64(self.0.results[usize::from(*byte)]);
            is_fault |= self.0.is_fault[usize::from(*byte)];
        }
        !is_fault
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_gives_every_result_and_tells_of_faults() {
        let convert = |bits| if bits == 7 { Err(FaultKind::OutOfRange) } else { Ok(1000 + bits) };
        let table = ByteTable::new(2, convert);
        let mut target = [0_u16; 3];
        assert!(table.convert(&[0, 8, 255], bytemuck::cast_slice_mut(&mut target)));
        assert_eq!(target, [1000, 1008, 1255]);
        assert!(!table.convert(&[0, 7, 1], bytemuck::cast_slice_mut(&mut target)));
    }
}
