//! The plan of a job in parts, as it lies in DEST: the sealed plan, and where its work is cut (`zarrcast.parts/3`).

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::cut::Boundary;
use crate::array::{ChunkSet, Listing};
use crate::engine::Job;
use crate::metadata::Json;
use crate::operation::transcode::sealed::{document_of, read_document};
use crate::operation::transcode::{PlannedArray, SealedPlan, Source, cannot_write};
use crate::operation::{OperationError, Survey, TranscodeOptions};
use crate::store::Node;

/// The key of the plan in DEST.
pub(super) const KEY: &str = ".zarrcast/plan.json";

const SCHEMA: &str = "zarrcast.parts/3";

/// A job in parts.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct PartsPlan {
    /// Tells the job from any other that is planned in the same place, before or after it.
    pub id: String,
    /// Whether each part reads its own objects back.
    pub verifies: bool,
    /// The passes, in the order in which they run.
    pub passes: Vec<PassPlan>,
    /// The number of parts that was asked for.
    pub partitions: u64,
    /// Bytes of memory by which work is cut, whatever a part may use.
    pub budget_bytes: u64,
    /// Threads of a part.
    pub threads: usize,
    /// Bytes that a part has in memory at most, with so many threads.
    pub memory_bytes: u64,
    /// Bytes of the elements of the largest part, about.
    pub bytes: u64,
    /// The chunks of each array of SOURCE that were there when it was planned: no part lists them again. `None` where they are
    /// too scattered to be written down.
    pub present: Option<Vec<ChunkSet>>,
    /// All that decides what DEST will hold.
    #[serde(rename = "plan")]
    pub sealed: SealedPlan,
}

/// A pass, by what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PassName {
    /// The range of values that are quantised is looked for in SOURCE.
    Range,
    /// The intermediate data of a rechunk in two passes are written.
    Staging,
    /// The stored objects of DEST are written.
    Write,
}

impl PassName {
    /// The number of this pass among those over an array's chunks.
    pub(super) fn number_in(self, job: &Job) -> usize {
        usize::from(self == PassName::Write && job.staged().is_some())
    }

    /// As options and results have it.
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

/// Where a pass is cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PassPlan {
    pub name: PassName,
    /// One more than there are parts.
    pub boundaries: Vec<Boundary>,
}

impl PassPlan {
    /// The number of parts.
    pub(super) fn partitions(&self) -> u64 {
        (self.boundaries.len() as u64).saturating_sub(1)
    }

    /// The boundaries of a part.
    pub(super) fn part(&self, index: u64) -> Option<(Boundary, Boundary)> {
        let index = usize::try_from(index).ok()?;
        Some((*self.boundaries.get(index)?, *self.boundaries.get(index + 1)?))
    }
}

/// Pairs of numbers by which chunks that are there are written down, at most.
const MOST_RUNS: usize = 50_000;

/// The chunks of arrays that are there, unless they are too scattered to be written down.
pub(super) fn present_of(arrays: &[PlannedArray]) -> Option<Vec<ChunkSet>> {
    let present: Vec<ChunkSet> = arrays.iter().map(|array| array.plan.listing.present.clone()).collect();
    let runs = present.iter().flat_map(ChunkSet::runs).take(MOST_RUNS + 1).count();
    (runs <= MOST_RUNS).then_some(present)
}

impl PartsPlan {
    /// Lets the arrays of SOURCE be changed as the plan has it, and tells which of their chunks are there, and what the first
    /// pass found of arrays, by their numbers.
    pub(super) fn apply(&self, source: &mut Source, surveys: BTreeMap<usize, Survey>) -> Result<(), OperationError> {
        self.sealed.apply(source, surveys)?;
        for (array, present) in source.arrays.iter_mut().zip(self.present.iter().flatten()) {
            array.listing = Some(Listing { present: present.clone(), ..Listing::default() });
        }
        Ok(())
    }

    /// The options of a run of a part: all that is done is the plan's, what it may use is the caller's.
    pub(super) fn options(&self, options: &TranscodeOptions) -> TranscodeOptions {
        let mut options = self.sealed.options(options);
        (options.run.resume, options.run.verify, options.run.quality) = (true, self.verifies, false);
        options.run.requirements = Vec::new();
        options.run.partitions = Some(self.partitions);
        options
    }

    /// The number of parts of the pass with most of them.
    pub(super) fn most_parts(&self) -> u64 {
        self.passes.iter().map(PassPlan::partitions).max().unwrap_or(0)
    }

    /// The folder of all that the job notes: nothing of another job is read or written there.
    pub(super) fn folder(&self) -> String {
        format!(".zarrcast/{}", self.id)
    }

    /// The folder of what parts note when they are done.
    pub(super) fn done(&self) -> String {
        format!("{}/done", self.folder())
    }

    /// The same of a pass.
    pub(super) fn done_of(&self, pass: PassName) -> String {
        format!("{}/{pass}", self.done())
    }

    /// Where the log of a part lies.
    pub(super) fn log(&self, pass: PassName, part: u64) -> String {
        format!("{}/parts/{pass}/{part}", self.folder())
    }

    /// The key of the plan with what its first pass found.
    pub(super) fn settled(&self) -> String {
        format!("{}/settled.json", self.folder())
    }

    /// Whether another plan is the same job, cut alike.
    pub(super) fn is_same(&self, other: &PartsPlan) -> bool {
        self.verifies == other.verifies
            && self.passes == other.passes
            && self.sealed.fingerprint() == other.sealed.fingerprint()
    }

    /// Writes the plan down in a node; false where another stands there, which may just have been made. With what its first
    /// pass found, whoever comes second has the same, and leaves it.
    pub(super) fn write(&self, place: &Node, key: &str) -> Result<bool, OperationError> {
        let document = Json::Object(document_of(SCHEMA, self)).to_document();
        place.publish_new(key, &document).map_err(cannot_write)
    }

    /// The plan that lies in a node; `None` where none does.
    pub(super) fn find(place: &Node) -> Result<Option<Self>, OperationError> {
        Self::find_at(place, KEY)
    }

    /// This plan with what its first pass found; `None` where that is not there yet.
    pub(super) fn find_settled(&self, place: &Node) -> Result<Option<Self>, OperationError> {
        Self::find_at(place, &self.settled())
    }

    fn find_at(place: &Node, key: &str) -> Result<Option<Self>, OperationError> {
        let unreadable = |error: &dyn std::fmt::Display| {
            OperationError::environment(format!("`{key}` of `{}` cannot be read: {error}", place.name()))
                .with_help("remove DEST, and begin again with `--init`")
        };
        let Some(bytes) = place.read_document(key).map_err(cannot_write)? else { return Ok(None) };
        let (plan, is_intact): (PartsPlan, bool) = read_document(SCHEMA, &bytes).map_err(|fault| unreadable(&fault))?;
        let fault = (!is_intact).then_some("it was changed after it was sealed").or(plan.fault());
        fault.map_or(Ok(Some(plan)), |fault| Err(unreadable(&fault)))
    }

    /// A fault of a plan that this program did not write.
    fn fault(&self) -> Option<&'static str> {
        let is_name = !self.id.is_empty() && self.id.bytes().all(|letter| letter.is_ascii_alphanumeric());
        let ascends =
            |pass: &PassPlan| pass.boundaries.len() > 1 && pass.boundaries.windows(2).all(|pair| pair[0] <= pair[1]);
        if !is_name {
            return Some("`id` should be of letters and digits");
        }
        let is_cut = !self.passes.is_empty() && self.passes.iter().all(ascends);
        (!is_cut).then_some("`passes` should have ascending boundaries")
    }
}
