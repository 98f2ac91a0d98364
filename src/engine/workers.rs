//! Who does the parts of a piece of work: the thread that has it, or all threads.

use std::sync::{Mutex, MutexGuard};

use super::decoded_block::DecodedBlock;
use super::driver::Driver;
use crate::array::fault::Result;
use crate::array::reader::ReadBuffers;
use crate::codec::conversion::ConversionBuffers;
use crate::store::held;

/// Buffers that a thread keeps from object to object, so that nothing is allocated for each.
#[derive(Debug, Default)]
pub(super) struct ObjectBuffers {
    /// For a subchunk of the source.
    pub(super) source: ReadBuffers,
    /// An encoded object or subchunk of the destination.
    pub(super) written: Vec<u8>,
    pub(super) conversion: ConversionBuffers,
}

/// One thread, or all of them, which share each piece of work.
#[derive(Debug)]
pub(super) struct Workers<'a> {
    /// Their threads, and what stops them.
    pub(super) driver: &'a Driver,
    /// Their buffers; of one thread where others have work of their own.
    pub(super) buffers: &'a [Mutex<ObjectBuffers>],
    /// The block of the destination that they work on.
    pub(super) block: &'a mut DecodedBlock,
}

impl<'a> Workers<'a> {
    /// Buffers of a thread that works alone.
    pub(super) fn alone(&self) -> Option<MutexGuard<'a, ObjectBuffers>> {
        match self.buffers {
            [own] => Some(held(own)),
            _ => None,
        }
    }

    /// Does `work` for each of `0..count`; the results in order, or the first fault.
    pub(super) fn each<R: Send>(
        &self,
        count: usize,
        work: impl Fn(&mut ObjectBuffers, usize) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        let Some(mut own) = self.alone() else {
            return self.driver.map(self.buffers, count, work).into_iter().collect();
        };
        let each = (0..count).map(|item| {
            self.driver.interrupt().check()?;
            work(&mut own, item)
        });
        each.collect()
    }
}
