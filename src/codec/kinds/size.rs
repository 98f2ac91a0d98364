//! Sizes before and after a codec.

/// The size that a decoder's output must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecodedSize {
    /// So many bytes.
    Exact(usize),
    /// Up to so many bytes.
    AtMost(usize),
}

/// The most that a chunk may decode to where nothing tells a bound: 1 GiB.
const MAX_UNBOUNDED_BYTES: usize = 1 << 30;

impl DecodedSize {
    /// The size to which bytes of such a size may decode.
    pub(crate) fn of(size: BytesSize) -> Self {
        let count = |bytes| usize::try_from(bytes).unwrap_or(usize::MAX);
        match size {
            BytesSize::Fixed(bytes) => DecodedSize::Exact(count(bytes)),
            BytesSize::Bounded(bytes) => DecodedSize::AtMost(count(bytes)),
            BytesSize::Unbounded => DecodedSize::AtMost(MAX_UNBOUNDED_BYTES),
        }
    }

    /// The greatest size.
    pub const fn limit(self) -> usize {
        match self {
            DecodedSize::Exact(size) | DecodedSize::AtMost(size) => size,
        }
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

/// The size of a chunk as bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BytesSize {
    /// Always this many.
    Fixed(u64),
    /// At most this many.
    Bounded(u64),
    /// Not known from the metadata.
    Unbounded,
}

impl From<DecodedSize> for BytesSize {
    fn from(size: DecodedSize) -> Self {
        match size {
            DecodedSize::Exact(bytes) => BytesSize::Fixed(bytes as u64),
            DecodedSize::AtMost(bytes) => BytesSize::Bounded(bytes as u64),
        }
    }
}

impl BytesSize {
    /// The most bytes that there can be.
    pub const fn bound(self) -> Option<u64> {
        match self {
            BytesSize::Fixed(bytes) | BytesSize::Bounded(bytes) => Some(bytes),
            BytesSize::Unbounded => None,
        }
    }

    /// At most this many bytes, where that is known.
    pub fn at_most(bytes: Option<u64>) -> BytesSize {
        bytes.map_or(BytesSize::Unbounded, BytesSize::Bounded)
    }
}

/// The change that a codec makes to the size of any bytes.
#[derive(Debug, Clone, Copy)]
pub enum SizeRule {
    /// Not at all.
    Same,
    /// So many bytes more.
    Plus(u64),
    /// To at most what the function gives for so many bytes; `None` where that overflows.
    AtMost(fn(u64) -> Option<u64>),
    /// There is no bound.
    Unbounded,
}

impl SizeRule {
    /// The size after the codec.
    pub fn of(self, decoded: BytesSize) -> BytesSize {
        match (self, decoded) {
            (SizeRule::Same, size) => size,
            (SizeRule::Plus(more), BytesSize::Fixed(bytes)) => {
                bytes.checked_add(more).map_or(BytesSize::Unbounded, BytesSize::Fixed)
            }
            (SizeRule::Plus(more), size) => {
                BytesSize::at_most(size.bound().and_then(|bytes| bytes.checked_add(more)))
            }
            (SizeRule::AtMost(bound), size) => BytesSize::at_most(size.bound().and_then(bound)),
            (SizeRule::Unbounded, _) => BytesSize::Unbounded,
        }
    }
}
