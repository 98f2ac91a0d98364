//! The plan of a job in parts in DEST: the sealed plan, and the boundaries of its parts (`zarrcast.parts/6`).

use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::array::{ChunkSet, Listing};
use crate::engine::Job;
use crate::metadata::Json;
use crate::operation::transcode::sealed::{document_of, read_document};
use crate::operation::transcode::{Plan, SealedPlan, Source, cannot_write};
use crate::operation::{OperationError, Result, TranscodeOptions};
use crate::store::Node;

/// The key of the plan in DEST.
pub(crate) const KEY: &str = ".zarrcast/plan.json";

const SCHEMA: &str = "zarrcast.parts/6";

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PartsPlan {
    /// Distinguishes the job from any earlier or later one in the same DEST.
    pub id: String,
    /// Whether each part reads its own objects back.
    pub verifies: bool,
    /// The passes, in the order in which they run.
    pub passes: Vec<PassPlan>,
    /// The requested number of parts.
    pub partitions: u64,
    /// Memory in bytes for which the work is cut, whatever a part may use.
    pub budget_bytes: u64,
    /// Number of threads of a part.
    pub threads: usize,
    /// Peak memory of a part with this number of threads, in bytes.
    pub memory_bytes: u64,
    /// Approximate bytes of the elements of the largest part.
    pub bytes: u64,
    /// The stored chunks of each array of SOURCE when it was planned, and their bytes. No part lists them again. `None`
    /// if they are too scattered to be listed in the plan.
    pub present: Option<Vec<(ChunkSet, u64)>>,
    /// Everything that determines the content of DEST.
    #[serde(rename = "plan")]
    pub sealed: SealedPlan,
}

/// A pass of a job in parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PassName {
    /// Determines the range of quantised values in SOURCE.
    Range,
    /// Writes the intermediate data of a rechunk in two passes.
    Staging,
    /// Writes the stored objects of DEST.
    Write,
}

impl PassName {
    /// Returns the number of this pass among those over an array's chunks.
    pub(crate) fn number_in(self, job: &Job) -> usize {
        usize::from(self == PassName::Write && job.staged().is_some())
    }

    /// Returns the name in options and results.
    pub fn name(self) -> &'static str {
        match self {
            PassName::Range => "range",
            PassName::Staging => "staging",
            PassName::Write => "write",
        }
    }
}

impl fmt::Display for PassName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A pass, and the boundaries of its parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PassPlan {
    pub name: PassName,
    /// The boundaries: one more than the number of parts.
    pub boundaries: Vec<Boundary>,
}

impl PassPlan {
    pub(crate) fn partitions(&self) -> u64 {
        (self.boundaries.len() as u64).saturating_sub(1)
    }

    /// Returns the boundaries of a part.
    pub(crate) fn part(&self, index: u64) -> Option<(Boundary, Boundary)> {
        let index = usize::try_from(index).ok()?;
        Some((*self.boundaries.get(index)?, *self.boundaries.get(index + 1)?))
    }
}

/// A boundary between units: before unit `unit` of array `array`, both by number.
pub(crate) type Boundary = (usize, u64);

/// The units of an array that have any work, and the bytes of each.
pub(crate) struct ArrayUnits {
    pub units: ChunkSet,
    pub bytes: u64,
}

/// Returns the boundaries of at most `parts` parts with about equal bytes and at least one unit each. There is one more
/// boundary than parts.
pub(crate) fn cut(work: &[ArrayUnits], parts: u64) -> Vec<Boundary> {
    let total: u64 = work.iter().map(|work| work.units.len()).fold(0, u64::saturating_add);
    let parts = parts.min(total).max(1);
    let bytes = |work: &ArrayUnits| u128::from(work.units.len()) * u128::from(work.bytes);
    let all: u128 = work.iter().map(bytes).fold(0, u128::saturating_add);
    let mut boundaries = vec![(0, 0)];
    // Units before the array, bytes before it, and its number.
    let (mut units_before, mut bytes_before, mut array) = (0_u64, 0_u128, 0_usize);
    let mut before = 0;
    for part in 1..parts {
        // `all * part` could overflow, so the quotient and the remainder are multiplied separately.
        let share =
            all / u128::from(parts) * u128::from(part) + all % u128::from(parts) * u128::from(part) / u128::from(parts);
        let least = before + 1;
        let most = total - (parts - part);
        while array + 1 < work.len() && bytes_before + bytes(&work[array]) <= share {
            units_before += work[array].units.len();
            bytes_before += bytes(&work[array]);
            array += 1;
        }
        let unit = u128::from(work[array].bytes.max(1));
        let inside = (share - bytes_before + unit / 2) / unit;
        let inside = u64::try_from(inside).unwrap_or(u64::MAX).min(work[array].units.len());
        before = units_before.saturating_add(inside).clamp(least, most);
        boundaries.push(at(work, before));
    }
    boundaries.push((work.len(), 0));
    boundaries
}

/// Returns the boundary after `units` units of all arrays.
fn at(work: &[ArrayUnits], mut units: u64) -> Boundary {
    for (number, of_array) in work.iter().enumerate() {
        if let Some(unit) = of_array.units.nth(units) {
            return (number, unit);
        }
        units -= of_array.units.len();
    }
    (work.len(), 0)
}

/// Returns the units of an array between two boundaries. The end is open if the second boundary is in a later array.
pub(crate) fn units_between((from, to): (Boundary, Boundary), array: usize) -> Range<u64> {
    let [start, end] = [from, to].map(|(of, unit)| match of.cmp(&array) {
        Ordering::Less => 0,
        Ordering::Equal => unit,
        Ordering::Greater => u64::MAX,
    });
    start..end.max(start)
}

/// Maximum number of index ranges with which the plan lists stored chunks.
const MOST_RUNS: usize = 50_000;

/// Returns the stored chunks of arrays, and their bytes. `None` if they are too scattered to be listed in the plan.
pub(crate) fn present_of(arrays: &[Plan]) -> Option<Vec<(ChunkSet, u64)>> {
    let listings = || arrays.iter().map(|array| &array.listing);
    let runs = listings().flat_map(|listing| listing.present.runs()).take(MOST_RUNS + 1).count();
    let present = || listings().map(|listing| (listing.present.clone(), listing.present_bytes)).collect();
    (runs <= MOST_RUNS).then(present)
}

impl PartsPlan {
    /// Applies the changes of the plan to the arrays of SOURCE. Also sets their stored chunks.
    pub(crate) fn apply(&self, source: &mut Source) -> Result<()> {
        self.sealed.apply(source)?;
        for (array, (present, bytes)) in source.arrays.iter_mut().zip(self.present.iter().flatten()) {
            let (present, present_bytes) = (present.clone(), *bytes);
            array.listing = Some(Listing { present, present_bytes, ..Listing::default() });
        }
        Ok(())
    }

    /// Returns the options of a run of a part. The work is that of the plan, the resources are those of the caller.
    pub(crate) fn options(&self, options: &TranscodeOptions) -> TranscodeOptions {
        let mut options = self.sealed.options(options);
        (options.run.resume, options.run.verify, options.run.quality) = (true, self.verifies, false);
        options.run.requirements = Vec::new();
        options.run.partitions = Some(self.partitions);
        options
    }

    /// Returns a pass. `None` if the job has no such pass.
    pub(crate) fn pass(&self, name: PassName) -> Option<&PassPlan> {
        self.passes.iter().find(|pass| pass.name == name)
    }

    /// Returns the number of parts of the pass with the most parts.
    pub(crate) fn most_parts(&self) -> u64 {
        self.passes.iter().map(PassPlan::partitions).max().unwrap_or(0)
    }

    /// Returns the folder of all notes of the job. Other jobs neither read nor write there.
    pub(crate) fn folder(&self) -> String {
        format!(".zarrcast/{}", self.id)
    }

    /// Returns the folder of the log of a part.
    pub(crate) fn log(&self, pass: PassName, part: u64) -> String {
        format!("{}/parts/{pass}/{part}", self.folder())
    }

    /// Returns the key of the plan that includes the results of its first pass.
    pub(crate) fn resolved(&self) -> String {
        format!("{}/resolved.json", self.folder())
    }

    /// Returns whether another plan is the same job with the same parts.
    pub(crate) fn is_same(&self, other: &PartsPlan) -> bool {
        self.verifies == other.verifies
            && self.passes == other.passes
            && self.sealed.fingerprint() == other.sealed.fingerprint()
    }

    /// Writes the plan to a node. Returns false if another plan exists there, perhaps a new one. With the results of
    /// the first pass, a second writer has the same plan and keeps the existing one.
    pub(crate) fn write(&self, target: &Node, key: &str) -> Result<bool> {
        let document = Json::Object(document_of(SCHEMA, self)).to_document();
        target.publish_new(key, &document).map_err(cannot_write)
    }

    /// Returns the plan with a key in a node. `None` if there is none.
    pub(crate) fn find(target: &Node, key: &str) -> Result<Option<Self>> {
        let unreadable = |error: &dyn std::fmt::Display| {
            OperationError::environment(format!("`{key}` of `{}` cannot be read: {error}", target.name()))
                .with_help("remove DEST, and begin again with `--init`")
        };
        let Some(bytes) = target.read_document(key).map_err(cannot_write)? else { return Ok(None) };
        let (plan, is_intact) = read_document::<Self>(SCHEMA, &bytes).map_err(|fault| unreadable(&fault))?;
        let fault = (!is_intact).then_some("it was changed after it was sealed").or(plan.fault());
        fault.map_or(Ok(Some(plan)), |fault| Err(unreadable(&fault)))
    }

    /// Returns a fault of a plan that this program did not write.
    fn fault(&self) -> Option<&'static str> {
        // The identifier is part of keys. It must not lead out of the folder of the run.
        let is_name = !self.id.is_empty() && self.id.bytes().all(|letter| letter.is_ascii_alphanumeric());
        let ascends = |pass: &PassPlan| pass.boundaries.len() > 1 && pass.boundaries.is_sorted();
        if !is_name {
            return Some("`id` should be of letters and digits");
        }
        let is_cut = !self.passes.is_empty() && self.passes.iter().all(ascends);
        (!is_cut).then_some("`passes` should have ascending boundaries")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn work(arrays: &[(Vec<u64>, u64)]) -> Vec<ArrayUnits> {
        let of =
            |(units, bytes): &(Vec<u64>, u64)| ArrayUnits { units: ChunkSet::from_iter(units.clone()), bytes: *bytes };
        arrays.iter().map(of).collect()
    }

    /// Returns the units of each part, by array.
    fn shares(work: &[ArrayUnits], boundaries: &[Boundary]) -> Vec<Vec<(usize, u64)>> {
        let of = |pair: &[Boundary]| {
            (0..)
                .zip(work)
                .flat_map(|(number, work)| {
                    let range = units_between((pair[0], pair[1]), number);
                    let inside = work.units.iter().filter(move |unit| range.contains(unit));
                    inside.map(move |unit| (number, unit)).collect::<Vec<_>>()
                })
                .collect()
        };
        boundaries.windows(2).map(of).collect()
    }

    #[test]
    fn parts_of_one_array_are_alike() {
        let work = work(&[((0..10).collect(), 100)]);
        assert_eq!(cut(&work, 3), [(0, 0), (0, 3), (0, 7), (1, 0)]);
        assert_eq!(cut(&work, 1), [(0, 0), (1, 0)]);
    }

    #[test]
    fn small_arrays_share_a_part_and_a_large_one_has_many() {
        let work = work(&[(vec![0], 1), (vec![0], 1), ((0..8).collect(), 100), (vec![5], 1)]);
        assert_eq!(cut(&work, 4), [(0, 0), (2, 2), (2, 4), (2, 6), (4, 0)]);
    }

    #[test]
    fn work_of_nothing_is_one_part() {
        assert_eq!(cut(&[], 5), [(0, 0), (0, 0)]);
        assert_eq!(cut(&work(&[(vec![], 4)]), 5), [(0, 0), (1, 0)]);
    }

    proptest! {
        #[test]
        fn every_unit_is_in_one_part_and_no_part_is_empty(
            arrays in prop::collection::vec((prop::collection::btree_set(0..60_u64, 0..20), 1..1000_u64), 1..6),
            parts in 1..40_u64,
        ) {
            let arrays: Vec<(Vec<u64>, u64)> = arrays.into_iter().map(|(units, bytes)| (units.into_iter().collect(), bytes)).collect();
            let work = work(&arrays);
            let boundaries = cut(&work, parts);
            let total: usize = arrays.iter().map(|(units, _)| units.len()).sum();
            prop_assert_eq!(boundaries.len() as u64 - 1, parts.min(total as u64).max(1));
            let shares = shares(&work, &boundaries);
            prop_assert!(total == 0 || shares.iter().all(|share| !share.is_empty()));
            let all: Vec<(usize, u64)> = shares.concat();
            let wanted: Vec<(usize, u64)> = (0..).zip(&arrays).flat_map(|(n, (units, _))| units.iter().map(move |unit| (n, *unit))).collect();
            prop_assert_eq!(all, wanted);
        }
    }
}
