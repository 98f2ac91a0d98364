//! Compares elements of two data types by their meaning, exactly or within a tolerance.
//!
//! No value is converted to a type that does not represent it. Floats of up to 64 bits are kept as `f64`, and integers
//! as `i128`. The two are compared as numbers.

use std::cmp::Ordering;

use crate::codec::fault::number_value;
use crate::data_type::{DataType, Field, TimeType};
use crate::diagnostic::quantity::counted;
use crate::element::{ElementType, NumberType, element_bits, integer_of};
use crate::operation::Numbers;

/// `|a - b| <= atol + rtol * |b|`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tolerance {
    pub(crate) rtol: f64,
    pub(crate) atol: f64,
}

/// The type of the components of an element, and their number: one of a real number, two of a complex one. `None` if
/// elements are compared byte for byte, without a numeric difference.
type Form = Option<(NumberType, usize)>;

/// A comparison of elements of two data types.
#[derive(Debug, Clone)]
pub(crate) struct Comparer {
    forms: (Form, Form),
    sizes: (usize, usize),
    /// The conversions of both to float64. `None` if it does not represent every value.
    widenings: Option<(Numbers, Numbers)>,
    /// The steps of times of two units, as multiples of the smaller one. Equal bytes are other times then.
    steps: Option<[i128; 2]>,
    /// The comparisons of the fields of structs. A struct within a struct has its own fields in its place.
    fields: Vec<Comparer>,
    tolerance: Tolerance,
}

/// The result of a comparison of elements.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Compared {
    /// The number of elements that differ.
    pub(crate) differing: u64,
    /// The element with the greatest difference, the first among equals.
    pub(crate) greatest: Option<Greatest>,
    /// The greatest `|a - b| / |b|`.
    pub(crate) relative: Option<f64>,
}

/// An element that differs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Greatest {
    /// The index among the compared elements.
    pub(crate) index: usize,
    /// The difference. `None` if it is not a number, for example with a NaN on one side.
    pub(crate) difference: Option<Difference>,
}

/// An absolute difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Difference {
    /// The exact difference of two integers.
    Integer(u128),
    /// Rounded once.
    Float(f64),
}

/// An exact real number.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Real {
    Integer(i128),
    Float(f64),
}

/// 2^126. No float from here on has a fraction, and `i128` represents all integers below.
const WHOLE: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0 / 2.0;

/// The number of elements that the fast comparison checks at a time.
const TILE: usize = 512;

impl Comparer {
    /// Pairs two data types. The error is the reason why they cannot be compared.
    pub(crate) fn new(a: &DataType, b: &DataType, tolerance: Tolerance) -> Result<Self, String> {
        let not_compared = || format!("{} and {} are not compared", described(a), described(b));
        let known = |data_type: &DataType| {
            let undecoded = || format!("the data type {data_type} is not decoded by this program");
            data_type.size().ok_or_else(|| if data_type.is_variable_length() { not_compared() } else { undecoded() })
        };
        let sizes = (known(a)?, known(b)?);
        let forms = (form(a), form(b));
        let are_raw = a.raw_size().is_some() && a.raw_size() == b.raw_size();
        let steps = steps(a, b);
        let fields = match (a, b) {
            (DataType::Struct(a), DataType::Struct(b)) => paired(&a.fields, &b.fields, tolerance)?,
            _ => Vec::new(),
        };
        let are_alike = a == b || are_raw || !fields.is_empty() || are_padded(a, b) || steps.is_some();
        if (forms.0.is_none() || forms.1.is_none()) && !are_alike {
            return Err(not_compared());
        }
        let widenings = Numbers::as_f64(a).zip(Numbers::as_f64(b));
        Ok(Comparer { forms, sizes, widenings, steps, fields, tolerance })
    }

    /// Compares the elements of two slices, which contain the same number.
    pub(crate) fn compare(&self, a: &[u8], b: &[u8]) -> Compared {
        if self.fields.is_empty() { self.compare_values(a, b) } else { self.compare_structs(a, b) }
    }

    /// Compares elements that are not structs. Comparing structs here, too, made the loop 12 % slower: it would recurse.
    fn compare_values(&self, a: &[u8], b: &[u8]) -> Compared {
        let mut compared = Compared::default();
        if self.is_bytewise() && a == b {
            return compared;
        }
        let (of_a, of_b) = self.sizes;
        let mut tiles = [[0.0; TILE]; 2];
        let pairs = a.chunks(TILE * of_a).zip(b.chunks(TILE * of_b));
        for (tile, (a, b)) in pairs.enumerate() {
            let [wide_a, wide_b] = &mut tiles;
            if let Some((widen_a, widen_b)) = &self.widenings {
                let count = a.len() / of_a;
                widen_a.convert(a, &mut wide_a[..count]);
                widen_b.convert(b, &mut wide_b[..count]);
                if self.all_within(&wide_a[..count], &wide_b[..count]) {
                    continue;
                }
            }
            let elements = a.chunks_exact(of_a).zip(b.chunks_exact(of_b));
            for (index, (a, b)) in elements.enumerate() {
                self.element(tile * TILE + index, a, b, &mut compared);
            }
        }
        compared
    }

    /// True if all values are finite and within the tolerance.
    fn all_within(&self, a: &[f64], b: &[f64]) -> bool {
        let Tolerance { rtol, atol } = self.tolerance;
        a.iter().zip(b).fold(true, |all, (a, b)| {
            // An infinite bound or difference proves nothing. Those elements are compared one by one.
            let difference = (a - b).abs();
            // `&` instead of an early exit keeps the loop free of branches, so that the compiler can vectorise it.
            all & (difference <= (atol + rtol * b.abs()).min(f64::MAX))
        })
    }

    /// True if elements with equal bytes are equal.
    fn is_bytewise(&self) -> bool {
        self.forms.0 == self.forms.1 && self.steps.is_none()
    }

    fn element(&self, index: usize, a: &[u8], b: &[u8], compared: &mut Compared) {
        if self.is_bytewise() && a == b {
            return;
        }
        let (difference, relative) = match self.forms {
            (Some(of_a), Some(of_b)) => {
                let (a, b) = (components(of_a, a), components(of_b, b));
                if is_equal(a[0], b[0]) && is_equal(a[1], b[1]) {
                    return;
                }
                let difference = distance(a, b);
                // A component that is infinite or NaN on both sides is equal. The other one is measured by itself.
                let part = |part: usize| if is_special(a[part], b[part]) { 0.0 } else { magnitude(b[part]) };
                let (real, imaginary) = (part(0), part(1));
                let length = if imaginary == 0.0 { real } else { real.hypot(imaginary) };
                if difference.is_some_and(|difference| self.is_within(difference, length)) {
                    return;
                }
                (difference, difference.map(|difference| difference.to_f64() / length))
            }
            // Zeros pad the elements of two lengths.
            _ if self.steps.is_none() && without_padding(a) == without_padding(b) => return,
            _ if self.steps.is_some_and(|steps| is_same_time(steps, [a, b])) => return,
            _ => (None, None),
        };
        compared.add(index, difference, relative);
    }

    /// Compares structs field by field.
    fn compare_structs(&self, a: &[u8], b: &[u8]) -> Compared {
        let mut compared = Compared::default();
        if a == b && self.fields.iter().all(Comparer::is_bytewise) {
            return compared;
        }
        let elements = a.chunks_exact(self.sizes.0).zip(b.chunks_exact(self.sizes.1));
        for (index, (mut a, mut b)) in elements.enumerate() {
            let mut of_fields = Compared::default();
            for field in &self.fields {
                let (of_a, of_b);
                ((of_a, a), (of_b, b)) = (a.split_at(field.sizes.0), b.split_at(field.sizes.1));
                let Compared { greatest, relative, .. } = field.compare_values(of_a, of_b);
                if let Some(greatest) = greatest {
                    of_fields.add(index, greatest.difference, relative);
                }
            }
            if let Some(greatest) = of_fields.greatest {
                compared.add(index, greatest.difference, of_fields.relative);
            }
        }
        compared
    }

    /// True if the tolerance allows a difference from an element of OTHER with this absolute value.
    fn is_within(&self, difference: Difference, length: f64) -> bool {
        let Tolerance { rtol, atol } = self.tolerance;
        // The length may be infinite, and then its product with 0 would be NaN.
        let relative = if rtol == 0.0 { 0.0 } else { rtol * length };
        let bound = (atol + relative).min(f64::MAX);
        match difference {
            // The cast rounds the bound down. An integer difference is within the bound if it is within its whole part.
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rounded down, saturating")]
            Difference::Integer(difference) => bound >= 0.0 && difference <= bound as u128,
            Difference::Float(difference) => difference <= bound,
        }
    }
}

impl Compared {
    /// Adds an element that differs.
    fn add(&mut self, index: usize, difference: Option<Difference>, relative: Option<f64>) {
        self.differing += 1;
        if let Some(relative) = relative.filter(|relative| !relative.is_nan()) {
            self.relative = Some(self.relative.map_or(relative, |greatest| greatest.max(relative)));
        }
        if self.greatest.is_none_or(|greatest| order(difference, greatest.difference).is_gt()) {
            self.greatest = Some(Greatest { index, difference });
        }
    }
}

/// Orders differences. `None` is the least.
pub(crate) fn order(one: Option<Difference>, other: Option<Difference>) -> Ordering {
    match (one, other) {
        (Some(Difference::Integer(a)), Some(Difference::Integer(b))) => a.cmp(&b),
        (Some(a), Some(b)) => a.to_f64().total_cmp(&b.to_f64()),
        (one, other) => one.is_some().cmp(&other.is_some()),
    }
}

impl Difference {
    /// Returns the difference as a float, rounded once.
    #[expect(clippy::cast_precision_loss, reason = "rounding to the nearest float is intended")]
    pub(crate) fn to_f64(self) -> f64 {
        match self {
            Difference::Integer(difference) => difference as f64,
            Difference::Float(difference) => difference,
        }
    }
}

/// Pairs the fields of two structs by their order. Fails if their names differ, or the fields cannot be compared.
fn paired(a: &[Field], b: &[Field], tolerance: Tolerance) -> Result<Vec<Comparer>, String> {
    if !a.iter().map(|field| &field.name).eq(b.iter().map(|field| &field.name)) {
        return Err("structs with other fields are not compared".to_owned());
    }
    let fields = a.iter().zip(b).map(|(a, b)| Comparer::new(&a.data_type, &b.data_type, tolerance));
    let flat = |field: Comparer| if field.fields.is_empty() { vec![field] } else { field.fields };
    Ok(fields.collect::<Result<Vec<_>, _>>()?.into_iter().flat_map(flat).collect())
}

fn form(data_type: &DataType) -> Form {
    match data_type {
        // A byte of 0 or 1.
        DataType::Bool => Some((NumberType::of(ElementType::UInt8), 1)),
        _ => data_type.components(),
    }
}

/// Returns the steps of two types of times as multiples of the smaller one. `None` unless they differ, and one divides
/// the other.
fn steps(a: &DataType, b: &DataType) -> Option<[i128; 2]> {
    const OF_SECONDS: [&str; 7] = ["as", "fs", "ps", "ns", "us", "ms", "s"];
    let (DataType::Time(a), DataType::Time(b)) = (a, b) else { return None };
    let attoseconds = |time: &TimeType| {
        let (unit, count) = match time.unit {
            "W" => ("s", 604_800),
            "D" => ("s", 86_400),
            "h" => ("s", 3_600),
            "m" => ("s", 60),
            "\u{3bc}s" => ("us", 1),
            unit => (unit, 1),
        };
        // Years, months and the generic unit have no fixed length in seconds. They end in `None` here.
        let power = OF_SECONDS.into_iter().zip(0..).find(|(name, _)| *name == unit)?.1;
        Some(1_000_i128.pow(power) * count * i128::from(time.scale_factor))
    };
    let (one, other) = attoseconds(a).zip(attoseconds(b)).filter(|_| a.name == b.name && a != b)?;
    let least = one.min(other);
    let steps = [one / least, other / least];
    let are_exact = one % least == 0 && other % least == 0 && steps.iter().all(|step| *step <= i128::from(i64::MAX));
    are_exact.then_some(steps)
}

/// True if two times of these steps are the same, or both are not a time.
fn is_same_time(steps: [i128; 2], times: [&[u8]; 2]) -> bool {
    let [a, b] = times.map(|time| integer_of(element_bits(time), ElementType::Int64));
    let not_a_time = i128::from(i64::MIN);
    if a == not_a_time || b == not_a_time { a == b } else { a * steps[0] == b * steps[1] }
}

/// True if elements of both types are text, or both bytes, which zeros pad to their length.
fn are_padded(a: &DataType, b: &DataType) -> bool {
    let is_text = |a: &DataType| matches!(a, DataType::FixedUtf32(1..));
    let is_bytes = |a: &DataType| matches!(a, DataType::FixedBytes(bytes) if a.raw_size().is_none() && bytes.size > 0);
    (is_text(a) && is_text(b)) || (is_bytes(a) && is_bytes(b))
}

fn without_padding(element: &[u8]) -> &[u8] {
    &element[..element.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)]
}

/// Returns a data type with its length or unit: `fixed_length_utf32 of 12 bytes`, `numpy.datetime64 in 10 ms`.
fn described(data_type: &DataType) -> String {
    match data_type {
        DataType::Time(TimeType { name, unit, scale_factor: 1 }) => format!("{name} in {unit}"),
        DataType::Time(TimeType { name, unit, scale_factor }) => format!("{name} in {scale_factor} {unit}"),
        DataType::FixedUtf32(_) | DataType::FixedBytes(_) => {
            format!("{data_type} of {}", counted(data_type.size().unwrap_or(0) as u64, "byte"))
        }
        other => other.to_string(),
    }
}

/// Returns the real and the imaginary part.
fn components((number_type, count): (NumberType, usize), bytes: &[u8]) -> [Real; 2] {
    let (first, second) = bytes.split_at(bytes.len() / count);
    [real(number_type, first), if count == 1 { Real::Integer(0) } else { real(number_type, second) }]
}

fn real(number_type: NumberType, bytes: &[u8]) -> Real {
    let bits = element_bits(bytes);
    if number_type.is_float() {
        Real::Float(number_value(number_type, bits))
    } else {
        Real::Integer(integer_of(bits, number_type.element()))
    }
}

/// True if two are the same number, or both are NaN.
fn is_equal(a: Real, b: Real) -> bool {
    match (a, b) {
        (Real::Integer(a), Real::Integer(b)) => a == b,
        (Real::Float(a), Real::Float(b)) => a == b || (a.is_nan() && b.is_nan()),
        (Real::Integer(integer), Real::Float(float)) | (Real::Float(float), Real::Integer(integer)) => {
            whole(float) == Some(integer)
        }
    }
}

/// True if two are the same infinity, or both are NaN.
fn is_special(a: Real, b: Real) -> bool {
    matches!(b, Real::Float(float) if !float.is_finite()) && is_equal(a, b)
}

/// Returns a float without a fraction as an integer. `None` if it has a fraction or does not fit.
#[expect(clippy::cast_possible_truncation, reason = "it has no fraction and is in range")]
fn whole(float: f64) -> Option<i128> {
    (float.fract() == 0.0 && float.abs() < WHOLE).then_some(float as i128)
}

/// Returns `|a - b|`. `None` if a component is NaN on one side.
fn distance(a: [Real; 2], b: [Real; 2]) -> Option<Difference> {
    // Real numbers have equal imaginary parts.
    if is_equal(a[1], b[1]) {
        return difference(a[0], b[0]);
    }
    if is_equal(a[0], b[0]) {
        return difference(a[1], b[1]);
    }
    let [real, imaginary] = [difference(a[0], b[0])?, difference(a[1], b[1])?];
    Some(Difference::Float(real.to_f64().hypot(imaginary.to_f64())))
}

/// Returns the absolute value as a float, rounded once.
#[expect(clippy::cast_precision_loss, reason = "rounding to the nearest float is intended")]
fn magnitude(number: Real) -> f64 {
    match number {
        Real::Integer(integer) => integer.unsigned_abs() as f64,
        Real::Float(float) => float.abs(),
    }
}

fn difference(a: Real, b: Real) -> Option<Difference> {
    let float = match (a, b) {
        (Real::Integer(a), Real::Integer(b)) => return Some(Difference::Integer(a.abs_diff(b))),
        // Infinities of the same sign have no difference. Their subtraction would be NaN.
        (Real::Float(a), Real::Float(b)) if a == b => 0.0,
        (Real::Float(a), Real::Float(b)) => (a - b).abs(),
        (Real::Integer(integer), Real::Float(float)) | (Real::Float(float), Real::Integer(integer)) => {
            mixed_difference(integer, float)
        }
    };
    (!float.is_nan()).then_some(Difference::Float(float))
}

/// Returns the difference of an integer of at most 64 bits and a float.
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
