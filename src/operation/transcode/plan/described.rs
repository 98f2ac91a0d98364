//! DEST as its own documents describe it: read anew from the bytes that will be published, as any reader reads them. The
//! plan is held against it before DEST is touched, and `--verify` reads DEST back by it.

use crate::codec::Recoding;
use crate::diagnostic::{Diagnostic, Profile};
use crate::engine::job::ObjectJob;
use crate::engine::route::Route;
use crate::engine::route::variable_size::SubchunkChange;
use crate::engine::transfer::Transfer;
use crate::metadata::array::ArrayMetadata;
use crate::metadata::edit::codecs_json;
use crate::metadata::extension::CodecMetadata;
use crate::metadata::group::NodeKind;
use crate::metadata::v2::{write_codecs, write_dtype};
use crate::operation::document::{Documents, parse_document};
use crate::operation::draft::Planned;
use crate::operation::error::OperationError;
use crate::operation::open::{ArrayReading, OpenedArray, refusal};
use crate::operation::place::Place;
use crate::operation::stored::{opaque_array, side};
use crate::operation::transcode::format::consolidate::NodeDocuments;
use crate::pipeline::Pipeline;
use crate::store::Node;

/// What a reader of DEST's documents knows of it.
#[derive(Debug, Clone)]
pub(in crate::operation) struct Described {
    metadata: ArrayMetadata,
    pipeline: Pipeline,
}

impl Described {
    /// Reads the documents of an array that will be at `target`. An error where they describe other chunks than the
    /// ones that are planned.
    pub(in crate::operation) fn read(
        documents: &NodeDocuments,
        planned: &Planned,
        target: &Node,
        source: &OpenedArray,
    ) -> Result<Self, OperationError> {
        let reading = documents.last().and_then(|(key, document)| read(key, &document.bytes, target, source));
        let Some(reading) = reading else { return Err(fault(source, "no array")) };
        // Lost fill values are judged where the chain is proved: there are options that accept them.
        let found = Profile::WriteAnyFillValue.judged(reading.diagnostics);
        let errors: Vec<_> = found.into_iter().filter(Diagnostic::is_error).collect();
        if !errors.is_empty() {
            return Err(refusal("the destination's metadata would be in error", &errors));
        }
        let (Some(metadata), Some(pipeline)) = (reading.metadata, reading.pipeline) else {
            return Err(fault(source, "no chunks that could be found"));
        };
        let described = Described { metadata, pipeline };
        match described.difference(planned) {
            Some(what) => Err(fault(source, what)),
            None => Ok(described),
        }
    }

    /// What the documents say otherwise than the plan.
    fn difference(&self, planned: &Planned) -> Option<&'static str> {
        let (own, meant) = (&self.metadata, &planned.metadata);
        let (input, meant_input) = (&self.pipeline.input, &planned.pipeline.input);
        let is_same = [
            ("another shape", own.shape == meant.shape),
            ("another chunk shape", own.grid.has_chunks_of(&meant.grid)),
            ("other chunk keys", own.chunk_key_encoding == meant.chunk_key_encoding),
            ("another data type", self.has_data_type_of(planned)),
            ("another fill value", input.fill_value == meant_input.fill_value),
            ("other codecs", self.has_codecs_of(planned)),
        ];
        is_same.into_iter().find(|(_, is_same)| !is_same).map(|(what, _)| what)
    }

    /// Whether elements are of the type that is planned: some types of v3 have one name in v2.
    fn has_data_type_of(&self, planned: &Planned) -> bool {
        let (own, meant) = (&self.pipeline.input.data_type, &planned.pipeline.input.data_type);
        let as_v2 = |data_type| write_dtype(data_type, false).ok();
        let is_same_in_v2 = || as_v2(own).zip(as_v2(meant)).is_some_and(|(own, meant)| own == meant);
        own == meant || (planned.zarr_format == 2 && is_same_in_v2())
    }

    /// Whether the documents name the codecs that are planned. v2 does not say where among its filters elements become
    /// bytes, and other details that v3 spells out: its chains are compared in its own form.
    fn has_codecs_of(&self, planned: &Planned) -> bool {
        let (own, meant) = (&self.metadata.codecs, &planned.metadata.codecs);
        let (data_type, rank) = (&self.pipeline.input.data_type, self.metadata.shape.len());
        let as_v2 = |codecs: &[CodecMetadata]| write_codecs(codecs, data_type, rank).ok();
        let both = (planned.zarr_format == 2).then(|| as_v2(own).zip(as_v2(meant))).flatten();
        both.map_or_else(
            || codecs_json(own).same_value(&codecs_json(meant)),
            |(own, meant)| {
                own.is_fortran == meant.is_fortran
                    && own.order == meant.order
                    && own.filters.same_value(&meant.filters)
                    && own.compressor.same_value(&meant.compressor)
            },
        )
    }

    /// A job whose destination is read by the documents.
    pub(in crate::operation) fn job(
        &self,
        planned: &ObjectJob,
        store: &str,
    ) -> Result<ObjectJob, OperationError> {
        let node = planned.transfer.destination.node.clone();
        let mut route = planned.route.clone();
        let destination = match &mut route {
            Route::VariableSize(variable_size) => {
                let destination = opaque_array(node, self.metadata.clone(), &self.pipeline, store)?;
                if let SubchunkChange::Recode(recoding) = &mut variable_size.way {
                    let anew =
                        Recoding::new(planned.transfer.source.subchunk_chain(), destination.subchunk_chain());
                    let unread =
                        || OperationError::data(format!("what is written of `{store}` cannot be read back"));
                    **recoding = anew.ok_or_else(unread)?;
                }
                destination
            }
            _ => side(node, self.metadata.clone(), &self.pipeline, store, 0, false)?,
        };
        Ok(ObjectJob { transfer: Transfer { destination, ..planned.transfer.clone() }, route })
    }
}

fn read(key: &str, bytes: &[u8], target: &Node, source: &OpenedArray) -> Option<ArrayReading> {
    let (document, _) = parse_document(key, bytes).ok()?;
    let is_v2 = key == ".zarray";
    let documents = Documents {
        key: if is_v2 { ".zarray" } else { "zarr.json" },
        zarr_format: if is_v2 { 2 } else { 3 },
        kind: NodeKind::Array,
        document,
        bytes: Vec::new(),
        attributes: None,
        attributes_bytes: None,
        diagnostics: Vec::new(),
    };
    let place = Place { store: source.store.clone(), path: "/".to_owned() };
    Some(ArrayReading::of(place, target.clone(), documents))
}

/// A fault of this program, found before anything is written.
fn fault(source: &OpenedArray, what: &str) -> OperationError {
    OperationError::environment(format!(
        "the metadata made from `{}` would describe {what}, not the chunks that are planned",
        source.store
    ))
    .with_help("nothing was written: this is a fault of zarrcast, please report it with the command line")
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make files")]
mod tests {
    use super::*;
    use crate::metadata::json::Json;
    use crate::operation::open::open_array;
    use crate::operation::transcode::format::consolidate::NodeDocument;

    const V2: &str = r#"{"zarr_format":2,"shape":[4],"chunks":[2],"dtype":"<f4","fill_value":0.0,"order":"C",
        "filters":[{"id":"shuffle","elementsize":4}],"compressor":{"id":"zlib","level":1}}"#;

    const V3: &str = r#"{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"float32","fill_value":0.0,
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},
        "chunk_key_encoding":{"name":"default"},
        "codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]}"#;

    /// Plans what `planned` describes, and reads `written` for it.
    fn described(key: &str, planned: &str, written: &str) -> Result<Described, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(key), planned).unwrap();
        let source = open_array(&folder.path().to_path_buf().into(), None).unwrap();
        let plan = Planned {
            zarr_format: source.zarr_format,
            document: source.document.clone(),
            metadata: source.metadata.clone(),
            pipeline: source.pipeline.clone(),
        };
        let document = NodeDocument { json: Json::Null, bytes: written.as_bytes().to_vec() };
        let documents = vec![(key.to_owned(), document)];
        Described::read(&documents, &plan, &source.node, &source).map_err(|error| error.to_string())
    }

    #[test]
    fn document_that_describes_other_chunks_than_planned_is_an_error() {
        for (key, planned, replaced, by, what) in [
            (".zarray", V2, r#"{"id":"zlib","level":1}"#, "null", "other codecs"),
            (".zarray", V2, r#"[{"id":"shuffle","elementsize":4}]"#, "null", "other codecs"),
            (".zarray", V2, r#""level":1"#, r#""level":2"#, "other codecs"),
            (".zarray", V2, "<f4", ">f4", "other codecs"),
            (".zarray", V2, "<f4", "<i4", "another data type"),
            (".zarray", V2, r#""chunks":[2]"#, r#""chunks":[4]"#, "another chunk shape"),
            (".zarray", V2, r#""shape":[4]"#, r#""shape":[5]"#, "another shape"),
            (".zarray", V2, r#""order""#, r#""dimension_separator":"/","order""#, "other chunk keys"),
            (".zarray", V2, "0.0", "1.0", "another fill value"),
            ("zarr.json", V3, r#",{"name":"crc32c"}"#, "", "other codecs"),
            ("zarr.json", V3, "little", "big", "other codecs"),
            ("zarr.json", V3, "0.0", "-0.0", "another fill value"),
            ("zarr.json", V3, "0.0", "0", ""),
            (".zarray", V2, "0.0", "null", ""),
        ] {
            assert!(planned.contains(replaced), "{replaced}");
            let read = described(key, planned, &planned.replace(replaced, by));
            match read {
                Ok(_) => assert_eq!(what, "", "{replaced} by {by}"),
                Err(error) => {
                    assert!(!what.is_empty() && error.contains(what), "{replaced} by {by}: {error}");
                }
            }
        }
    }

    #[test]
    fn compressor_that_stands_among_the_filters_is_the_same_chain() {
        let moved = V2.replace("}],\"compressor\":", "},").replace("1}}", "1}],\"compressor\":null}");
        assert!(described(".zarray", V2, &moved).is_ok(), "{moved}");
    }
}
