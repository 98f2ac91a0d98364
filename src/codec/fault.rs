//! Why a chunk cannot be encoded or decoded: which codec, which element, what was expected and what was found.

use super::kinds::array::ArrayFault;
use crate::diagnostic::quantity::bytes;
use crate::element::{ElementType, NumberType};
use crate::kernel::{ElementFault, FaultKind};
use crate::store::file_format::{FIRST_BYTES, FileFormat};
use crate::store::{ObjectReader, StoreError};

/// A codec failed on a chunk.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.sentence())]
pub struct ChainFault {
    /// Its place in the chain, from 0; those inside a shard follow a dot (`1.0`); `-` for what is no codec of a chain.
    pub place: Box<str>,
    /// Its name.
    pub codec: String,
    /// What went wrong.
    pub kind: ChainFaultKind,
}

/// What went wrong in a codec.
#[derive(Debug, thiserror::Error)]
pub enum ChainFaultKind {
    /// An element cannot be converted.
    #[error("{}", describe_element(*.fault, *.bits, *.types))]
    Element {
        /// Why, and where in the buffer.
        fault: ElementFault,
        /// Position in the array's frame, where it is known.
        position: Option<Box<[u64]>>,
        /// The value's bits.
        bits: u64,
        /// The types on both sides.
        types: Option<(NumberType, NumberType)>,
    },
    /// Bytes of another size than the chain expects.
    #[error("{found} bytes found, {expected} expected")]
    Size {
        /// Bytes expected.
        expected: u64,
        /// Bytes found.
        found: u64,
    },
    /// A bytes->bytes codec failed.
    #[error("{0}")]
    Bytes(String),
    /// A stored checksum is not that of the bytes.
    #[error("{0}")]
    Checksum(String),
    /// The machine has no memory for the outcome; nothing is known of the chunk.
    #[error("there is no memory for {}", bytes(*.needed))]
    Memory {
        /// Bytes that were asked for; 0 where the library does not tell.
        needed: u64,
    },
    /// A bytes->bytes codec decodes to another length than the chain expects.
    #[error("{0}")]
    Length(String),
    /// A chunk decodes to more than there is room for.
    #[error("there is room for {room} decoded bytes, and {}", found.map_or("more are found".to_owned(), |found| format!("{found} are found")))]
    Room {
        /// Bytes that there is room for.
        room: u64,
        /// What it decodes to, where the codec tells that.
        found: Option<u64>,
    },
    /// A file that stands in for the chunk: a pointer to it, or an answer of a server.
    #[error("the stored chunk is {}", .0.name)]
    StandIn(&'static FileFormat),
    /// A shard index that does not fit its shard.
    #[error("{0}")]
    Shard(String),
    /// A store failed under a shard.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<ArrayFault> for ChainFaultKind {
    fn from(fault: ArrayFault) -> Self {
        match fault {
            ArrayFault::Element { fault, bits, types } => {
                ChainFaultKind::Element { fault, position: None, bits, types }
            }
            ArrayFault::Bytes(reason) => ChainFaultKind::Bytes(reason),
            ArrayFault::Length(reason) => ChainFaultKind::Length(reason),
            ArrayFault::Memory { needed } => ChainFaultKind::Memory { needed },
        }
    }
}

impl ChainFault {
    /// There is no memory for so many bytes of values.
    pub(super) fn memory(needed: u64) -> Self {
        ChainFault { place: "-".into(), codec: "values".to_owned(), kind: ChainFaultKind::Memory { needed } }
    }

    /// What went wrong, and in which codec; a chunk that is none has no codec at fault.
    fn sentence(&self) -> String {
        match &self.kind {
            ChainFaultKind::StandIn(_) => self.kind.to_string(),
            kind => format!("{}: {kind}", self.named()),
        }
    }

    /// The codec with its place.
    fn named(&self) -> String {
        match &*self.place {
            "-" => self.codec.clone(),
            place => format!("codec {place} ({})", self.codec),
        }
    }

    /// The same fault with the position of its element moved from the frame of a chunk whose first element is at `start`
    /// to that of the array.
    #[must_use]
    pub fn moved_by(mut self, start: &[u64]) -> Self {
        if let ChainFaultKind::Element { position: Some(position), .. } = &mut self.kind {
            position.iter_mut().zip(start).for_each(|(index, first)| *index += first);
        }
        self
    }

    /// The sentence with the position in the array of the element at fault, where that is known, of a chunk whose first
    /// element is at `start`.
    pub fn sentence_at(&self, start: &[u64]) -> String {
        match &self.kind {
            ChainFaultKind::Element { position: Some(position), .. } if position.len() == start.len() => {
                let position: Vec<u64> =
                    position.iter().zip(start).map(|(index, first)| index.saturating_add(*first)).collect();
                format!("{self} (element {position:?})")
            }
            _ => self.to_string(),
        }
    }

    /// The same fault seen from the chain around it, at `place`.
    #[must_use]
    pub fn inside(mut self, place: usize) -> Self {
        self.place = format!("{place}.{}", self.place).into_boxed_str();
        self
    }

    /// A stored chunk is not of the size that its chain gives.
    pub fn of_stored_size(reader: &ObjectReader, expected: u64) -> ChainFault {
        let found = reader.length();
        let mut first = Vec::new();
        let is_read = reader.read_at(0, found.min(FIRST_BYTES as u64), &mut first).is_ok();
        let stand_in = if is_read { FileFormat::of_stand_in(&first) } else { None };
        let kind = stand_in.map_or(ChainFaultKind::Size { expected, found }, ChainFaultKind::StandIn);
        ChainFault { place: "0".into(), codec: "bytes".to_owned(), kind }
    }

    /// What helps where the chunk cannot be decoded: what it is, where it is no chunk at all.
    pub fn chunk_help(&self) -> Option<&'static str> {
        match &self.kind {
            ChainFaultKind::StandIn(format) => Some(format.help),
            _ => None,
        }
    }

    /// What helps where an element is at fault in a filter of numcodecs.
    pub fn filter_help(&self) -> Option<&'static str> {
        let is_filter = self.codec.starts_with("numcodecs.");
        (is_filter && self.element().is_some()).then_some(
            "numcodecs loses such a value, or leaves it to the machine: give the codec another configuration, such as a \
             wider `astype`",
        )
    }

    /// The bytes that there was no memory for, where that is the fault: it is not one of the chunk.
    pub fn missing_memory(&self) -> Option<u64> {
        match self.kind {
            ChainFaultKind::Memory { needed } => Some(needed),
            _ => None,
        }
    }

    /// Why an element could not be converted, where that is the fault.
    pub fn element(&self) -> Option<(FaultKind, Option<(NumberType, NumberType)>)> {
        match &self.kind {
            ChainFaultKind::Element { fault, types, .. } => Some((fault.kind, *types)),
            _ => None,
        }
    }
}

/// A number's value as text: shortest decimal, or the words for what is not finite.
pub fn number_text(number_type: NumberType, bits: u64) -> String {
    use crate::element::Element;
    if let Some(float) = number_type.small_float() {
        return float.to_f64(bits).map_or_else(|| "NaN".to_owned(), |value| value.to_string());
    }
    match number_type.element() {
        ElementType::Float16 => half::f16::from_bits64(bits).to_string(),
        ElementType::Float32 => f32::from_bits64(bits).to_string(),
        ElementType::Float64 => f64::from_bits64(bits).to_string(),
        element if element.is_signed_integer() => {
            let unused = 64 - u32::try_from(element.size() * 8).unwrap_or(64);
            ((bits << unused).cast_signed() >> unused).to_string()
        }
        _ => bits.to_string(),
    }
}

/// A number's value as a float64, for figures; integers beyond 2^53 are rounded.
#[inline]
#[expect(clippy::cast_precision_loss, reason = "figures need no more than 53 bits")]
pub fn number_value(number_type: NumberType, bits: u64) -> f64 {
    use crate::element::Element;
    if let Some(float) = number_type.small_float() {
        return float.to_f64(bits).unwrap_or(f64::NAN);
    }
    match number_type.element() {
        ElementType::Float16 => half::f16::from_bits64(bits).to_f64(),
        ElementType::Float32 => f64::from(f32::from_bits64(bits)),
        ElementType::Float64 => f64::from_bits64(bits),
        element if element.is_signed_integer() => {
            let unused = 64 - u32::try_from(element.size() * 8).unwrap_or(64);
            ((bits << unused).cast_signed() >> unused) as f64
        }
        _ => bits as f64,
    }
}

/// The bounds of a type as text.
fn bounds_text(number_type: NumberType) -> String {
    if let Some(float) = number_type.small_float() {
        let format = float.format();
        let least = if format.is_unsigned() { 0 } else { format.greatest() | format.sign() };
        let text = |bits| {
            let value = float.to_f64(bits).unwrap_or_default();
            let is_far = value.abs() >= 1e6 || value.abs() < 1e-6;
            if is_far { format!("{value:e}") } else { value.to_string() }
        };
        return format!("{} to {}", text(least), text(format.greatest()));
    }
    match (number_type.integer_bounds(), number_type.element()) {
        (Some((least, greatest)), _) => format!("{least} to {greatest}"),
        (None, ElementType::Float16) => "-65504 to 65504".to_owned(),
        (None, ElementType::Float32) => format!("{:e} to {:e}", f32::MIN, f32::MAX),
        (None, _) => format!("{:e} to {:e}", f64::MIN, f64::MAX),
    }
}

fn describe_element(fault: ElementFault, bits: u64, types: Option<(NumberType, NumberType)>) -> String {
    if fault.kind == FaultKind::NotBool {
        return format!("the byte {bits} is found where a bool is 0 or 1");
    }
    let Some((source, target)) = types else { return "a value cannot be converted".to_owned() };
    let value = number_text(source, bits);
    match fault.kind {
        FaultKind::OutOfRange => format!("{value} is out of the range of {target}, {}", bounds_text(target)),
        FaultKind::NotANumber => format!("NaN cannot be held by {target}, {}", bounds_text(target)),
        FaultKind::Infinite => format!("{value} cannot be held by {target}, {}", bounds_text(target)),
        FaultKind::Overflow => {
            format!("{value} leaves the range of {target}, {}, under the arithmetic", bounds_text(target))
        }
        FaultKind::Remainder => {
            format!("{value} cannot be divided by the scale without a remainder in {target}")
        }
        FaultKind::NotOfType => format!("{value} is not a value of {source}, {}", bounds_text(source)),
        FaultKind::ReservedCode => format!("{value} gets the code that is set aside for NaN in {target}"),
        FaultKind::NotBool => format!("{value} is not a bool"),
    }
}

/// The option that would help against an element's fault, for a codec chain or a data type change.
pub fn element_help(kind: FaultKind) -> Option<&'static str> {
    match kind {
        FaultKind::OutOfRange | FaultKind::ReservedCode => Some(
            "`--out-of-range clamp` maps such values to the nearest bound (\"out_of_range\": \"clamp\" in cast_value)",
        ),
        FaultKind::NotANumber => Some(
            "`--nan-value CODE` sets a code aside for NaN (an entry [\"NaN\", CODE] in cast_value's \"scalar_map\")",
        ),
        FaultKind::Infinite => Some(
            "an entry [\"Infinity\", CODE] in cast_value's \"scalar_map\" maps infinities; no range holds them",
        ),
        FaultKind::Overflow => Some("choose a smaller scale or another offset, or a wider data type"),
        FaultKind::Remainder => {
            Some("the stored values were not made by this scale; check the codec's configuration")
        }
        FaultKind::NotBool => Some(
            "the chunk is damaged, or was not written as bool: restore it from its source, or write it again",
        ),
        FaultKind::NotOfType => None,
    }
}
