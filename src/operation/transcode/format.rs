//! Zarr v2 arrays as source or destination. In between they have v3 form, as xarray writes it: dimension names are
//! metadata, and the attribute `_FillValue` masks values. In v2 the fill value masks values, and `_FillValue` may exist
//! in addition. Some members of v2 documents do not exist in v3, or have no readers there.

use super::documents::{NodeDocument, NodeDocuments, keep_members};
use crate::data_type::{DataType, FillValue};
use crate::diagnostic::{Diagnostic, code, quantity::counted};
use crate::metadata::edit::{codecs_json, set_chunk_shape, set_member};
use crate::metadata::v2::{
    self, NotInV2, V2ByteOrder, V2Chain, extension_finding, with_little_endian_types, write_codecs, write_dtype,
    write_fill_value,
};
use crate::metadata::{ArrayMetadata, ChunkKeyEncoding, CodecMetadata, Json, Object, View};
use crate::operation::document::parse_document;
use crate::operation::xarray::{self, DIMENSIONS, FILL_VALUE};
use crate::operation::{
    ChangeOptions, Documents, Draft, NodePath, OpenedArray, OperationError, QuantizeForm, Result, ShardRequest, draft,
};
use crate::pipeline::{CodecKind, codec_kind};

/// An array as plans take it, and as it is written where it is copied: a chunk length of 0 along a dimension of length
/// 0 is 1 (SEMANTICS D9). A v2 array gets the document, attributes and dimension names that it would have in v3.
pub(crate) fn as_source(mut opened: OpenedArray) -> OpenedArray {
    let is_v2 = opened.documents.zarr_format == 2;
    if opened.warnings.iter().any(|known| known.is(code::CHUNK_SHAPE_ZERO_EMPTY)) {
        let chunk_shape = opened.metadata.grid.largest();
        if is_v2 {
            set_member(&mut opened.documents.document, "chunks", chunk_shape.to_vec());
        } else {
            set_chunk_shape(&mut opened.documents.document, chunk_shape);
        }
        opened.documents.bytes = opened.documents.document.to_document();
    }
    if !is_v2 {
        return opened;
    }
    let metadata = &mut opened.metadata;
    let names = xarray::dimension_names(&metadata.attributes, metadata.shape.len());
    if names.is_some() {
        metadata.attributes.remove(DIMENSIONS);
        // xarray masks by the fill value of v2. Only if it is null, the attribute counts.
        let mask = match opened.documents.document.get("fill_value") {
            Some(Json::Null) | None => {
                metadata.attributes.get(FILL_VALUE).and_then(|json| xarray::decode(&opened.data_type, json))
            }
            Some(_) => opened.fill_value.clone(),
        };
        if let Some(mask) = mask.and_then(|mask| xarray::encode(&opened.data_type, &mask)) {
            metadata.attributes.insert(FILL_VALUE, mask);
        }
    }
    opened.documents.document = document(metadata, names);
    opened
}

fn document(metadata: &ArrayMetadata, dimension_names: Option<Vec<Json>>) -> Json {
    let configuration = Object::new().with("chunk_shape", metadata.grid.largest().to_vec());
    let mut document = Object::new()
        .with("zarr_format", 3_u64)
        .with("node_type", "array")
        .with("shape", metadata.shape.clone())
        .with("data_type", metadata.data_type.clone())
        .with("chunk_grid", Object::new().with("name", "regular").with("configuration", configuration))
        .with("chunk_key_encoding", metadata.chunk_key_encoding.to_json())
        .with("fill_value", metadata.fill_value.clone())
        .with("codecs", codecs_json(&metadata.codecs))
        .with("attributes", metadata.attributes.clone());
    if let Some(names) = dimension_names {
        document.insert("dimension_names", Json::Array(names));
    }
    document.into()
}

/// Returns the attribute for the fill value with which xarray masks a v2 array.
fn mask(source: &OpenedArray) -> Option<&Json> {
    let names = source.metadata.dimension_names.as_ref().filter(|_| source.documents.zarr_format == 2);
    names.and_then(|_| source.metadata.attributes.get(FILL_VALUE))
}

/// Fails, before any data are read, if no v2 array is possible.
pub(crate) fn refuse_codecs(source: &OpenedArray, options: &ChangeOptions) -> Result<()> {
    let to_codecs = options.form() == Some(QuantizeForm::Codecs);
    let is_v2 = options.zarr_format.unwrap_or(source.documents.zarr_format) == 2;
    let error = OperationError::data("Zarr v2 has no codecs for quantised floats (`scale_offset`, `cast_value`)")
        .with_help("add `--zarr-format 3`, or write integers with CF attributes with `--as cf`");
    if is_v2 && to_codecs {
        return Err(error);
    }
    let to_shards = matches!(options.shard_shape, Some(ShardRequest::Shape(_)));
    let error = OperationError::data("Zarr v2 cannot express the codec `sharding_indexed`, which `--shard-shape` adds");
    if is_v2 && to_shards { Err(error.with_help("use `--zarr-format 3`")) } else { Ok(()) }
}

/// Sets the format and the chunk keys of DEST.
pub(crate) fn set_format(draft: &mut Draft, source: &OpenedArray, options: &ChangeOptions) -> Result<()> {
    draft.zarr_format = options.zarr_format.unwrap_or(source.documents.zarr_format);
    // A selected part reads its chunks by their keys in the whole array. In DEST they are numbered from 0.
    let present = source.metadata.chunk_key_encoding.of_whole();
    let separator = options.separator.unwrap_or(present.separator);
    let encoding =
        if draft.zarr_format == 2 { ChunkKeyEncoding::v2(separator) } else { present.with_separator(separator) };
    if encoding != present {
        set_member(&mut draft.document, "chunk_key_encoding", encoding.to_json());
    }
    if draft.zarr_format == 3 && source.documents.zarr_format == 2 { leave_v2(draft, source) } else { Ok(()) }
}

/// Converts a grid to v2 form, with chunks of one shape. Fails for any other grid.
pub(crate) fn set_grid(draft: &mut Draft, source: &OpenedArray) -> Result<()> {
    let name = draft.document.pointer("/chunk_grid/name").and_then(Json::as_str);
    if draft.zarr_format != 2 || name != Some("rectilinear") {
        return Ok(());
    }
    let Some(chunk_shape) = source.metadata.grid.uniform() else {
        let message = format!("Zarr v2 has no chunks of several shapes, as `{}` has", source.store);
        let shards = if source.pipeline.sharding().is_some() { " and `--shard-shape none`" } else { "" };
        return Err(OperationError::data(message)
            .with_help(format!("give --chunk-shape{shards} for a regular grid, or leave --zarr-format out")));
    };
    set_chunk_shape(&mut draft.document, chunk_shape);
    Ok(())
}

/// Sets the byte order of elements, if v2 has only one for their type.
pub(crate) fn set_byte_order(draft: &mut Draft) {
    let has = |is_big| write_dtype(&draft.data_type, is_big).is_ok();
    if draft.zarr_format == 2 && !has(true) && has(false) {
        store_little_endian(draft);
    }
}

/// Stores elements little endian, also in the types of filters.
fn store_little_endian(draft: &mut Draft) {
    let mut codecs = std::mem::take(&mut draft.codecs);
    for codec in &mut codecs {
        let is_struct = matches!(draft.data_type, DataType::Struct(_));
        if codec.name == "bytes" && (is_struct || codec.member("endian").is_some()) {
            codec.configuration = Some(Object::new().with("endian", "little"));
        } else if let Some(configuration) = &mut codec.configuration {
            *configuration = with_little_endian_types(configuration);
        }
    }
    draft.keep_codecs(codecs);
}

/// Converts, removes or refuses members that only v2 has.
fn leave_v2(draft: &mut Draft, source: &OpenedArray) -> Result<()> {
    if let Some(document) = original(source) {
        let members = v2::netcdf_members(&document);
        let mut attributes = draft.attributes();
        // Findings about these members were reported when the array was read.
        if !keep_members(&mut attributes, members).is_empty() {
            draft.set_attributes(attributes);
        }
    }
    leave_quantize(draft);
    if source.warnings.iter().any(|warning| warning.is(code::V2_DTYPE_LAYOUT)) {
        let message = format!("`{}` has fields that are arrays: no v3 data type says that", source.store);
        return Err(OperationError::data(message)
            .with_help("write such fields as arrays of their own, by numpy and zarr-python"));
    }
    if matches!(draft.data_type, DataType::Other(_)) {
        let message = format!("no v3 data type is known for the `dtype` of `{}`", source.store);
        return Err(OperationError::data(message).with_help("the array can be copied as Zarr v2"));
    }
    let is_mixed = draft.codecs.iter().any(|codec| matches!(codec.view, Some(View::BigEndianFields(_))));
    // In v3 a filter encodes values, in whatever order their bytes are stored. Without `astype`, the newest zarr-python
    // takes what a filter of big-endian numbers encodes for little-endian.
    let explicit = |codec: &CodecMetadata| CodecMetadata { view: None, ..with_astype(codec) };
    draft.keep_codecs(draft.codecs.iter().map(explicit).collect());
    // zarr-python 3.1.6 and the newest read different values from big-endian input of `numcodecs.quantize`, with any
    // `dtype`. Fields have one byte order.
    if is_mixed || draft.codecs.iter().any(|codec| codec.name == "numcodecs.quantize") {
        store_little_endian(draft);
    }
    Ok(())
}

/// Updates the attribute that masks values together with the fill value, if they are the same in v2.
pub(crate) fn follow_fill_value(draft: &mut Draft, source: &OpenedArray) {
    let Some(mask) = mask(source) else { return };
    let masked = xarray::decode(&source.data_type, mask).zip(source.fill_value.as_ref());
    let is_fill = masked.is_some_and(|(masked, fill)| xarray::is_same_mask(&source.data_type, &masked, fill));
    let mut attributes = draft.attributes();
    let is_same = attributes.get(FILL_VALUE).is_some_and(|present| present.same_value(mask));
    let has_new_type = draft.data_type != source.data_type;
    let has_new_fill = draft.zarr_format == 2 && draft.fill_value != source.fill_value;
    if !is_fill || !is_same || !(has_new_type || has_new_fill) {
        return;
    }
    match draft.fill_value.as_ref().and_then(|fill| xarray::encode(&draft.data_type, fill)) {
        Some(mask) => attributes.insert(FILL_VALUE, mask),
        None => drop(attributes.remove(FILL_VALUE)),
    }
    draft.set_attributes(attributes);
}

/// Makes the fill value equal to the value that xarray masks in v3: in v2 it masks only the fill value. A fill value of
/// zero becomes null, and then the attribute counts.
pub(crate) fn mask_by_fill_value(draft: &mut Draft) -> Result<()> {
    if draft.zarr_format != 2 || named(draft).is_none() || is_zero(draft) {
        return Ok(());
    }
    let attributes = draft.attributes();
    let masked = attributes.get(FILL_VALUE).and_then(|json| xarray::decode(&draft.data_type, json));
    match masked.zip(draft.fill_value.as_ref()) {
        Some((masked, fill)) if !xarray::is_same_mask(&draft.data_type, &masked, fill) => draft.set_fill_value(masked),
        _ => Ok(()),
    }
}

fn is_zero(draft: &Draft) -> bool {
    draft.fill_value.is_some() && draft.fill_value == draft.data_type.default_fill_value()
}

/// Returns the names of the dimensions, by which xarray recognises an array.
fn named(draft: &Draft) -> Option<&[Json]> {
    let names = draft.document.get("dimension_names").and_then(Json::as_array);
    names.filter(|names| names.is_empty() || !names.iter().all(Json::is_null))
}

/// Keeps members that are no attributes in v3, or were none in v2, when all attributes are replaced. Fails if given
/// attributes do not name each dimension.
pub(crate) fn keep_described(
    draft: &mut Draft,
    before: &Object,
    source: &OpenedArray,
    options: &ChangeOptions,
) -> Result<()> {
    let (mut attributes, rank) = (draft.attributes(), source.metadata.shape.len());
    let is_v2 = draft.zarr_format == 2 || source.documents.zarr_format == 2;
    let given = attributes.get(DIMENSIONS).filter(|given| is_v2 && Some(*given) != before.get(DIMENSIONS)).cloned();
    match (given, xarray::dimension_names(&attributes, rank)) {
        // `--dimension-names` gives other names.
        (Some(_), _) if options.dimension_names.is_some() => drop(attributes.remove(DIMENSIONS)),
        (Some(given), None) => {
            let message =
                format!("`{DIMENSIONS}` of the given attributes is {}, not the names of all", given.excerpt());
            return Err(OperationError::data(format!("{message} {}", counted(rank as u64, "dimension")))
                .with_help("give a name for each dimension, in their order, or use `--dimension-names`"));
        }
        (given, Some(names)) if given.is_some() || source.documents.zarr_format == 2 => {
            attributes.remove(DIMENSIONS);
            set_member(&mut draft.document, "dimension_names", Json::Array(names));
        }
        _ => {}
    }
    if let Some(mask) = before.get(FILL_VALUE).filter(|_| mask(source).is_some())
        && !attributes.contains(FILL_VALUE)
    {
        attributes.insert(FILL_VALUE, mask.clone());
    }
    if attributes != draft.attributes() {
        draft.set_attributes(attributes);
    }
    Ok(())
}

/// Returns the `.zarray` of SOURCE with every literal as written. `None` for a v3 array.
fn original(source: &OpenedArray) -> Option<Json> {
    let Documents { zarr_format, bytes, .. } = &source.documents;
    if *zarr_format == 2 { Some(parse_document(".zarray", bytes).ok()?.0) } else { None }
}

/// Returns the documents of a v2 array, `.zarray` last, and warnings. If `is_fill_given`, the fill value is written
/// again, even if it is the same.
pub(crate) fn documents(
    source: &OpenedArray,
    draft: &Draft,
    options: &ChangeOptions,
    is_fill_given: bool,
) -> Result<(NodeDocuments, Vec<Diagnostic>)> {
    let mut warnings = Vec::new();
    let original = original(source);
    let writer = Writer { source, draft, options, original: original.as_ref(), is_fill_given };
    let attributes = writer.attributes(&mut warnings);
    let made = attributes.and_then(|(attributes, is_null)| Ok((attributes, writer.array(is_null)?)));
    let (attributes, array) = made.map_err(|error| refused(source, options, error))?;
    if !source.warnings.iter().any(|known| known.is(code::V2_DTYPE_EXTENSION)) {
        warnings.extend(array.get("dtype").and_then(extension_finding));
    }
    let mut documents = NodeDocuments::new();
    let Documents { attributes: read, attributes_bytes, bytes, .. } = &source.documents;
    if !attributes.is_empty() || read.is_some() {
        let bytes = attributes_bytes.as_deref().unwrap_or_default();
        documents.push((".zattrs".to_owned(), NodeDocument::or_as_read(attributes.into(), read.as_ref(), bytes)));
    }
    documents.push((".zarray".to_owned(), NodeDocument::or_as_read(array, original.as_ref(), bytes)));
    Ok((documents, warnings))
}

fn refused(source: &OpenedArray, options: &ChangeOptions, error: NotInV2) -> OperationError {
    let help = match error.help {
        Some(_) if !options.predicted().is_empty() && error.what.contains("transpose") => {
            "predict the last dimension, or add `--zarr-format 3`"
        }
        help => help.unwrap_or("`--zarr-format 3` writes Zarr v3"),
    };
    OperationError::data(format!("`{}` cannot be written as Zarr v2", source.store)).because(error).with_help(help)
}

/// Writes v2 documents. Members that did not change stay as they were read.
struct Writer<'a> {
    source: &'a OpenedArray,
    draft: &'a Draft,
    options: &'a ChangeOptions,
    /// The `.zarray` of SOURCE.
    original: Option<&'a Json>,
    is_fill_given: bool,
}

impl Writer<'_> {
    /// Returns the attributes in v2 form, and whether the fill value is null, which masks nothing.
    fn attributes(&self, warnings: &mut Vec<Diagnostic>) -> Result<(Object, bool), NotInV2> {
        let Writer { source, draft, options, .. } = self;
        let mut attributes = draft.attributes();
        let Some(names) = named(draft) else { return Ok((attributes, false)) };
        if names.iter().any(Json::is_null) {
            return Err(NotInV2 {
                what: "names for some dimensions alone".to_owned(),
                help: Some("give a name to each with --dimension-names"),
            });
        }
        let data_type = &draft.data_type;
        let masked = attributes.get(FILL_VALUE).and_then(|json| xarray::decode(data_type, json));
        let masked = masked.as_ref();
        let fill = draft.fill_value.as_ref();
        let is_fill = |fill| masked.is_some_and(|masked| xarray::is_same_mask(data_type, masked, fill));
        // A fill value without an attribute form in v3 keeps its v2 attribute.
        let is_kept =
            source.documents.zarr_format == 2 && fill.is_none_or(|fill| xarray::encode(data_type, fill).is_none());
        let attribute = self.fill_value_attribute(masked);
        let mut is_null = false;
        if fill.is_some_and(is_fill) {
            let is_new = options.fill_value.is_some() && draft.fill_value != source.fill_value;
            if is_new && mask(source).is_some() && options.form().is_none() && !options.unpack {
                let mut found = masks(draft).with_help("`--zarr-format 3` keeps what is missing");
                let before = self.original.and_then(|original| original.get("fill_value"));
                found.message +=
                    &before.map_or_else(String::new, |fill| format!(", those that equal {} no more", fill.excerpt()));
                warnings.push(found);
            }
            match attribute {
                Some(attribute) => attributes.insert(FILL_VALUE, attribute),
                None => drop(attributes.remove(FILL_VALUE)),
            }
        } else if !is_kept {
            if let Some(attribute) = attribute.or_else(|| data_type.fill_value_to_json(masked?).ok()) {
                attributes.insert(FILL_VALUE, attribute);
            }
            // Readers read null as 0, but as NaT for times.
            is_null = is_zero(draft) && !self.is_fill_given && !matches!(data_type, DataType::Time(_));
            if !is_null && fill.is_some_and(|fill| !xarray::is_nan(data_type, fill)) {
                warnings.push(masks(draft));
            }
        }
        Ok((self.with_names(attributes, Json::Array(names.to_vec())), is_null))
    }

    /// Returns the attributes with the names of the dimensions in their former position.
    fn with_names(&self, attributes: Object, names: Json) -> Object {
        let read = self.source.documents.attributes.as_ref().and_then(Json::as_object);
        let index = read.and_then(|read| read.names().position(|name| name == DIMENSIONS));
        let mut members: Vec<_> = attributes.into_iter().filter(|(name, _)| name != DIMENSIONS).collect();
        members.insert(index.unwrap_or(usize::MAX).min(members.len()), (DIMENSIONS.to_owned(), names));
        members.into_iter().collect()
    }

    /// Returns the attribute `_FillValue` in addition to the fill value, as netCDF-C and GDAL write it (SEMANTICS: D5).
    /// The literal stays if it is kept, or if it has the value `masked`. Otherwise it becomes that value.
    fn fill_value_attribute(&self, masked: Option<&FillValue>) -> Option<Json> {
        let data_type = &self.draft.data_type;
        let (literal, is_kept) = self.literal_fill_value_attribute()?;
        let said = xarray::decode(data_type, &literal);
        let is_masked = said.zip(masked).is_some_and(|(value, masked)| xarray::is_same_mask(data_type, &value, masked));
        if is_kept || is_masked { Some(literal) } else { data_type.fill_value_to_json(masked?).ok() }
    }

    /// Returns the given attribute, or else that of SOURCE, unless all attributes are replaced. Also returns whether no
    /// option makes it wrong.
    fn literal_fill_value_attribute(&self) -> Option<(Json, bool)> {
        let Writer { source, draft, options, .. } = self;
        let mut given = [&options.attributes_append, &options.attributes].into_iter().flatten();
        if let Some(literal) = given.find_map(|given| given.get(FILL_VALUE)) {
            return Some((literal.clone(), false));
        }
        // CF packing sets this one, which is needed by readers that read only attributes.
        let form = options.form();
        if form == Some(QuantizeForm::Cf) {
            return draft.attributes().get(FILL_VALUE).cloned().map(|code| (code, true));
        }
        let is_read = source.documents.zarr_format == 2 && options.attributes.is_none();
        let read = source.documents.attributes.as_ref().filter(|_| is_read)?;
        let literal = read.get(FILL_VALUE)?.clone();
        let is_untouched = draft.data_type == source.data_type && draft.fill_value == source.fill_value;
        // An attribute that was never the fill value does not follow it.
        let said = xarray::decode(&source.data_type, &literal).zip(source.fill_value.as_ref());
        let is_fill = said.is_none_or(|(value, fill)| xarray::is_same_mask(&source.data_type, &value, fill));
        // Beside a null fill value it is what masks, and is converted with the values.
        let is_mask = self.original.and_then(|original| original.get("fill_value")).is_some_and(Json::is_null);
        let is_other = !is_fill && (!is_mask || draft.data_type == source.data_type);
        // `--as plain` does not change attributes.
        let is_plain = form == Some(QuantizeForm::Plain);
        let is_packed = form.is_some() || options.unpack;
        Some((literal, is_plain || (!is_packed && (is_untouched || is_other))))
    }

    fn array(&self, is_null: bool) -> Result<Json, NotInV2> {
        let Writer { source, draft, .. } = self;
        let has_same_type = draft.data_type == source.data_type;
        let has_same_codecs = same_codecs(&draft.codecs, &source.metadata.codecs);
        let is_new = self.original.is_none();
        let mut document = self.original.cloned().unwrap_or_else(|| Object::new().with("zarr_format", 2_u64).into());
        if is_new || source.metadata.part.is_some() {
            set_member(&mut document, "shape", source.metadata.taken_shape());
        }
        if let Some(chunks) = draft.document.pointer("/chunk_grid/configuration/chunk_shape")
            && (is_new || !chunks.same_value(&Json::from(source.metadata.grid.largest().to_vec())))
        {
            set_member(&mut document, "chunks", chunks.clone());
        }
        let rank = source.metadata.shape.len();
        // SOURCE's chain is written once more for comparison: a v2 document can express one chain in several ways, and
        // unchanged members keep theirs.
        let as_written = write_codecs(&source.metadata.codecs, &source.data_type, rank).ok().filter(|_| !is_new);
        let mut order = as_written.as_ref().map_or(V2ByteOrder::Little, |chain| chain.order.clone());
        let mut has_same_order = true;
        if is_new || !has_same_type || !has_same_codecs {
            let chain = write_codecs(&draft.codecs, &draft.data_type, rank)?;
            has_same_order = as_written.as_ref().is_some_and(|written| written.order == chain.order);
            if is_new || !has_same_type || !has_same_order {
                set_member(&mut document, "dtype", write_dtype(&draft.data_type, chain.order.is_big())?);
            }
            set_chain(&mut document, &chain, as_written.as_ref());
            order = chain.order;
        }
        // The bytes of a structure are in the order of its fields.
        let has_same_form = has_same_order || !matches!(draft.data_type, DataType::Struct(_));
        // A bare NaN is no JSON, so it is replaced by the string of the v2 specification.
        let keeps_fill = !is_new
            && !document.get("fill_value").is_some_and(Json::is_not_finite)
            && !self.is_fill_given
            && has_same_type
            && has_same_form
            && draft.fill_value == source.fill_value;
        if is_null {
            set_member(&mut document, "fill_value", Json::Null);
        } else if !keeps_fill {
            set_member(&mut document, "fill_value", self.fill_value(&order)?);
        }
        let separator = draft.document.pointer("/chunk_key_encoding/configuration/separator").and_then(Json::as_str);
        if is_new || separator != Some(&source.metadata.chunk_key_encoding.separator.character().to_string()) {
            set_member(&mut document, "dimension_separator", separator.unwrap_or("."));
        }
        Ok(document)
    }

    fn fill_value(&self, order: &V2ByteOrder) -> Result<Json, NotInV2> {
        let Some(fill_value) = &self.draft.fill_value else {
            return Ok(self.draft.document.get("fill_value").cloned().unwrap_or(Json::Null));
        };
        let written = write_fill_value(&self.draft.data_type, fill_value, order)?;
        // A number keeps its literal.
        let present = self.draft.document.get("fill_value").filter(|json| json.as_number().is_some());
        Ok(present.filter(|_| written.as_number().is_some()).cloned().unwrap_or(written))
    }
}

/// Returns the warning about a fill value that xarray masks only in v2.
fn masks(draft: &Draft) -> Diagnostic {
    let fill = draft.document.get("fill_value").map_or_else(String::new, Json::excerpt);
    let message = format!("in Zarr v2 xarray takes elements that equal the fill value {fill} for missing");
    Diagnostic::new(code::V2_FILL_VALUE_MASKS, message)
        .with_help("`--fill-value` with a value that does not occur, or NaN, keeps all elements")
}

/// Sets the members of a chain that differ from before. `before` has the members of the document's own chain. The
/// document may have another form, such as a checksum or a filter as the compressor. It keeps this form while none of
/// its codecs changes.
fn set_chain(document: &mut Json, chain: &V2Chain, before: Option<&V2Chain>) {
    let compressor_is_null = document.get("compressor").is_none_or(Json::is_null);
    let [same_compressor, same_filters] = before.map_or([false; 2], |before| {
        [before.compressor.same_value(&chain.compressor), before.filters.same_value(&chain.filters)]
    });
    let stands_so = before.is_some_and(|before| before.compressor.is_null() == compressor_is_null);
    let is_same = same_compressor && same_filters;
    if !(is_same || (same_compressor && stands_so)) {
        set_member(document, "compressor", chain.compressor.clone());
    }
    if !(is_same || (same_filters && stands_so)) {
        set_member(document, "filters", chain.filters.clone());
    }
    if document.get("fill_value").is_none() {
        set_member(document, "fill_value", Json::Null);
    }
    if before.is_none_or(|before| before.is_fortran != chain.is_fortran) {
        set_member(document, "order", if chain.is_fortran { "F" } else { "C" });
    }
}

/// Returns a codec with the `astype` that a filter of big-endian numbers has if it is left out.
fn with_astype(codec: &CodecMetadata) -> CodecMetadata {
    let is_typed = ["numcodecs.delta", draft::FIXED_SCALE_OFFSET].contains(&codec.name.as_str());
    let dtype = codec.member("dtype").filter(|dtype| dtype.as_str().is_some_and(|text| text.starts_with('>')));
    let mut codec = codec.clone();
    if let (Some(dtype), true, None) = (dtype.cloned(), is_typed, codec.member("astype")) {
        codec.configuration.get_or_insert_default().insert("astype", dtype);
    }
    codec
}

/// Returns whether two chains are the same, also in members that v3 does not have.
pub(crate) fn same_codecs(a: &[CodecMetadata], b: &[CodecMetadata]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| with_astype(a).same_value(&with_astype(b)))
}

/// Replaces the findings about such members in v2 by those about their form in v3.
pub(crate) fn tell_of_members(
    node_path: &NodePath,
    Documents { key, document, .. }: &Documents,
    attributes: &Object,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let members = v2::netcdf_members(document);
    // The findings of v2 do not apply any more.
    let pointers: Vec<String> = members.names().map(|name| format!("/{name}")).collect();
    let is_about = |known: &Diagnostic| known.location.pointer.as_ref().is_some_and(|at| pointers.contains(at));
    diagnostics.retain(|known| !(known.is(code::V2_MEMBER_UNKNOWN) && is_about(known)));
    let mut found = keep_members(&mut attributes.clone(), members);
    node_path.locate(&mut found, key);
    diagnostics.extend(found);
}

/// Attributes of OME-Zarr 0.4 with which its readers find images, plates and labels.
const OME: [&str; 6] = ["multiscales", "omero", "plate", "well", "image-label", "bioformats2raw.layout"];

/// Returns a warning if OME-Zarr 0.4 metadata of a group, which are for v2, are written to v3.
pub(crate) fn tell_of_ome(attributes: &Object) -> Option<Diagnostic> {
    let is_image = attributes.get("multiscales").and_then(Json::as_array).is_some();
    let is_other = ["plate", "well", "bioformats2raw.layout"].iter().any(|name| attributes.contains(name));
    let names = OME.iter().filter(|name| attributes.contains(name)).map(|name| format!("`{name}`"));
    let message = format!(
        "{} stay as in OME-Zarr 0.4: readers of 0.5, the version for Zarr v3, do not find them",
        names.collect::<Vec<_>>().join(", ")
    );
    (is_image || is_other).then(|| {
        Diagnostic::new(code::OME_METADATA_OLD, message)
            .with_help("keep Zarr v2, or have a tool for OME-Zarr write the metadata of 0.5")
    })
}

/// Removes a `quantize` that also changes the type, which no zarr-python decodes in v3. Decoded values are the same
/// without it (SEMANTICS D12). If another filter follows, which needs that type, `astype` changes only the type.
pub(crate) fn leave_quantize(draft: &mut Draft) {
    let type_of = |codec: &CodecMetadata, name: &str| {
        codec.member(name).and_then(Json::as_str).map(|text| text.trim_start_matches(['<', '>', '|', '=']).to_owned())
    };
    let changes_type = |codec: &CodecMetadata| {
        let astype = type_of(codec, "astype");
        codec.name == "numcodecs.quantize" && astype.is_some() && astype != type_of(codec, "dtype")
    };
    let Some(index) = draft.codecs.iter().position(changes_type) else { return };
    let mut codecs = draft.codecs.clone();
    let follower = codecs.get(index + 1).and_then(|codec| codec_kind(&codec.name));
    if follower == Some(CodecKind::ArrayToArray) {
        let member = |name: &str| codecs[index].member(name).cloned().unwrap_or(Json::Null);
        let configuration = Object::new().with("encode_dtype", member("astype")).with("decode_dtype", member("dtype"));
        codecs[index] = CodecMetadata::new("numcodecs.astype", Some(configuration));
    } else {
        codecs.remove(index);
        draft::follow_data_type(&mut codecs, &draft.data_type);
    }
    draft.keep_codecs(codecs);
}
