//! The units of a pass, each done by one thread or shared by all of them.

use std::sync::{Mutex, MutexGuard};

use super::ahead::Reads;
use super::decoded_block::DecodedBlock;
use super::driver::{BATCH_OF_A_THREAD, Driver};
use crate::array::chunk_set::ChunkSet;
use crate::array::fault::{ChunkFault, Result};
use crate::array::reader::ReadBuffers;
use crate::codec::conversion::ConversionBuffers;
use crate::store::held;

/// Buffers that a thread keeps from object to object, so that nothing is allocated for each.
#[derive(Debug, Default)]
pub(super) struct Buffers<V = ()> {
    /// For a subchunk of the source.
    pub(super) source: ReadBuffers,
    /// An encoded object or subchunk of the destination.
    pub(super) written: Vec<u8>,
    pub(super) conversion: ConversionBuffers,
    /// The blocks of both sides; of threads that share each unit, those of the first.
    pub(super) blocks: [DecodedBlock; 2],
    /// For whoever is given elements.
    pub(super) visitor: V,
}

/// One thread, or all of them, which share each piece of work.
#[derive(Debug)]
pub(super) struct Workers<'a, V = ()> {
    /// Their threads, and what stops them.
    pub(super) driver: &'a Driver,
    /// Their buffers; of one thread where others have work of their own.
    pub(super) buffers: &'a [Mutex<Buffers<V>>],
}

impl<'a, V: Default + Send> Workers<'a, V> {
    /// Buffers of the first thread.
    pub(super) fn first(&self) -> MutexGuard<'a, Buffers<V>> {
        held(&self.buffers[0])
    }

    /// Buffers of a thread that works alone.
    pub(super) fn alone(&self) -> Option<MutexGuard<'a, Buffers<V>>> {
        (self.buffers.len() == 1).then(|| self.first())
    }

    /// Does `work` for each of `0..count`, and gives the results to `fold` in order, up to the first fault.
    pub(super) fn each<R: Send>(
        &self,
        count: u64,
        work: impl Fn(&mut Buffers<V>, u64) -> Result<R> + Sync,
        mut fold: impl FnMut(u64, R),
    ) -> Result<()> {
        let work = |buffers: &mut Buffers<V>, item| self.driver.checked(|| work(buffers, item));
        if let Some(mut own) = self.alone() {
            return (0..count).try_for_each(|item| {
                fold(item, work(&mut own, item)?);
                Ok(())
            });
        }
        let by = ((BATCH_OF_A_THREAD * self.buffers.len()) as u64, self.buffers);
        let done = self.driver.run_batches(&ChunkSet::full(count), &[], by, work, fold);
        done.map_err(|ChunkFault { fault, .. }| fault)
    }

    /// Does something with the blocks that are kept from unit to unit.
    pub(super) fn with_blocks<R>(&self, work: impl FnOnce(&mut [DecodedBlock; 2]) -> Result<R>) -> Result<R> {
        let mut blocks = std::mem::take(&mut self.first().blocks);
        let done = work(&mut blocks);
        self.first().blocks = blocks;
        done
    }
}

impl Driver {
    /// True if units are too few to go round.
    pub(super) fn outnumbers(&self, units: &ChunkSet) -> bool {
        units.len() < 2 * self.num_threads() as u64
    }

    /// [`Driver::run_ahead`], where all threads share each unit, one after the other, or each has units of its own.
    pub(super) fn run_units<V: Default + Send, R: Send>(
        &self,
        units: &ChunkSet,
        reads: &[&dyn Reads],
        shares_units: bool,
        work: impl Fn(&Workers<'_, V>, u64) -> Result<R> + Sync,
        fold: impl FnMut(u64, R),
    ) -> Result<(), ChunkFault> {
        let alone = self.alone();
        if shares_units {
            let workers = Workers { driver: self, buffers: &self.workspaces() };
            return alone.run_ahead(units, reads, |(): &mut (), unit| work(&workers, unit), fold);
        }
        let by_one = |buffers: &mut [Mutex<Buffers<V>>; 1], unit| work(&Workers { driver: &alone, buffers }, unit);
        self.run_ahead(units, reads, by_one, fold)
    }
}
