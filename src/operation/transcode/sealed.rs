//! A plan that can be serialised and read again. It determines the content of DEST and the work on its chunks.
//!
//! A run follows its sealed plan. Its fingerprint identifies the journal, and its documents are published. One process
//! keeps it in memory, with the documents of every node, which may be many. A job in parts writes it to a file and
//! reads it again, perhaps on another machine. There it is resolved against SOURCE again, without a pass over the data.
//! The quantisations and block shapes are those of the plan. The result must be the same plan.
//!
//! The plan of a job in parts in DEST: the sealed plan, and the boundaries of its parts (`zarrcast.parts/6`).
//!
//! Notes of completed parts about each array: one object per part, named by its number.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::ops::Range;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::plan::{BlockShapes, ResolvedPlan, route::name_of};
use super::{Plan, Source, Verification, cannot_write};
use crate::array::{ChunkSet, Listing};
use crate::engine::{Fingerprint, Job, ObjectReport, journal::digest, route::staged::Intermediate};
use crate::grid::volume;
use crate::kernel::quantize::float_bits;
use crate::metadata::{Json, Object};
use crate::operation::{
    ChangeOptions, CompressionResult, FirstPassStats, OpenedArray, OperationError, PathPattern, Quantization, Result,
    TranscodeOptions, VerifyResult, transcode_result::PassStatus,
};
use crate::store::{MAX_DOCUMENT_BYTES, Node, Part};

/// Everything that determines the content of DEST and the work on its chunks.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct SealedPlan {
    /// Version of zarrcast: another one may write other bytes.
    program: String,
    /// Location of SOURCE, with links resolved.
    store: String,
    /// Digests of the documents of SOURCE's arrays, by key.
    source: BTreeMap<String, String>,
    zarr_format: Option<u64>,
    only: Vec<PathPattern>,
    no_consolidate: bool,
    /// Documents of DEST to be published. The last one makes it a node.
    pub(super) documents: Vec<(String, String)>,
    /// The arrays, sorted by path.
    pub(super) arrays: Vec<SealedArray>,
    /// Arrays that the options spare, for the report.
    spared: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct SealedArray {
    /// Path with its leading slash. `/` for SOURCE itself.
    path: String,
    change: ChangeOptions,
    compression: Option<CompressionResult>,
    resolved: ResolvedPlan,
    /// Name of its route, for readers of the plan.
    route: String,
    /// Number of units in each pass: stored chunks of DEST, or blocks.
    units: Vec<u64>,
}

impl SealedPlan {
    /// Seals a plan that has no documents yet.
    pub(super) fn seal(options: &TranscodeOptions, Source { node, spared, .. }: &Source, arrays: &[Plan]) -> Self {
        let (program, store, spared) = (env!("CARGO_PKG_VERSION").to_owned(), name_of_store(node), spared.clone());
        let source = arrays.iter().flat_map(|array| digests(&array.path, &array.source)).collect();
        let TranscodeOptions { only, no_consolidate, change: ChangeOptions { zarr_format, .. }, .. } = options;
        let (zarr_format, only, no_consolidate) = (*zarr_format, only.clone(), *no_consolidate);
        let (arrays, documents) = (arrays.iter().map(SealedArray::new).collect(), Vec::new());
        SealedPlan { program, store, source, zarr_format, only, no_consolidate, documents, arrays, spared }
    }

    /// Returns the plan of the wanted arrays alone, without groups.
    pub(super) fn of_some(&self, is_wanted: impl Fn(usize) -> bool) -> Self {
        let wanted = self.arrays.iter().enumerate().filter(|(number, _)| is_wanted(*number));
        let arrays: Vec<SealedArray> = wanted.map(|(_, array)| array.clone()).collect();
        let folders: HashSet<&str> = arrays.iter().map(|array| array.path.trim_start_matches('/')).collect();
        let is_of_them = |key: &str| folders.contains(key.rsplit_once('/').map_or("", |(folder, _)| folder));
        let mut some = self.clone();
        some.source.retain(|key, _| is_of_them(key));
        some.documents.retain(|(key, _)| is_of_them(key));
        SealedPlan { arrays, ..some }
    }

    /// Returns the identity of the plan: what determines the content of DEST. Threads, memory and block shapes may
    /// change when an unfinished run continues.
    pub(super) fn fingerprint(&self) -> Fingerprint {
        let pair = |(key, digest): (&String, &String)| format!("{key}\n{digest}\n");
        let source: String = self.source.iter().map(pair).collect();
        let changes: BTreeMap<&str, _> = self.arrays.iter().map(|array| (array.path.as_str(), &array.change)).collect();
        let resolved = self.arrays.iter().map(|array| (array.path.as_str(), &array.resolved.quantization));
        let quantizations: BTreeMap<&str, _> = resolved.collect();
        let changes = text_of(&(self.zarr_format, self.no_consolidate, changes));
        let quantizations = text_of(&quantizations);
        let documents = self.documents.iter().flat_map(|(key, document)| [key.as_bytes(), document.as_bytes()]);
        Fingerprint::new([
            ("SOURCE", vec![self.store.as_bytes(), source.as_bytes()]),
            ("the options", vec![changes.as_bytes()]),
            ("the quantisation", vec![quantizations.as_bytes()]),
            ("the metadata of DEST", documents.collect()),
        ])
    }

    /// Returns the options of a run of the plan. Destination and resources are those of the caller.
    pub(super) fn options(&self, options: &TranscodeOptions) -> TranscodeOptions {
        let change = ChangeOptions { zarr_format: self.zarr_format, ..ChangeOptions::default() };
        let (only, no_consolidate) = (self.only.clone(), self.no_consolidate);
        // The plan has the changes of each array, so patterns must not apply once more.
        let (include, exclude, rules) = Default::default();
        TranscodeOptions { change, only, include, exclude, rules, no_consolidate, ..options.clone() }
    }

    /// Returns the numbers of the arrays whose quantisation depends on the data.
    pub(super) fn open_arrays(&self) -> Vec<usize> {
        (0..self.arrays.len()).filter(|number| self.arrays[*number].is_open()).collect()
    }

    /// Fails if the plan was made for another SOURCE.
    pub(super) fn check_source(&self, node: &Node) -> Result<()> {
        let store = name_of_store(node);
        let message = format!("the plan in DEST was sealed for the SOURCE `{}`, not for `{store}`", self.store);
        let help = "give the SOURCE of the plan; or name another DEST, and begin there with `--init`";
        if store == self.store { Ok(()) } else { Err(OperationError::environment(message).with_help(help)) }
    }

    /// Applies the changes of the plan to the arrays of SOURCE. `surveys` has the results of a first pass by array
    /// number, for arrays that are not resolved. Fails if the plan is for other arrays.
    pub(super) fn apply(&self, source: &mut Source, mut surveys: BTreeMap<usize, FirstPassStats>) -> Result<()> {
        self.check_source(&source.node)?;
        source.spared.clone_from(&self.spared);
        let arrays = &mut source.arrays;
        let found: BTreeMap<_, _> = arrays.iter().flat_map(|array| digests(&array.path, &array.opened)).collect();
        let is_same = arrays.len() == self.arrays.len()
            && arrays.iter().zip(&self.arrays).all(|(array, sealed)| array.path == sealed.path);
        if !is_same || found != self.source {
            return Err(self.differs("SOURCE has changed since the plan was sealed"));
        }
        for (number, (array, sealed)) in arrays.iter_mut().zip(&self.arrays).enumerate() {
            array.change = sealed.change.clone();
            array.resolved = (!sealed.is_open()).then(|| sealed.resolved.clone());
            array.compression.clone_from(&sealed.compression);
            array.surveyed = surveys.remove(&number);
        }
        Ok(())
    }

    /// Fails unless `again`, which was resolved from this plan, is the same.
    pub(super) fn check_same(&self, again: &SealedPlan) -> Result<()> {
        // These come before the fingerprint, because an error about them names the array.
        for (array, other) in self.arrays.iter().zip(&again.arrays) {
            if (&array.route, &array.units) != (&other.route, &other.units) {
                let SealedArray { path, route, units, .. } = array;
                return Err(self.differs(&format!(
                    "`{path}` is to be done by {route} in {units:?} pieces, and it takes {} in {:?}",
                    other.route, other.units
                )));
            }
        }
        if again.fingerprint() != self.fingerprint() {
            return Err(self.differs("what SOURCE and the plan give is another plan"));
        }
        Ok(())
    }

    fn differs(&self, what: &str) -> OperationError {
        let message = format!("the plan of `{}` cannot be carried out: {what}", self.store);
        let (own, program) = (env!("CARGO_PKG_VERSION"), &self.program);
        let by_whom = if program == own { "" } else { &format!(", by this zarrcast ({own}; it was {program})") };
        OperationError::environment(message).with_help(format!("remove DEST, and run `--init` again{by_whom}"))
    }
}

impl SealedArray {
    /// Returns whether its quantisation depends on the data.
    fn is_open(&self) -> bool {
        self.change.quantize.is_some() && self.resolved.quantization.is_none()
    }

    fn new(plan: &Plan) -> Self {
        let (path, change, compression) = (plan.path.clone(), plan.change.clone(), plan.compression.clone());
        let quantization = plan.changed.quantization.clone().filter(Quantization::is_resolved);
        let resolved = ResolvedPlan { quantization, blocks: BlockShapes::new(&plan.job) };
        let route = name_of(&plan.job).name().to_owned();
        SealedArray { path, change, compression, resolved, route, units: plan.job.units() }
    }
}

/// Returns the location of SOURCE, with links resolved and without secrets.
fn name_of_store(node: &Node) -> String {
    String::from_utf8_lossy(&node.identity()).into_owned()
}

/// Returns a plan as a document: the schema, its members, and their seal.
pub(super) fn document_of(schema: &str, plan: &impl Serialize) -> Object {
    let mut document = Object::new().with("schema", schema);
    if let Ok(Json::Object(members)) = Json::parse_str(&text_of(plan)) {
        members.iter().for_each(|(name, value)| document.insert(name, value.clone()));
    }
    let seal = seal_of(&document);
    document.with("seal", seal)
}

/// Reads a document of [`document_of`]. Also returns whether it matches its seal.
pub(super) fn read_document<T: DeserializeOwned>(schema: &str, bytes: &[u8]) -> Result<(T, bool), String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    let document = Json::parse_str(text).map_err(|error| error.to_string())?;
    let found = document.get("schema");
    if found.and_then(Json::as_str) != Some(schema) {
        let found = found.map_or_else(|| "missing".to_owned(), Json::excerpt);
        return Err(format!("`schema` is {found}, and should be \"{schema}\""));
    }
    let seal = document.get("seal").and_then(Json::as_str);
    let is_intact = document.as_object().map(seal_of).as_deref() == seal;
    Ok((serde_json::from_str(text).map_err(|error| error.to_string())?, is_intact))
}

/// Returns the digest of all members other than the seal, independent of white space.
pub(super) fn seal_of(members: &Object) -> String {
    let mut members = members.clone();
    members.remove("seal");
    digest([Json::Object(members).to_string().as_bytes()])
}

/// Returns the JSON text of a value that always has one.
fn text_of(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Returns the digests of the documents of an array, by key.
fn digests(path: &str, array: &OpenedArray) -> Vec<(String, String)> {
    let prefix = path.trim_start_matches('/');
    let key = |name: &str| if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") };
    let own = (key(array.documents.key), digest([array.documents.bytes.as_slice()]));
    let attributes = array.documents.attributes_bytes.as_deref().map(|bytes| (key(".zattrs"), digest([bytes])));
    [Some(own), attributes].into_iter().flatten().collect()
}

/// The key of the plan in DEST.
pub(super) const KEY: &str = ".zarrcast/plan.json";

const SCHEMA: &str = "zarrcast.parts/6";

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct PartsPlan {
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
    pub(super) fn number_in(self, job: &Job) -> usize {
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
pub(super) struct PassPlan {
    pub name: PassName,
    /// The boundaries: one more than the number of parts.
    pub boundaries: Vec<Boundary>,
}

impl PassPlan {
    pub(super) fn partitions(&self) -> u64 {
        (self.boundaries.len() as u64).saturating_sub(1)
    }

    /// Returns the boundaries of a part.
    pub(super) fn part(&self, index: u64) -> Option<(Boundary, Boundary)> {
        let index = usize::try_from(index).ok()?;
        Some((*self.boundaries.get(index)?, *self.boundaries.get(index + 1)?))
    }
}

/// A boundary between units: before unit `unit` of array `array`, both by number.
pub(super) type Boundary = (usize, u64);

/// The units of an array that have any work, and the bytes of each.
pub(super) struct ArrayUnits {
    pub units: ChunkSet,
    pub bytes: u64,
}

/// Returns the boundaries of at most `parts` parts with about equal bytes and at least one unit each. There is one more
/// boundary than parts.
pub(super) fn cut(work: &[ArrayUnits], parts: u64) -> Vec<Boundary> {
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
pub(super) fn units_between((from, to): (Boundary, Boundary), array: usize) -> Range<u64> {
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
pub(super) fn present_of(arrays: &[Plan]) -> Option<Vec<(ChunkSet, u64)>> {
    let listings = || arrays.iter().map(|array| &array.listing);
    let runs = listings().flat_map(|listing| listing.present.runs()).take(MOST_RUNS + 1).count();
    let present = || listings().map(|listing| (listing.present.clone(), listing.present_bytes)).collect();
    (runs <= MOST_RUNS).then(present)
}

impl PartsPlan {
    /// Applies the changes of the plan to the arrays of SOURCE. Also sets their stored chunks, and the results of the
    /// first pass by array number.
    pub(super) fn apply(&self, source: &mut Source, surveys: BTreeMap<usize, FirstPassStats>) -> Result<()> {
        self.sealed.apply(source, surveys)?;
        for (array, (present, bytes)) in source.arrays.iter_mut().zip(self.present.iter().flatten()) {
            let (present, present_bytes) = (present.clone(), *bytes);
            array.listing = Some(Listing { present, present_bytes, ..Listing::default() });
        }
        Ok(())
    }

    /// Returns the options of a run of a part. The work is that of the plan, the resources are those of the caller.
    pub(super) fn options(&self, options: &TranscodeOptions) -> TranscodeOptions {
        let mut options = self.sealed.options(options);
        (options.run.resume, options.run.verify, options.run.quality) = (true, self.verifies, false);
        options.run.requirements = Vec::new();
        options.run.partitions = Some(self.partitions);
        options
    }

    /// Returns a pass. `None` if the job has no such pass.
    pub(super) fn pass(&self, name: PassName) -> Option<&PassPlan> {
        self.passes.iter().find(|pass| pass.name == name)
    }

    /// Returns the number of parts of the pass with the most parts.
    pub(super) fn most_parts(&self) -> u64 {
        self.passes.iter().map(PassPlan::partitions).max().unwrap_or(0)
    }

    /// Returns the folder of all notes of the job. Other jobs neither read nor write there.
    pub(super) fn folder(&self) -> String {
        format!(".zarrcast/{}", self.id)
    }

    /// Returns the folder of the log of a part.
    pub(super) fn log(&self, pass: PassName, part: u64) -> String {
        format!("{}/parts/{pass}/{part}", self.folder())
    }

    /// Returns the key of the plan that includes the results of its first pass.
    pub(super) fn resolved(&self) -> String {
        format!("{}/resolved.json", self.folder())
    }

    /// Returns whether another plan is the same job with the same parts.
    pub(super) fn is_same(&self, other: &PartsPlan) -> bool {
        self.verifies == other.verifies
            && self.passes == other.passes
            && self.sealed.fingerprint() == other.sealed.fingerprint()
    }

    /// Writes the plan to a node. Returns false if another plan exists there, perhaps a new one. With the results of
    /// the first pass, a second writer has the same plan and keeps the existing one.
    pub(super) fn write(&self, target: &Node, key: &str) -> Result<bool> {
        let document = Json::Object(document_of(SCHEMA, self)).to_document();
        target.publish_new(key, &document).map_err(cannot_write)
    }

    /// Returns the plan with a key in a node. `None` if there is none.
    pub(super) fn find(target: &Node, key: &str) -> Result<Option<Self>> {
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

/// Notes of the parts of a pass, by part number. For each array of the part: its number and the note.
pub(super) type Receipts<T> = BTreeMap<u64, Vec<(usize, T)>>;

/// Returns the part whose note has this name. `None` if there is none.
fn part_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".json")?;
    // Only this program's spelling counts. Otherwise `3.json` and `03.json` would be two notes of one part.
    digits.parse().ok().filter(|part: &u64| part.to_string() == digits)
}

/// The completed parts of a job. Each pass is listed only once.
pub(super) struct DoneParts<'a> {
    pub target: &'a Node,
    /// The folder of all notes of the job.
    folder: String,
    passes: RefCell<BTreeMap<&'static str, ChunkSet>>,
}

impl<'a> DoneParts<'a> {
    /// Returns the completed parts of a job in DEST. A pass is listed at its first use.
    pub(super) fn at(target: &'a Node, plan: &PartsPlan) -> Self {
        DoneParts { target, folder: plan.folder(), passes: RefCell::default() }
    }

    /// Returns the key of the note of a part.
    fn key(&self, pass: PassName, part: u64) -> String {
        format!("{}/done/{pass}/{part}.json", self.folder)
    }

    /// Notes that a part is done, with its results for each array. The note is durable when this returns. If a part
    /// was done twice, the first note stays.
    pub(super) fn note(&self, pass: PassName, part: u64, arrays: &[(usize, impl Serialize)]) -> Result<()> {
        self.publish(&self.key(pass, part), &arrays)
    }

    fn publish(&self, key: &str, value: &impl Serialize) -> Result<()> {
        let text = serde_json::to_vec(value)
            .map_err(|error| OperationError::environment(format!("`{key}` cannot be written down")).because(error))?;
        self.target.publish_new(key, &text).map(drop).map_err(cannot_write)
    }

    /// Removes the note of a part, so that it is done again.
    pub(super) fn forget(&self, pass: PassName, part: u64) -> Result<()> {
        self.target.remove(&self.key(pass, part)).map(drop).map_err(cannot_write)
    }

    pub(super) fn is_done(&self, pass: PassName, part: u64) -> Result<bool> {
        Ok(self.target.size(&self.key(pass, part)).map_err(cannot_write)?.is_some())
    }

    fn of(&self, pass: PassName) -> Result<ChunkSet> {
        if let Some(known) = self.passes.borrow().get(pass.name()) {
            return Ok(known.clone());
        }
        let (folder, mut parts) = (format!("{}/done/{pass}", self.folder), Vec::new());
        let listed = self.target.each_entry(&folder, |key, _, _| parts.extend(part_of(&key[folder.len() + 1..])));
        listed.map_err(cannot_write)?;
        let parts = ChunkSet::from_iter(parts);
        self.passes.borrow_mut().insert(pass.name(), parts.clone());
        Ok(parts)
    }

    /// Returns the completed parts of a pass.
    pub(super) fn parts(&self, pass: &PassPlan) -> Result<ChunkSet> {
        Ok(self.of(pass.name)?.common(&ChunkSet::full(pass.partitions())))
    }

    /// Returns the notes of the parts of a pass.
    pub(super) fn noted<T: DeserializeOwned>(&self, pass: PassName) -> Result<Receipts<T>> {
        let target = self.target;
        let parts: Vec<u64> = self.of(pass)?.iter().collect();
        let mut noted = Receipts::new();
        // Notes that are fetched together are requested together.
        for parts in parts.chunks(target.prefetch_limit().map_or(1, |ahead| ahead.requests).max(1)) {
            let keys: Vec<_> = parts.iter().map(|part| (self.key(pass, *part), Part::Whole)).collect();
            target.prefetch(&keys);
            for (part, (key, _)) in parts.iter().zip(&keys) {
                let mut text = Vec::new();
                target.read_into(key, MAX_DOCUMENT_BYTES, &mut text).map_err(cannot_write)?;
                let arrays = serde_json::from_slice(&text).map_err(|error| {
                    OperationError::environment(format!("`{key}` is not what a part notes when it is done"))
                        .because(error)
                        .with_help(format!("remove it, and do part {part} of `{pass}` again"))
                })?;
                noted.insert(*part, arrays);
            }
        }
        Ok(noted)
    }

    /// Returns the size of the intermediate data by array number, after their pass is complete. The first part that
    /// asks stores it, because each part of the next pass asks.
    pub(super) fn between(&self, plan: &PartsPlan) -> Result<BTreeMap<usize, Intermediate>> {
        let mut between: BTreeMap<usize, Intermediate> = BTreeMap::new();
        if plan.pass(PassName::Staging).is_none() {
            return Ok(between);
        }
        let key = format!("{}/between.json", self.folder);
        if let Some(text) = self.target.read_document(&key).map_err(cannot_write)? {
            let damaged = || OperationError::environment(format!("`{key}` cannot be read"));
            let between = serde_json::from_slice(&text).map_err(|error| damaged().because(error));
            return between.map_err(|error| error.with_help("remove it, and run the part again"));
        }
        for (array, report) in self.noted::<PartReport>(PassName::Staging)?.values().flatten() {
            let all = between.entry(*array).or_default();
            all.objects = all.objects.saturating_add(report.counted.written);
            all.bytes = all.bytes.saturating_add(report.counted.bytes_written);
        }
        self.publish(&key, &between)?;
        Ok(between)
    }

    pub(super) fn status(&self, plan: &PartsPlan) -> Result<Vec<PassStatus>> {
        let of = |pass: &PassPlan| {
            let (name, partitions, done) = (pass.name.name(), pass.partitions(), self.parts(pass)?);
            let missing = listed(&ChunkSet::full(partitions).without(&done));
            Ok(PassStatus { name, partitions, done: done.len(), missing })
        };
        plan.passes.iter().map(of).collect()
    }
}

/// Returns indices in the notation of schedulers, with `first-last` for successive ones: `3,7-9`.
fn listed(indices: &ChunkSet) -> String {
    let text =
        |(first, end): (u64, u64)| if first + 1 == end { first.to_string() } else { format!("{first}-{}", end - 1) };
    indices.runs().map(text).collect::<Vec<_>>().join(",")
}

/// The work of a part on an array, and the result of reading it back. A part whose difference exceeded the limit has no
/// report.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct PartReport {
    /// Numbers of chunks and bytes that were read and written.
    pub counted: ObjectReport,
    #[serde(with = "float_bits")]
    max_abs_error: f64,
    /// The bound, as the bits of a float.
    bound: Option<u64>,
    /// One bit per code, set if it occurs, from the lowest bit of the first byte. Empty if codes are not counted.
    codes: Vec<u8>,
}

impl PartReport {
    pub(super) fn new(counted: ObjectReport, verified: Option<Verification>) -> Self {
        let (found, codes) = verified.map(|verified| (verified.result, verified.codes)).unwrap_or_default();
        let (max_abs_error, bound) = (found.max_abs_error.unwrap_or(0.0), found.bound.map(f64::to_bits));
        PartReport { counted, max_abs_error, bound, codes: codes.unwrap_or_default() }
    }

    /// Adds the work of another part on the same array.
    pub(super) fn add(&mut self, other: &PartReport) {
        self.counted += other.counted;
        self.max_abs_error = self.max_abs_error.max(other.max_abs_error);
        self.bound = self.bound.or(other.bound);
        if self.codes.len() < other.codes.len() {
            self.codes.resize(other.codes.len(), 0);
        }
        self.codes.iter_mut().zip(&other.codes).for_each(|(all, other)| *all |= other);
    }

    /// Returns the result of `--verify` in a single run.
    pub(super) fn verification(&self, plan: &Plan) -> Verification {
        let quantization = plan.changed.quantization.as_ref();
        let counts_codes = quantization.is_some_and(|quantization| quantization.target.bits() <= 16);
        let elements = volume(&plan.destination.metadata.shape);
        let bound = self.bound.map(f64::from_bits).or_else(|| quantization.map(Quantization::bound));
        let max_abs_error = Some(self.max_abs_error);
        let result = VerifyResult { equal: true, elements, differing: 0, max_abs_error, bound };
        Verification { result, codes: counts_codes.then(|| self.codes.clone()) }
    }
}

#[cfg(test)]
mod plan_file_tests {
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

#[cfg(test)]
mod done_tests {
    use std::sync::{Arc, atomic::AtomicBool};

    use rustix::io::Errno;

    use super::*;
    use crate::operation::transcode::verify::packed;
    use crate::store::MemoryStore;
    use crate::store::tests::faulty::{Call, Failure, Faults};

    fn done(target: &Node) -> DoneParts<'_> {
        DoneParts { target, folder: "7f".to_owned(), passes: RefCell::default() }
    }

    #[test]
    fn indices_that_follow_each_other_are_a_range() {
        for (indices, text) in [(&[][..], ""), (&[3, 7, 8, 9], "3,7-9"), (&[0, 1, 5], "0-1,5")] {
            assert_eq!(listed(&indices.iter().copied().collect()), text);
        }
    }

    #[test]
    fn parts_are_listed_with_what_they_noted_first() {
        let folder = tempfile::tempdir().unwrap();
        for target in [Node::new(folder.path()), Node::of(Arc::new(MemoryStore::new("m")))] {
            assert!(done(&target).noted::<String>(PassName::Write).unwrap().is_empty());
            let texts = [(3, "a"), (0, ""), (12, "two words"), (3, "b")];
            for (part, text) in texts {
                done(&target).note(PassName::Write, part, &[(5, text)]).unwrap();
            }
            for name in ["x.json", "03.json", ".json", "+4.json", "5", "0~a1"] {
                target.write(&format!("7f/done/write/{name}"), b"").unwrap();
            }
            done(&target).note(PassName::Range, 5, &[(0, "b")]).unwrap();
            let noted = done(&target).noted::<String>(PassName::Write).unwrap();
            let found: Vec<_> = noted.iter().map(|(part, arrays)| (*part, arrays[0].1.as_str())).collect();
            assert_eq!(found, [(0, ""), (3, "a"), (12, "two words")]);
            assert!(noted.values().all(|arrays| arrays.len() == 1 && arrays[0].0 == 5));
        }
    }

    #[test]
    fn part_that_cannot_note_that_it_is_done_is_not_and_does_so_again() {
        let target = Node::of(Arc::new(MemoryStore::new("m")));
        let is_done = |part| done(&target).is_done(PassName::Write, part).unwrap();
        for failure in [Failure::Error(Errno::NOSPC), Failure::Late] {
            let faulty = Faults::of_kind(Call::Publish, failure).wrap(&target);
            assert!(done(&faulty).note(PassName::Write, 1, &[(0, 1)]).is_err());
            assert_eq!(is_done(1), failure == Failure::Late);
        }
        done(&target).note(PassName::Write, 1, &[(0, 2)]).unwrap();
        done(&target).note(PassName::Write, 11, &[(0, 3)]).unwrap();
        assert_eq!(done(&target).noted::<u8>(PassName::Write).unwrap()[&1], [(0, 1)]);
        done(&target).forget(PassName::Write, 1).unwrap();
        assert!(!is_done(1) && is_done(11));
        target.write("7f/done/write/2.json", b"[[0]]").unwrap();
        let error = done(&target).noted::<u8>(PassName::Write).unwrap_err();
        assert!(error.to_string().contains("7f/done/write/2.json"), "{error}");
    }

    #[test]
    fn report_comes_back_as_it_was_noted() {
        let counted = ObjectReport { written: 3, bytes_read: 70, bytes_written: 1 << 40, ..ObjectReport::default() };
        for (max_abs_error, bound, codes) in
            [(0.0, None, vec![]), (0.1, None, vec![]), (0.1, Some(f64::INFINITY.to_bits()), vec![0, 255, 1])]
        {
            let report = PartReport { counted, max_abs_error, bound, codes };
            let text = serde_json::to_string(&report).unwrap();
            assert_eq!(serde_json::from_str::<PartReport>(&text).unwrap(), report, "{text}");
        }
    }

    #[test]
    fn codes_of_parts_are_put_together() {
        let occurs = |code: u32| AtomicBool::new(code == 0 || code == 9);
        assert_eq!(packed(&(0..1 << 16).map(occurs).collect::<Vec<_>>()), [1, 2]);
        let of = |codes| PartReport { codes, ..PartReport::default() };
        let mut all = of(vec![1]);
        all.add(&of(vec![2, 4]));
        assert_eq!(all.codes, [3, 4]);
    }
}
