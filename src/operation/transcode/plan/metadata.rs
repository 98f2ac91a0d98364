//! DEST's metadata: checked, written as documents, and read from these as readers do. The plan uses what was read.

use std::sync::Arc;

use super::{SourceArray, values};
use crate::data_type::DataType;
use crate::diagnostic::{Code, Diagnostic, Profile, code};
use crate::metadata::{ArrayMetadata, CodecMetadata, Json, Object, edit::codecs_json, v2};
use crate::operation::open::{is_big_endian, open_documents, opened, refusal};
use crate::operation::transcode::{NodeDocument, NodeDocuments};
use crate::operation::{ArrayReading, ChangeOptions, Draft, NodePath, OpenedArray, OperationError, Result, draft};
use crate::pipeline::{BoundConfiguration, Pipeline, Stage};
use crate::store::{MemoryStore, Node, StoreError};

/// Findings about names, which are different in v2.
const ABOUT_NAMES: [Code; 5] = [
    code::CODEC_MISNAMED,
    code::CODEC_UNREGISTERED,
    code::DATA_TYPE_MISNAMED,
    code::DATA_TYPE_UNREGISTERED,
    code::DATA_TYPE_UNSUPPORTED,
];

pub(crate) struct DestinationMetadata {
    /// The requested metadata, in v3 form.
    pub draft: Draft,
    /// The members as readers of the documents see them.
    pub metadata: ArrayMetadata,
    /// The chain that these readers decode.
    pub pipeline: Pipeline,
}

impl DestinationMetadata {
    /// Reads the documents that were made from a draft. Fails if they describe other elements than the draft.
    pub(super) fn read(draft: Draft, documents: &NodeDocuments, source: &OpenedArray) -> Result<Self> {
        let is_copied = documents.last().is_some_and(|(_, made)| made.bytes == source.documents.bytes);
        if is_copied && draft.is_as_read(source) {
            let (metadata, pipeline) = (source.metadata.by_itself(), source.pipeline.clone());
            return Ok(DestinationMetadata { draft, metadata, pipeline });
        }
        let shortened = without_attributes(documents);
        let documents = shortened.as_ref().map_or(documents, |(documents, _)| documents);
        let OpenedArray { mut metadata, data_type, fill_value, mut pipeline, .. } =
            // The loss of the fill value was checked before: some options accept it.
            read_back(documents, in_memory(&source.store), &source.store, Profile::AnyFillValue)?;
        if let Some((_, attributes)) = shortened {
            metadata.attributes = attributes;
        }
        // Several v3 types can have one name in v2.
        let in_v2 = |data_type| v2::write_dtype(data_type, false).ok().filter(|_| draft.zarr_format == 2);
        let has_same_name = || in_v2(&data_type).is_some_and(|name| Some(name) == in_v2(&draft.data_type));
        let is_same = [
            ("another shape", metadata.shape == source.metadata.taken_shape()),
            ("another data type", data_type == draft.data_type || has_same_name()),
            ("another fill value", fill_value == draft.fill_value),
        ];
        if let Some((what, _)) = is_same.into_iter().find(|(_, is_same)| !is_same) {
            let message = format!("the metadata made from `{}` would describe {what}", source.store);
            let help = "nothing was written: this is a fault of zarrcast, please report it with the command line";
            return Err(OperationError::environment(message).with_help(help));
        }
        // v2 may have one name for several v3 types. The draft has the one that is meant.
        pipeline.input.data_type = draft.data_type.clone();
        Ok(DestinationMetadata { draft, metadata, pipeline })
    }
}

/// Returns a v3 document without its attributes, and the attributes. They may be large, and do not change.
fn without_attributes(documents: &NodeDocuments) -> Option<(NodeDocuments, Object)> {
    let [(key, document)] = documents.as_slice() else { return None };
    let mut members = document.json.as_object()?.clone();
    let attributes = members.remove("attributes")?.as_object()?.clone();
    Some((vec![(key.clone(), NodeDocument::new(Json::Object(members)))], attributes))
}

/// Writes documents to an empty node, and reads the array that they describe. Fails if the profile forbids anything in
/// them. `store` is for messages.
pub(crate) fn read_back(documents: &NodeDocuments, node: Node, store: &str, profile: Profile) -> Result<OpenedArray> {
    for (key, document) in documents {
        node.write(key, &document.bytes).map_err(|error| unkept(error, store))?;
    }
    let documents = open_documents(&node, store)?;
    let node_path = NodePath { store: store.to_owned(), path: "/".to_owned() };
    opened(profile, ArrayReading::new(node_path, node, documents))
}

/// Returns an empty node in memory.
pub(crate) fn in_memory(name: &str) -> Node {
    Node::of(Arc::new(MemoryStore::new(name)))
}

/// Returns the error of a node in memory.
pub(crate) fn unkept(error: StoreError, store: &str) -> OperationError {
    OperationError::environment(format!("a sample of `{store}` cannot be kept")).because(error)
}

/// Checks the draft: the document, the chain, and the fill value in it. A new chain is normalized. While the codes
/// are not resolved (`open`), it is not known whether the fill value survives.
pub(super) fn check(array: &SourceArray, open: bool, draft: &mut Draft, warnings: &mut Vec<Diagnostic>) -> Result<()> {
    let SourceArray { opened: source, change: options, .. } = array;
    if draft.is_as_read(source) {
        return Ok(());
    }
    let (_, pipeline, mut found) = draft::build(draft)?;
    values::refuse_lossy_codecs(options, &pipeline)?;
    if draft.data_type != source.data_type && draft.data_type.number().is_some() {
        found.extend(DataType::read(&draft.data_type.to_metadata()).into_iter().flat_map(|read| read.notes));
    }
    let about_names = |found: &Diagnostic| ABOUT_NAMES.iter().any(|code| found.is(*code));
    // v2 has its own names.
    let is_v2 = draft.zarr_format == 2;
    found.retain(|found| !((open && is_of_fill(found)) || (is_v2 && about_names(found))));
    let profile = match (options.no_fill_check, draft.new_chain) {
        (true, _) => Profile::AnyFillValue,
        (false, true) => Profile::Write,
        // The chain has changed the fill value in SOURCE already.
        (false, false) => Profile::Read,
    };
    let (errors, accepted): (Vec<_>, Vec<_>) = profile.judged(found).into_iter().partition(Diagnostic::is_error);
    if !errors.is_empty() {
        return Err(refusal(&culprit(options, &errors, &source.store), &errors));
    }
    if draft.zarr_format == 3 && source.documents.zarr_format == 2 {
        warnings.extend(accepted.iter().filter(|found| about_names(found)).cloned());
    }
    let codecs = written(&pipeline);
    if !draft.new_chain {
        // Codecs stay, but the grid changes: they are written as in a new chain (SEMANTICS: D17).
        let has_new_grid = options.chunk_shape.is_some() || options.shard_shape.is_some();
        if draft.zarr_format == 3 && has_new_grid && codecs != draft.codecs {
            draft.keep_codecs(codecs);
        }
        return Ok(());
    }
    if !options.allow_lossy_cast {
        values::refuse_lossy_casts(&pipeline)?;
    }
    // The base64 of a struct has the byte order of its chunks.
    let is_base64 = draft.document.get("fill_value").is_some_and(|json| json.as_str().is_some());
    if let (DataType::Struct(_), true, Some(fill)) = (&draft.data_type, is_base64, draft.fill_value.clone())
        && is_big_endian(&codecs) != is_big_endian(&source.metadata.codecs)
    {
        draft.set_fill_value(fill)?;
    }
    for found in accepted {
        if !warnings.iter().any(|known| known.message == found.message) {
            warnings.push(found);
        }
    }
    draft.set_codecs(codecs);
    Ok(())
}

/// Returns a chain as it is written: explicit permutations and byte orders, scalars in the form of their type, no
/// defaults (SEMANTICS: A1.9, A2.12, B16, B29, B32, C16, C17).
fn written(pipeline: &Pipeline) -> Vec<CodecMetadata> {
    let codec = |stage: &Stage| {
        let mut codec = stage.metadata.clone();
        match &stage.configuration {
            BoundConfiguration::Array(array) => array.written().unwrap_or(codec),
            BoundConfiguration::Sharding(sharding) => {
                if let Some(configuration) = &mut codec.configuration {
                    configuration.insert("codecs", codecs_json(&written(&sharding.inner)));
                    configuration.insert("index_codecs", codecs_json(&written(&sharding.index)));
                }
                codec
            }
            BoundConfiguration::BytesToBytes(_) | BoundConfiguration::Other => codec,
        }
    };
    pipeline.stages.iter().map(codec).collect()
}

fn is_of_fill(found: &Diagnostic) -> bool {
    found.is(code::SCALE_OFFSET_FILL_VALUE_LOST) || found.is(code::CAST_VALUE_FILL_VALUE_LOST)
}

/// Returns the beginning of the message about errors in DEST's metadata. It names the option that caused them, if one
/// did.
fn culprit(options: &ChangeOptions, errors: &[Diagnostic], store: &str) -> String {
    let pointers = || errors.iter().filter_map(|error| error.location.pointer.as_deref());
    let at = |part: &str| pointers().any(|pointer| pointer.starts_with(part));
    let not_encoded = [code::CAST_VALUE_FILL_VALUE, code::SCALE_OFFSET_FILL_VALUE];
    let is_lost = |found: &Diagnostic| is_of_fill(found) || not_encoded.iter().any(|code| found.is(*code));
    let is_of_fill = at("/fill_value") || errors.iter().all(is_lost);
    let is_of_chain = at("/codecs");
    let candidates = [
        ("--fill-value", options.fill_value.is_some() && is_of_fill),
        ("--codecs", options.codecs.is_some() && is_of_chain),
        ("--compress", options.compress.is_some() && is_of_chain),
        ("--shard-shape", options.shard_shape.is_some()),
        ("--chunk-shape", options.chunk_shape.is_some()),
        ("--data-type", options.data_type.is_some()),
        ("--zarr-format", options.zarr_format.is_some()),
    ];
    match candidates.into_iter().find(|(_, is_at_fault)| *is_at_fault) {
        Some((option, _)) => format!("{option} does not fit `{store}`"),
        None => format!("the metadata of DEST, made from `{store}`, would have errors"),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make files")]
mod tests {
    use super::*;
    use crate::metadata::json::Json;
    use crate::operation::open::open_array;

    const V2: &str = r#"{"zarr_format":2,"shape":[4],"chunks":[2],"dtype":"<f4","fill_value":0.0,"order":"C",
        "filters":[{"id":"shuffle","elementsize":4}],"compressor":{"id":"zlib","level":1}}"#;

    const V3: &str = r#"{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"float32","fill_value":0.0,
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},
        "chunk_key_encoding":{"name":"default"},
        "codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]}"#;

    fn open(key: &str, document: &str) -> OpenedArray {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(key), document).unwrap();
        open_array(&folder.path().to_path_buf().into(), None, Profile::Read).unwrap()
    }

    /// Requests the array in `asked`, and reads `written` for it.
    fn read(key: &str, asked: &str, written: &str) -> Result<DestinationMetadata, String> {
        let source = open(key, asked);
        let document = NodeDocument { json: Json::Null, bytes: written.as_bytes().to_vec() };
        let documents = vec![(key.to_owned(), document)];
        DestinationMetadata::read(Draft::new(&source), &documents, &source).map_err(|error| error.to_string())
    }

    #[test]
    fn documents_of_other_elements_are_an_error_and_chunks_are_those_of_the_documents() {
        for (key, asked, replaced, by, fault) in [
            (".zarray", V2, r#"{"id":"zlib","level":1}"#, "null", ""),
            (".zarray", V2, r#"[{"id":"shuffle","elementsize":4}]"#, "null", ""),
            (".zarray", V2, r#""level":1"#, r#""level":2"#, ""),
            (".zarray", V2, "<f4", ">f4", ""),
            (".zarray", V2, "<f4", "<i4", "another data type"),
            (".zarray", V2, r#""chunks":[2]"#, r#""chunks":[4]"#, ""),
            (".zarray", V2, r#""shape":[4]"#, r#""shape":[5]"#, "another shape"),
            (".zarray", V2, r#""order""#, r#""dimension_separator":"/","order""#, ""),
            (".zarray", V2, "0.0", "1.0", "another fill value"),
            ("zarr.json", V3, r#",{"name":"crc32c"}"#, "", ""),
            ("zarr.json", V3, "little", "big", ""),
            ("zarr.json", V3, "0.0", "-0.0", "another fill value"),
            ("zarr.json", V3, "0.0", "0", ""),
            (".zarray", V2, "0.0", "null", ""),
        ] {
            assert!(asked.contains(replaced), "{replaced}");
            let written = asked.replace(replaced, by);
            match read(key, asked, &written) {
                Ok(read) => {
                    let opened = open(key, &written);
                    assert_eq!(fault, "", "{replaced} by {by}");
                    assert_eq!(read.metadata.codecs, opened.metadata.codecs);
                    assert_eq!(read.metadata.chunk_key_encoding, opened.metadata.chunk_key_encoding);
                    assert!(read.metadata.grid.has_chunks_of(&opened.metadata.grid));
                    let chains = [&read.pipeline, &opened.pipeline].map(|pipeline| format!("{pipeline:?}"));
                    assert_eq!(chains[0], chains[1], "{replaced} by {by}");
                }
                Err(error) => {
                    assert!(!fault.is_empty() && error.contains(fault), "{replaced} by {by}: {error}");
                }
            }
        }
    }

    #[test]
    fn compressor_that_stands_among_the_filters_is_the_same_chain() {
        let moved = V2.replace("}],\"compressor\":", "},").replace("1}}", "1}],\"compressor\":null}");
        let codecs = |written: &str| codecs_json(&read(".zarray", V2, written).unwrap().metadata.codecs);
        assert_eq!(codecs(V2), codecs(&moved), "{moved}");
    }
}
