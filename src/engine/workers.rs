//! Who does the parts of a piece of work: the thread that has it, or all threads.

use std::sync::Mutex;

use super::decoded_block::DecodedBlock;
use super::driver::Driver;
use crate::array::fault::Fault;
use crate::array::interrupt::Interrupt;
use crate::engine::buffers::ObjectBuffers;

/// One thread, or all of them.
#[derive(Debug)]
pub(super) enum Workers<'a> {
    /// This thread alone; others have work of their own.
    One {
        /// What it keeps.
        buffers: &'a mut ObjectBuffers,
        /// What stops it.
        interrupt: &'a Interrupt,
    },
    /// All threads share each piece of work.
    All {
        /// The threads.
        driver: &'a Driver,
        /// What they keep.
        buffers: &'a [Mutex<ObjectBuffers>],
        /// The block of the destination that they work on.
        block: &'a mut DecodedBlock,
    },
}

impl Workers<'_> {
    /// The block that is worked on.
    pub(super) fn block(&mut self) -> &mut DecodedBlock {
        match self {
            Workers::One { buffers, .. } => &mut buffers.block,
            Workers::All { block, .. } => block,
        }
    }

    /// How many parts are worth doing at a time, where results are gathered.
    pub(super) fn at_once(&self) -> usize {
        match self {
            Workers::One { .. } => 1,
            Workers::All { driver, .. } => driver.num_threads() * 2,
        }
    }

    /// Does `work` for each of `0..count`; the results in order, or the first fault.
    pub(super) fn each<R: Send>(
        &mut self,
        count: usize,
        work: impl Fn(&mut ObjectBuffers, usize) -> Result<R, Fault> + Sync,
    ) -> Result<Vec<R>, Fault> {
        match self {
            Workers::One { buffers, interrupt } => (0..count)
                .map(|item| {
                    interrupt.check()?;
                    work(buffers, item)
                })
                .collect(),
            Workers::All { driver, buffers, .. } => driver.map(buffers, count, work).into_iter().collect(),
        }
    }
}
