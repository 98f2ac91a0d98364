//! stub
use crate::kernel::statistics::Extent;
/// What a first pass over the data found.
#[derive(Debug, Clone, Default)]
pub struct Survey {
    /// Of all elements inside the array; `None` where no pass was made.
    pub extent: Option<Extent>,
    /// Elements equal to a value that the attributes declare missing, without `--missing`.
    pub declared_missing: u64,
    /// Whether elements are absent: chunks, or inner chunks.
    pub absent_elements: bool,
}
