//! What implements codecs: the numbers of `kernel` behind zarrs' codec traits, bounded decompressors, permutation and
//! bit packing.

pub mod bytes_to_bytes;
pub mod packbits;
pub mod transpose;
