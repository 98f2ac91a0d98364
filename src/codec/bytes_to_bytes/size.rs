//! Sizes before and after a codec.

use super::error::Fault;

/// What a decoder's output must measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecodedSize {
    /// So many bytes.
    Exact(usize),
    /// Up to so many bytes.
    AtMost(usize),
}

impl DecodedSize {
    /// The greatest size.
    pub const fn limit(self) -> usize {
        match self {
            DecodedSize::Exact(size) | DecodedSize::AtMost(size) => size,
        }
    }

    /// Refuses a size that does not fit.
    pub(super) const fn check(self, found: usize) -> Result<(), Fault> {
        let fits = match self {
            DecodedSize::Exact(size) => found == size,
            DecodedSize::AtMost(limit) => found <= limit,
        };
        if fits { Ok(()) } else { Err(Fault::Length { expected: self, found: found as u64 }) }
    }
}

impl std::fmt::Display for DecodedSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DecodedSize::Exact(size) => write!(f, "{size}"),
            DecodedSize::AtMost(limit) => write!(f, "at most {limit}"),
        }
    }
}

/// What is known of the size of encoded bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EncodedSize {
    /// So many bytes.
    Fixed(u64),
    /// Up to so many bytes.
    Bounded(u64),
    /// Nothing.
    Unbounded,
}

impl EncodedSize {
    /// The greatest size, where there is one.
    pub const fn limit(self) -> Option<u64> {
        match self {
            EncodedSize::Fixed(size) | EncodedSize::Bounded(size) => Some(size),
            EncodedSize::Unbounded => None,
        }
    }

    pub(super) fn bounded_by(self, bound: fn(u64) -> Option<u64>) -> EncodedSize {
        self.limit().and_then(bound).map_or(EncodedSize::Unbounded, EncodedSize::Bounded)
    }

    pub(super) fn plus(self, bytes: u64) -> EncodedSize {
        match self {
            EncodedSize::Fixed(size) => {
                size.checked_add(bytes).map_or(EncodedSize::Unbounded, EncodedSize::Fixed)
            }
            EncodedSize::Bounded(size) => {
                size.checked_add(bytes).map_or(EncodedSize::Unbounded, EncodedSize::Bounded)
            }
            EncodedSize::Unbounded => EncodedSize::Unbounded,
        }
    }
}
