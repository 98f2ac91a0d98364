//! `--against`: compares the values of two stores, with any chunks, codecs and data types.
//!
//! Decoded elements are compared. Metadata decide only whether there is something to compare.

pub(super) mod value;

use std::collections::BTreeMap;
use std::ops::AddAssign;

use value::{Compared, Comparer, Difference, Greatest, Tolerance, order};

use super::budget::{BASE_BYTES, comparing_bytes};
use super::cf::{CfDecoding, float_type};
use super::coordinates::describes_rounding;
use super::hierarchy::{Hierarchy, HierarchyNode, NodeContent, compare_paths, read_hierarchy};
use super::progress::{Progress, SubProgress};
use super::stored::{listed, opaque_array};
use super::validate_result::{AgainstNode, AgainstResult, Failures};
use super::{
    Budget, FaultClass, Interrupt, NodePath, OpenedArray, OperationError, Result, ValidateOptions, document::below,
    explain, narrowed, new_driver, open::open_array, options::AgainstOptions, stored_array,
};
use crate::array::{ChunkFault, ChunkSetBuilder, Fault, ObjectOf, StoredArray, SubchunkSource, position};
use crate::data_type::{DataType, FillValue};
use crate::diagnostic::Profile;
use crate::element::NumberType;
use crate::engine::route::variable_size::{BETWEEN_SUBCHUNKS, ElementReader, VariableSizeBuffers, fold_subchunks};
use crate::engine::{Driver, Pair, Pairs, Transfer};
use crate::grid::Region;
use crate::metadata::{Json, Number, array::num_elements};
use crate::store::Location;

/// Two stores and the options of their comparison. OTHER is opened before anything of STORE is read.
#[derive(Debug)]
pub struct Comparison<'a> {
    store: &'a Location,
    against: &'a AgainstOptions,
    options: &'a ValidateOptions,
    driver: Driver,
    /// The arrays of OTHER.
    others: Arrays,
}

/// The arrays of a store by path below the node.
#[derive(Debug)]
struct Arrays {
    /// The bytes of their elements, 0 if their documents are broken.
    bytes: BTreeMap<String, u64>,
    /// The folders that could not be read, and the reasons. There may be arrays in them.
    unread: Vec<(String, OperationError)>,
}

/// Opens OTHER, if the options request a comparison. An error if there is nothing to compare with.
pub fn open_other<'a>(options: &'a ValidateOptions, interrupt: &Interrupt) -> Result<Option<Comparison<'a>>> {
    let (Some(against), Some(store)) = (&options.against, options.stores.first()) else { return Ok(None) };
    let driver = new_driver(options.common.num_threads(), interrupt)?;
    let others = arrays(&against.other, options.node.as_deref(), &driver)?;
    Ok(Some(Comparison { store, against, options, driver, others }))
}

/// Returns the arrays below the node, and unreadable nodes that may be arrays. An array that only describes the rounding
/// of others has no values: `--keep-bits` adds one.
fn arrays(store: &Location, node: Option<&str>, driver: &Driver) -> Result<Arrays> {
    let start = NodePath::new(store, node)?;
    let Hierarchy { nodes, failures: unread } = read_hierarchy(store, node, driver)?.with_root(&start.path)?;
    let bytes = |node: &HierarchyNode| match &node.content {
        NodeContent::Array(reading) if reading.metadata.as_ref().is_some_and(describes_rounding) => None,
        NodeContent::Array(reading) => Some(reading.decoded_bytes()),
        NodeContent::Broken => Some(0),
        NodeContent::Group(_) | NodeContent::Implicit => None,
    };
    let path = |node: &HierarchyNode| {
        Some(below(&node.node_path.path, &start.path)).filter(|path| !path.is_empty()).unwrap_or("/").to_owned()
    };
    let bytes = nodes.iter().filter_map(|node| Some((path(node), bytes(node)?))).collect();
    Ok(Arrays { bytes, unread })
}

impl Comparison<'_> {
    /// Compares each array of the first STORE with that of OTHER at the same path below the node. Also returns what of
    /// STORE or OTHER could not be read, and the number of refused objects that were compared as absent.
    ///
    /// An error only if a store cannot be opened. An array that cannot be decoded, or has no counterpart, is not equal.
    /// Neither is one that cannot be read, which is also a failure.
    pub(super) fn compare(self, progress: &dyn Progress) -> Result<(AgainstResult, Failures, u64)> {
        let own = arrays(self.store, self.options.node.as_deref(), &self.driver)?;
        let sides = [&own, &self.others];
        let [own, other] = sides.map(|arrays| &arrays.bytes);
        let others_alone = other.keys().filter(|path| !own.contains_key(*path));
        let mut paths: Vec<&String> = own.keys().chain(others_alone).collect();
        paths.sort_by(|a, b| compare_paths(a, b));
        let pairs = own.iter().filter(|(path, _)| other.contains_key(*path));
        progress.start("compare", Some(pairs.map(|(_, bytes)| *bytes).fold(0, u64::saturating_add)));
        let missing = |side: usize, path: &str| {
            let path = format!("/{}/", self.in_store(path));
            let unread = sides[side].unread.iter().find(|(folder, _)| path.starts_with(&format!("{folder}/")));
            let no_such = || format!("no such array in {}", self.store_of(side).display());
            not_compared(unread.map_or_else(no_such, |(_, error)| error.in_one_line()))
        };
        let (mut nodes, mut failures) = (Vec::new(), Failures::default());
        for path in paths {
            let node = match (own.get(path), other.contains_key(path)) {
                (Some(bytes), true) => {
                    let share = SubProgress::new(progress, *bytes, 1);
                    self.node(path, &share).or_else(|unread| self.not_read(path, unread, &mut failures))?
                }
                (Some(_), false) => missing(1, path),
                (None, _) => missing(0, path),
            };
            nodes.push(AgainstNode { path: path.clone(), ..node });
        }
        progress.finish();
        let (other, equal) = (self.against.other.display().to_string(), nodes.iter().all(|node| node.equal));
        let refused = [0, 1].map(|side| self.store_of(side).node().num_refused());
        // The check of STORE has reported its own.
        for (path, error) in self.others.unread {
            failures.push(Some(&other), Some(&path), None, error);
        }
        Ok((AgainstResult { other, equal, nodes }, failures, refused.iter().sum()))
    }

    /// Compares the arrays at a path. An error of the data if one cannot be read or decoded.
    fn node(&self, path: &str, progress: &dyn Progress) -> Result<AgainstNode, Unread> {
        let arrays = [&self.open(0, path)?, &self.open(1, path)?];
        let [shape, other] = arrays.map(|array| &array.metadata.shape);
        if shape != other {
            return Ok(not_compared(format!("the shape is {shape:?}, there {other:?}")));
        }
        let elements = num_elements(shape).unwrap_or(u64::MAX);
        let pair = ArrayPair { arrays, elements, budget: Budget::new(&self.options.common), driver: &self.driver };
        if let Some(of_any_length) = type_of_any_length(arrays.map(|array| &array.data_type)) {
            // The progress is unknown until all of it is done.
            progress.start("compare", Some(1));
            let compared = pair.compare_any_length(of_any_length);
            progress.finish();
            return compared;
        }
        pair.compare(&pair.bind(self.against)?, progress)
    }

    /// Returns STORE (0) or OTHER (1).
    fn store_of(&self, side: usize) -> &Location {
        if side == 0 { self.store } else { &self.against.other }
    }

    /// Returns the path of an array in the stores.
    fn in_store(&self, path: &str) -> String {
        let below = self.options.node.as_deref().unwrap_or_default().trim_matches('/');
        format!("{below}{path}").trim_matches('/').to_owned()
    }

    fn open(&self, side: usize, path: &str) -> Result<OpenedArray, Unread> {
        let node = self.in_store(path);
        let array = open_array(self.store_of(side), (!node.is_empty()).then_some(node.as_str()), Profile::Read);
        array.map_err(|error| Unread { side: Some(side), key: None, error })
    }

    /// Returns data that cannot be read or compared as not equal. What a store cannot read is a failure, too, and so is an
    /// array for which there is too little memory.
    fn not_read(&self, path: &str, unread: Unread, failures: &mut Failures) -> Result<AgainstNode> {
        let Unread { side, key, error } = unread;
        let reason = error.in_one_line();
        match (error.class(), side) {
            (FaultClass::Data, _) => {}
            (FaultClass::Environment, side) => {
                let node_path = NodePath::new(self.store_of(side.unwrap_or(0)), Some(&self.in_store(path)))?;
                let key = key.map(|key| node_path.key(&key));
                failures.push(Some(&node_path.store), Some(&node_path.path), key, error);
            }
            _ => return Err(error),
        }
        Ok(not_compared(reason))
    }
}

/// The reason why an array has no comparison: the side that cannot be read, if it is one of them, and its key.
struct Unread {
    side: Option<usize>,
    key: Option<String>,
    error: OperationError,
}

impl From<OperationError> for Unread {
    fn from(error: OperationError) -> Self {
        Unread { side: None, key: None, error }
    }
}

fn not_compared(reason: String) -> AgainstNode {
    AgainstNode { reason: Some(reason), ..AgainstNode::default() }
}

/// The values of an array, as they are compared.
struct Values {
    /// The decoding of stored elements under `--cf`.
    decoding: Option<CfDecoding>,
    data_type: DataType,
    /// True if CF attributes declare other values than the stored ones, which are compared nevertheless.
    is_packed: bool,
}

/// Differences in a piece, or in all pieces so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// The elements that were compared. Units that neither side stores are not visited.
    elements: u64,
    pub(super) differing: u64,
    relative: Option<f64>,
    greatest: Option<Mismatch>,
}

/// An element that differs: its position, and its values on both sides.
#[derive(Debug)]
struct Mismatch {
    at: Vec<u64>,
    difference: Option<Difference>,
    values: [Vec<u8>; 2],
}

impl Values {
    /// Returns the values as stored or, with `cf`, as CF readers see them, as `floats` if given.
    fn new(array: &OpenedArray, (cf, floats): (bool, Option<NumberType>)) -> Result<Self> {
        let decoding = if cf { CfDecoding::new(array, floats)? } else { None };
        let has = |name| array.metadata.attributes.contains(name);
        let is_packed = !cf && ["scale_factor", "add_offset", "_FillValue", "missing_value"].into_iter().any(has);
        let data_type = decoding.as_ref().map(|decoding| DataType::Number(decoding.target()));
        Ok(Values { decoding, data_type: data_type.unwrap_or_else(|| array.data_type.clone()), is_packed })
    }

    /// Returns the values of stored elements. They are in `decoded` if they differ from the stored ones.
    fn decode<'a>(&self, elements: &'a [u8], decoded: &'a mut Vec<u8>) -> &'a [u8] {
        let Some(decoding) = &self.decoding else { return elements };
        decoding.decode(elements, decoded);
        decoded
    }
}

/// Two arrays of the same shape, and the resources to compare them.
struct ArrayPair<'a> {
    arrays: [&'a OpenedArray; 2],
    elements: u64,
    budget: Budget,
    driver: &'a Driver,
}

impl ArrayPair<'_> {
    /// Returns a fault of the data as a reason why arrays are not equal. A fault of the machine is an error.
    fn fault(&self, ChunkFault { index, fault }: ChunkFault) -> Result<AgainstNode, Unread> {
        let (side, index, fault) = match fault {
            Fault::At { of: ObjectOf::Destination, index, fault } => (1, index, *fault),
            Fault::At { index, fault, .. } => (0, index, *fault),
            fault => (0, index, fault),
        };
        let array = self.arrays[side];
        let key = array.metadata.chunk_key_encoding.key(&position(index, &array.metadata));
        if !fault.is_of_data() {
            let side = matches!(fault, Fault::Store(_)).then_some(side);
            let error = explain(ChunkFault { index, fault }, &array.metadata, &array.store, None);
            return Err(Unread { side, key: Some(key), error });
        }
        let cause = match &fault {
            // The position is already that in the array.
            Fault::Chain(fault) => fault.sentence_at(&vec![0; array.metadata.shape.len()]),
            fault => fault.to_string(),
        };
        Ok(not_compared(format!("chunk {key} of {}: {cause}", array.store)))
    }

    /// Binds and lists both arrays. An error of the data if they cannot be compared.
    fn bind(&self, AgainstOptions { cf, rtol, atol, .. }: &AgainstOptions) -> Result<ArrayComparison, Unread> {
        // If one side has floats, packed integers of the other side are unpacked to that type.
        let (cf, [a, b]) = ((*cf, self.arrays.into_iter().find_map(float_type)), self.arrays);
        let values = [Values::new(a, cf)?, Values::new(b, cf)?];
        let tolerance = Tolerance { rtol: *rtol, atol: *atol };
        let comparer = Comparer::new(&values[0].data_type, &values[1].data_type, tolerance);
        let comparer = comparer.map_err(OperationError::data)?;
        let (source, destination) = (self.opened(0)?, self.opened(1)?);
        let transfer = Transfer { source, destination, absent_element: None, origin: None };
        Ok(ArrayComparison { transfer, values, comparer })
    }

    /// Compares all elements. A chunk that cannot be decoded makes the arrays unequal. Machine faults are errors.
    fn compare(&self, comparison: &ArrayComparison, progress: &dyn Progress) -> Result<AgainstNode, Unread> {
        let ArrayPair { arrays, elements, budget, driver } = *self;
        let mut all = Tally::default();
        if elements == 0 {
            return Ok(comparison.result(elements, all));
        }
        let stored = [&comparison.transfer.source, &comparison.transfer.destination];
        // Neither side stores anything, so one comparison of the fill values stands for all elements.
        if stored.iter().all(|array| array.objects().is_empty()) {
            all += comparison.fill_values(elements, vec![0; stored[0].metadata.shape.len()]);
            return Ok(comparison.result(elements, all));
        }
        let pairs = Pairs::new(&comparison.transfer, comparison.worker_bytes(), budget.threads(), budget.bytes());
        let purpose = || format!("to compare the chunks of `{}`", arrays[0].store);
        let pairs = pairs.map_err(|small| budget.too_small(small.least, &purpose()))?;
        let threads = pairs.schedule.threads;
        let driver = &narrowed(driver, threads)?;
        // A store that cannot list its keys may have chunks that the other one lacks.
        let is_listed = comparison.transfer.destination.present.is_some();
        let units = if is_listed { pairs.units(None) } else { pairs.all_units() };
        let element = comparison.values[0].data_type.size().unwrap_or(1) as u64;
        let visit = |buffers: &mut [Vec<u8>; 2], pair: &Pair<'_>| {
            let tally = comparison.piece(pair, buffers);
            progress.advance(tally.elements.saturating_mul(element));
            Ok(tally)
        };
        progress.start("compare", Some(elements.saturating_mul(element)));
        let fold = |_, tally: Tally| all += tally;
        let outcome = pairs.fold(driver, (&units, None), visit, fold);
        progress.finish();
        if let Err(ended) = outcome {
            return self.fault(ended);
        }
        // The first unit in C order that was not visited has the first of the other elements.
        let rest = elements.saturating_sub(all.elements);
        let first = (0..=units.len()).find(|unit| !units.contains(*unit)).filter(|_| rest > 0);
        if let Some(first) = first {
            all += comparison.fill_values(rest, pairs.start_of(first));
        }
        Ok(comparison.result(elements, all))
    }

    /// Opens an array, with its stored chunks. Elements of variable length are read one by one.
    fn opened(&self, side: usize) -> Result<StoredArray, Unread> {
        let array = self.arrays[side];
        let OpenedArray { node, metadata, pipeline, store, .. } = array;
        let listing = listed(array, self.driver).map_err(|error| Unread { side: Some(side), key: None, error })?;
        let is_opaque = array.data_type.is_variable_length();
        let opaque = || opaque_array((node, metadata, pipeline), store);
        Ok((if is_opaque { opaque()? } else { stored_array(array)? }).with_present(listing.known()))
    }

    /// Compares elements of any length, on at least one side. A chunk that cannot be decoded makes them unequal.
    /// Machine faults are errors.
    fn compare_any_length(&self, data_type: &DataType) -> Result<AgainstNode, Unread> {
        let ArrayPair { arrays, elements, budget, driver } = *self;
        let memory_share = budget.memory_share(BASE_BYTES + BETWEEN_SUBCHUNKS);
        let memory_share = memory_share.map_err(|least| budget.too_small(least, "to compare chunks"))?;
        let (source, destination) = (self.opened(0)?, self.opened(1)?);
        let transfer = Transfer { source, destination, absent_element: None, origin: None };
        let Transfer { source, destination, .. } = &transfer;
        // The objects with elements that either side stores.
        let mut objects = ChunkSetBuilder::default();
        objects.insert_all(&destination.objects());
        objects.insert_all(&transfer.overlapped_among(&destination.metadata.grid, None));
        let objects = objects.finish();
        let sources = [SubchunkSource::new(source), SubchunkSource::of_destination(destination)];
        let reader = |side: usize| {
            let undecoded =
                || OperationError::data(format!("the chunks of `{}` cannot be decoded", arrays[side].store));
            ElementReader::new(&sources[side], side).ok_or_else(undecoded)
        };
        let (of_a, of_b) = (reader(0)?, reader(1)?);
        let visit = |buffers: &mut _, _: &[u64], block: &Region| differences([&of_a, &of_b], block, buffers);
        let mut all = Tally::default();
        let compared = fold_subchunks(&transfer, &objects, (memory_share, driver), visit, |tally| all += tally);
        if let Err(ended) = compared {
            return self.fault(ended);
        }
        // Elements that neither side stores have the fill values.
        let rest = elements.saturating_sub(all.elements);
        let absent = (0..destination.metadata.num_chunks()).find(|index| !objects.contains(*index));
        if let Some(absent) = absent.filter(|_| rest > 0 && of_a.fill != of_b.fill) {
            let values = [&of_a, &of_b].map(|reader| reader.fill.clone());
            let mismatch = Mismatch { at: destination.start_of(absent), difference: None, values };
            all += Tally { differing: rest, greatest: Some(mismatch), ..Tally::default() };
        }
        Ok(all.result(elements, [data_type; 2], false))
    }
}

/// Both arrays of a pair with their chains bound, and the comparison of their values.
struct ArrayComparison {
    transfer: Transfer,
    values: [Values; 2],
    comparer: Comparer,
}

impl ArrayComparison {
    /// Returns the bytes that a thread needs in addition to blocks.
    fn worker_bytes(&self) -> u64 {
        let destination = &self.transfer.destination;
        let decoded = |values: &Values| values.decoding.as_ref().map_or(0, |of| of.target().size() as u64);
        let piece = destination.subchunk_chain().decoded().num_elements().unwrap_or(u64::MAX);
        let decoded = piece.saturating_mul(self.values.iter().map(decoded).sum());
        comparing_bytes(&self.transfer).saturating_add(decoded)
    }

    fn piece(&self, pair: &Pair<'_>, [seen_a, seen_b]: &mut [Vec<u8>; 2]) -> Tally {
        if pair.is_stored == [false; 2] {
            return self.fill_values(pair.region.num_elements(), pair.region.start.clone());
        }
        let [a, b] = pair.elements;
        self.box_of(pair.region, [self.values[0].decode(a, seen_a), self.values[1].decode(b, seen_b)])
    }

    /// Compares the values of a box.
    fn box_of(&self, region: &Region, values: [&[u8]; 2]) -> Tally {
        let elements = region.num_elements();
        let Compared { differing, greatest, relative } = self.comparer.compare(values[0], values[1]);
        let greatest = greatest.map(|Greatest { index, difference }| {
            let values = values.map(|bytes| {
                let size = bytes.len() / usize::try_from(elements).unwrap_or(usize::MAX).max(1);
                bytes[index * size..(index + 1) * size].to_vec()
            });
            Mismatch { at: region.position(index as u64), difference, values }
        });
        Tally { elements, differing, relative, greatest }
    }

    /// Compares elements that are absent on both sides. The first is at `at`.
    fn fill_values(&self, elements: u64, at: Vec<u64>) -> Tally {
        let mut decoded = Vec::new();
        let fills = [&self.transfer.source, &self.transfer.destination].map(StoredArray::fill_value);
        let [a, b] = [0, 1].map(|side| self.values[side].decode(&fills[side], &mut decoded).to_vec());
        // All these elements have the same two values, so the first decides for all.
        let first = self.box_of(&Region { shape: vec![1; at.len()], start: at }, [&a, &b]);
        Tally { elements, differing: first.differing * elements, ..first }
    }

    fn result(&self, elements: u64, all: Tally) -> AgainstNode {
        let types = self.values.each_ref().map(|values| &values.data_type);
        all.result(elements, types, self.values.iter().any(|values| values.is_packed))
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.elements += other.elements;
        self.differing += other.differing;
        self.relative = [self.relative, other.relative].into_iter().flatten().reduce(f64::max);
        let both = [self.greatest.take(), other.greatest].into_iter().flatten();
        // The one that differs more, or as much and is earlier in C order.
        self.greatest = both.min_by(|a, b| order(b.difference, a.difference).then_with(|| a.at.cmp(&b.at)));
    }
}

impl Tally {
    /// Returns the result for arrays with this number of elements and values of these types.
    fn result(self, elements: u64, types: [&DataType; 2], is_packed: bool) -> AgainstNode {
        let value = |data_type: &DataType, bytes| data_type.fill_value_to_json(&FillValue(bytes)).ok();
        let difference = self.greatest.as_ref().and_then(|mismatch| mismatch.difference);
        let (at, values) = self.greatest.map(|mismatch| (mismatch.at, mismatch.values)).unzip();
        let [value, other_value] = values.map_or([None, None], |[a, b]| [value(types[0], a), value(types[1], b)]);
        let hint = if is_packed { " as they are stored; `--cf` compares what CF readers see" } else { "" };
        AgainstNode {
            equal: self.differing == 0,
            reason: (self.differing > 0).then(|| format!("values differ{hint}")),
            elements,
            differing: self.differing,
            max_abs_difference: difference.map(Difference::to_json),
            max_rel_difference: self.relative.map(float),
            at,
            value,
            other_value,
            ..AgainstNode::default()
        }
    }
}

impl Difference {
    fn to_json(self) -> Json {
        match self {
            Difference::Integer(difference) => Number::parse(&difference.to_string()).map_or(Json::Null, Json::Number),
            Difference::Float(difference) => float(difference),
        }
    }
}

/// Returns a number that is not NaN as JSON.
fn float(value: f64) -> Json {
    Number::from_shortest(value).map_or_else(|| Json::from("Infinity"), Json::Number)
}

/// Returns the type of any length, if one is and elements of both are text, or both bytes.
fn type_of_any_length(types: [&DataType; 2]) -> Option<&DataType> {
    let is_text = |data_type: &DataType| match data_type {
        DataType::String | DataType::FixedUtf32(_) => Some(true),
        DataType::Bytes { .. } => Some(false),
        // These bytes are padded.
        DataType::FixedBytes(_) if data_type.raw_size().is_none() => Some(false),
        _ => None,
    };
    let [a, b] = types.map(is_text);
    types.into_iter().find(|data_type| data_type.is_variable_length()).filter(|_| a.is_some() && a == b)
}

/// Compares the elements of a box.
pub(super) fn differences(
    [a, b]: [&ElementReader; 2],
    block: &Region,
    buffers: &mut VariableSizeBuffers,
) -> Result<Tally, Fault> {
    let (a, b) = (a.read(block, &block.start, buffers)?, b.read(block, &block.start, buffers)?);
    let mut differing = (0..a.ranges.len()).filter(|index| a.element(*index) != b.element(*index));
    let first = differing.next();
    let mismatch = first.map(|index| Mismatch {
        at: block.position(index as u64),
        difference: None,
        values: [a.element(index).to_vec(), b.element(index).to_vec()],
    });
    let count = u64::from(first.is_some()) + differing.count() as u64;
    Ok(Tally { elements: a.ranges.len() as u64, differing: count, relative: None, greatest: mismatch })
}
