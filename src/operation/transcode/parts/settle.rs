//! What the first pass found decides the quantisation: settled once, and the same whoever settles it.

use std::num::NonZeroUsize;

use super::done::DoneParts;
use super::init::{largest_part, memory, passes};
use super::pass::PassName;
use super::plan_file::PartsPlan;
use super::survey;
use crate::array::interrupt::Interrupt;
use crate::engine::progress::Progress;
use crate::operation::error::OperationError;
use crate::operation::options::TranscodeOptions;
use crate::operation::transcode::run::Prepared;
use crate::operation::transcode::sealed::SealedPlan;
use crate::operation::transcode::tree::Source;
use crate::store::Node;

/// The plan with what its first pass found, once all parts of that are done; the plan as it is before that, and where it has
/// no such pass.
pub(super) fn settled(
    plan: PartsPlan,
    (place, done): (&Node, &mut DoneParts<'_>),
    options: &TranscodeOptions,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<PartsPlan, OperationError> {
    let Some(range) = plan.passes.iter().find(|pass| pass.name == PassName::Range) else { return Ok(plan) };
    if let Some(settled) = plan.find_settled(place)? {
        return Ok(settled);
    }
    if (done.parts(range)?.len() as u64) < range.partitions() {
        return Ok(plan);
    }
    let found = done.noted(PassName::Range)?;
    let mut options = plan.options(options);
    // As the plan was made, whatever this process may use.
    options.run.common.max_memory = Some(plan.budget_bytes);
    options.run.common.threads = NonZeroUsize::new(plan.threads);
    let tell = |source: &mut Source| {
        let type_of = |array: u64| {
            let array = usize::try_from(array).ok().and_then(|array| source.arrays.get(array))?;
            array.opened.data_type.number()
        };
        let surveys = survey::merged(found.values().flatten(), type_of);
        plan.apply_surveyed(source, surveys)
    };
    let prepared = Prepared::new(&options, tell, progress, interrupt)?;
    prepared.check_room()?;
    let Prepared { source, arrays, documents, .. } = prepared;
    let mut all = vec![range.clone()];
    all.extend(passes(&arrays, &[], plan.partitions));
    let settled = PartsPlan {
        passes: all,
        memory_bytes: memory(&arrays),
        bytes: largest_part(&arrays, plan.partitions),
        sealed: SealedPlan::seal(&options, &source, &arrays, documents),
        ..plan
    };
    settled.settle_in(place)?;
    Ok(settled)
}
