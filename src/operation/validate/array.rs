//! The levels below the metadata, for one array.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::budget::Budget;
use super::findings::{Findings, Policy};
use super::keys;
use super::object::{Buffers, ObjectCheck};
use super::shard::ShardCheck;
use crate::codec::{BindError, BoundChain};
use crate::diagnostic::{Diagnostic, code};
use crate::engine::chunk_set::{ChunkSet, position};
use crate::engine::driver::{Driver, Fault};
use crate::engine::key_scan::{KeyScan, KeyScanner};
use crate::engine::progress::Progress;
use crate::metadata::array::ArrayMetadata;
use crate::operation::error::OperationError;
use crate::operation::open::ArrayReading;
use crate::operation::options::ValidateLevel;
use crate::pipeline::Pipeline;
use crate::store::LocalNode;

/// Objects whose findings are gathered before they are put in order, for each thread.
const BATCH: u64 = 64;

/// What every array is checked with.
pub(super) struct ArrayCheck<'a> {
    pub(super) level: ValidateLevel,
    pub(super) driver: &'a Driver,
    pub(super) budget: Budget,
    /// The store.
    pub(super) root: &'a LocalNode,
    pub(super) policy: &'a Policy,
    pub(super) progress: &'a dyn Progress,
}

/// An array whose metadata suffice to look at its keys.
struct Subject<'a> {
    reading: &'a ArrayReading,
    metadata: &'a ArrayMetadata,
    pipeline: Option<&'a Pipeline>,
    chain: Result<BoundChain, BindError>,
}

impl ArrayCheck<'_> {
    /// Checks keys, shard indexes and chunks, down to the level; how many objects there are. An error where the work
    /// could not be done.
    pub(super) fn run(&self, reading: &ArrayReading, findings: &mut Findings) -> Result<u64, OperationError> {
        if self.level == ValidateLevel::Metadata {
            return Ok(0);
        }
        let Some(metadata) = &reading.metadata else {
            findings.push(not_checked(
                reading,
                "its keys and chunks",
                "the metadata do not tell where they are",
            ));
            return Ok(0);
        };
        let pipeline = reading.pipeline.as_ref();
        let chain = pipeline.map_or(Err(BindError::DataType("unknown".to_owned())), BoundChain::bind);
        let subject = Subject { reading, metadata, pipeline, chain };
        let scan = self.scan(&subject, findings)?;
        self.objects(&subject, &scan, findings)?;
        Ok(scan.present.len())
    }

    fn scan(&self, subject: &Subject, findings: &mut Findings) -> Result<KeyScan, OperationError> {
        let reading = subject.reading;
        let sizes = keys::size_rule(subject.pipeline, subject.chain.as_ref().ok());
        let scanner = KeyScanner { node: &reading.node, metadata: subject.metadata, sizes };
        let scan = scanner.run(self.driver).map_err(|error| {
            OperationError::environment(format!("`{}` cannot be listed", reading.store)).because(error)
        })?;
        keys::array(&reading.place, self.root, subject.metadata, sizes, &scan, findings);
        Ok(scan)
    }

    /// Levels `index` and `data`.
    fn objects(
        &self,
        subject: &Subject,
        scan: &KeyScan,
        findings: &mut Findings,
    ) -> Result<(), OperationError> {
        let is_sharded = subject.pipeline.is_some_and(|pipeline| pipeline.sharding().is_some());
        let decodes = self.level == ValidateLevel::Data;
        if !decodes && !(is_sharded && self.level == ValidateLevel::Index) {
            return Ok(());
        }
        let reading = subject.reading;
        let bound = subject.chain.as_ref().map_err(BindError::clone).and_then(|chain| {
            let shards = subject.pipeline.filter(|_| is_sharded).map(ShardCheck::bind).transpose()?;
            Ok((chain, shards))
        });
        let (chain, shards) = match bound {
            Ok(bound) => bound,
            Err(error) => {
                let what = if decodes { "its chunks" } else { "its shard indexes" };
                findings.push(not_checked(reading, what, &error.to_string()));
                return Ok(());
            }
        };
        let unreadable = &scan.unreadable;
        let readable = scan.present.without(unreadable);
        if readable.is_empty() {
            return Ok(());
        }
        let check = ObjectCheck {
            place: &reading.place,
            node: &reading.node,
            metadata: subject.metadata,
            chain,
            shards,
            decodes,
        };
        let allowed = self.budget.threads(&check, self.driver.num_threads(), &reading.store)?;
        self.progress.start(&reading.store, Some(scan.bytes));
        if allowed < self.driver.num_threads() {
            let driver = super::new_driver(allowed)?;
            self.run_objects(&driver, &check, &readable, findings)
        } else {
            self.run_objects(self.driver, &check, &readable, findings)
        }
    }

    fn run_objects(
        &self,
        driver: &Driver,
        check: &ObjectCheck,
        objects: &ChunkSet,
        findings: &mut Findings,
    ) -> Result<(), OperationError> {
        // Once the list is full, findings are counted and not kept.
        let room = AtomicUsize::new(findings.room_left());
        let mut failure = None;
        let work = |buffers: &mut Buffers, index| {
            let mut part = Findings::new(self.policy, room.load(Ordering::Relaxed));
            let outcome = check.run(buffers, position(index, check.metadata), &mut part);
            let bytes = outcome?;
            self.progress.advance(bytes);
            Ok(part)
        };
        let batch = BATCH.saturating_mul(driver.num_threads() as u64);
        driver.run_each::<Buffers, Findings>(objects, batch, work, |index, outcome| {
            match outcome {
                Ok(part) => findings.append(part),
                Err(fault) => {
                    let chunk = position(index, check.metadata);
                    match fault_finding(fault, check, chunk) {
                        Ok(found) => findings.push(found),
                        Err(error) => failure = failure.take().or(Some(error)),
                    }
                }
            }
            room.store(findings.room_left(), Ordering::Relaxed);
        });
        failure.map_or(Ok(()), Err)
    }
}

/// What is left out, and why.
fn not_checked(reading: &ArrayReading, what: &str, because: &str) -> Diagnostic {
    let message = format!("{what} were not looked at: {because}");
    Diagnostic::new(code::NOT_CHECKED, message)
        .in_store(reading.place.store.as_str())
        .at_node(reading.place.path.as_str())
}

/// A fault that is no codec's: of the data where something else than a file stands there, or a bug; else of the
/// machine.
fn fault_finding(fault: Fault, check: &ObjectCheck, chunk: Vec<u64>) -> Result<Diagnostic, OperationError> {
    let key = check.place.key(&check.metadata.chunk_key_encoding.key(&chunk));
    let code = match &fault {
        Fault::Store(error) if error.is_data_fault() => code::OBJECT_NOT_A_FILE,
        Fault::Interrupted(_) => return Err(OperationError::interrupted()),
        Fault::Store(_) => {
            let message = format!("chunk {chunk:?} (`{key}`) of `{}` cannot be read", check.place.name());
            return Err(OperationError::environment(message).because(fault));
        }
        _ => code::CHUNK_CORRUPT,
    };
    Ok(Diagnostic::new(code, fault.to_string())
        .with_help("restore the chunk from its source, or write it again")
        .in_store(check.place.store.as_str())
        .at_node(check.place.path.as_str())
        .at_key(key)
        .at_chunk(chunk))
}
