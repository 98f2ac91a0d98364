//! The metadata of the destination: the source's document with the requested changes, and all else as written.

use super::options::complete_typesize;
use crate::codec::Effect;
use crate::data_type::{DataType, FillValue};
use crate::diagnostic::{Diagnostic, quantity::counted};
use crate::element::NumberType;
use crate::metadata::edit::{append_attributes, codecs_json, set_grid_of_part, set_member};
use crate::metadata::{ArrayDocument, ArrayMetadata, CodecMetadata, Json, Object, extension::read_codecs};
use crate::operation::open::{check_lengths, refusal};
use crate::operation::{ChangeOptions, OpenedArray, OperationError, Result};
use crate::pipeline::{ArrayRepresentation, Codec, CodecKind, Completeness, Pipeline, Stage, codec_kind};

/// The unfinished metadata of DEST.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Draft {
    /// The location of SOURCE, for messages.
    pub store: String,
    /// 2 or 3.
    pub zarr_format: u64,
    /// The document, in v3 form.
    pub document: Json,
    pub codecs: Vec<CodecMetadata>,
    pub data_type: DataType,
    /// The fill value. `None` for a type that is not decoded.
    pub fill_value: Option<FillValue>,
    /// True if the chain is new. The rules for writing then apply to it.
    pub new_chain: bool,
}

impl Draft {
    /// Returns a copy of the source's metadata, cut to the selected part.
    pub(super) fn new(source: &OpenedArray) -> Self {
        let mut document = source.documents.document.clone();
        if source.metadata.part.is_some() {
            // DEST has a grid of its own that begins at the selection, even where the first chunks of SOURCE begin
            // before it.
            set_grid_of_part(&mut document, &source.metadata.by_itself());
        }
        Draft {
            store: source.store.clone(),
            zarr_format: source.documents.zarr_format,
            document,
            codecs: source.metadata.codecs.clone(),
            data_type: source.data_type.clone(),
            fill_value: source.fill_value.clone(),
            new_chain: false,
        }
    }

    /// True if nothing was changed.
    pub(super) fn is_as_read(&self, source: &OpenedArray) -> bool {
        *self == Self::new(source)
    }

    /// Replaces the chain. The rules for writing apply to the new one.
    pub(super) fn set_codecs(&mut self, codecs: Vec<CodecMetadata>) {
        self.keep_codecs(codecs);
        self.new_chain = true;
    }

    /// Replaces the chain by another form with the same meaning. The rules for writing do not apply to it.
    pub(super) fn keep_codecs(&mut self, codecs: Vec<CodecMetadata>) {
        set_member(&mut self.document, "codecs", codecs_json(&codecs));
        self.codecs = codecs;
    }

    /// Edits the innermost chain: that of the array, or that of the inner chunks of its shards.
    pub(super) fn edit_innermost(&mut self, edit: impl FnOnce(&mut Vec<CodecMetadata>)) {
        let mut codecs = self.codecs.clone();
        edit_innermost(&mut codecs, edit);
        self.set_codecs(codecs);
    }

    /// Sets the array's data type. [`follow`] adapts the codecs to it.
    pub(super) fn set_data_type(&mut self, data_type: DataType) {
        set_member(&mut self.document, "data_type", data_type.to_metadata());
        self.data_type = data_type;
    }

    /// Sets the fill value. An error if it has no JSON form.
    pub(super) fn set_fill_value(&mut self, fill_value: FillValue) -> Result<()> {
        let json = self
            .data_type
            .fill_value_to_json(&fill_value)
            .map_err(|error| OperationError::data("the fill value cannot be written").because(error))?;
        set_member(&mut self.document, "fill_value", json);
        self.fill_value = Some(fill_value);
        Ok(())
    }

    pub(super) fn attributes(&self) -> Object {
        self.document.get("attributes").and_then(Json::as_object).cloned().unwrap_or_default()
    }

    /// The attributes but for some.
    pub(super) fn attributes_without(&self, names: &[&str]) -> Object {
        self.attributes().into_iter().filter(|(name, _)| !names.contains(&name.as_str())).collect()
    }

    pub(super) fn set_attributes(&mut self, attributes: Object) {
        set_member(&mut self.document, "attributes", Json::Object(attributes));
    }

    /// Applies `--attributes`, `--attributes-append` and `--dimension-names`.
    pub(super) fn describe(&mut self, options: &ChangeOptions, rank: usize) -> Result<()> {
        if let Some(attributes) = &options.attributes {
            self.set_attributes(attributes.clone());
        }
        if let Some(attributes) = &options.attributes_append {
            append_attributes(&mut self.document, attributes);
        }
        if let Some(names) = &options.dimension_names {
            if names.len() != rank {
                let (given, own) = (counted(names.len() as u64, "name"), counted(rank as u64, "dimension"));
                let message = format!("--dimension-names gives {given}, but the array has {own}");
                return Err(OperationError::data(message).with_help("give a name for each dimension, in their order"));
            }
            let names = names.iter().map(|name| Json::from(name.as_str())).collect();
            set_member(&mut self.document, "dimension_names", Json::Array(names));
        }
        Ok(())
    }
}

/// Reads the codecs of `--codecs`. The error lists their faults.
pub(super) fn read_chain(codecs: &[Json]) -> Result<Vec<CodecMetadata>> {
    let mut diagnostics = Vec::new();
    let read = read_codecs(&Json::Array(codecs.to_vec()), "", &mut diagnostics);
    diagnostics.retain(Diagnostic::is_error);
    read.filter(|_| diagnostics.is_empty()).ok_or_else(|| refusal("--codecs is not a codec chain", &diagnostics))
}

/// Runs `edit` on the chain inside the innermost shards.
pub(super) fn edit_innermost(codecs: &mut Vec<CodecMetadata>, edit: impl FnOnce(&mut Vec<CodecMetadata>)) {
    let sharding = codecs.iter_mut().find(|codec| codec.name == "sharding_indexed");
    let inside = sharding.and_then(|codec| codec.configuration.as_mut()).and_then(|c| c.get_mut("codecs"));
    let Some(inside) = inside else { return edit(codecs) };
    let mut inner = read_codecs(inside, "", &mut Vec::new()).unwrap_or_default();
    edit_innermost(&mut inner, edit);
    *inside = codecs_json(&inner);
}

/// Returns all codecs of a chain, also those inside shards.
pub(super) fn flattened(codecs: &[CodecMetadata]) -> Vec<CodecMetadata> {
    let inside = |codec: &CodecMetadata| flattened(&codec.inner_codecs().unwrap_or_default());
    codecs.iter().flat_map(|codec| [vec![codec.clone()], inside(codec)].concat()).collect()
}

/// Returns the names of all codecs of a chain, also inside shards.
pub(super) fn codec_names(codecs: &[CodecMetadata]) -> Vec<String> {
    flattened(codecs).into_iter().map(|codec| codec.name).collect()
}

/// Returns whether `packbits` stores only some bits of an element, those of the type for which it was configured.
pub(super) fn stores_some_bits(codec: &CodecMetadata) -> bool {
    codec.name == "packbits" && ["first_bit", "last_bit"].iter().any(|name| codec.member(name).is_some())
}

/// Returns the greatest change of a number by a compressor that rounds. `None` for other codecs.
pub(super) fn max_loss(stage: &Stage) -> Option<f64> {
    if let Codec::Array(codec) = &stage.configuration { codec.max_loss() } else { None }
}

/// Returns whether a codec does not return every integer.
pub(super) fn changes_integers(stage: &Stage) -> bool {
    let is_filter = matches!(stage.configuration.effect(), Effect::Filter { .. } | Effect::BitRound(_));
    is_filter || max_loss(stage).is_some() || stores_some_bits(&stage.metadata)
}

/// Returns true if a chain has a codec of this name, also inside shards.
pub(super) fn has_codec(codecs: &[CodecMetadata], name: &str) -> bool {
    codec_names(codecs).iter().any(|own| own == name)
}

/// The codec that stores differences.
pub(super) const DELTA: &str = "numcodecs.delta";

/// The codec that encodes numbers of 16 bits and more to bytes, and stores differences of them itself.
pub(super) const PCODEC: &str = "numcodecs.pcodec";

/// The codec of numcodecs that quantises.
pub(super) const FIXED_SCALE_OFFSET: &str = "numcodecs.fixedscaleoffset";

/// True if a chain stores differences, also inside shards.
pub(super) fn has_differences(codecs: &[CodecMetadata]) -> bool {
    has_codec(codecs, DELTA)
}

/// Returns the chain without codecs of these names, also inside shards. Codecs after differences, or after the first
/// cast to integers (the codes), are kept, unless differences are removed.
pub(super) fn strip(codecs: &[CodecMetadata], names: &[&str]) -> Vec<CodecMetadata> {
    let goes = |name: &str| names.contains(&name);
    let makes_codes = |codec: &CodecMetadata| {
        let target = codec.member("data_type").and_then(|json| DataType::read(json).ok()?.value.number());
        codec.name == "cast_value" && target.is_some_and(|target| !target.is_float())
    };
    // Codecs from there on convert codes or differences, not the values that the caller wants to convert otherwise.
    let last = codecs.iter().position(|codec| !goes(DELTA) && (codec.name == DELTA || makes_codes(codec)));
    let last = last.unwrap_or(codecs.len());
    let kept = codecs.iter().enumerate().filter(|(index, codec)| *index > last || !goes(&codec.name));
    let mut kept: Vec<_> = kept.map(|(_, codec)| codec.clone()).collect();
    for codec in &mut kept {
        let inner = codec.inner_codecs().unwrap_or_default();
        if let Some(inside) = codec.configuration.as_mut().and_then(|c| c.get_mut("codecs")) {
            *inside = codecs_json(&strip(&inner, names));
        }
    }
    kept
}

/// Replaces all bytes->bytes codecs by the compressor of `--compress`. Those before an unknown codec stay, because its
/// output cannot be decoded.
pub(super) fn compress(chain: &mut Vec<CodecMetadata>, codecs: &[CodecMetadata], element_size: usize) {
    let is_of = |codec: &CodecMetadata, kind| codec_kind(&codec.name) == Some(kind);
    let replaced = chain.iter().rposition(|codec| codec_kind(&codec.name).is_none()).map_or(0, |last| last + 1);
    let mut tail = chain.split_off(replaced);
    tail.retain(|codec| !is_of(codec, CodecKind::BytesToBytes));
    chain.append(&mut tail);
    // `--compress auto:any` may choose `numcodecs.pcodec`, which turns the array into bytes itself and takes the place
    // of `bytes`.
    if codecs.iter().any(|codec| is_of(codec, CodecKind::ArrayToBytes)) {
        chain.retain(|codec| !is_of(codec, CodecKind::ArrayToBytes));
    }
    chain.extend(codecs.iter().cloned());
    complete_typesize(chain, element_size);
}

/// Adapts `bytes` and `blosc` to elements of another type: `typesize`, and `endian` if the type has a byte order
/// (little if it was not given).
pub(super) fn follow_data_type(chain: &mut [CodecMetadata], data_type: &DataType) {
    let has_order = data_type.has_byte_order();
    for codec in chain {
        match codec.name.as_str() {
            "bytes" if has_order => {
                let mut configuration = codec.configuration.take().unwrap_or_default();
                if !configuration.contains("endian") {
                    configuration.insert("endian", "little");
                }
                codec.configuration = Some(configuration);
            }
            "bytes" => codec.configuration = None,
            "blosc" => {
                let typesize = codec.configuration.as_mut().and_then(|c| c.get_mut("typesize"));
                if let (Some(typesize), Some(size)) = (typesize, data_type.size()) {
                    *typesize = Json::from(size as u64);
                }
            }
            _ => {}
        }
    }
}

/// Applies a data type change to the parts of the innermost chain that depend on the type.
pub(super) fn follow(draft: &mut Draft) {
    let data_type = draft.data_type.clone();
    draft.edit_innermost(|chain| follow_data_type(chain, &data_type));
}

/// Reads the draft as any reader would.
pub(super) fn build(draft: &Draft) -> Result<(ArrayMetadata, Pipeline, Vec<Diagnostic>)> {
    let mut members = ArrayDocument::read(&draft.document);
    let mut found = std::mem::take(&mut members.diagnostics);
    let Some(mut metadata) = members.metadata() else {
        return Err(refusal(&format!("the metadata made from `{}` has errors", draft.store), &found));
    };
    // No v3 document describes how a v2 codec interprets the bytes of an element.
    for (read, made) in metadata.codecs.iter_mut().zip(&draft.codecs) {
        read.view.clone_from(&made.view);
    }
    let input = ArrayRepresentation {
        data_type: draft.data_type.clone(),
        // The chain is bound to the largest chunk. `check_lengths` tries the other lengths of a rectilinear grid.
        shape: metadata.grid.largest().to_vec(),
        fill_value: draft.fill_value.clone(),
    };
    let pipeline = Pipeline::build(input, &metadata.codecs, Completeness::ToBytes, "/codecs", &mut found);
    check_lengths(&pipeline, &metadata.grid, &mut found);
    Ok((metadata, pipeline, found))
}

/// Returns the size of an element at the innermost compressor, in bytes.
pub(super) fn innermost_element_size(draft: &Draft) -> usize {
    let encoded = build(draft).ok().and_then(|(_, pipeline, _)| {
        let chain = innermost(&pipeline);
        let mut arrays = chain.stages.iter().filter_map(|stage| stage.output.as_ref()?.array());
        arrays.next_back().unwrap_or(&chain.input).data_type.size()
    });
    encoded.or_else(|| draft.data_type.size()).unwrap_or(1)
}

/// Returns a chain, and those of the inner chunks of its shards, from the outermost to the innermost.
pub(super) fn chains(pipeline: &Pipeline) -> impl Iterator<Item = &Pipeline> {
    std::iter::successors(Some(pipeline), |outer| outer.sharding().map(|(_, sharding)| &sharding.inner))
}

/// Returns the chain of an innermost chunk.
pub(super) fn innermost(pipeline: &Pipeline) -> &Pipeline {
    chains(pipeline).last().unwrap_or(pipeline)
}

/// Returns the codecs with which a chain makes integer codes of floats, and the pipeline of the codes: the rest of the
/// chain. Reading an array with it gives codes, and decodes no value. `None` if the chain makes no codes.
pub(super) fn code_pipeline(
    outer: &Pipeline,
    is_of_values: impl Fn(&Stage) -> bool,
) -> Option<(Vec<&Stage>, Pipeline)> {
    // They are before the shards or inside the innermost ones.
    let is_inside = !outer.stages.first().is_some_and(&is_of_values);
    let chain = if is_inside { innermost(outer) } else { outer };
    let mut around = chains(outer).filter(|around| is_inside && !std::ptr::eq(*around, chain));
    // Codecs around the shards that change values cannot run on codes.
    if around.any(|around| around.stages.iter().any(&is_of_values)) {
        return None;
    }
    let leading: Vec<&Stage> = chain.stages.iter().take_while(|stage| is_of_values(stage)).collect();
    let encoded = leading.last()?.output.as_ref()?.array()?;
    let is_float = |data_type: &DataType| data_type.number().map(NumberType::is_float);
    if is_float(&outer.input.data_type) != Some(true) || is_float(&encoded.data_type) != Some(false) {
        return None;
    }
    let mut codecs = outer.codecs();
    let remove = |chain: &mut Vec<CodecMetadata>| drop(chain.drain(..leading.len()));
    if is_inside {
        edit_innermost(&mut codecs, remove);
    } else {
        remove(&mut codecs);
    }
    let input = ArrayRepresentation { shape: outer.input.shape.clone(), ..encoded.clone() };
    let pipeline = Pipeline::build(input, &codecs, Completeness::ToBytes, "/codecs", &mut Vec::new());
    Some((leading, pipeline))
}
