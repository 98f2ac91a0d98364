//! Which parts are done, and what they noted of each array: a receipt of each.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::part_report::PartReport;
use super::pass::PassName;
use super::plan_file::{PartsPlan, PassPlan};
use crate::engine::journal::Receipt;
use crate::engine::route::staged::Intermediate;
use crate::operation::error::OperationError;
use crate::operation::parts_result::PassStatus;
use crate::operation::transcode::site::cannot_write;
use crate::store::Node;

/// What a part notes that had nothing to do.
const NOTHING: &str = "none";

/// What the parts of a pass noted, by their numbers: for each array that they did anything of, by its number.
pub(super) type Noted<T> = BTreeMap<u64, Vec<(u64, T)>>;

/// Notes that a part is done, with what it did of each array, in words of letters, digits, `_` and single `-`; durable when this
/// returns.
pub(super) fn note(
    place: &Node,
    receipts: &str,
    part: u64,
    arrays: impl IntoIterator<Item = (u64, String)>,
) -> Result<(), OperationError> {
    let texts: Vec<String> = arrays.into_iter().map(|(array, text)| format!("{array}-{text}")).collect();
    let text = if texts.is_empty() { NOTHING.to_owned() } else { texts.join("--") };
    Receipt::make(place, receipts, part, &text).map_err(cannot_write)
}

/// Takes back that a part is done: it is done anew.
pub(super) fn forget(place: &Node, receipts: &str, part: u64) -> Result<(), OperationError> {
    Receipt::remove(place, receipts, part).map_err(cannot_write)
}

/// Whether a part is done by now.
pub(super) fn is_done(place: &Node, receipts: &str, part: u64) -> Result<bool, OperationError> {
    Ok(Receipt::all(place, receipts).map_err(cannot_write)?.contains_key(&part))
}

/// The receipts of a job, each pass listed once.
pub(super) struct Receipts<'a> {
    place: &'a Node,
    /// The folder of those of the job.
    folder: String,
    passes: BTreeMap<&'static str, BTreeMap<u64, Receipt>>,
}

impl<'a> Receipts<'a> {
    /// Those of a job that lie in DEST's place. A pass is listed when it is asked for first.
    pub(super) fn at(place: &'a Node, plan: &PartsPlan) -> Self {
        Receipts { place, folder: plan.done(), passes: BTreeMap::new() }
    }

    fn of(&mut self, pass: PassName) -> Result<&BTreeMap<u64, Receipt>, OperationError> {
        match self.passes.entry(pass.name()) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(unknown) => {
                let folder = format!("{}/{pass}", self.folder);
                Ok(unknown.insert(Receipt::all(self.place, &folder).map_err(cannot_write)?))
            }
        }
    }

    /// The parts of a pass that are done.
    pub(super) fn parts(&mut self, pass: &PassPlan) -> Result<Vec<u64>, OperationError> {
        let receipts = self.of(pass.name)?;
        Ok(receipts.keys().copied().filter(|part| *part < pass.partitions()).collect())
    }

    /// What the parts of a pass noted, each text as `read` has it.
    pub(super) fn noted<T>(
        &mut self,
        pass: PassName,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Noted<T>, OperationError> {
        let of_array = |text: &str| {
            let (array, text) = text.split_once('-')?;
            Some((array.parse().ok()?, read(text)?))
        };
        let place = self.place;
        let mut noted = Noted::new();
        let receipts: Vec<(&u64, &Receipt)> = self.of(pass)?.iter().collect();
        // Few have to be read: those are asked for together.
        for receipts in receipts.chunks(place.wants_hints().map_or(1, |ahead| ahead.requests).max(1)) {
            Receipt::expect(place, receipts.iter().map(|(_, receipt)| *receipt));
            for (part, receipt) in receipts {
                let text = receipt.text(place).map_err(cannot_write)?;
                let arrays =
                    if text == NOTHING { Some(Vec::new()) } else { text.split("--").map(of_array).collect() };
                let arrays = arrays.ok_or_else(|| is_no_receipt(receipt, **part, pass))?;
                noted.insert(**part, arrays);
            }
        }
        Ok(noted)
    }

    /// What the pass for intermediate data wrote of each array, by its number.
    pub(super) fn between(
        &mut self,
        plan: &PartsPlan,
    ) -> Result<BTreeMap<u64, Intermediate>, OperationError> {
        let mut between: BTreeMap<u64, Intermediate> = BTreeMap::new();
        if plan.passes.iter().all(|pass| pass.name != PassName::Staging) {
            return Ok(between);
        }
        for (array, report) in self.noted(PassName::Staging, PartReport::read)?.values().flatten() {
            let all = between.entry(*array).or_default();
            all.objects = all.objects.saturating_add(report.counted.written);
            all.bytes = all.bytes.saturating_add(report.counted.bytes_written);
        }
        Ok(between)
    }

    /// What is done of each pass.
    pub(super) fn status(&mut self, plan: &PartsPlan) -> Result<Vec<PassStatus>, OperationError> {
        let of = |pass: &PassPlan| {
            let done = self.parts(pass)?;
            let missing = (0..pass.partitions()).filter(|part| done.binary_search(part).is_err());
            Ok(PassStatus {
                name: pass.name.name(),
                partitions: pass.partitions(),
                done: done.len() as u64,
                missing: super::indices::list(missing),
            })
        };
        plan.passes.iter().map(of).collect()
    }
}

fn is_no_receipt(receipt: &Receipt, part: u64, pass: PassName) -> OperationError {
    let key = receipt.key();
    OperationError::environment(format!("`{key}` is not what a part notes when it is done"))
        .with_help(format!("remove it, and do part {part} of `{pass}` again"))
}
