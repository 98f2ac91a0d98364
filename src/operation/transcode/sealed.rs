//! A plan that can be serialised and read again. It determines the content of DEST and the work on its chunks.
//!
//! A run follows its sealed plan. Its fingerprint identifies the journal, and its documents are published. One process
//! keeps it in memory, with the documents of every node, which may be many. A job in parts writes it to a file and
//! reads it again, perhaps on another machine. There it is resolved against SOURCE again, without a pass over the data.
//! The quantisations and block shapes are those of the plan. The result must be the same plan.

use std::collections::{BTreeMap, HashSet};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::plan::{BlockShapes, ResolvedPlan, route::name_of};
use super::{Plan, Source};
use crate::engine::{Fingerprint, journal::digest};
use crate::metadata::{Json, Object};
use crate::operation::{
    ChangeOptions, CompressionResult, OpenedArray, OperationError, PathPattern, Quantization, Result, TranscodeOptions,
};
use crate::store::Node;

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

    /// Applies the changes of the plan to the arrays of SOURCE. Fails if the plan is for other arrays.
    pub(super) fn apply(&self, source: &mut Source) -> Result<()> {
        self.check_source(&source.node)?;
        source.spared.clone_from(&self.spared);
        let arrays = &mut source.arrays;
        let found: BTreeMap<_, _> = arrays.iter().flat_map(|array| digests(&array.path, &array.opened)).collect();
        let is_same = arrays.len() == self.arrays.len()
            && arrays.iter().zip(&self.arrays).all(|(array, sealed)| array.path == sealed.path);
        if !is_same || found != self.source {
            return Err(self.differs("SOURCE has changed since the plan was sealed"));
        }
        for (array, sealed) in arrays.iter_mut().zip(&self.arrays) {
            array.change = sealed.change.clone();
            array.resolved = (!sealed.is_open()).then(|| sealed.resolved.clone());
            array.compression.clone_from(&sealed.compression);
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
