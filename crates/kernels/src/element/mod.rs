//! The one list of element types, their exact bounds, and the numbers that arrays hold.
//!
//! An [`ElementType`] is a stored primitive; a [`NumberType`] is what the values mean: the same primitive, with the
//! number of bits that count (`uint10` is stored in a `u16`), or a float that no processor has (`bfloat16`, by its
//! bits in a `u16`). Everything above dispatches on them by [`with_element!`] and is generic below that one line.

mod float_format;

pub use float_format::SmallFloat;
pub use float_format::{FloatFormat, SpecialValues};

use serde::{Deserialize, Serialize};

/// The one list of element types, in three groups: signed integers, unsigned integers, floats. Each row has the
/// variant, the Rust type, the type of its bits, and what it is.
///
/// `elements!([a_macro] [arguments])` gives the groups to a macro, behind `@rows [arguments]`.
#[doc(hidden)]
#[macro_export]
macro_rules! elements {
    ([$($user:tt)+] $arguments:tt) => {
        $($user)+! {
            @rows $arguments
            {
                Int8: i8 as u8, "8-bit two's complement integer.";
                Int16: i16 as u16, "16-bit two's complement integer.";
                Int32: i32 as u32, "32-bit two's complement integer.";
                Int64: i64 as u64, "64-bit two's complement integer.";
            }
            {
                UInt8: u8 as u8, "8-bit unsigned integer.";
                UInt16: u16 as u16, "16-bit unsigned integer.";
                UInt32: u32 as u32, "32-bit unsigned integer.";
                UInt64: u64 as u64, "64-bit unsigned integer.";
            }
            {
                Float16: ::half::f16 as u16, "IEEE 754 binary16.";
                Float32: f32 as u32, "IEEE 754 binary32.";
                Float64: f64 as u64, "IEEE 754 binary64.";
            }
        }
    };
}

/// Runs an expression with a type name bound to the Rust type of an [`ElementType`].
///
/// `with_element!(element_type, T => generic::<T>(bytes))`
#[doc(hidden)]
#[macro_export]
macro_rules! with_element {
    ($element_type:expr, $T:ident => $body:expr) => {
        $crate::elements!([$crate::with_element] [$element_type, $T => $body])
    };
    (@rows [$element_type:expr, $T:ident => $body:expr]
        $({ $($variant:ident: $type:ty as $bits:ty, $doc:literal;)* })*
    ) => {
        match $element_type {
            $($($crate::element::ElementType::$variant => {
                type $T = $type;
                $body
            })*)*
        }
    };
}

/// Runs an expression with a type name bound to the Rust type of an integer [`ElementType`]; another for floats.
#[doc(hidden)]
#[macro_export]
macro_rules! with_integer {
    ($element_type:expr, $T:ident => $body:expr, else $other:expr) => {
        $crate::elements!([$crate::with_integer] [$element_type, $T => $body, else $other])
    };
    (@rows [$element_type:expr, $T:ident => $body:expr, else $other:expr]
        { $($signed:ident: $signed_type:ty as $signed_bits:ty, $signed_doc:literal;)* }
        { $($unsigned:ident: $unsigned_type:ty as $unsigned_bits:ty, $unsigned_doc:literal;)* }
        $floats:tt
    ) => {
        match $element_type {
            $($crate::element::ElementType::$signed => {
                type $T = $signed_type;
                $body
            })*
            $($crate::element::ElementType::$unsigned => {
                type $T = $unsigned_type;
                $body
            })*
            _ => $other,
        }
    };
}

/// Runs an expression with a type name bound to the Rust type of a float [`ElementType`]; another for integers.
#[doc(hidden)]
#[macro_export]
macro_rules! with_float {
    ($element_type:expr, $T:ident => $body:expr, else $other:expr) => {
        $crate::elements!([$crate::with_float] [$element_type, $T => $body, else $other])
    };
    (@rows [$element_type:expr, $T:ident => $body:expr, else $other:expr] $signed:tt $unsigned:tt
        { $($float:ident: $type:ty as $bits:ty, $doc:literal;)* }
    ) => {
        match $element_type {
            $($crate::element::ElementType::$float => {
                type $T = $type;
                $body
            })*
            _ => $other,
        }
    };
}

/// A Rust type that holds one element.
pub trait Element: bytemuck::Pod + PartialEq + PartialOrd + Send + Sync + std::fmt::Debug + 'static {
    /// The primitive that it is stored as.
    const TYPE: ElementType;
    /// The bit pattern, zero-extended to 64 bits.
    fn to_bits64(self) -> u64;
    /// The element whose bit pattern is the low bits of `bits`.
    fn from_bits64(bits: u64) -> Self;
}

/// Makes a Rust type an element, by the functions that take it to its bits and back.
macro_rules! element {
    ($type:ty, $variant:ident, $bits:ty, $to_bits:expr, $from_bits:expr) => {
        impl Element for $type {
            const TYPE: ElementType = ElementType::$variant;
            fn to_bits64(self) -> u64 {
                u64::from($to_bits(self))
            }
            #[allow(clippy::cast_possible_truncation, trivial_numeric_casts, reason = "the low bits are the element")]
            fn from_bits64(bits: u64) -> Self {
                $from_bits(bits as $bits)
            }
        }
    };
}

/// Makes the enum, the properties of its variants, and the Rust types from the list.
macro_rules! define_elements {
    (@rows []
        { $($signed:ident: $signed_type:ty as $signed_bits:ty, $signed_doc:literal;)* }
        { $($unsigned:ident: $unsigned_type:ty as $unsigned_bits:ty, $unsigned_doc:literal;)* }
        { $($float:ident: $float_type:ty as $float_bits:ty, $float_doc:literal;)* }
    ) => {
        /// A stored primitive number.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum ElementType {
            $(#[doc = $signed_doc] $signed,)*
            $(#[doc = $unsigned_doc] $unsigned,)*
            $(#[doc = $float_doc] $float,)*
        }

        impl ElementType {
            /// Every element type, in the order of the list.
            pub const ALL: [ElementType; 11] =
                [$(ElementType::$signed,)* $(ElementType::$unsigned,)* $(ElementType::$float,)*];

            /// Bytes of one element in memory.
            pub const fn size(self) -> usize {
                match self {
                    $(ElementType::$signed => size_of::<$signed_type>(),)*
                    $(ElementType::$unsigned => size_of::<$unsigned_type>(),)*
                    $(ElementType::$float => size_of::<$float_type>(),)*
                }
            }

            /// Whether it is an IEEE 754 binary float.
            pub const fn is_float(self) -> bool {
                matches!(self, $(ElementType::$float)|*)
            }

            /// Whether it is a two's complement integer.
            pub const fn is_signed_integer(self) -> bool {
                matches!(self, $(ElementType::$signed)|*)
            }
        }

        $(element!($signed_type, $signed, $signed_bits, <$signed_type>::cast_unsigned, <$signed_bits>::cast_signed);)*
        $(element!($unsigned_type, $unsigned, $unsigned_bits, std::convert::identity, std::convert::identity);)*
        $(element!($float_type, $float, $float_bits, <$float_type>::to_bits, <$float_type>::from_bits);)*
    };
}

elements!([define_elements] []);
// Of the small floats the loops know this one as a number. Arrays hold its bits.
element!(half::bf16, UInt16, u16, half::bf16::to_bits, half::bf16::from_bits);

/// The meaning of an array's values: a stored primitive and its bits that count, or a small float.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct NumberType {
    element: ElementType,
    /// At most 64: faults carry two types.
    bits: u8,
    small_float: Option<SmallFloat>,
}

impl NumberType {
    /// The type that uses every bit of its stored primitive.
    #[expect(clippy::cast_possible_truncation, reason = "an element has at most 64 bits")]
    pub const fn of(element: ElementType) -> Self {
        NumberType { element, bits: element.size() as u8 * 8, small_float: None }
    }

    /// A small float; its stored primitive is the unsigned integer that holds its bits.
    #[expect(clippy::cast_possible_truncation, reason = "a small float has at most 16 bits")]
    pub const fn small(float: SmallFloat) -> Self {
        let element = if float.size() == 1 { ElementType::UInt8 } else { ElementType::UInt16 };
        NumberType { element, bits: float.bits() as u8, small_float: Some(float) }
    }

    /// The integer type of `bits` bits (2 to 64), in the smallest primitive that holds it; `None` outside.
    #[expect(clippy::cast_possible_truncation, reason = "an integer has at most 64 bits")]
    pub const fn integer(signed: bool, bits: u32) -> Option<Self> {
        let element = match (signed, bits) {
            (true, 2..=8) => ElementType::Int8,
            (true, 9..=16) => ElementType::Int16,
            (true, 17..=32) => ElementType::Int32,
            (true, 33..=64) => ElementType::Int64,
            (false, 2..=8) => ElementType::UInt8,
            (false, 9..=16) => ElementType::UInt16,
            (false, 17..=32) => ElementType::UInt32,
            (false, 33..=64) => ElementType::UInt64,
            _ => return None,
        };
        Some(NumberType { element, bits: bits as u8, small_float: None })
    }

    /// The stored primitive. Of a small float it holds the bits and says nothing about the value.
    pub const fn element(self) -> ElementType {
        self.element
    }

    /// The bits that count: 10 for `uint10`.
    pub const fn bits(self) -> u32 {
        self.bits as u32
    }

    /// Bytes of one element in memory.
    pub const fn size(self) -> usize {
        self.element.size()
    }

    /// Whether it is a float.
    pub const fn is_float(self) -> bool {
        self.element.is_float() || self.small_float.is_some()
    }

    /// The small float that it is.
    pub const fn small_float(self) -> Option<SmallFloat> {
        self.small_float
    }

    /// The layout of a float; `None` for integers.
    pub const fn float_format(self) -> Option<FloatFormat> {
        match self.small_float {
            Some(float) => Some(float.format()),
            None => FloatFormat::of(self.element),
        }
    }

    /// Whether every bit pattern of the primitive is a value of the type.
    pub const fn is_whole(self) -> bool {
        self.bits as usize == self.element.size() * 8
    }

    /// The least and greatest value of an integer type; `None` for floats.
    pub const fn integer_bounds(self) -> Option<(i128, i128)> {
        if self.is_float() {
            None
        } else if self.element.is_signed_integer() {
            Some((-(1_i128 << (self.bits - 1)), (1_i128 << (self.bits - 1)) - 1))
        } else {
            Some((0, (1_i128 << self.bits) - 1))
        }
    }

    /// The number of bits of a float's significand, the hidden one included (24 for `float32`); `None` for integers.
    pub const fn significand_bits(self) -> Option<u32> {
        match self.float_format() {
            Some(format) => Some(format.fraction_bits + 1),
            None => None,
        }
    }

    /// The bits of a float's significand that are stored (23 for `float32`); `None` for integers.
    pub const fn fraction_bits(self) -> Option<u32> {
        match self.float_format() {
            Some(format) => Some(format.fraction_bits),
            None => None,
        }
    }

    /// The Zarr v3 name: `float32`, `uint10`.
    pub fn name(self) -> String {
        if let Some(float) = self.small_float {
            return float.name().to_owned();
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

/// From a name that [`NumberType::name`] gives.
impl TryFrom<String> for NumberType {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let small = SmallFloat::from_name(&name).map(NumberType::small);
        let integers = (1..=64).flat_map(|bits| [true, false].map(|signed| NumberType::integer(signed, bits)));
        let mut all = ElementType::ALL.map(NumberType::of).into_iter().chain(integers.flatten());
        small
            .or_else(|| all.find(|number| number.name() == name))
            .ok_or_else(|| format!("`{name}` is no type of numbers"))
    }
}

impl std::fmt::Display for NumberType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name())
    }
}

/// The bits of an element of up to 8 bytes, zero-extended; the bytes are in the order of this machine.
pub fn element_bits(bytes: &[u8]) -> u64 {
    let fold = |bits: u64, byte: &u8| (bits << 8) | u64::from(*byte);
    if cfg!(target_endian = "big") { bytes.iter().fold(0, fold) } else { bytes.iter().rev().fold(0, fold) }
}
