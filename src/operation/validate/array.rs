//! Checks one array at the levels below the metadata.
//!
//! Level `keys`: checks the content of a node's folder.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::object::{Buffers, ObjectCheck};
use super::{Findings, ValidateReport};
use crate::array::{
    ChunkSet, ChunkSetBuilder, Fault, Listing, Purpose, Sizes, UnexpectedKey, UnexpectedKeyKind, position,
};
use crate::codec::{BindError, BoundChain, PerShape};
use crate::diagnostic::quantity::{count, counted, shortened};
use crate::diagnostic::{Diagnostic, code};
use crate::engine::{Driver, Progress, listing};
use crate::grid::Grid;
use crate::metadata::ArrayMetadata;
use crate::operation::xarray::{self, DIMENSIONS};
use crate::operation::{
    ArrayReading, Budget, NodePath, OperationError, Result, ValidateLevel, ValidateOptions, cf::describes_others,
    hierarchy::HierarchyNode, narrowed, stored::subchunk_pipeline,
};
use crate::pipeline::{BytesSize, Pipeline, Representation};
use crate::store::{Node, StoreError, has_begun};

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
        let chain = reading.pipeline.as_ref().ok_or_else(unknown).and_then(BoundChain::bind_to_check);
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
        let sizes = &size_rules(&metadata.grid, reading.pipeline.as_ref(), chain.as_ref().ok());
        let is_sharded = reading.pipeline.as_ref().is_some_and(|pipeline| pipeline.sharding().is_some());
        let level = self.options.level;
        let looks_inside = level == ValidateLevel::Data || (is_sharded && level == ValidateLevel::Index);
        let bound = looks_inside.then(|| {
            let chain = chain.as_ref().map_err(BindError::clone)?;
            let subchunk = reading.pipeline.as_ref().filter(|_| is_sharded).map(|outer| subchunk_pipeline(outer, 0));
            Ok((chain, subchunk.map(|pipeline| BoundChain::bind_to_check(&pipeline)).transpose()?))
        });
        // If the store cannot list its keys, one request reads an object and shows whether it exists. Shares of the
        // existing objects cannot wait for that.
        let may_show = self.options.partition.is_none() && !reading.node.tells_keys();
        let reads_show = bound.as_ref().is_some_and(|bound| may_show && bound.is_ok());
        let purpose = if reads_show { Purpose::Reading { with_sizes: false } } else { Purpose::Validating(sizes) };
        let listing = listing::scan(&reading.node, metadata, purpose, self.driver);
        let mut listing = listing.map_err(|error| OperationError::cannot_list(&reading.store, error))?;
        if let Some(bound) = bound.as_ref().filter(|_| reads_show) {
            let inputs = (reading, metadata, bound);
            let absent = self.objects(inputs, (&listing, &listing.present), Some(sizes), gathered)?;
            listing.present = listing.present.without(&absent);
        }
        let unit = if is_sharded { "shard" } else { "chunk" };
        array((&reading.node_path, self.root), (metadata, unit, sizes), &listing, gathered);
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
        let allowed = check.threads(Budget::new(&self.options.common), &reading.store)?;
        // The listing has only the sum of all sizes, so a share counts by its number of objects. So does an array of
        // unknown sizes.
        let share = u128::from(listing.present_bytes) * u128::from(own.len());
        let share = share / u128::from(listing.present.len().max(1));
        let length = if sizes.is_some() { own.len() } else { u64::try_from(share).unwrap_or(u64::MAX) };
        self.progress.start(&reading.store, Some(length));
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
        let (mut unread, mut left) = (0, own.len());
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
                        Err(error) => {
                            unread += 1;
                            failures.push_chunk(check.node_path, unread, key, error);
                        }
                    }
                }
            }
            capacity.store(findings.capacity_left(), Ordering::Relaxed);
            left -= 1;
        });
        failures.push_more_chunks(check.node_path, unread);
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
        Fault::Store(_) => return Err(cannot_read(check.node_path, &chunk, key).because(fault)),
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

/// The maximum bytes of an array's object if its codecs set no limit: that of a file system.
const NO_BOUND: u64 = u64::MAX;

/// Returns the size limits of an array's objects, by chunk: in a rectilinear grid they depend on the shape. The pipeline
/// and the chain are those of the largest chunks.
pub(super) fn size_rules<'a>(
    grid: &'a Grid,
    pipeline: Option<&'a Pipeline>,
    chain: Option<&'a BoundChain>,
) -> impl Fn(&[u64]) -> RangeInclusive<u64> + Sync + 'a {
    let largest = size_rule(pipeline, chain);
    let of_shape = move |shape: &[u64]| {
        let pipeline = pipeline?;
        let pipeline = pipeline.for_shape(shape, &mut Vec::new());
        // A shape that cannot be bound has no limit of its chain.
        let chain = chain.and_then(|chain| chain.for_shape(shape).ok());
        Some(size_rule(Some(&pipeline), chain.as_deref()))
    };
    // Chunks of one shape share a rule. To make one, the chain is bound again.
    let by_shape = PerShape::default();
    move |chunk| {
        if grid.uniform().is_some() {
            return largest.clone();
        }
        let shape = grid.shape_of(chunk);
        let own = by_shape.get(&shape, || of_shape(&shape).ok_or(()));
        own.map_or_else(|()| largest.clone(), |rule| (*rule).clone())
    }
}

/// Returns the size limits of objects of this chain.
fn size_rule(pipeline: Option<&Pipeline>, chain: Option<&BoundChain>) -> RangeInclusive<u64> {
    if let Some(Representation::Bytes(BytesSize::Fixed(bytes))) = pipeline.and_then(Pipeline::output) {
        return bytes..=bytes;
    }
    // A chunk with elements has at least one byte, and a shard at least its index.
    let has_elements = pipeline.is_some_and(|pipeline| pipeline.input.num_elements() != Some(0));
    let least = pipeline.and_then(Pipeline::shard_index_bytes).unwrap_or(u64::from(has_elements));
    least..=chain.map_or(NO_BOUND, BoundChain::max_encoded_bytes)
}

/// Adds the findings about the keys of an array in their order, then those about absent chunks. `root` is the store.
pub(super) fn array(
    (node_path, root): (&NodePath, &Node),
    (metadata, unit, sizes): (&ArrayMetadata, &str, &Sizes<'_>),
    listing: &Listing,
    gathered: &mut ValidateReport,
) {
    let mut unread = 0;
    for stray in &listing.strays {
        let key = node_path.key(&stray.key);
        if let UnexpectedKeyKind::Unread(chunk, why, Some(help)) = &stray.kind {
            unread += 1;
            let error = cannot_read(node_path, chunk, &key).because(why.as_str()).with_help(help);
            gathered.failures.push_chunk(node_path, unread, key, error);
        } else if let Some(found) = stray_finding(stray, &key, root, Some(sizes)) {
            push(gathered, node_path.holds(found).at_key(key));
        }
    }
    gathered.failures.push_more_chunks(node_path, unread);
    let total = metadata.num_chunks();
    gathered.note_absent(node_path, &listing.present, (metadata.grid.counts(), total));
    let absent = total.saturating_sub(listing.present.len());
    let is_expected = absent == total && describes_others(metadata);
    let found = if absent == 0 || is_expected {
        return;
    } else if absent == total {
        let none = match total {
            1 => format!("the only {unit} is not"),
            _ => format!("none of the {} {unit}s is", count(total)),
        };
        Diagnostic::new(code::CHUNKS_NONE, format!("{none} stored: every element reads as the fill value"))
            .with_help("if the array should have values, its chunks were lost or have other names")
    } else {
        let verbs = if absent == 1 { ["is", "reads"] } else { ["are", "read"] };
        let of = format!("{} of {} {unit}s", count(absent), count(total));
        let message = format!("{of} {} absent and {} as the fill value", verbs[0], verbs[1]);
        Diagnostic::new(code::CHUNKS_ABSENT, message)
    };
    gathered.findings.push(node_path.holds(found));
}

/// Returns the error for a chunk that cannot be read. Nothing is known of it.
pub(super) fn cannot_read(node_path: &NodePath, chunk: &[u64], key: &str) -> OperationError {
    OperationError::environment(format!("chunk {chunk:?} (`{key}`) of `{}` cannot be read", node_path.name()))
}

/// Adds a finding about a key. The content of a linked folder is not checked.
fn push(gathered: &mut ValidateReport, found: Diagnostic) {
    if found.is(code::LINK_TO_FOLDER) {
        gathered.leave_out("links to folders (not followed)", 1);
    }
    gathered.findings.push(found);
}

/// Adds the findings about entries of a group's folder that are not its members.
pub(super) fn group(node: &HierarchyNode, root: &Node, gathered: &mut ValidateReport) {
    let rest = &node.rest;
    let stray = |key: &String, kind| UnexpectedKey { key: key.clone(), kind };
    let mut strays: Vec<UnexpectedKey> = Vec::new();
    strays.extend(rest.files.iter().map(|key| stray(key, UnexpectedKeyKind::Unknown)));
    strays.extend(rest.folders.iter().map(|key| stray(key, UnexpectedKeyKind::Folder)));
    strays.extend(rest.links.iter().map(|key| stray(key, UnexpectedKeyKind::Link)));
    strays.extend(rest.others.iter().map(|(key, found)| stray(key, UnexpectedKeyKind::NotAFile(None, found))));
    strays.extend(rest.unnamed.iter().map(|key| stray(key, UnexpectedKeyKind::NotUtf8)));
    strays.sort_unstable();
    for stray in &strays {
        let link = || Diagnostic::new(code::KEY_UNKNOWN, "a link that belongs to no node");
        let found = stray_finding(stray, &stray.key, root, None).unwrap_or_else(link);
        push(gathered, node.node_path.holds(found).at_key(stray.key.clone()));
    }
}

/// Returns the finding about a key. `None` for a link to a file inside the store. `key` is relative to the store. Only
/// arrays have objects with sizes.
fn stray_finding(stray: &UnexpectedKey, key: &str, root: &Node, sizes: Option<&Sizes<'_>>) -> Option<Diagnostic> {
    let not_a_file;
    let (code, message, help) = match &stray.kind {
        UnexpectedKeyKind::Unknown if is_temporary(key) => {
            let message = "a temporary file of a writer that was interrupted";
            (code::KEY_TEMPORARY, message, "remove it when no program writes to the store")
        }
        UnexpectedKeyKind::Unknown => {
            let help = "readers ignore it: remove it, or correct the separator or shape of the array";
            (code::KEY_UNKNOWN, "the key belongs to no chunk and to no document", help)
        }
        UnexpectedKeyKind::Folder if is_temporary(key) => {
            let help = "its command with `--resume`, or `--finish` of a job in parts, removes it; or remove it by hand \
                when nobody writes there";
            (code::KEY_TEMPORARY, "a folder that a run of zarrcast left: readers ignore it", help)
        }
        UnexpectedKeyKind::Folder if root.child(key).is_ok_and(|node| matches!(has_begun(&node), Ok(true))) => {
            let help = "its command with `--resume`, or `--finish` of a job in parts, completes it";
            (code::KEY_TEMPORARY, "an unfinished run of zarrcast: readers ignore it", help)
        }
        UnexpectedKeyKind::Folder if sizes.is_some() => {
            let help = "move or remove it: an array contains no other nodes, and readers do not look there";
            (code::FOLDER_UNKNOWN, "a folder in an array that has none of its chunks", help)
        }
        UnexpectedKeyKind::Folder => {
            let help = "readers ignore it: remove it, or add the missing metadata";
            (code::FOLDER_UNKNOWN, "a folder without arrays, groups or chunks", help)
        }
        UnexpectedKeyKind::OutsideGrid(_) => {
            let help = "remove it, or correct the shape: readers will see it when the array grows";
            (code::KEY_OUTSIDE_GRID, "the chunk is outside of the grid: readers ignore it", help)
        }
        UnexpectedKeyKind::NotAFile(_, found) => {
            not_a_file = format!("expected a regular file, found {found}");
            (code::OBJECT_NOT_A_FILE, not_a_file.as_str(), "restore the object, or remove what was found")
        }
        UnexpectedKeyKind::NotUtf8 => {
            let message = "the name is not UTF-8 or not a path, so it is no key of a store";
            (code::KEY_NOT_UTF8, message, "rename or remove it")
        }
        UnexpectedKeyKind::Size(chunk, size) => {
            return Some(size_finding(*size, sizes?(chunk)).at_chunk(chunk.clone()));
        }
        UnexpectedKeyKind::Unread(_, why, _) => {
            (code::CHUNK_CORRUPT, why.as_str(), "restore the chunk from its source, or write it again")
        }
        UnexpectedKeyKind::Link => return link_finding(key, root),
    };
    let found = Diagnostic::new(code, message).with_help(help);
    Some(match &stray.kind {
        UnexpectedKeyKind::OutsideGrid(chunk)
        | UnexpectedKeyKind::NotAFile(Some(chunk), _)
        | UnexpectedKeyKind::Unread(chunk, ..) => found.at_chunk(chunk.clone()),
        _ => found,
    })
}

pub(super) fn size_finding(size: u64, sizes: RangeInclusive<u64>) -> Diagnostic {
    let (message, expected) = match sizes.into_inner() {
        (exact, most) if exact == most => {
            let what = if size < exact { "truncated" } else { "too long" };
            (format!("the object is {what}: expected {}, found {size}", counted(exact, "byte")), code::OBJECT_SIZE)
        }
        (least, _) if size < least && least > 1 => {
            (format!("the shard of {size} bytes is shorter than its index of {least}"), code::SHARD_TRUNCATED)
        }
        (least, _) if size < least => ("the object is empty: at least 1 byte expected".to_owned(), code::OBJECT_SIZE),
        (_, most) => {
            let message = format!("the object has {size} bytes; its codecs write at most {most}");
            (message, code::OBJECT_TOO_LARGE)
        }
    };
    Diagnostic::new(expected, message).with_help("restore the chunk from its source, or write it again")
}

/// Returns the finding about a link. `None` if it refers to a file inside the store.
fn link_finding(key: &str, root: &Node) -> Option<Diagnostic> {
    let target = root.link_target(key).ok().flatten();
    let (code, message) = match target {
        None => (code::LINK_LEADS_AWAY, "a broken link: readers treat the object as missing"),
        Some(target) if target.is_folder => {
            (code::LINK_TO_FOLDER, "a link to a folder is not followed: its content was not checked")
        }
        Some(target) if !target.is_inside => (
            code::LINK_LEADS_AWAY,
            "the target of the link is outside of the store: a copy of the store lacks the object",
        ),
        Some(_) => return None,
    };
    Some(Diagnostic::new(code, message).with_help("replace the link by its target"))
}

/// True if a name is one that writers use for unfinished files.
fn is_temporary(key: &str) -> bool {
    let name = key.rsplit('/').next().unwrap_or(key);
    // zarr-python: NAME.UUID.partial; tensorstore: NAME.__lock; zarrcast: NAME.zarrcast-partial and .zarrcast.
    [".partial", ".__lock", ".zarrcast-partial", ".tmp"].iter().any(|end| name.ends_with(end))
        || name == ".zarrcast"
        || (name.starts_with('.') && name.ends_with(".zarrcast"))
}
