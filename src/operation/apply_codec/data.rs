//! The data and the chain of `apply-codec`: files and standard streams, chunks of an array, and the bound chain.

use super::Direction;
use crate::codec::{BoundChain, ChainFault};
use crate::data_type::DataType;
use crate::diagnostic::{Diagnostic, Profile, quantity};
use crate::element::{ElementType, NumberType};
use crate::grid::Region;
use crate::metadata::{CodecMetadata, Json, extension::read_codecs};
use crate::operation::npy;
use crate::operation::open::{self, open_array};
use crate::operation::options::{ApplyCodecOptions, complete_typesize};
use crate::operation::{Budget, FaultClass, OpenedArray, OperationError, Result, Stream};
use crate::pipeline::{ArrayRepresentation, BytesSize, Completeness, Pipeline, Representation};
use crate::store::{StoreError, file};

pub(super) struct Input {
    /// The name of INPUT, or of the chunk.
    pub(super) name: String,
    /// The size of the file with its header, in bytes.
    pub(super) file_bytes: u64,
    /// Encoded bytes, or native-endian elements in C order.
    pub(super) bytes: Vec<u8>,
    /// The type and the shape in a `.npy` file.
    npy: Option<(DataType, Vec<u64>)>,
}

/// Reads INPUT if it is a `.npy` file: by its name, or on stdin by its first bytes.
pub(super) fn read_early(options: &ApplyCodecOptions) -> Result<Option<Input>> {
    let Some(stream) = &options.input else { return Ok(None) };
    let tells_itself = match stream {
        Stream::File(_) => stream.has_extension("npy"),
        Stream::Standard => file::standard_input_begins_with(npy::MAGIC),
    };
    if !tells_itself {
        return Ok(None);
    }
    // The type and the shape are in the file, so the chain, which limits other inputs, is not known yet.
    let limit = Budget::new(&options.common).bytes().min(u64::MAX - 1);
    let name = stream_name(stream);
    let contents = read(stream, limit)?.ok_or_else(|| {
        let limit = quantity::bytes(limit);
        OperationError::environment(format!("INPUT `{name}` is larger than the memory budget, {limit}"))
            .with_help("give a larger `--max-memory`")
    })?;
    let (npy, bytes) = npy::read(&contents)
        .map_err(|error| OperationError::data(format!("INPUT `{name}` is not read as .npy")).because(error))?;
    Ok(Some(Input { name, file_bytes: contents.len() as u64, bytes, npy: Some(npy) }))
}

fn stream_name(stream: &Stream) -> String {
    if let Stream::File(path) = stream { path.display().to_string() } else { "-".to_owned() }
}

fn needs_type_and_shape() -> OperationError {
    OperationError::usage("--data-type and --shape are needed: they describe the decoded array").with_help(
        "add --data-type float32 --shape 12,180,360, take them from an array by --like STORE, or encode a .npy file",
    )
}

/// Returns the type and shape of the decoded array, without `--like`.
fn decoded_array(options: &ApplyCodecOptions, early: Option<&Input>) -> Result<(DataType, Vec<u64>)> {
    let (mut data_type, mut shape) = (options.data_type.as_ref(), options.shape.as_ref());
    if let Some(Input { name, npy: Some((own_type, own_shape)), .. }) = early.filter(|_| !options.decode) {
        let given = *shape.get_or_insert(own_shape);
        if given != own_shape {
            let message = format!("--shape {given:?} disagrees with `{name}`, whose shape is {own_shape:?}");
            return Err(OperationError::usage(message).with_help("leave --shape out"));
        }
        let given = *data_type.get_or_insert(own_type);
        if !holds(own_type, given) {
            let message = format!("--data-type {given} disagrees with `{name}`, whose data type is {own_type}");
            return Err(OperationError::usage(message).with_help("leave --data-type out"));
        }
    }
    data_type.cloned().zip(shape.cloned()).ok_or_else(needs_type_and_shape)
}

/// True if a file's type is the primitive that stores values of `data_type`: `uint16` stores `uint10`.
fn holds(file_type: &DataType, data_type: &DataType) -> bool {
    match (file_type.number(), data_type.number()) {
        (Some(file_type), Some(number_type)) => file_type.element() == number_type.element(),
        _ => file_type == data_type || file_type.raw_size().is_some_and(|size| data_type.raw_size() == Some(size)),
    }
}

impl Input {
    /// Returns the elements or bytes of a `.npy` file, if the chain accepts them. Otherwise an error.
    pub(super) fn fitting(self, chain: &BoundChain, direction: Direction) -> Result<Self> {
        let Some((data_type, shape)) = &self.npy else { return Ok(self) };
        let [taken, _] = direction.ends(chain);
        let found = self.bytes.len() as u64;
        // Encoded bytes are a 1-D array of uint8.
        let are_bytes = shape.len() == 1 && data_type.size() == Some(1);
        let fits = match &taken {
            Representation::Array(array) => holds(data_type, &array.data_type) && *shape == array.shape,
            Representation::Bytes(BytesSize::Fixed(bytes)) => are_bytes && found == *bytes,
            Representation::Bytes(size) => are_bytes && size.bound().is_none_or(|bytes| found <= bytes),
        };
        if !fits {
            let found = format!("INPUT `{}` has {data_type} of shape {shape:?}", self.name);
            return Err(OperationError::data(format!("{found}, and {} is expected", describe(&taken))));
        }
        Ok(self)
    }
}

fn describe(representation: &Representation) -> String {
    match representation {
        Representation::Array(ArrayRepresentation { data_type, shape, .. }) => {
            let bytes = representation.max_bytes().unwrap_or(u64::MAX);
            format!("{data_type} of shape {shape:?}, {},", quantity::counted(bytes, "byte"))
        }
        Representation::Bytes(BytesSize::Fixed(bytes)) => format!("{bytes} encoded bytes"),
        Representation::Bytes(BytesSize::Bounded(bytes)) => format!("at most {bytes} encoded bytes"),
        Representation::Bytes(BytesSize::Unbounded) => "a number of encoded bytes".to_owned(),
    }
}

/// Reads a raw INPUT. More or fewer bytes than the chain needs are an error of the data.
fn read_raw(stream: &Stream, chain: &BoundChain, direction: Direction) -> Result<Input> {
    let [taken, _] = direction.ends(chain);
    let name = stream_name(stream);
    let expected = match &taken {
        Representation::Array(array) => array.num_bytes(),
        Representation::Bytes(BytesSize::Fixed(bytes)) => Some(*bytes),
        Representation::Bytes(_) => None,
    };
    let limit = expected.unwrap_or_else(|| chain.max_encoded_bytes());
    let unexpected = |bytes: String| {
        let message = format!("INPUT `{name}` has {bytes}, but {} is expected", describe(&taken));
        let decode = if direction == Direction::Encode { "; add --decode if INPUT is encoded" } else { "" };
        OperationError::data(message).with_help(format!("check --data-type and --shape{decode}"))
    };
    let bytes = read(stream, limit)?;
    let mut bytes = bytes.ok_or_else(|| unexpected(format!("more than {limit} bytes")))?;
    let found = bytes.len() as u64;
    if expected.is_some_and(|expected| expected != found) {
        return Err(unexpected(quantity::counted(found, "byte")));
    }
    if let Representation::Array(array) = &taken {
        to_or_from_little_endian(&mut bytes, &array.data_type);
    }
    Ok(Input { name, file_bytes: found, bytes, npy: None })
}

/// Reads INPUT. `None` if it has more bytes than the limit.
fn read(stream: &Stream, limit: u64) -> Result<Option<Vec<u8>>> {
    let contents = match stream {
        Stream::Standard => file::read_standard_input(limit),
        Stream::File(path) => file::read(path, limit),
    };
    match contents {
        Err(StoreError::TooLarge { .. }) => Ok(None),
        contents => contents.map(Some).map_err(|error| {
            let message = format!("INPUT `{}` cannot be read", stream_name(stream));
            OperationError::environment(message).because(error).with_help("check the path")
        }),
    }
}

/// Returns the contents of OUTPUT.
pub(super) fn to_file(stream: &Stream, representation: &Representation, bytes: &[u8]) -> Result<Vec<u8>> {
    let is_npy = stream.has_extension("npy");
    match representation {
        Representation::Array(array) if is_npy => npy::write(&array.data_type, &array.shape, bytes),
        Representation::Array(array) => {
            let mut contents = bytes.to_vec();
            to_or_from_little_endian(&mut contents, &array.data_type);
            Ok(contents)
        }
        // Encoded bytes are a 1-D array of uint8.
        Representation::Bytes(_) if is_npy => {
            let uint8 = DataType::Number(NumberType::of(ElementType::UInt8));
            npy::write(&uint8, &[bytes.len() as u64], bytes)
        }
        Representation::Bytes(_) => Ok(bytes.to_vec()),
    }
    .map_err(|error| OperationError::data("OUTPUT cannot be a .npy file").because(error))
}

/// Converts native-endian elements to little-endian ones, or back. On most machines this does nothing.
fn to_or_from_little_endian(elements: &mut [u8], data_type: &DataType) {
    if cfg!(target_endian = "big") {
        data_type.swap_elements(elements);
    }
}

/// A bound chain, and its origin.
pub(super) struct ChainSource {
    pub(super) chain: BoundChain,
    pub(super) warnings: Vec<Diagnostic>,
    /// The array of `--like`.
    array: Option<OpenedArray>,
}

impl ChainSource {
    /// Binds the chain. Everything about it is checked here, before any data is read.
    pub(super) fn new(options: &ApplyCodecOptions, early: Option<&Input>) -> Result<Self> {
        let array = options.like.as_ref().map(|store| open_array(store, None, profile(options, false))).transpose()?;
        let mut diagnostics = Vec::new();
        let (data_type, shape, codecs) = if let Some(array) = &array {
            let shape = shape_of(array, options.chunk.as_deref())?;
            (array.data_type.clone(), shape, array.metadata.codecs.clone())
        } else {
            let (data_type, shape) = decoded_array(options, early)?;
            let codecs = given_codecs(options, &data_type, &mut diagnostics);
            (data_type, shape, codecs)
        };
        let fill_value = match (&options.fill_value, &array) {
            (Some(json), _) => {
                let read = data_type.fill_value_from_json(json);
                let read =
                    read.map_err(|error| OperationError::not_a_value("--fill-value", json, &data_type, error))?;
                diagnostics.extend(read.notes);
                Some(read.value)
            }
            // A shard may lack inner chunks. They have the array's fill value.
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
        Ok(ChainSource { chain, warnings, array })
    }

    /// Refuses decoded elements that are not values of their type. Padding means nothing. Only in a chunk of `--like`
    /// it is known which elements are padding.
    pub(super) fn check_values(&self, options: &ApplyCodecOptions, elements: &[u8]) -> Result<(), ChainFault> {
        let shape = &self.chain.decoded().shape;
        let valid = match (&self.array, &options.chunk) {
            (Some(array), Some(chunk)) => {
                array.metadata.grid.region_of(chunk).common(&Region::whole(&array.metadata.shape)).shape
            }
            _ => shape.clone(),
        };
        self.chain.check_values(elements, shape, &valid)
    }

    /// Reads the stored chunk, or INPUT. Its size is known by now.
    pub(super) fn read_input(&self, options: &ApplyCodecOptions, direction: Direction) -> Result<Input> {
        match (&self.array, &options.chunk, &options.input) {
            (Some(array), Some(chunk), _) => self.read_chunk(array, chunk),
            (_, _, Some(stream)) => read_raw(stream, &self.chain, direction),
            _ => Err(OperationError::usage("INPUT is missing")),
        }
    }

    fn read_chunk(&self, array: &OpenedArray, chunk: &[u64]) -> Result<Input> {
        let grid_shape = array.metadata.grid.counts();
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
            let class = if error.is_data_fault() { FaultClass::Data } else { FaultClass::Environment };
            OperationError::new(class, message).because(error).with_help(format!("the chunk's key is {key}"))
        })?;
        if !found {
            let message = format!("chunk {chunk:?} is not stored: `{name}` does not exist");
            return Err(OperationError::data(message).with_help("a missing chunk has the fill value everywhere"));
        }
        Ok(Input { name, file_bytes: bytes.len() as u64, bytes, npy: None })
    }
}

/// Returns the shape of all chunks of an array, or of the named one.
fn shape_of(array: &OpenedArray, chunk: Option<&[u64]>) -> Result<Vec<u64>> {
    let grid = &array.metadata.grid;
    match (grid.uniform(), chunk) {
        (Some(shape), _) => Ok(shape.to_vec()),
        // The read shows whether the chunk exists.
        (None, Some(chunk)) if chunk.len() == array.metadata.shape.len() => Ok(grid.shape_of(chunk).into_owned()),
        (None, Some(_)) => Ok(grid.largest().to_vec()),
        (None, None) => {
            let message = format!("the chunks of `{}` have different shapes", array.store);
            Err(OperationError::data(message).with_help("name one of them with --chunk"))
        }
    }
}

/// Returns the codecs of `--codecs`. An empty list is the chain that changes nothing.
fn given_codecs(options: &ApplyCodecOptions, data_type: &DataType, faults: &mut Vec<Diagnostic>) -> Vec<CodecMetadata> {
    let given = options.codecs.as_ref().filter(|codecs| !codecs.is_empty());
    let read = given.and_then(|codecs| read_codecs(&Json::Array(codecs.clone()), "", faults));
    let mut codecs = read.unwrap_or_default();
    // If `bytes` is first, the input of `blosc` are elements of this type.
    if let (Some("bytes"), Some(size)) = (codecs.first().map(|codec| codec.name.as_str()), data_type.size()) {
        complete_typesize(&mut codecs, size);
    }
    codecs
}

/// Returns the profile of the options. `checks` is true for a fill value that was given.
fn profile(options: &ApplyCodecOptions, checks: bool) -> Profile {
    match (options.no_fill_check, checks) {
        (true, _) => Profile::AnyFillValue,
        (false, true) => Profile::Write,
        (false, false) => Profile::Read,
    }
}

/// Refuses errors, and returns the other findings. A given fill value must be the same bit for bit after a round trip,
/// unless `--no-fill-check` was given.
fn accept(
    options: &ApplyCodecOptions,
    diagnostics: Vec<Diagnostic>,
    array: Option<&OpenedArray>,
    about: &str,
) -> Result<Vec<Diagnostic>> {
    let diagnostics = profile(options, options.fill_value.is_some()).judged(diagnostics);
    let (errors, mut warnings): (Vec<_>, Vec<_>) = diagnostics.into_iter().partition(Diagnostic::is_error);
    if !errors.is_empty() {
        return Err(open::refusal(&format!("the codec chain does not fit {about}"), &errors));
    }
    if let Some(array) = array {
        // The findings about the array also apply to the chain, and are not repeated.
        warnings.retain(|warning| !array.warnings.iter().any(|known| known.code == warning.code));
        warnings.splice(0..0, array.warnings.iter().cloned());
    }
    Ok(warnings)
}
