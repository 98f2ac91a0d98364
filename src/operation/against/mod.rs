//! `--against`: whether two stores hold the same values, whatever their chunks, codecs and data types.
//!
//! What is compared are the elements, decoded; metadata decide only whether there is something to compare.

mod array;
mod block;
mod value;

use std::collections::BTreeSet;
use std::path::Path;

use super::available_threads;
use super::error::{FaultClass, OperationError};
use super::open::open_array;
use super::options::{AgainstOptions, CommonOptions};
use super::progress::Progress;
use super::validate_result::{AgainstNode, AgainstResult};
use crate::engine::driver::Driver;
use array::{Pair, Readable};
use value::Tolerance;

/// Two stores, and how they are compared.
#[derive(Debug, Clone, Copy)]
pub struct Comparison<'a> {
    /// STORE.
    pub store: &'a Path,
    /// `--node`, of both.
    pub node: Option<&'a str>,
    /// OTHER and the tolerances.
    pub against: &'a AgainstOptions,
    /// Threads and memory.
    pub common: &'a CommonOptions,
}

impl Comparison<'_> {
    /// Compares each array with the one of the same path. `paths` are those of the arrays of STORE and of OTHER below
    /// the node, as `/a/b`.
    ///
    /// An error only where a store cannot be read; what cannot be decoded or has no other is not equal.
    pub fn run(
        &self,
        paths: [&[String]; 2],
        progress: &dyn Progress,
    ) -> Result<AgainstResult, OperationError> {
        let [own, other] = paths.map(|paths| paths.iter().collect::<BTreeSet<_>>());
        let mut nodes = Vec::new();
        for path in own.union(&other) {
            let node = match (own.contains(*path), other.contains(*path)) {
                (true, true) => self.pair(path, progress)?,
                (true, false) => missing(self.against.other.as_path()),
                (false, _) => missing(self.store),
            };
            nodes.push(AgainstNode { path: (*path).clone(), ..node });
        }
        Ok(AgainstResult {
            other: self.against.other.display().to_string(),
            equal: nodes.iter().all(|node| node.equal),
            nodes,
        })
    }

    fn pair(&self, path: &str, progress: &dyn Progress) -> Result<AgainstNode, OperationError> {
        let threads = self.common.threads.map_or_else(available_threads, std::num::NonZeroUsize::get);
        let driver = new_driver(threads)?;
        let sides = [self.store, self.against.other.as_path()].map(|store| self.open(store, path, &driver));
        let (a, b) = match sides {
            [Ok(a), Ok(b)] => (a, b),
            [Err(error), _] | [_, Err(error)] if error.class() == FaultClass::Data => {
                return Ok(not_compared(describe(&error)));
            }
            [Err(error), _] | [_, Err(error)] => return Err(error),
        };
        let tolerance = Tolerance { rtol: self.against.rtol, atol: self.against.atol };
        let pair = match Pair::new(&a, &b, tolerance) {
            Ok(pair) => pair,
            Err(reason) => return Ok(not_compared(reason)),
        };
        let allowed = self.threads_within_memory(threads, pair.bytes_per_thread())?;
        if allowed < threads {
            return pair.compare(&new_driver(allowed)?, progress);
        }
        pair.compare(&driver, progress)
    }

    fn open(&self, store: &Path, path: &str, driver: &Driver) -> Result<Readable, OperationError> {
        let below = self.node.unwrap_or_default().trim_matches('/');
        let node = format!("{below}{path}");
        let node = node.trim_matches('/');
        let array = open_array(store, (!node.is_empty()).then_some(node))?;
        Readable::new(array, driver)
    }

    /// As many threads as `--max-memory` allows.
    fn threads_within_memory(&self, threads: usize, each: u64) -> Result<usize, OperationError> {
        let Some(budget) = self.common.max_memory else { return Ok(threads) };
        let allowed = usize::try_from(budget / each.max(1)).unwrap_or(usize::MAX);
        if allowed == 0 {
            return Err(OperationError::environment(format!(
                "--max-memory of {budget} bytes is too small: comparing a block needs {each} bytes"
            ))
            .with_help(format!("give at least `--max-memory {each}`")));
        }
        Ok(threads.min(allowed))
    }
}

fn new_driver(threads: usize) -> Result<Driver, OperationError> {
    Driver::new(threads)
        .map_err(|error| OperationError::environment("the threads cannot be started").because(error))
}

fn missing(store: &Path) -> AgainstNode {
    not_compared(format!("no such array in {}", store.display()))
}

fn not_compared(reason: String) -> AgainstNode {
    AgainstNode { reason: Some(reason), ..AgainstNode::default() }
}

/// An error with its causes, in one clause.
fn describe(error: &OperationError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        text.push_str(": ");
        text.push_str(&next.to_string());
        cause = next.source();
    }
    text
}
