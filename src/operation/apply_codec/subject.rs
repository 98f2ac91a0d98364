//! The chain, bound to the data type, shape and fill value of the decoded array.

use super::data::{self, Early, Input};
use super::measure::Direction;
use crate::codec::{BoundChain, ChainFault};
use crate::data_type::{DataType, FillValue, Leniency};
use crate::diagnostic::{Diagnostic, Profile};
use crate::metadata::extension::{CodecMetadata, read_codecs};
use crate::metadata::json::Json;
use crate::operation::codec_words::complete_typesize;
use crate::operation::error::OperationError;
use crate::operation::open::{self, OpenedArray, open_array};
use crate::operation::options::ApplyCodecOptions;
use crate::pipeline::{ArrayRepresentation, Completeness, Pipeline};

/// A bound chain, and where it comes from.
pub(super) struct Subject {
    pub(super) chain: BoundChain,
    pub(super) warnings: Vec<Diagnostic>,
    /// `--like`.
    array: Option<OpenedArray>,
    /// `--chunk`.
    chunk: Option<Vec<u64>>,
}

impl Subject {
    /// Binds the chain; everything about it is proved here, before any data.
    pub(super) fn new(options: &ApplyCodecOptions, early: Option<&Early>) -> Result<Self, OperationError> {
        let array = options.like.as_ref().map(|store| open_array(store, None)).transpose()?;
        let mut diagnostics = Vec::new();
        let (data_type, shape, codecs) = if let Some(array) = &array {
            let shape = shape_of(array, options.chunk.as_deref())?;
            (array.data_type.clone(), shape, array.metadata.codecs.clone())
        } else {
            let (data_type, shape) = data::decoded_array(options, early)?;
            let codecs = given_codecs(options, &data_type, &mut diagnostics);
            (data_type, shape, codecs)
        };
        let fill_value = match (&options.fill_value, &array) {
            (Some(json), _) => Some(read_fill_value(json, &data_type, &mut diagnostics)?),
            // A shard may lack inner chunks, which then hold the array's fill value.
            (None, Some(array)) if options.decode || options.chunk.is_some() => array.fill_value.clone(),
            (None, _) => None,
        };
        let about = format!("{data_type} of shape {shape:?}");
        let input = ArrayRepresentation { data_type, shape, fill_value };
        let pipeline = Pipeline::build(input, &codecs, Completeness::Partial, "", &mut diagnostics);
        let warnings = accept(options, diagnostics, array.as_ref(), &about)?;
        let chain = BoundChain::bind(&pipeline).map_err(|error| {
            OperationError::data(format!("the codec chain cannot be applied to {about}")).because(error)
        })?;
        Ok(Subject { chain, warnings, array, chunk: options.chunk.clone() })
    }

    /// True if the input is a chunk of `--like`.
    pub(super) fn is_stored_chunk(&self) -> bool {
        self.chunk.is_some()
    }

    /// Refuses decoded elements that are no values of their type. Padding, which means nothing, can be told from elements
    /// in a chunk of `--like` alone.
    pub(super) fn check_values(&self, elements: &[u8]) -> Result<(), ChainFault> {
        let shape = &self.chain.decoded().shape;
        let valid = match (&self.array, &self.chunk) {
            (Some(array), Some(chunk)) => {
                let start = array.metadata.grid.start_of(chunk);
                let bounds = shape.iter().zip(start).zip(&array.metadata.shape);
                bounds.map(|((length, start), end)| (*length).min(end.saturating_sub(start))).collect()
            }
            _ => shape.clone(),
        };
        self.chain.check_values(elements, shape, &valid)
    }

    /// Reads the stored chunk, or INPUT, whose size is known by now.
    pub(super) fn read_input(
        &self,
        options: &ApplyCodecOptions,
        direction: Direction,
    ) -> Result<Input, OperationError> {
        match (&self.array, &self.chunk, &options.input) {
            (Some(array), Some(chunk), _) => self.read_chunk(array, chunk),
            (_, _, Some(stream)) => data::read_raw(stream, &self.chain, direction),
            _ => Err(OperationError::usage("INPUT is missing")),
        }
    }

    fn read_chunk(&self, array: &OpenedArray, chunk: &[u64]) -> Result<Input, OperationError> {
        let grid_shape = array.metadata.chunk_grid_shape();
        let inside = chunk.len() == grid_shape.len() && chunk.iter().zip(&grid_shape).all(|(index, end)| index < end);
        if !inside {
            let message = format!("--chunk {chunk:?} is not in the chunk grid of `{}`, {grid_shape:?}", array.store);
            return Err(OperationError::data(message).with_help("give one index for each dimension, from 0"));
        }
        let key = array.metadata.chunk_key_encoding.key(chunk);
        let name = format!("{}/{key}", array.store);
        let mut bytes = Vec::new();
        let found = array.node.read_into(&key, self.chain.max_encoded_bytes(), &mut bytes).map_err(|error| {
            let message = format!("chunk {chunk:?} of `{}` cannot be read", array.store);
            let fault = error.is_data_fault();
            let error = if fault {
                OperationError::data(message).because(error)
            } else {
                OperationError::environment(message).because(error)
            };
            error.with_help(format!("the chunk's key is {key}"))
        })?;
        if !found {
            let message = format!("chunk {chunk:?} is not stored: `{name}` does not exist");
            return Err(OperationError::data(message).with_help("a missing chunk holds the fill value everywhere"));
        }
        Ok(Input { name, file_bytes: bytes.len() as u64, bytes })
    }
}

/// The shape of a chunk of an array: that of all, or of the one that is named.
fn shape_of(array: &OpenedArray, chunk: Option<&[u64]>) -> Result<Vec<u64>, OperationError> {
    let grid = &array.metadata.grid;
    match (grid.uniform(), chunk) {
        (Some(shape), _) => Ok(shape.to_vec()),
        // Whether there is such a chunk is seen where it is read.
        (None, Some(chunk)) if chunk.len() == array.metadata.shape.len() => Ok(grid.shape_of(chunk).into_owned()),
        (None, Some(_)) => Ok(grid.largest().to_vec()),
        (None, None) => {
            let message = format!("the chunks of `{}` are of several shapes", array.store);
            Err(OperationError::data(message).with_help("name one of them with --chunk"))
        }
    }
}

/// `--codecs`. An empty list is the chain that changes nothing.
fn given_codecs(
    options: &ApplyCodecOptions,
    data_type: &DataType,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<CodecMetadata> {
    let given = options.codecs.as_ref().filter(|codecs| !codecs.is_empty());
    let read = given.and_then(|codecs| read_codecs(&Json::Array(codecs.clone()), "", diagnostics));
    let mut codecs = read.unwrap_or_default();
    // Where `bytes` comes first, what `blosc` is given are elements of this type.
    if let (Some("bytes"), Some(size)) = (codecs.first().map(|codec| codec.name.as_str()), data_type.size()) {
        complete_typesize(&mut codecs, size);
    }
    codecs
}

fn read_fill_value(
    json: &Json,
    data_type: &DataType,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<FillValue, OperationError> {
    let read = data_type.fill_value_from_json(json).map_err(|error| {
        OperationError::data(format!("--fill-value {json} is not a value of {data_type}")).because(error)
    })?;
    diagnostics.extend(read.notes.iter().map(Leniency::diagnostic));
    Ok(read.value)
}

/// Refuses what is wrong; gives what is only unusual. A given fill value must come back bit for bit, unless
/// `--no-fill-check` was given.
fn accept(
    options: &ApplyCodecOptions,
    diagnostics: Vec<Diagnostic>,
    array: Option<&OpenedArray>,
    about: &str,
) -> Result<Vec<Diagnostic>, OperationError> {
    let profile = match (options.no_fill_check, &options.fill_value) {
        (true, _) => Profile::WriteAnyFillValue,
        (false, Some(_)) => Profile::Write,
        (false, None) => Profile::Read,
    };
    let diagnostics = profile.judged(diagnostics);
    let (errors, mut warnings): (Vec<_>, Vec<_>) = diagnostics.into_iter().partition(Diagnostic::is_error);
    if !errors.is_empty() {
        return Err(open::refusal(&format!("the codec chain does not fit {about}"), &errors));
    }
    if let Some(array) = array {
        // What was found when the array was opened holds for the chain, too.
        warnings.retain(|warning| !array.warnings.iter().any(|known| known.code == warning.code));
        warnings.splice(0..0, array.warnings.iter().cloned());
    }
    Ok(warnings)
}
