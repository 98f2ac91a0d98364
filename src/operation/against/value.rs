//! Elements of two data types, compared by what they mean: exactly, or within a tolerance.
//!
//! No value passes through a type that does not hold it: floats of up to 64 bits are kept as `f64`, integers as
//! `i128`, and the two are compared as the numbers that they are.

use std::cmp::Ordering;

use crate::codec::element_bits;
use crate::codec::fault::number_value;
use crate::data_type::DataType;
use crate::element::{ElementType, NumberType};
use crate::kernel::unpack::Unpack;

/// `|a - b| <= atol + rtol * |b|`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tolerance {
    pub(crate) rtol: f64,
    pub(crate) atol: f64,
}

/// The meaning of the bytes of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Real(NumberType),
    /// Two components, real first.
    Complex(NumberType),
    /// Equal or not, with no difference that were a number.
    Opaque,
}

/// Compares elements of one data type with those of another.
#[derive(Debug, Clone)]
pub(crate) struct Comparer {
    forms: (Form, Form),
    sizes: (usize, usize),
    /// The conversions of both to float64, where that holds every value.
    widenings: Option<(Widening, Widening)>,
    tolerance: Tolerance,
}

/// Elements that were compared.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Compared {
    /// The number of elements that differ.
    pub(crate) differing: u64,
    /// The one that differs most, the first among equals.
    pub(crate) greatest: Option<Greatest>,
    /// Greatest `|a - b| / |b|`.
    pub(crate) relative: Option<f64>,
}

/// An element that differs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Greatest {
    /// Its place among those compared.
    pub(crate) index: usize,
    /// By how much; `None` where that is no number, as with a NaN on one side.
    pub(crate) difference: Option<Difference>,
}

/// An absolute difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Difference {
    /// The difference of two integers, exact.
    Integer(u128),
    /// Rounded once.
    Float(f64),
}

/// A real number, exactly.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Real {
    Integer(i128),
    Float(f64),
}

/// Where integers and fractions part: no float from here on has a fraction, and `i128` holds all below.
const WHOLE: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0 / 2.0;

/// Elements that are tried at a time by the fast comparison.
const TILE: usize = 512;

impl Comparer {
    /// Pairs two data types; why they cannot be compared.
    pub(crate) fn new(a: &DataType, b: &DataType, tolerance: Tolerance) -> Result<Self, String> {
        let known = |data_type: &DataType| {
            let size = data_type.size();
            size.ok_or_else(|| format!("the data type {data_type} is not decoded by this program"))
        };
        let sizes = (known(a)?, known(b)?);
        let forms = (form(a), form(b));
        let is_opaque = |form| form == Form::Opaque;
        let are_raw = a.raw_size().is_some() && a.raw_size() == b.raw_size();
        if (is_opaque(forms.0) || is_opaque(forms.1)) && a != b && !are_raw {
            return Err(format!("elements of {a} and {b} have no common meaning"));
        }
        let widenings = match forms {
            (Form::Real(a), Form::Real(b)) => Widening::of(a).zip(Widening::of(b)),
            _ => None,
        };
        Ok(Comparer { forms, sizes, widenings, tolerance })
    }

    /// Compares as many elements as there are; both slices hold the same number.
    pub(crate) fn compare(&self, a: &[u8], b: &[u8]) -> Compared {
        let mut compared = Compared::default();
        if self.forms.0 == self.forms.1 && a == b {
            return compared;
        }
        let (of_a, of_b) = self.sizes;
        let mut tiles = [[0.0; TILE]; 2];
        let pairs = a.chunks(TILE * of_a).zip(b.chunks(TILE * of_b));
        for (tile, (a, b)) in pairs.enumerate() {
            let [wide_a, wide_b] = &mut tiles;
            if let Some((widen_a, widen_b)) = &self.widenings {
                let count = a.len() / of_a;
                widen_a.run(a, &mut wide_a[..count]);
                widen_b.run(b, &mut wide_b[..count]);
                if self.all_within(&wide_a[..count], &wide_b[..count]) {
                    continue;
                }
            }
            let elements = a.chunks_exact(of_a).zip(b.chunks_exact(of_b));
            for (place, (a, b)) in elements.enumerate() {
                self.element(tile * TILE + place, a, b, &mut compared);
            }
        }
        compared
    }

    /// True if finite values are all within the tolerance; false also where one is not finite.
    fn all_within(&self, a: &[f64], b: &[f64]) -> bool {
        let Tolerance { rtol, atol } = self.tolerance;
        a.iter().zip(b).fold(true, |all, (a, b)| {
            // A bound or a difference that is infinite says nothing: those are looked at one by one.
            let difference = (a - b).abs();
            all & (difference <= (atol + rtol * b.abs()).min(f64::MAX))
        })
    }

    fn element(&self, index: usize, a: &[u8], b: &[u8], compared: &mut Compared) {
        if self.forms.0 == self.forms.1 && a == b {
            return;
        }
        let (difference, relative) = match self.forms {
            (Form::Opaque, _) | (_, Form::Opaque) => (None, None),
            forms => {
                let (a, b) = (components(forms.0, a), components(forms.1, b));
                if is_equal(a[0], b[0]) && is_equal(a[1], b[1]) {
                    return;
                }
                let difference = distance(a, b);
                let length = distance(b, [Real::Integer(0); 2]).map_or(f64::NAN, Difference::to_f64);
                if difference.is_some_and(|difference| self.is_within(difference, length)) {
                    return;
                }
                (difference, difference.map(|difference| difference.to_f64() / length))
            }
        };
        compared.differing += 1;
        if let Some(relative) = relative.filter(|relative| !relative.is_nan()) {
            compared.relative = Some(compared.relative.map_or(relative, |greatest| greatest.max(relative)));
        }
        let found = Greatest { index, difference };
        if compared.greatest.is_none_or(|greatest| found.exceeds(&greatest) == Ordering::Greater) {
            compared.greatest = Some(found);
        }
    }

    /// True if a difference is allowed beside an element of OTHER of this absolute value.
    fn is_within(&self, difference: Difference, length: f64) -> bool {
        let bound = (self.tolerance.atol + self.tolerance.rtol * length).min(f64::MAX);
        match difference {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rounded down, saturating")]
            Difference::Integer(difference) => bound >= 0.0 && difference <= bound as u128,
            Difference::Float(difference) => difference <= bound,
        }
    }
}

impl Greatest {
    /// Orders by difference; `None` comes first.
    pub(crate) fn exceeds(&self, other: &Greatest) -> Ordering {
        match (self.difference, other.difference) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(Difference::Integer(a)), Some(Difference::Integer(b))) => a.cmp(&b),
            (Some(a), Some(b)) => a.to_f64().total_cmp(&b.to_f64()),
        }
    }
}

impl Difference {
    /// Rounded once.
    #[expect(clippy::cast_precision_loss, reason = "the nearest float is asked for")]
    pub(crate) fn to_f64(self) -> f64 {
        match self {
            Difference::Integer(difference) => difference as f64,
            Difference::Float(difference) => difference,
        }
    }
}

fn form(data_type: &DataType) -> Form {
    match data_type {
        // A byte of 0 or 1.
        DataType::Bool => Form::Real(NumberType::of(ElementType::UInt8)),
        _ => match data_type.components() {
            Some((number_type, 1)) => Form::Real(number_type),
            Some((number_type, _)) => Form::Complex(number_type),
            // Compared byte for byte.
            None => Form::Opaque,
        },
    }
}

/// Makes `f64` of elements all of whose values it holds.
#[derive(Debug, Clone)]
enum Widening {
    Core(Unpack),
    /// The value of each pattern of a small float of so many bytes.
    Table(usize, Vec<f64>),
}

impl Widening {
    /// `None` for integers of 64 bits.
    fn of(number_type: NumberType) -> Option<Self> {
        if let Some(float) = number_type.small_float() {
            let patterns = 1_u64 << (8 * float.size());
            let value = |bits| float.to_f64(bits).unwrap_or(f64::NAN);
            return Some(Widening::Table(float.size(), (0..patterns).map(value).collect()));
        }
        let wide = NumberType::of(ElementType::Float64);
        let is_exact = number_type.is_float() || number_type.size() < 8;
        is_exact.then(|| Widening::Core(Unpack::new(number_type, wide, 1.0, 0.0, Vec::new())))
    }

    fn run(&self, bytes: &[u8], values: &mut [f64]) {
        match self {
            Widening::Core(unpack) => unpack.convert(bytes, bytemuck::cast_slice_mut(values)),
            Widening::Table(size, table) => {
                for (value, element) in values.iter_mut().zip(bytes.chunks_exact(*size)) {
                    let place = usize::try_from(element_bits(element)).unwrap_or_default();
                    *value = table.get(place).copied().unwrap_or(f64::NAN);
                }
            }
        }
    }
}

/// Real and imaginary part.
fn components(form: Form, bytes: &[u8]) -> [Real; 2] {
    match form {
        Form::Real(number_type) => [real(number_type, bytes), Real::Integer(0)],
        Form::Complex(number_type) => {
            let (first, second) = bytes.split_at(bytes.len() / 2);
            [real(number_type, first), real(number_type, second)]
        }
        Form::Opaque => [Real::Integer(0); 2],
    }
}

fn real(number_type: NumberType, bytes: &[u8]) -> Real {
    let bits = element_bits(bytes);
    if number_type.is_float() {
        return Real::Float(number_value(number_type, bits));
    }
    if number_type.element().is_signed_integer() {
        let unused = 64 - 8 * number_type.size();
        return Real::Integer(((bits << unused).cast_signed() >> unused).into());
    }
    Real::Integer(bits.into())
}

/// True if two are the same number, or both NaN.
fn is_equal(a: Real, b: Real) -> bool {
    match (a, b) {
        (Real::Integer(a), Real::Integer(b)) => a == b,
        (Real::Float(a), Real::Float(b)) => a == b || (a.is_nan() && b.is_nan()),
        (Real::Integer(integer), Real::Float(float)) | (Real::Float(float), Real::Integer(integer)) => {
            whole(float) == Some(integer)
        }
    }
}

/// A float without fraction as an integer, where it fits.
#[expect(clippy::cast_possible_truncation, reason = "it has no fraction and is in range")]
fn whole(float: f64) -> Option<i128> {
    (float.fract() == 0.0 && float.abs() < WHOLE).then_some(float as i128)
}

/// `|a - b|`; `None` where a NaN is among the components.
fn distance(a: [Real; 2], b: [Real; 2]) -> Option<Difference> {
    let real = difference(a[0], b[0])?;
    if is_equal(a[1], b[1]) {
        return Some(real);
    }
    let imaginary = difference(a[1], b[1])?;
    Some(Difference::Float(real.to_f64().hypot(imaginary.to_f64())))
}

fn difference(a: Real, b: Real) -> Option<Difference> {
    let float = match (a, b) {
        (Real::Integer(a), Real::Integer(b)) => return Some(Difference::Integer(a.abs_diff(b))),
        // Infinities of the same sign: nothing is between them.
        (Real::Float(a), Real::Float(b)) if a == b => 0.0,
        (Real::Float(a), Real::Float(b)) => (a - b).abs(),
        (Real::Integer(integer), Real::Float(float)) | (Real::Float(float), Real::Integer(integer)) => {
            mixed_difference(integer, float)
        }
    };
    (!float.is_nan()).then_some(Difference::Float(float))
}

/// The difference of an integer of at most 64 bits and a float.
#[expect(clippy::cast_precision_loss, reason = "the difference is rounded once, or was below 2^53")]
fn mixed_difference(integer: i128, float: f64) -> f64 {
    match whole(float.trunc()) {
        Some(truncated) => {
            let rest = float - float.trunc();
            ((integer - truncated) as f64 - rest).abs()
        }
        None => (integer as f64 - float).abs(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Element;

    fn number(element: ElementType) -> DataType {
        DataType::Number(NumberType::of(element))
    }

    fn compare<A: Element, B: Element>(a: &[A], b: &[B], rtol: f64, atol: f64) -> Compared {
        let tolerance = Tolerance { rtol, atol };
        let comparer = Comparer::new(&number(A::TYPE), &number(B::TYPE), tolerance).unwrap();
        comparer.compare(bytemuck::cast_slice(a), bytemuck::cast_slice(b))
    }

    #[test]
    fn integers_and_floats_are_compared_as_the_numbers_they_are() {
        let large = (1_i64 << 53) + 1;
        assert_eq!(compare(&[large], &[9_007_199_254_740_992.0_f64], 0.0, 0.0).differing, 1);
        assert_eq!(compare(&[large - 1], &[9_007_199_254_740_992.0_f64], 0.0, 0.0).differing, 0);
        assert_eq!(compare(&[u64::MAX], &[18_446_744_073_709_551_616.0_f64], 0.0, 0.0).differing, 1);
        assert_eq!(compare(&[i64::MIN], &[-9_223_372_036_854_775_808.0_f32], 0.0, 0.0).differing, 0);
        assert_eq!(compare(&[-1_i8], &[255_u8], 0.0, 0.0).differing, 1);
        assert_eq!(compare(&[0.1_f32], &[0.1_f64], 0.0, 0.0).differing, 1);
        assert_eq!(compare(&[3_i64], &[f64::INFINITY], 1.0, 1.0).differing, 1);
    }

    #[test]
    fn nan_equals_nan_zero_minus_zero_and_an_infinity_itself_alone() {
        let a = [f64::NAN, 0.0, f64::INFINITY, f64::NEG_INFINITY];
        assert_eq!(compare(&a, &[-f64::NAN, -0.0, f64::INFINITY, f64::NEG_INFINITY], 0.0, 0.0).differing, 0);
        let other = [1.0, 1.0, f64::NEG_INFINITY, f64::MAX];
        assert_eq!(compare(&a, &other, 1e300, 1e300).differing, 3, "0 and 1 are within the tolerance");
        let nan_only = compare(&[1.0, f64::NAN], &[1.0, 2.0], 0.0, 0.0);
        assert_eq!((nan_only.relative, nan_only.greatest.unwrap().difference), (None, None));
        assert_eq!(nan_only.greatest.unwrap().index, 1);
    }

    #[test]
    fn tolerance_is_relative_to_the_other() {
        assert_eq!(compare(&[110.0_f64], &[100.0_f64], 0.1, 0.0).differing, 0);
        assert_eq!(compare(&[100.0_f64], &[110.0_f64], 0.09, 0.0).differing, 1);
        assert_eq!(compare(&[10_u8, 20], &[12_i64, 23], 0.0, 2.0).differing, 1);
        assert_eq!(compare(&[u64::MAX], &[u64::MAX - 3], 0.0, 2.5).differing, 1);
        assert_eq!(compare(&[u64::MAX], &[u64::MAX - 2], 0.0, 2.5).differing, 0);
    }

    #[test]
    fn greatest_difference_is_exact_and_the_first_of_its_kind() {
        let compared = compare(&[0_u64, 5, 0, u64::MAX, u64::MAX], &[0_u64, 0, 5, 1, 1], 0.0, 0.0);
        assert_eq!(compared.differing, 4);
        let greatest = compared.greatest.unwrap();
        assert_eq!((greatest.index, greatest.difference), (3, Some(Difference::Integer(u128::from(u64::MAX) - 1))));
        assert_eq!(compared.relative, Some(f64::INFINITY));
        let mixed = compare(&[i64::MAX], &[0.5_f64], 0.0, 0.0).greatest.unwrap();
        assert_eq!(mixed.difference.unwrap().to_f64(), 9_223_372_036_854_775_807.0);
    }

    #[test]
    fn difference_beyond_a_tile_is_found_in_its_place() {
        let a = vec![1.0_f32; 3 * TILE + 7];
        let mut b: Vec<f64> = a.iter().map(|value| f64::from(*value)).collect();
        b[2 * TILE + 3] = 2.0;
        let compared = compare(&a, &b, 0.0, 0.5);
        assert_eq!((compared.differing, compared.greatest.unwrap().index), (1, 2 * TILE + 3));
    }

    #[test]
    fn complex_values_differ_by_their_distance_and_equal_reals() {
        let complex = DataType::Complex(NumberType::of(ElementType::Float64));
        let tolerance = Tolerance { rtol: 0.0, atol: 1.0 };
        let comparer = Comparer::new(&complex, &complex, tolerance).unwrap();
        let (a, b) = ([0.0, 0.0, 1.0, 1.0], [3.0, 4.0, 1.5, 1.5]);
        let compared = comparer.compare(bytemuck::cast_slice(&a), bytemuck::cast_slice(&b));
        assert_eq!(compared.differing, 1);
        assert_eq!(compared.greatest.unwrap().difference, Some(Difference::Float(5.0)));
        let with_real = Comparer::new(&complex, &number(ElementType::Int64), Tolerance::default()).unwrap();
        let compared =
            with_real.compare(bytemuck::cast_slice(&[2.0, 0.0, 2.0, 1.0]), bytemuck::cast_slice(&[2_i64, 2]));
        assert_eq!(compared.differing, 1);
    }

    #[test]
    fn raw_bytes_are_equal_or_not_and_comparable_with_their_like_alone() {
        let comparer = Comparer::new(&DataType::Raw(2), &DataType::Raw(2), Tolerance::default()).unwrap();
        let compared = comparer.compare(&[1, 2, 3, 4], &[1, 2, 3, 5]);
        assert_eq!((compared.differing, compared.greatest.unwrap().index), (1, 1));
        assert!(Comparer::new(&DataType::Raw(2), &number(ElementType::Int16), Tolerance::default()).is_err());
        assert!(Comparer::new(&DataType::Bool, &number(ElementType::Int16), Tolerance::default()).is_ok());
    }
}
