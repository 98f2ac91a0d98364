//! `--verify` where the grids differ: block by block, as the blocks were written. Of two passes each is compared by
//! itself, what is staged with SOURCE and DEST with what is staged, so that no chunk is read more often than it was
//! for writing.

use super::{Compared, Comparison, Scope, Scratch};
use crate::array::ChunkSet;
use crate::array::fault::ChunkFault;
use crate::array::reader::ReadBuffers;
use crate::array::subchunks::SubchunkSource;
use crate::codec::conversion::round_trip;
use crate::codec::region::as_index;
use crate::codec::value_program::ValueProgram;
use crate::engine::driver::Driver;
use crate::engine::progress::Progress;
use crate::engine::route::rechunk::Rechunk;
use crate::engine::route::staged::Staged;
use crate::engine::route::visit::{GatheredSubchunk, visit_subchunks};
use crate::engine::transfer::Transfer;
use crate::grid::Region;
use crate::operation::transcode::plan::Plan;

impl<'a> Comparison<'a> {
    /// A comparison of intermediate data with what they were made of: values and fill value are the same.
    fn of_staging(transfer: &'a Transfer) -> Self {
        let chain = transfer.destination.subchunk_chain();
        let fill = chain.decoded().fill_value.as_ref().map(|fill| fill.0.clone()).unwrap_or_default();
        Comparison {
            scope: Scope::Whole,
            source: &transfer.source,
            destination: &transfer.destination,
            objects: ChunkSet::default(),
            change: ValueProgram::new(chain.decoded().data_type.size().unwrap_or(1)),
            read_back: round_trip(chain, 0),
            quantizes: false,
            max_loss: None,
            source_absent: fill.clone(),
            destination_fill: fill,
            absent_error: 0.0,
            codes: None,
        }
    }

    /// Compares over the subchunks of the destination, where its grid is another than the source's.
    pub(super) fn run_over_subchunks(
        &self,
        transfer: &Transfer,
        rechunk: &Rechunk,
        driver: &Driver,
        progress: &dyn Progress,
    ) -> Result<Compared, ChunkFault> {
        let written = SubchunkSource::new(self.destination);
        let size = self.destination_fill.len() as u64;
        let visit = |gathered: &GatheredSubchunk<'_>| {
            let count: u64 = gathered.shape.iter().product();
            let mut compared = Compared { elements: count, ..Compared::default() };
            if !self.scope.contains(self.destination.object_of(gathered.position).0) {
                return Ok(Compared::default());
            }
            let mut buffers = ReadBuffers::default();
            let subchunk = Region {
                start: self.destination.start_of_subchunk(gathered.position),
                shape: gathered.shape.to_vec(),
            };
            let to = buffers.read_subchunk(&written, gathered.position, &subchunk)?;
            let from = gathered.is_stored.then_some(gathered.elements);
            self.unit((from, to), as_index(count), &mut Scratch::default(), &mut compared)?;
            progress.advance(compared.elements.saturating_mul(size));
            Ok(compared)
        };
        let mut all = Compared::default();
        let is_wanted = |object| self.scope.contains(object);
        visit_subchunks(transfer, rechunk, driver, (&is_wanted, &visit), |compared| all += compared)?;
        Ok(all)
    }
}

/// Both passes of a job, or those that are asked for; the codes that occur in the end.
pub(super) fn staged_values(
    plan: &Plan,
    transfer: &Transfer,
    staged: &Staged,
    scope: Scope<'_>,
    driver: &Driver,
    progress: &dyn Progress,
) -> Result<(Compared, Option<Vec<bool>>), ChunkFault> {
    let mut compared = Compared::default();
    if !matches!(scope, Scope::Objects(_)) {
        let first = staged.first_transfer(transfer);
        let between = Comparison { scope, ..Comparison::of_staging(&first) };
        let between = between.run_over_subchunks(&first, &staged.first, driver, progress);
        compared = between.map_err(Staged::of_first)?;
        if matches!(scope, Scope::Between(_)) {
            return Ok((compared, None));
        }
    }
    let second =
        staged.second_transfer(transfer, None, driver).map_err(|fault| ChunkFault { index: 0, fault })?;
    let comparison = Comparison { scope, ..Comparison::new(plan, 0, &second) };
    let written = comparison.run_over_subchunks(&second, &staged.second, driver, progress);
    let between = std::mem::replace(&mut compared, written.map_err(Staged::of_second)?);
    compared.differing += between.differing;
    compared.max_abs_error = compared.max_abs_error.max(between.max_abs_error);
    Ok((compared, comparison.codes()))
}
