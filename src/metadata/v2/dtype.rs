//! The `dtype` of a v2 array, read and written: a type string, or a list of named fields.
//!
//! Specification: <https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html#data-type-encoding>.

use super::{NotInV2, V2ByteOrder, type_string};
use crate::data_type::{DataType, Field, StructType};
use crate::metadata::{Json, View};

/// The most bytes of an element that has fields.
const MAX_SIZE: u64 = 1 << 20;

/// The most fields of a structure, including those of nested ones.
const MAX_FIELDS: usize = 1 << 12;

/// A data type, and what else v2 has in its `dtype`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Dtype {
    /// `Other` for objects, whose filter determines their type, and for unknown types. Their chunks can be copied.
    pub(super) data_type: DataType,
    /// Returns the bytes of an element.
    pub(super) size: u64,
    /// `None` if every component is a single byte.
    pub(super) order: Option<V2ByteOrder>,
    /// The name of a type that only tensorstore has, also if only a field has it.
    pub(super) extension: Option<&'static str>,
    /// True if v3 can describe the layout of an element: no field is an array. Otherwise the data type is raw bytes.
    pub(super) has_layout: bool,
}

/// The parts of a `dtype` while it is read.
struct Parts {
    /// True for each big-endian part. `None` for a part without byte order.
    orders: Vec<Option<bool>>,
    extension: Option<&'static str>,
    has_layout: bool,
}

impl Dtype {
    /// Reads a `dtype`. The error contains the expected and the found form.
    pub(super) fn read(json: &Json) -> Result<Dtype, String> {
        let mut parts = Parts { orders: Vec::new(), extension: None, has_layout: true };
        let (data_type, size) = read(json, &mut parts)?;
        let Parts { orders, extension, has_layout } = parts;
        let order = match [Some(false), Some(true)].map(|order| orders.contains(&order)) {
            [false, false] => None,
            [true, true] => Some(V2ByteOrder::Fields(orders.iter().map(|order| *order == Some(true)).collect())),
            [_, is_big] => Some(V2ByteOrder::whole(is_big)),
        };
        let raw = || DataType::Raw(usize::try_from(size).unwrap_or(usize::MAX));
        let data_type = if has_layout { data_type } else { raw() };
        Ok(Dtype { data_type, size, order, extension, has_layout })
    }

    /// Makes the `dtype` of a type that could not be read.
    pub(super) fn unknown(json: &Json) -> Dtype {
        // No data type has a name with a space.
        let data_type = DataType::Other(Json::from(format!("dtype {}", json.excerpt())));
        Dtype { data_type, size: 1, order: None, extension: None, has_layout: true }
    }

    /// Returns true if elements are objects, whose type a filter determines.
    pub(super) fn is_object(&self) -> bool {
        matches!(&self.data_type, DataType::Other(name) if name.as_str() == Some("object"))
    }

    /// Returns the view of elements of type `stored` as this type. `None` if the types are the same, or differ in size
    /// or in their components.
    pub(super) fn view_of(&self, stored: &Dtype) -> Option<View> {
        if self == stored || self.size != stored.size || self.component()? != stored.component()? {
            return None;
        }
        Some(if self.order == stored.order { View::AsStored } else { View::Swapped })
    }

    /// Returns the bytes of a component with a byte order, for numbers and times.
    fn component(&self) -> Option<usize> {
        match &self.data_type {
            DataType::Bool | DataType::Time(_) => self.data_type.size(),
            number => Some(number.components()?.0.size()),
        }
    }
}

fn read(json: &Json, parts: &mut Parts) -> Result<(DataType, u64), String> {
    match json {
        Json::String(text) => {
            let (data_type, size, is_big) = type_string::read(text)?;
            parts.extension = parts.extension.or_else(|| type_string::tensorstore_name(&data_type));
            parts.orders.push(is_big);
            Ok((data_type, size))
        }
        // The parser limits the depth of the document, and so this recursion.
        Json::Array(elements) if !elements.is_empty() => structure(elements, parts),
        other => Err(format!("expected a type string or a list of fields, found {}", other.excerpt())),
    }
}

fn structure(elements: &[Json], parts: &mut Parts) -> Result<(DataType, u64), String> {
    let (mut fields, mut size) = (Vec::<Field>::new(), 0_u64);
    for element in elements {
        if parts.orders.len() >= MAX_FIELDS {
            return Err(format!("more than {MAX_FIELDS} fields"));
        }
        let (name, dtype, count) = match element.as_array() {
            Some([Json::String(name), dtype]) => (name, dtype, 1),
            Some([Json::String(name), dtype, shape]) => {
                parts.has_layout = false;
                (name, dtype, subarray_elements(shape)?)
            }
            _ => {
                let found = element.excerpt();
                return Err(format!("expected a field as [name, dtype] or [name, dtype, shape], found {found}"));
            }
        };
        // The search is quadratic, but MAX_FIELDS keeps it short.
        if name.is_empty() || fields.iter().any(|field| *field.name == **name) {
            let found = Json::from(&**name).excerpt();
            return Err(format!("expected a field name that is not there yet, found {found}"));
        }
        let (data_type, bytes) = read(dtype, parts)?;
        let total = bytes.checked_mul(count).and_then(|bytes| size.checked_add(bytes));
        let total = total.filter(|size| *size <= MAX_SIZE);
        size = total.ok_or_else(|| format!("an element has more than {MAX_SIZE} bytes"))?;
        if let DataType::Other(_) = data_type {
            return Err(format!("the field {name:?} is of an object type, which has no fixed size"));
        }
        fields.push(Field { name: name.to_string(), data_type });
    }
    Ok((DataType::Struct(StructType::new(fields)), size))
}

/// Returns the number of elements of an array field.
fn subarray_elements(shape: &Json) -> Result<u64, String> {
    // numpy also accepts a single length in place of a list.
    let sizes = shape.as_array().unwrap_or(std::slice::from_ref(shape));
    let product = |product: u64, size: &Json| product.checked_mul(size.as_u64().filter(|size| *size > 0)?);
    let refused = || format!("expected the shape of a field as a list of integers, found {}", shape.excerpt());
    sizes.iter().try_fold(1_u64, product).ok_or_else(refused)
}

/// Returns a data type in v2's form, with the components in this byte order.
pub fn write_dtype(data_type: &DataType, is_big: bool) -> Result<Json, NotInV2> {
    let DataType::Struct(structure) = data_type else { return type_string::write(data_type, is_big).map(Json::from) };
    let field = |field: &Field| {
        let dtype = write_dtype(&field.data_type, is_big)?;
        Ok(Json::Array(vec![Json::from(field.name.as_str()), dtype]))
    };
    structure.fields.iter().map(field).collect::<Result<_, _>>().map(Json::Array)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_their_byte_orders_where_they_are_not_the_same() {
        let read = |text: &str| Dtype::read(&Json::parse_str(text).unwrap()).unwrap();
        let mixed = read(r#"[["a",">i2"],["b",[["c","|u1"],["d","<f4"]]],["e",">U2"]]"#);
        assert_eq!(mixed.order, Some(V2ByteOrder::Fields(vec![true, false, false, true])));
        assert_eq!(read(r#"[["a",">i2"],["b",">f4"]]"#).order, Some(V2ByteOrder::Big));
        assert!(!read(r#"[["a",">i2",[2]],["b","<f4"]]"#).has_layout);
        assert_eq!(read(r#"[["a",">i2"],["b","bfloat16"]]"#).extension, Some("bfloat16"));
    }

    #[test]
    fn single_bytes_are_taken_for_each_other_and_components_of_other_sizes_are_not() {
        let view = |own: &str, stored: &str| {
            let [own, stored] = [own, stored].map(|text| Dtype::read(&Json::from(text)).unwrap());
            own.view_of(&stored)
        };
        assert_eq!(view("|i1", "|u1"), Some(View::AsStored));
        assert_eq!(view("|b1", "|u1"), Some(View::AsStored));
        assert_eq!(view(">i8", "<M8[s]"), Some(View::Swapped));
        for (own, stored) in [("<c8", "<f8"), ("<i2", "<i2"), ("<i2", "<i4"), ("|u1", "|V1"), ("|S1", "|u1")] {
            assert_eq!(view(own, stored), None, "{own} {stored}");
        }
    }
}
