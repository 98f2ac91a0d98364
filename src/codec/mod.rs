//! Codec chains bound to a chunk, value codecs fused into one pass, and the adapter to zarrs.

pub mod chain;
pub mod conversion;
pub mod elements;
pub mod fault;
#[cfg(feature = "zarrs")]
mod from_zarrs;
pub mod kinds;
#[cfg(feature = "zarrs")]
pub mod plugin;
pub mod region;
pub mod registry;
pub mod sharding;
pub mod value_program;

pub use chain::{BindError, BoundChain, BoundCodec, ChunkWriting, Codec, ElementSize, ForShape, PerShape, Workspace};
pub use conversion::{
    Conversion, ConversionBuffers, Converted, PartlyDecoded, ValueConversion, beyond_edge, num_rounded,
};
pub use fault::{ChainFault, ChainFaultKind, CodecError};
pub(crate) use region::as_index;
pub use region::{advance, contiguous_runs, copy_box, elements_to_end, fill_box, repeat};
pub use sharding::{BoundSharding, IndexEntry};

pub(crate) use crate::element::element_bits;

pub use elements::{Recoding, VlenChain, VlenElements};
pub use kinds::{BytesCodec, Effect};
pub use value_program::{StepOrigin, Tiles, ValueProgram, ValueStep};

/// Returns true if bytes consist only of repetitions of one element.
pub fn is_filled_with(bytes: &[u8], element: &[u8]) -> bool {
    let size = element.len();
    // The first element is equal, and each byte equals the one an element earlier: one comparison over all bytes.
    size > 0 && bytes.len() >= size && bytes[..size] == *element && bytes[size..] == bytes[..bytes.len() - size]
}
