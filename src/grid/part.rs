//! Where a part of an array lies, in the grid of the whole.

/// Where a part lies in the array that it is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartOf {
    /// The indices of its first chunk.
    pub first_chunk: Vec<u64>,
    /// The first element of that chunk.
    pub start: Vec<u64>,
    /// Along which dimensions its end cuts chunks that hold more of the whole.
    pub cuts: Vec<bool>,
}
