//! What a thread keeps from object to object, so that nothing is allocated for each.

use super::decoded_block::DecodedBlock;
use crate::codec::chain::Workspace;
use crate::codec::conversion::ConversionBuffers;

/// What a thread keeps from object to object.
#[derive(Debug, Default)]
pub struct ObjectBuffers {
    /// An encoded object or subchunk of the source.
    pub(super) read: Vec<u8>,
    /// A decoded subchunk of the source.
    pub(super) decoded: Vec<u8>,
    /// An encoded object or subchunk of the destination.
    pub(super) written: Vec<u8>,
    pub(super) conversion: ConversionBuffers,
    pub(super) workspace: Workspace,
    /// A block of the destination.
    pub(super) block: DecodedBlock,
}

impl ObjectBuffers {
    /// What encoding needs.
    pub(super) fn for_encoding(&mut self) -> (&mut Vec<u8>, &mut ConversionBuffers) {
        (&mut self.written, &mut self.conversion)
    }
}
