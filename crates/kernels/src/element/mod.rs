//! The element types, their exact bounds, and the numbers that arrays contain.
//!
//! An [`ElementType`] is a stored primitive. A [`NumberType`] is the meaning of the values. It is a primitive with the
//! number of bits that count: `uint10` is stored in a `u16`. Or it is a float that processors do not have: `bfloat16`
//! is stored as its bits in a `u16`. The modules above dispatch on the types by `with_element!` and are generic below
//! that line.

mod float_format;

pub use float_format::SmallFloat;
pub use float_format::{FloatFormat, SpecialValues};

use num_traits::AsPrimitive as _;
use serde::{Deserialize, Serialize};

/// Runs an expression with a type name bound to the Rust type of an [`ElementType`] of a list. Runs another expression
/// for the rest.
#[doc(hidden)]
#[macro_export]
macro_rules! with_listed {
    ([$($variant:ident: $type:ty),*] $element_type:expr, $T:ident => $body:expr $(, else $other:expr)?) => {
        match $element_type {
            $($crate::element::ElementType::$variant => {
                type $T = $type;
                $body
            })*
            $(_ => $other,)?
        }
    };
}

/// Runs an expression with a type name bound to the Rust type of an [`ElementType`].
///
/// `with_element!(element_type, T => generic::<T>(bytes))`
#[doc(hidden)]
#[macro_export]
macro_rules! with_element {
    ($($arguments:tt)*) => {
        $crate::with_listed!([
            Int8: i8, Int16: i16, Int32: i32, Int64: i64, UInt8: u8, UInt16: u16, UInt32: u32, UInt64: u64,
            Float16: ::half::f16, Float32: f32, Float64: f64
        ] $($arguments)*)
    };
}

/// Runs an expression with a type name bound to the Rust type of an integer [`ElementType`]. Runs another for floats.
#[doc(hidden)]
#[macro_export]
macro_rules! with_integer {
    ($($arguments:tt)*) => {
        $crate::with_listed!([
            Int8: i8, Int16: i16, Int32: i32, Int64: i64, UInt8: u8, UInt16: u16, UInt32: u32, UInt64: u64
        ] $($arguments)*)
    };
}

/// Runs an expression with a type name bound to the Rust type of a float [`ElementType`]. Runs another for integers.
#[doc(hidden)]
#[macro_export]
macro_rules! with_float {
    ($($arguments:tt)*) => { $crate::with_listed!([Float16: ::half::f16, Float32: f32, Float64: f64] $($arguments)*) };
}

/// Runs an expression with a type name bound to the unsigned integer of this number of bytes: 1, 2, 4 or 8.
#[doc(hidden)]
#[macro_export]
macro_rules! with_bits {
    ([$($bytes:tt: $type:ty),*] $size:expr, $T:ident => $body:expr) => {
        match $size {
            $($bytes => {
                type $T = $type;
                $body
            })*
        }
    };
    ($size:expr, $T:ident => $body:expr) => {
        $crate::with_bits!([1: u8, 2: u16, 4: u32, _: u64] $size, $T => $body)
    };
}
pub use with_bits;

/// A stored primitive number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ElementType {
    /// 8-bit two's complement integer.
    Int8,
    /// 16-bit two's complement integer.
    Int16,
    /// 32-bit two's complement integer.
    Int32,
    /// 64-bit two's complement integer.
    Int64,
    /// 8-bit unsigned integer.
    UInt8,
    /// 16-bit unsigned integer.
    UInt16,
    /// 32-bit unsigned integer.
    UInt32,
    /// 64-bit unsigned integer.
    UInt64,
    /// IEEE 754 binary16.
    Float16,
    /// IEEE 754 binary32.
    Float32,
    /// IEEE 754 binary64.
    Float64,
}

impl ElementType {
    /// All element types, in the order of the list.
    pub const ALL: [ElementType; 11] = {
        use ElementType::{Float16, Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
        [Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64, Float16, Float32, Float64]
    };

    /// Returns the bytes of one element in memory.
    pub const fn size(self) -> usize {
        with_element!(self, T => size_of::<T>())
    }

    /// Returns true for an IEEE 754 binary float.
    pub const fn is_float(self) -> bool {
        matches!(self, ElementType::Float16 | ElementType::Float32 | ElementType::Float64)
    }

    /// Returns true for a two's complement integer.
    pub const fn is_signed_integer(self) -> bool {
        matches!(self, ElementType::Int8 | ElementType::Int16 | ElementType::Int32 | ElementType::Int64)
    }
}

/// A Rust type of one element.
pub trait Element: bytemuck::Pod + PartialEq + PartialOrd + Send + Sync + std::fmt::Debug + 'static {
    /// The stored primitive.
    const TYPE: ElementType;

    /// Returns the bit pattern, zero-extended to 64 bits.
    #[inline]
    fn to_bits64(self) -> u64 {
        with_bits!(size_of::<Self>(), B => bytemuck::cast::<Self, B>(self).as_())
    }

    /// Returns the element whose bit pattern is the low bits of `bits`.
    #[inline]
    fn from_bits64(bits: u64) -> Self {
        with_bits!(size_of::<Self>(), B => bytemuck::cast::<B, Self>(bits.as_()))
    }
}

macro_rules! elements {
    ($($variant:ident: $type:ty),*) => {$(
        impl Element for $type {
            const TYPE: ElementType = ElementType::$variant;
        }
    )*};
}

elements!(Int8: i8, Int16: i16, Int32: i32, Int64: i64, UInt8: u8, UInt16: u16, UInt32: u32, UInt64: u64);
// `bfloat16` is the only small float that the loops know as a number. Arrays contain its bits.
elements!(Float16: half::f16, Float32: f32, Float64: f64, UInt16: half::bf16);

/// The meaning of an array's values: a stored primitive and its bits that count, or a small float.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct NumberType {
    element: ElementType,
    /// At most 64. A byte is enough, and faults contain two types.
    bits: u8,
    small_float: Option<&'static SmallFloat>,
}

/// As in numpy: float64.
impl Default for NumberType {
    fn default() -> Self {
        NumberType::of(ElementType::Float64)
    }
}

impl NumberType {
    /// Returns the type that uses every bit of its stored primitive.
    #[expect(clippy::cast_possible_truncation, reason = "an element has at most 64 bits")]
    pub const fn of(element: ElementType) -> Self {
        NumberType { element, bits: element.size() as u8 * 8, small_float: None }
    }

    /// Returns the type of a small float. Its stored primitive is the unsigned integer of its bits.
    #[expect(clippy::cast_possible_truncation, reason = "a small float has at most 16 bits")]
    pub const fn small(float: &'static SmallFloat) -> Self {
        let element = if float.size() == 1 { ElementType::UInt8 } else { ElementType::UInt16 };
        NumberType { element, bits: float.bits() as u8, small_float: Some(float) }
    }

    /// Returns the integer type of `bits` bits (2 to 64), in the smallest primitive that fits. `None` for other sizes.
    pub fn integer(signed: bool, bits: u32) -> Option<Self> {
        let bits = u8::try_from(bits).ok().filter(|bits| *bits >= 2)?;
        let is_own = |element: &ElementType| element.is_signed_integer() == signed && !element.is_float();
        // The smallest primitive comes first.
        let element = ElementType::ALL.into_iter().filter(is_own).find(|own| own.size() * 8 >= usize::from(bits))?;
        Some(NumberType { element, bits, small_float: None })
    }

    /// Returns the stored primitive. For a small float that is only the type of its bits, not of its value.
    pub const fn element(self) -> ElementType {
        self.element
    }

    /// Returns the number of bits that count: 10 for `uint10`.
    pub const fn bits(self) -> u32 {
        self.bits as u32
    }

    /// Returns the bytes of one element in memory.
    pub const fn size(self) -> usize {
        self.element.size()
    }

    /// Returns true for a float.
    pub const fn is_float(self) -> bool {
        self.element.is_float() || self.small_float.is_some()
    }

    /// Returns the small float, or `None` for any other type.
    pub const fn small_float(self) -> Option<&'static SmallFloat> {
        self.small_float
    }

    /// Returns the layout of a float. `None` for integers.
    pub const fn float_format(self) -> Option<FloatFormat> {
        if let Some(float) = self.small_float { Some(float.format) } else { FloatFormat::from_element(self.element) }
    }

    /// Returns true if every bit pattern of the primitive is a value of the type.
    pub const fn is_whole(self) -> bool {
        self.bits as usize == self.element.size() * 8
    }

    /// Returns the least and greatest value of an integer type. `None` for floats.
    pub const fn integer_bounds(self) -> Option<(i128, i128)> {
        if self.is_float() {
            None
        } else if self.element.is_signed_integer() {
            Some((-(1_i128 << (self.bits - 1)), (1_i128 << (self.bits - 1)) - 1))
        } else {
            Some((0, (1_i128 << self.bits) - 1))
        }
    }

    /// Returns the number of bits of a float's significand, including the hidden one (24 for `float32`). `None` for
    /// integers.
    pub fn significand_bits(self) -> Option<u32> {
        self.fraction_bits().map(|bits| bits + 1)
    }

    /// Returns the number of stored bits of a float's significand (23 for `float32`). `None` for integers.
    pub fn fraction_bits(self) -> Option<u32> {
        self.float_format().map(|format| format.fraction_bits)
    }

    /// Returns the type with a name that [`NumberType::name`] returns. `None` for any other name.
    pub fn from_name(name: &str) -> Option<Self> {
        let (is_signed, bits) = match name {
            "float16" => return Some(NumberType::of(ElementType::Float16)),
            "float32" => return Some(NumberType::of(ElementType::Float32)),
            "float64" => return Some(NumberType::of(ElementType::Float64)),
            _ => match name.strip_prefix("uint") {
                Some(bits) => (false, bits),
                None => (true, name.strip_prefix("int").unwrap_or_default()),
            },
        };
        let integer = bits.parse().ok().and_then(|bits| NumberType::integer(is_signed, bits));
        // Digits may have a sign or zeros before them, which no name has.
        integer.filter(|number| number.name() == name).or_else(|| SmallFloat::from_name(name).map(NumberType::small))
    }

    /// Returns the Zarr v3 name: `float32`, `uint10`.
    pub fn name(self) -> String {
        if let Some(float) = self.small_float {
            return float.name.to_owned();
        }
        let family = if self.is_float() {
            "float"
        } else if self.element.is_signed_integer() {
            "int"
        } else {
            "uint"
        };
        format!("{family}{}", self.bits)
    }
}

impl From<NumberType> for String {
    fn from(number: NumberType) -> Self {
        number.name()
    }
}

impl TryFrom<String> for NumberType {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        NumberType::from_name(&name).ok_or_else(|| format!("`{name}` is no type of numbers"))
    }
}

impl std::fmt::Display for NumberType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name())
    }
}

/// Returns the bits of an element of up to 8 bytes, zero-extended. The bytes are in the order of this machine.
#[inline]
pub fn element_bits(bytes: &[u8]) -> u64 {
    let fold = |bits: u64, byte: &u8| (bits << 8) | u64::from(*byte);
    if cfg!(target_endian = "big") { bytes.iter().fold(0, fold) } else { bytes.iter().rev().fold(0, fold) }
}

/// Returns the integer with an element's bits, whatever its logical range.
pub fn integer_of(bits: u64, element: ElementType) -> i128 {
    let unused = 64 - 8 * element.size();
    if element.is_signed_integer() {
        i128::from((bits << unused).cast_signed() >> unused)
    } else {
        i128::from(bits << unused >> unused)
    }
}

/// Returns the bits of an integer, truncated to the size of an element.
pub fn integer_bits(low: u64, element: ElementType) -> u64 {
    let unused = 64 - 8 * element.size();
    low << unused >> unused
}

/// Returns true if a stored value is in the logical range of its type.
pub fn is_of_type(bits: u64, number_type: NumberType) -> bool {
    number_type.is_whole()
        || number_type.integer_bounds().map_or(bits >> number_type.bits() == 0, |(least, greatest)| {
            (least..=greatest).contains(&integer_of(bits, number_type.element()))
        })
}

/// Returns the element bits of an integer that is in the range of the type.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "two's complement is cut to the element")]
pub fn low_bits(integer: i128, number_type: NumberType) -> u64 {
    integer_bits(integer as u64, number_type.element())
}

/// Returns a number as a float64, for figures. Integers beyond 2^53 are rounded.
#[inline]
pub fn number_value(number_type: NumberType, bits: u64) -> f64 {
    if let Some(float) = number_type.small_float() {
        return float.to_f64(bits).unwrap_or(f64::NAN);
    }
    with_element!(number_type.element(), T => T::from_bits64(bits).as_())
}
