//! The codecs: chains bound to a chunk, their fusion, and what zarrs' codec traits need.

pub mod chain;
pub mod conversion;
pub mod element_bytes;
pub mod elements;
pub mod fault;
mod footprint;
pub mod kinds;
pub mod packbits;
pub mod pcodec;
#[cfg(feature = "zarrs")]
pub mod plugin;
mod recoding;
pub mod region;
pub mod registry;
pub mod sharding;
pub mod transpose;
pub mod value_check;
pub mod value_program;
pub mod vlen;
pub mod zfp;

pub use chain::{BindError, BoundChain, BoundCodec, Codec, Workspace};
pub use conversion::Conversion;
pub use fault::{ChainFault, ChainFaultKind};
pub use recoding::Recoding;
pub use sharding::BoundSharding;

/// Whether bytes are nothing but repetitions of one element.
pub fn is_filled_with(bytes: &[u8], element: &[u8]) -> bool {
    let size = element.len();
    // Equal first element, and each byte equal to the one an element before it: one comparison over the whole.
    size > 0
        && bytes.len() >= size
        && bytes[..size] == *element
        && bytes[size..] == bytes[..bytes.len() - size]
}

/// The bits of an element of up to 8 bytes, zero-extended; the bytes are in the order of this machine.
pub(crate) fn element_bits(bytes: &[u8]) -> u64 {
    let fold = |bits: u64, byte: &u8| (bits << 8) | u64::from(*byte);
    if cfg!(target_endian = "big") { bytes.iter().fold(0, fold) } else { bytes.iter().rev().fold(0, fold) }
}
