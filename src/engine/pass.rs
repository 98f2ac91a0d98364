//! The one loop by which objects are written: unit by unit, each by one thread, or all threads at one after the other.

use std::sync::Mutex;

use super::ahead::{ReadAhead, Reads};
use super::buffers::ObjectBuffers;
use super::decoded_block::DecodedBlock;
use super::driver::{Driver, guarded};
use super::report::ObjectReport;
use super::workers::Workers;
use crate::array::chunk_set::ChunkSet;
use crate::array::fault::{ChunkFault, Fault};

/// What a pass over an array does: its units are objects of the destination, or batches of them.
pub(super) trait Pass: Reads {
    /// The units that have anything to do.
    fn units(&self) -> ChunkSet;

    /// Whether all threads share each of some units, one after the other.
    fn shares_units(&self, _units: &ChunkSet, _threads: usize) -> bool {
        false
    }

    /// Does a unit, as far as it is not done, and notes it.
    fn unit(&self, unit: u64, workers: &mut Workers<'_>) -> Result<ObjectReport, Fault>;

    /// The object that a fault of a unit is of which tells of no object.
    fn object_of(&self, unit: u64) -> u64 {
        unit
    }
}

/// Does all units of a pass; reports are given to `fold` in their order.
pub(super) fn run(
    pass: &impl Pass,
    driver: &Driver,
    fold: &mut dyn FnMut(ObjectReport),
) -> Result<(), ChunkFault> {
    let located = |ChunkFault { index, fault }| {
        let index = pass.object_of(index);
        ChunkFault { index, fault: fault.of_destination(index) }
    };
    let (units, reads): (ChunkSet, [&dyn Reads; 1]) = (pass.units(), [pass]);
    if !pass.shares_units(&units, driver.num_threads()) {
        let work = |buffers: &mut ObjectBuffers, unit| {
            pass.unit(unit, &mut Workers::One { buffers, interrupt: driver.interrupt() })
        };
        return driver.run_ahead(&units, &reads, work, |_, report| fold(report)).map_err(located);
    }
    let buffers: Vec<Mutex<ObjectBuffers>> = driver.workspaces();
    let mut block = DecodedBlock::default();
    let ahead = ReadAhead::of(&reads, &units);
    for (place, index) in (0..).zip(units.iter()) {
        for ahead in &ahead {
            ahead.begin(place);
        }
        let workers = &mut Workers::All { driver, buffers: &buffers, block: &mut block };
        let done = guarded(|| pass.unit(index, workers));
        fold(done.map_err(|fault| located(ChunkFault { index, fault }))?);
    }
    Ok(())
}
