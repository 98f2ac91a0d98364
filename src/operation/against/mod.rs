//! `--against`: whether two stores hold the same values, whatever their chunks, codecs and data types.
//!
//! Decoded elements are compared; metadata decide only whether there is something to compare.

mod array;
pub(super) mod value;

use crate::store::Location;
use std::collections::BTreeMap;

use super::budget::Budget;
use super::cf::float_type;
use super::document::Place;
use super::error::{FaultClass, OperationError};
use super::hierarchy::{HierarchyNode, NodeContent, compare_paths, read_hierarchy};
use super::open::{OpenedArray, open_array};
use super::options::{AgainstOptions, CommonOptions, ValidateOptions};
use super::progress::{Progress, Share};
use super::validate_result::{AgainstNode, AgainstResult};
use super::{Interrupt, new_driver};
use crate::engine::Driver;
use crate::metadata::array::num_elements;
use array::ArrayComparison;
use value::Tolerance;

/// Two stores, and how they are compared; OTHER is opened before anything is read of STORE.
#[derive(Debug)]
pub struct Comparison<'a> {
    store: &'a Location,
    /// `--node`, of both.
    node: Option<&'a str>,
    against: &'a AgainstOptions,
    common: &'a CommonOptions,
    driver: Driver,
    /// OTHER's arrays.
    others: Arrays,
}

/// Arrays by their paths below the node, with the bytes of their elements; none of what cannot be read.
type Arrays = BTreeMap<String, u64>;

/// Opens OTHER, where the options ask for a comparison; an error where there is nothing to compare with.
pub fn open_other<'a>(
    options: &'a ValidateOptions,
    interrupt: &Interrupt,
) -> Result<Option<Comparison<'a>>, OperationError> {
    let (Some(against), Some(store)) = (&options.against, options.stores.first()) else { return Ok(None) };
    let (node, common) = (options.node.as_deref(), &options.common);
    let driver = new_driver(common.num_threads(), interrupt)?;
    let others = arrays(&against.other, node, &driver)?;
    Ok(Some(Comparison { store, node, against, common, driver, others }))
}

/// The arrays below the node, and what may be arrays but cannot be read.
fn arrays(store: &Location, node: Option<&str>, driver: &Driver) -> Result<Arrays, OperationError> {
    let hierarchy = read_hierarchy(store, node, driver)?;
    if let Some(failure) = hierarchy.failures.into_iter().next() {
        return Err(failure.error);
    }
    let start = Place::new(store, node)?;
    let below = start.path.trim_end_matches('/');
    let bytes = |node: &HierarchyNode| match &node.content {
        NodeContent::Array(reading) => Some(reading.decoded_bytes()),
        NodeContent::Broken => Some(0),
        NodeContent::Group(_) | NodeContent::Implicit => None,
    };
    let path = |node: &HierarchyNode| {
        let path = node.place.path.strip_prefix(below).unwrap_or_default();
        if path.is_empty() { "/".to_owned() } else { path.to_owned() }
    };
    Ok(hierarchy.nodes.iter().filter_map(|node| Some((path(node), bytes(node)?))).collect())
}

impl Comparison<'_> {
    /// Compares each array of the first STORE with the one of OTHER of the same path below the node.
    ///
    /// An error only where a store cannot be read; what cannot be decoded or has no other is not equal.
    pub fn compare(&self, progress: &dyn Progress) -> Result<AgainstResult, OperationError> {
        let (own, other) = (arrays(self.store, self.node, &self.driver)?, &self.others);
        let others_alone = other.keys().filter(|path| !own.contains_key(*path));
        let mut paths: Vec<&String> = own.keys().chain(others_alone).collect();
        paths.sort_by(|a, b| compare_paths(a, b));
        let pairs = own.iter().filter(|(path, _)| other.contains_key(*path));
        progress.start("compare", Some(pairs.map(|(_, bytes)| *bytes).fold(0, u64::saturating_add)));
        let mut nodes = Vec::new();
        for path in paths {
            let node = match (own.get(path), other.contains_key(path)) {
                (Some(bytes), true) => self.pair(path, &Share::new(progress, *bytes, 1))?,
                (Some(_), false) => missing(&self.against.other),
                (None, _) => missing(self.store),
            };
            nodes.push(AgainstNode { path: path.clone(), ..node });
        }
        progress.finish();
        Ok(AgainstResult {
            other: self.against.other.display().to_string(),
            equal: nodes.iter().all(|node| node.equal),
            nodes,
        })
    }

    fn pair(&self, path: &str, progress: &dyn Progress) -> Result<AgainstNode, OperationError> {
        let (a, b) = match [self.store, &self.against.other].map(|store| self.open(store, path)) {
            [Ok(a), Ok(b)] => (a, b),
            [Err(error), _] | [_, Err(error)] => return no_data(error),
        };
        self.arrays_compared([&a, &b], progress).or_else(no_data)
    }

    fn arrays_compared(
        &self,
        [a, b]: [&OpenedArray; 2],
        progress: &dyn Progress,
    ) -> Result<AgainstNode, OperationError> {
        let (budget, shape, other) = (Budget::of(self.common), &a.metadata.shape, &b.metadata.shape);
        let elements = num_elements(shape).unwrap_or(u64::MAX);
        if shape != other {
            return Ok(not_compared(format!("the shape is {shape:?}, there {other:?}")));
        }
        if array::have_any_length(&a.data_type, &b.data_type) {
            // How much of them is done is only known when all is.
            progress.start("compare", Some(1));
            let compared = array::compare_any_length([a, b], elements, budget, &self.driver);
            progress.finish();
            return compared;
        }
        let cf = (self.against.cf, [a, b].into_iter().find_map(float_type));
        let tolerance = Tolerance { rtol: self.against.rtol, atol: self.against.atol };
        let comparison = ArrayComparison::new([a, b], cf, tolerance, &self.driver)?;
        comparison.compare([a, b], elements, (budget, &self.driver), progress)
    }

    fn open(&self, store: &Location, path: &str) -> Result<OpenedArray, OperationError> {
        let below = self.node.unwrap_or_default().trim_matches('/');
        let node = format!("{below}{path}");
        let node = node.trim_matches('/');
        open_array(store, (!node.is_empty()).then_some(node))
    }
}

fn missing(store: &Location) -> AgainstNode {
    not_compared(format!("no such array in {}", store.display()))
}

/// Data that cannot be read or compared are not equal; an error of another class stays an error.
fn no_data(error: OperationError) -> Result<AgainstNode, OperationError> {
    match error.class() {
        FaultClass::Data => Ok(not_compared(error.in_one_line())),
        _ => Err(error),
    }
}

fn not_compared(reason: String) -> AgainstNode {
    AgainstNode { reason: Some(reason), ..AgainstNode::default() }
}
