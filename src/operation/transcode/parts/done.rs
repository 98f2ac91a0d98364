//! Notes of completed parts about each array: one object per part, named by its number.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::plan::{PartsPlan, PassName, PassPlan};
use crate::array::ChunkSet;
use crate::engine::{ObjectReport, route::staged::Intermediate};
use crate::grid::volume;
use crate::kernel::quantize::float_bits;
use crate::operation::transcode::{Plan, Verification, cannot_write};
use crate::operation::{OperationError, Quantization, Result, VerifyResult, parts_result::PassStatus};
use crate::store::{MAX_DOCUMENT_BYTES, Node, Part};

/// Notes of the parts of a pass, by part number. For each array of the part: its number and the note.
pub(crate) type Receipts<T> = BTreeMap<u64, Vec<(usize, T)>>;

/// Returns the part whose note has this name. `None` if there is none.
fn part_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".json")?;
    // Only this program's spelling counts. Otherwise `3.json` and `03.json` would be two notes of one part.
    digits.parse().ok().filter(|part: &u64| part.to_string() == digits)
}

/// The completed parts of a job. Each pass is listed only once.
pub(crate) struct DoneParts<'a> {
    pub target: &'a Node,
    /// The folder of all notes of the job.
    folder: String,
    passes: RefCell<BTreeMap<&'static str, ChunkSet>>,
}

impl<'a> DoneParts<'a> {
    /// Returns the completed parts of a job in DEST. A pass is listed at its first use.
    pub(crate) fn at(target: &'a Node, plan: &PartsPlan) -> Self {
        DoneParts { target, folder: plan.folder(), passes: RefCell::default() }
    }

    /// Returns the key of the note of a part.
    fn key(&self, pass: PassName, part: u64) -> String {
        format!("{}/done/{pass}/{part}.json", self.folder)
    }

    /// Notes that a part is done, with its results for each array. The note is durable when this returns. If a part
    /// was done twice, the first note stays.
    pub(crate) fn note(&self, pass: PassName, part: u64, arrays: &[(usize, impl Serialize)]) -> Result<()> {
        self.publish(&self.key(pass, part), &arrays)
    }

    fn publish(&self, key: &str, value: &impl Serialize) -> Result<()> {
        let text = serde_json::to_vec(value)
            .map_err(|error| OperationError::environment(format!("`{key}` cannot be written down")).because(error))?;
        self.target.publish_new(key, &text).map(drop).map_err(cannot_write)
    }

    /// Removes the note of a part, so that it is done again.
    pub(crate) fn forget(&self, pass: PassName, part: u64) -> Result<()> {
        self.target.remove(&self.key(pass, part)).map(drop).map_err(cannot_write)
    }

    pub(crate) fn is_done(&self, pass: PassName, part: u64) -> Result<bool> {
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
    pub(crate) fn parts(&self, pass: &PassPlan) -> Result<ChunkSet> {
        Ok(self.of(pass.name)?.common(&ChunkSet::full(pass.partitions())))
    }

    /// Returns the notes of the parts of a pass.
    pub(crate) fn noted<T: DeserializeOwned>(&self, pass: PassName) -> Result<Receipts<T>> {
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
    pub(crate) fn between(&self, plan: &PartsPlan) -> Result<BTreeMap<usize, Intermediate>> {
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

    pub(crate) fn status(&self, plan: &PartsPlan) -> Result<Vec<PassStatus>> {
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
pub(crate) struct PartReport {
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
    pub(crate) fn new(counted: ObjectReport, verified: Option<Verification>) -> Self {
        let (found, codes) = verified.map(|verified| (verified.result, verified.codes)).unwrap_or_default();
        let (max_abs_error, bound) = (found.max_abs_error.unwrap_or(0.0), found.bound.map(f64::to_bits));
        PartReport { counted, max_abs_error, bound, codes: codes.unwrap_or_default() }
    }

    /// Adds the work of another part on the same array.
    pub(crate) fn add(&mut self, other: &PartReport) {
        self.counted += other.counted;
        self.max_abs_error = self.max_abs_error.max(other.max_abs_error);
        self.bound = self.bound.or(other.bound);
        if self.codes.len() < other.codes.len() {
            self.codes.resize(other.codes.len(), 0);
        }
        self.codes.iter_mut().zip(&other.codes).for_each(|(all, other)| *all |= other);
    }

    /// Returns the result of `--verify` in a single run.
    pub(crate) fn verification(&self, plan: &Plan) -> Verification {
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
mod tests {
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
