//! INPUT and OUTPUT: raw elements, little endian and in C order, or `.npy` files. In memory: native-endian elements.

use super::measure::Direction;
use crate::codec::BoundChain;
use crate::data_type::DataType;
use crate::diagnostic::quantity;
use crate::element::{ElementType, NumberType};
use crate::operation::budget::Budget;
use crate::operation::error::OperationError;
use crate::operation::npy::{self, NpyArray};
use crate::operation::options::{ApplyCodecOptions, Stream};
use crate::pipeline::{ArrayRepresentation, BytesSize, Representation};
use crate::store::{StoreError, file};

/// The data that run through the chain.
pub(super) struct Input {
    /// INPUT, or the chunk.
    pub(super) name: String,
    /// The size of the file, a header included.
    pub(super) file_bytes: u64,
    /// Encoded bytes, or native-endian elements in C order.
    pub(super) bytes: Vec<u8>,
}

/// A `.npy` INPUT, which is read before the chain is bound, since it tells type and shape.
pub(super) struct Early {
    name: String,
    file_bytes: u64,
    array: NpyArray,
}

/// Reads INPUT where it is a `.npy` file: by its name, or on stdin where nothing else tells type and shape.
pub(super) fn read_early(options: &ApplyCodecOptions) -> Result<Option<Early>, OperationError> {
    let Some(stream) = &options.input else { return Ok(None) };
    let tells_itself = match stream {
        Stream::File(_) => stream.has_extension("npy"),
        Stream::Standard => {
            options.like.is_none() && options.data_type.is_none() && options.shape.is_none() && !options.decode
        }
    };
    if !tells_itself {
        return Ok(None);
    }
    let limit = Budget::of(&options.common).bytes().min(u64::MAX - 1);
    let contents = read(stream, limit, |name, limit| {
        let limit = quantity::bytes(limit);
        OperationError::environment(format!("INPUT `{name}` is larger than the memory budget, {limit}"))
            .with_help("give a larger `--max-memory`")
    })?;
    let name = stream_name(stream);
    if *stream == Stream::Standard && !npy::is_npy(&contents) {
        return Err(needs_type_and_shape());
    }
    let array = npy::read(&contents)
        .map_err(|error| OperationError::data(format!("INPUT `{name}` is not read as .npy")).because(error))?;
    Ok(Some(Early { name, file_bytes: contents.len() as u64, array }))
}

fn stream_name(stream: &Stream) -> String {
    match stream {
        Stream::Standard => "-".to_owned(),
        Stream::File(path) => path.display().to_string(),
    }
}

fn needs_type_and_shape() -> OperationError {
    OperationError::usage("--data-type and --shape are needed: they describe the decoded array").with_help(
        "add --data-type float32 --shape 12,180,360, take them from an array by --like STORE, or encode a .npy file",
    )
}

/// The type and shape of the decoded array, where there is no `--like`.
pub(super) fn decoded_array(
    options: &ApplyCodecOptions,
    early: Option<&Early>,
) -> Result<(DataType, Vec<u64>), OperationError> {
    let Some(early) = early.filter(|_| !options.decode) else {
        return match (&options.data_type, &options.shape) {
            (Some(data_type), Some(shape)) => Ok((data_type.clone(), shape.clone())),
            _ => Err(needs_type_and_shape()),
        };
    };
    let NpyArray { data_type, shape, .. } = &early.array;
    if let Some(given) = &options.shape
        && given != shape
    {
        let message = format!("--shape {given:?} disagrees with `{}`, whose shape is {shape:?}", early.name);
        return Err(OperationError::usage(message).with_help("leave --shape out"));
    }
    match &options.data_type {
        Some(given) if !holds(data_type, given) => {
            let message = format!("--data-type {given} disagrees with `{}`, which holds {data_type}", early.name);
            Err(OperationError::usage(message).with_help("leave --data-type out"))
        }
        Some(given) => Ok((given.clone(), shape.clone())),
        None => Ok((data_type.clone(), shape.clone())),
    }
}

/// True if a file's type is the primitive in which values of `data_type` are stored: `uint16` holds `uint10`.
fn holds(file_type: &DataType, data_type: &DataType) -> bool {
    match (file_type.number(), data_type.number()) {
        (Some(file_type), Some(number_type)) => file_type.element() == number_type.element(),
        _ => file_type == data_type,
    }
}

impl Early {
    /// The elements, or bytes, once it is known what the chain takes.
    pub(super) fn into_input(self, chain: &BoundChain, direction: Direction) -> Result<Input, OperationError> {
        let taken = taken(chain, direction);
        let (data_type, shape) = (&self.array.data_type, &self.array.shape);
        let fits = match &taken {
            Representation::Array(array) => holds(data_type, &array.data_type) && *shape == array.shape,
            // Encoded bytes are a row of uint8.
            Representation::Bytes(size) => {
                let found = self.array.elements.len() as u64;
                let fits = match size {
                    BytesSize::Fixed(bytes) => found == *bytes,
                    BytesSize::Bounded(bytes) => found <= *bytes,
                    BytesSize::Unbounded => true,
                };
                shape.len() == 1 && self.array.data_type.size() == Some(1) && fits
            }
        };
        if !fits {
            let found = format!("INPUT `{}` holds {data_type} of shape {shape:?}", self.name);
            return Err(OperationError::data(format!("{found}, and {} is expected", describe(&taken))));
        }
        Ok(Input { name: self.name, file_bytes: self.file_bytes, bytes: self.array.elements })
    }
}

/// The form of the data before the chain.
fn taken(chain: &BoundChain, direction: Direction) -> Representation {
    match direction {
        Direction::Encode => Representation::Array(chain.decoded().clone()),
        Direction::Decode => chain.encoded(),
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

/// Reads a raw INPUT; more or fewer bytes than the chain takes are the data's fault.
pub(super) fn read_raw(stream: &Stream, chain: &BoundChain, direction: Direction) -> Result<Input, OperationError> {
    let taken = taken(chain, direction);
    let name = stream_name(stream);
    let expected = match &taken {
        Representation::Array(array) => array.num_bytes(),
        Representation::Bytes(BytesSize::Fixed(bytes)) => Some(*bytes),
        Representation::Bytes(_) => None,
    };
    let limit = expected.unwrap_or_else(|| chain.max_encoded_bytes());
    let mut bytes = read(stream, limit, |name, limit| {
        let message = format!("INPUT `{name}` holds more than {limit} bytes, and {} is expected", describe(&taken));
        OperationError::data(message).with_help("check --data-type and --shape")
    })?;
    let found = bytes.len() as u64;
    if expected.is_some_and(|expected| expected != found) {
        let message =
            format!("INPUT `{name}` holds {}, and {} is expected", quantity::counted(found, "byte"), describe(&taken));
        return Err(OperationError::data(message).with_help("check --data-type and --shape"));
    }
    if let Representation::Array(array) = &taken {
        to_or_from_little_endian(&mut bytes, &array.data_type);
    }
    Ok(Input { name, file_bytes: found, bytes })
}

fn read(
    stream: &Stream,
    limit: u64,
    too_large: impl FnOnce(&str, u64) -> OperationError,
) -> Result<Vec<u8>, OperationError> {
    let contents = match stream {
        Stream::Standard => file::read_standard_input(limit),
        Stream::File(path) => file::read(path, limit),
    };
    contents.map_err(|error| {
        let name = stream_name(stream);
        match error {
            StoreError::TooLarge { bound, .. } => too_large(&name, bound),
            error => {
                let message = format!("INPUT `{name}` cannot be read");
                OperationError::environment(message).because(error).with_help("check the path")
            }
        }
    })
}

/// The contents of OUTPUT.
pub(super) fn to_file(
    stream: &Stream,
    representation: &Representation,
    bytes: &[u8],
) -> Result<Vec<u8>, OperationError> {
    let is_npy = stream.has_extension("npy");
    match representation {
        Representation::Array(array) if is_npy => npy::write(&array.data_type, &array.shape, bytes),
        Representation::Array(array) => {
            let mut contents = bytes.to_vec();
            to_or_from_little_endian(&mut contents, &array.data_type);
            Ok(contents)
        }
        // Encoded bytes are a row of uint8.
        Representation::Bytes(_) if is_npy => {
            let uint8 = DataType::Number(NumberType::of(ElementType::UInt8));
            npy::write(&uint8, &[bytes.len() as u64], bytes)
        }
        Representation::Bytes(_) => Ok(bytes.to_vec()),
    }
    .map_err(|error| OperationError::data("OUTPUT cannot be a .npy file").because(error))
}

/// Native-endian elements to little-endian ones, or back: nothing on most machines.
fn to_or_from_little_endian(elements: &mut [u8], data_type: &DataType) {
    if cfg!(target_endian = "little") {
        return;
    }
    data_type.swap_elements(elements);
}
