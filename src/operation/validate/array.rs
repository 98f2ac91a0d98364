//! Checks one array at the levels below the metadata.

use super::object::{Buffers, ObjectCheck};
use super::{Findings, ValidateReport, keys};
use crate::array::{ChunkSet, ChunkSetBuilder, Fault, Listing, Purpose, Sizes, position};
use crate::codec::{BindError, BoundChain, ElementSize};
use crate::diagnostic::quantity::{counted, shortened};
use crate::diagnostic::{Diagnostic, code};
use crate::engine::{Driver, Progress, listing};
use crate::metadata::ArrayMetadata;
use crate::operation::xarray::{self, DIMENSIONS};
use crate::operation::{
    ArrayReading, Budget, OperationError, Result, ValidateLevel, ValidateOptions, narrowed, stored::subchunk_pipeline,
};
use crate::pipeline::Pipeline;
use crate::store::{Node, StoreError};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of objects per thread whose findings are collected before they are sorted.
const BATCH: u64 = 64;

/// Why keys that are no chunk's were not searched.
pub(super) const UNLISTED: &str = "arrays with other keys not searched: the store cannot list";

/// The chain of an array, and that of its innermost chunks if it is sharded.
type Chains<'a> = (&'a BoundChain, Option<BoundChain>);

/// Inputs shared by the checks of all arrays.
pub(super) struct ArrayCheck<'a> {
    pub(super) options: &'a ValidateOptions,
    pub(super) driver: &'a Driver,
    /// The node of the store.
    pub(super) root: &'a Node,
    pub(super) progress: &'a dyn Progress,
}

impl ArrayCheck<'_> {
    /// Checks keys, shard indexes and chunks, down to the level. Returns the number of objects. An error if the work
    /// could not be done.
    pub(super) fn run(&self, reading: &ArrayReading, gathered: &mut ValidateReport) -> Result<u64> {
        let number = gathered.arrays;
        gathered.arrays += 1;
        let unknown = || BindError::DataType("unknown".to_owned());
        let bind = |pipeline: &Pipeline| BoundChain::bind_elements(pipeline, ElementSize::Any);
        let chain = reading.pipeline.as_ref().ok_or_else(unknown).and_then(bind);
        if self.options.level == ValidateLevel::Metadata {
            if let Err(error) = &chain {
                let has_chunks = reading.metadata.is_some() || reading.data_type.is_none();
                let why = if has_chunks { error.to_string() } else { "the chunk grid is not known".to_owned() };
                gathered.leave_out(&format!("arrays not decoded: {why}"), 1);
            }
            return Ok(0);
        }
        let Some(metadata) = &reading.metadata else {
            let why = "the metadata does not give their location";
            gathered.findings.push(not_checked(reading, "its keys and chunks", why));
            gathered.leave_out(&format!("arrays with keys and chunks not searched: {why}"), 1);
            return Ok(0);
        };
        let sizes = &keys::size_rules(&metadata.grid, reading.pipeline.as_ref(), chain.as_ref().ok());
        let is_sharded = reading.pipeline.as_ref().is_some_and(|pipeline| pipeline.sharding().is_some());
        let level = self.options.level;
        let looks_inside = level == ValidateLevel::Data || (is_sharded && level == ValidateLevel::Index);
        let bound = looks_inside.then(|| {
            let chain = chain.as_ref().map_err(BindError::clone)?;
            let subchunk = reading.pipeline.as_ref().filter(|_| is_sharded).map(|outer| subchunk_pipeline(outer, 0));
            Ok((chain, subchunk.map(|pipeline| bind(&pipeline)).transpose()?))
        });
        // If the store cannot list its keys, one request reads an object and shows whether it exists. Shares of the
        // existing objects cannot wait for that.
        let may_show = self.options.partition.is_none() && !reading.node.tells_keys();
        let reads_show = bound.as_ref().is_some_and(|bound| may_show && bound.is_ok());
        let purpose = if reads_show { Purpose::Reading { with_sizes: false } } else { Purpose::Validating(sizes) };
        let listing = listing::scan(&reading.node, metadata, purpose, self.driver);
        let mut listing = listing.map_err(|error| OperationError::cannot_list(reading.node_path.name(), error))?;
        if let Some(bound) = bound.as_ref().filter(|_| reads_show) {
            let inputs = (reading, metadata, bound);
            let absent = self.objects(inputs, (&listing, &listing.present), Some(sizes), gathered)?;
            listing.present = listing.present.without(&absent);
        }
        let unit = if is_sharded { "shard" } else { "chunk" };
        keys::array((&reading.node_path, self.root), (metadata, unit, sizes), &listing, gathered);
        if listing.present.len() < metadata.num_chunks()
            && let Some(null) = reading.diagnostics.iter().find(|found| found.is(code::V2_FILL_VALUE_NULL))
        {
            gathered.findings.push(null.clone());
        }
        let (all, partition) = (&listing.present, self.options.partition);
        let own = partition.map_or_else(|| all.clone(), |partition| partition.objects(all, number));
        if let Err(error) = &chain {
            gathered.leave_out(&format!("chunks not decoded: {error}"), own.len());
        }
        if let Some(bound) = bound.as_ref().filter(|_| !reads_show) {
            self.objects((reading, metadata, bound), (&listing, &own), None, gathered)?;
        }
        // A chunk that exists and counts as absent was not checked.
        gathered.leave_out("objects not read: the store refused access", reading.node.num_refused());
        gathered.leave_out(UNLISTED, u64::from(!reading.node.tells_keys()));
        Ok(own.len())
    }

    /// Levels `index` and `data`: checks the objects of a listing that are in `own`, and their sizes if a rule is given.
    /// Returns those that are absent.
    fn objects(
        &self,
        (reading, metadata, bound): (&ArrayReading, &ArrayMetadata, &Result<Chains<'_>, BindError>),
        (listing, own): (&Listing, &ChunkSet),
        sizes: Option<&Sizes<'_>>,
        gathered: &mut ValidateReport,
    ) -> Result<ChunkSet> {
        let decodes = self.options.level == ValidateLevel::Data;
        let (chain, subchunk) = match bound {
            Ok((chain, subchunk)) => (*chain, subchunk.as_ref()),
            Err(error) => {
                let what = if decodes { "its chunks" } else { "its shard indexes" };
                gathered.findings.push(not_checked(reading, what, &error.to_string()));
                if listing.present.is_empty() {
                    gathered.leave_out(&format!("arrays not decoded: {error}"), 1);
                }
                return Ok(ChunkSet::default());
            }
        };
        let unreadable = &listing.unreadable;
        if listing.present.without(unreadable).is_empty() {
            return Ok(ChunkSet::default());
        }
        let readable = own.without(unreadable);
        let (node_path, node) = (&reading.node_path, &reading.node);
        let check = ObjectCheck { node_path, node, metadata, chain, subchunk, decodes, sizes };
        let allowed = check.threads(Budget::new(&self.options.common), &node_path.name())?;
        // The listing has only the sum of all sizes, so a share counts by its number of objects. So does an array of
        // unknown sizes.
        let share = u128::from(listing.present_bytes) * u128::from(own.len());
        let share = share / u128::from(listing.present.len().max(1));
        let length = if sizes.is_some() { own.len() } else { u64::try_from(share).unwrap_or(u64::MAX) };
        self.progress.start(&node_path.name(), Some(length));
        let absent = self.each(&narrowed(self.driver, allowed)?, &check, &readable, gathered);
        let has_checksum = reading.pipeline.as_ref().is_none_or(Pipeline::has_checksum);
        if decodes && !has_checksum && absent.len() < listing.present.len() {
            // Damage that leaves the codecs able to decode a chunk goes unseen in such an array.
            let message = "no codec of the array has a checksum: damage may go unnoticed";
            let help = "if you do not trust the storage, add a checksum: `zarrcast transcode --compress \
                zstd:5:checksum STORE DEST`";
            gathered.findings.push(node_path.holds(Diagnostic::new(code::NO_CHECKSUM, message).with_help(help)));
        }
        Ok(absent)
    }

    /// Checks objects. Returns those that are absent.
    fn each(&self, driver: &Driver, check: &ObjectCheck, own: &ChunkSet, gathered: &mut ValidateReport) -> ChunkSet {
        let ValidateReport { findings, failures, .. } = gathered;
        // Once the list is full, findings are counted and not kept.
        let capacity = AtomicUsize::new(findings.capacity_left());
        let mut left = own.len();
        let work = |buffers: &mut Buffers, index| {
            // An old value does no harm: `append` drops what exceeds the capacity.
            let mut part = Findings::new(self.options, capacity.load(Ordering::Relaxed));
            let bytes = check.run(buffers, index, &mut part)?;
            self.progress.advance(if check.sizes.is_some() { 1 } else { bytes.unwrap_or(0) });
            Ok((part, bytes.is_none()))
        };
        let batch = BATCH.saturating_mul(driver.num_threads() as u64);
        let mut absent = ChunkSetBuilder::default();
        driver.run_each::<Buffers, _>(own, &[check.reads_ahead()], batch, work, |index, outcome| {
            match outcome {
                Ok((part, is_absent)) => {
                    findings.append(part);
                    if is_absent {
                        absent.insert(index);
                    }
                }
                Err(fault) => {
                    let chunk = position(index, check.metadata);
                    let key = check.node_path.key(&check.metadata.chunk_key_encoding.key(&chunk));
                    match fault_finding(fault, check, (chunk, &key)) {
                        Ok(found) => findings.push(found),
                        Err(error) => failures.push_chunk(check.node_path, key, error),
                    }
                }
            }
            capacity.store(findings.capacity_left(), Ordering::Relaxed);
            left -= 1;
        });
        failures.push_more_chunks(check.node_path);
        gathered.leave_out("objects not read: the store does not accept the credentials", left);
        absent.finish()
    }
}

/// Returns a finding if a v2 array has the attribute `_ARRAY_DIMENSIONS`, and it is not a name for each dimension.
pub(super) fn misnamed_dimensions(reading: &ArrayReading) -> Option<Diagnostic> {
    let (attributes, rank) = (reading.members.attributes.as_ref()?, reading.members.shape.as_ref()?.len());
    let is_named = reading.documents.zarr_format != 2 || xarray::dimension_names(attributes, rank).is_some();
    let json = attributes.get(DIMENSIONS).filter(|_| !is_named)?;
    let expected = counted(rank as u64, "name");
    let found = shortened(json.to_string(), 60);
    let message = format!("`{DIMENSIONS}` is {found}, not a list of {expected}: no dimension gets a name");
    let found = reading.node_path.holds(Diagnostic::new(code::V2_DIMENSION_NAMES, message));
    Some(found.at_key(reading.node_path.key(".zattrs")).at_pointer(format!("/{DIMENSIONS}")))
}

/// Returns the finding that something was not checked, with the reason.
fn not_checked(reading: &ArrayReading, what: &str, because: &str) -> Diagnostic {
    let message = format!("{what} were not checked: {because}");
    reading.node_path.holds(Diagnostic::new(code::NOT_CHECKED, message))
}

/// Returns the finding of a fault that no codec reports: the key is not a file, or its bytes cannot be read.
///
/// An error if nothing is known of the chunk, because the machine or this program has failed.
fn fault_finding(fault: Fault, check: &ObjectCheck, (chunk, key): (Vec<u64>, &str)) -> Result<Diagnostic> {
    let code = match &fault {
        Fault::Store(StoreError::Damaged { .. } | StoreError::Unsupported { .. } | StoreError::TooShort { .. }) => {
            code::CHUNK_CORRUPT
        }
        Fault::Store(StoreError::TooLarge { .. }) => code::OBJECT_TOO_LARGE,
        Fault::Store(error) if error.is_data_fault() => code::OBJECT_NOT_A_FILE,
        Fault::Interrupted(_) => return Err(OperationError::interrupted()),
        Fault::Store(_) => return Err(keys::cannot_read(check.node_path, &chunk, key).because(fault)),
        fault if fault.is_of_data() => code::CHUNK_CORRUPT,
        _ => {
            let help = if fault.is_of_memory() {
                "give fewer `--threads`, or run it where there is more memory"
            } else {
                "this is a defect of the program, not of the data; please report it with the array's metadata"
            };
            let message = format!("chunk {chunk:?} (`{key}`) of `{}` could not be checked", check.node_path.name());
            return Err(OperationError::environment(message).because(fault).with_help(help));
        }
    };
    let found =
        Diagnostic::new(code, fault.to_string()).with_help("restore the chunk from its source, or write it again");
    Ok(check.node_path.holds(found).at_key(key).at_chunk(chunk))
}
