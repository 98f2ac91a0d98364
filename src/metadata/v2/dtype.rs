//! The `dtype` of a v2 array: numpy's type strings, tensorstore's names, and lists of named fields.
//!
//! Specification: <https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html#data-type-encoding>.

mod type_string;

use super::tensorstore;
use crate::metadata::extension::View;
use crate::metadata::json::{Json, Object};

/// The most bytes of an element that is read as raw bytes.
const MAX_RAW_SIZE: u64 = 1 << 20;

/// The most fields of a structure, nested ones counted.
const MAX_FIELDS: usize = 1 << 12;

/// In which order the bytes of a component stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteOrder {
    /// Single bytes have no order.
    None,
    Little,
    Big,
    /// Fields of different orders, each with its own: no v3 codec says that.
    Mixed,
}

/// A data type, in v3 form and with what v2 puts into it beside.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Dtype {
    pub(super) kind: Kind,
    /// Bytes of an element.
    pub(super) size: u64,
    pub(super) order: ByteOrder,
}

/// What an element is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    /// The v3 data type.
    Simple(Json),
    /// `|S10`: so many bytes.
    Bytes,
    /// `<U5`.
    Text,
    /// `|V4`: so many bytes that mean nothing.
    Raw,
    /// Named fields.
    Struct(Vec<Field>),
    /// `|O`: what it is stands in a filter.
    Object,
    /// What nobody understands, by a name for it: its chunks can be copied.
    Unknown(String),
}

/// A field of a structure.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) dtype: Dtype,
    /// A field that is itself an array, which v3 does not have.
    pub(super) is_array: bool,
}

impl ByteOrder {
    fn and(self, other: ByteOrder) -> ByteOrder {
        match (self, other) {
            (ByteOrder::None, order) | (order, ByteOrder::None) => order,
            (one, other) if one == other => one,
            _ => ByteOrder::Mixed,
        }
    }
}

impl Dtype {
    /// Reads it; the error says what was expected and found.
    pub(super) fn read(json: &Json) -> Result<Dtype, String> {
        read(json, &mut 0)
    }

    /// Reads a type string.
    pub(super) fn simple(text: &str) -> Result<Dtype, String> {
        type_string::read(text)
    }

    /// How elements of another type are taken for this one; `None` where they are of this one, and where nothing
    /// tells them apart in that way: elements of another size, or made of other components.
    pub(super) fn view_of(&self, stored: &Dtype) -> Option<View> {
        if self == stored || self.size != stored.size || self.component()? != stored.component()? {
            return None;
        }
        Some(if self.order == stored.order { View::AsStored } else { View::Swapped })
    }

    /// Bytes of what the byte order is about, for numbers and times.
    fn component(&self) -> Option<u64> {
        let Kind::Simple(data_type) = &self.kind else { return None };
        let name = data_type.as_str();
        match name {
            Some(name) if name.starts_with("complex") => Some(self.size / 2),
            _ => Some(self.size),
        }
    }

    /// A type that could not be read.
    pub(super) fn unknown(json: &Json) -> Dtype {
        // With the space it is the name of no data type.
        let name = format!("dtype {}", json.excerpt());
        Dtype { kind: Kind::Unknown(name), size: 1, order: ByteOrder::None }
    }

    /// The name of a type that tensorstore alone has, if only of a field.
    pub(super) fn extension(&self) -> Option<&str> {
        match &self.kind {
            Kind::Simple(name) => name.as_str().filter(|name| tensorstore::from_name(name).is_some()),
            Kind::Struct(fields) => fields.iter().find_map(|field| field.dtype.extension()),
            _ => None,
        }
    }

    /// Which fields are big endian, where not all are of one byte order.
    pub(super) fn big_endian_fields(&self) -> Option<Vec<bool>> {
        let mut orders = Vec::new();
        self.collect_orders(&mut orders);
        (self.order == ByteOrder::Mixed && self.has_layout()).then_some(orders)
    }

    fn collect_orders(&self, orders: &mut Vec<bool>) {
        match &self.kind {
            Kind::Struct(fields) => fields.iter().for_each(|field| field.dtype.collect_orders(orders)),
            _ => orders.push(self.order == ByteOrder::Big),
        }
    }

    /// The v3 data type; raw bytes where v3 has no word for the layout ([`Self::has_layout`]).
    pub(super) fn data_type(&self) -> Json {
        let configured = |name: &str| -> Json {
            let configuration = Object::new().with("length_bytes", self.size);
            Object::new().with("name", name).with("configuration", configuration).into()
        };
        match &self.kind {
            Kind::Simple(data_type) => data_type.clone(),
            Kind::Bytes => configured("null_terminated_bytes"),
            Kind::Text => configured("fixed_length_utf32"),
            // The name that both zarr-pythons read; of the core's, `r32`, neither knows.
            Kind::Raw => configured("raw_bytes"),
            Kind::Object => Json::from("object"),
            Kind::Unknown(name) => Json::from(name.as_str()),
            Kind::Struct(_) if !self.has_layout() => Json::from(format!("r{}", self.size * 8)),
            Kind::Struct(fields) => {
                let field = |field: &Field| {
                    Object::new().with("name", field.name.as_str()).with("data_type", field.dtype.data_type())
                };
                let fields: Vec<Object> = fields.iter().map(field).collect();
                let configuration = Object::new().with("fields", fields);
                Object::new().with("name", "struct").with("configuration", configuration).into()
            }
        }
    }

    /// Whether v3 can say how an element is laid out: no fields that are arrays.
    pub(super) fn has_layout(&self) -> bool {
        !matches!(&self.kind, Kind::Struct(fields)
            if fields.iter().any(|field| field.is_array || !field.dtype.has_layout()))
    }
}

fn read(json: &Json, fields: &mut usize) -> Result<Dtype, String> {
    match json {
        Json::String(text) => type_string::read(text),
        Json::Array(elements) if !elements.is_empty() => structure(elements, fields),
        other => Err(format!("expected a type string or a list of fields, found {}", other.excerpt())),
    }
}

fn structure(elements: &[Json], num_fields: &mut usize) -> Result<Dtype, String> {
    let (mut size, mut order) = (0_u64, ByteOrder::None);
    let mut fields: Vec<Field> = Vec::new();
    for element in elements {
        *num_fields += 1;
        if *num_fields > MAX_FIELDS {
            return Err(format!("more than {MAX_FIELDS} fields"));
        }
        let (name, dtype, shape) = match element.as_array() {
            Some([Json::String(name), dtype]) => (name, dtype, None),
            Some([Json::String(name), dtype, shape]) => (name, dtype, Some(shape)),
            _ => {
                return Err(format!(
                    "expected a field as [name, dtype] or [name, dtype, shape], found {}",
                    element.excerpt()
                ));
            }
        };
        if name.is_empty() || fields.iter().any(|field| *field.name == **name) {
            return Err(format!(
                "expected a field name that is not there yet, found {}",
                Json::from(&**name).excerpt()
            ));
        }
        let dtype = read(dtype, num_fields)?;
        let count = shape.map_or(Ok(1), subarray_elements)?;
        order = order.and(dtype.order);
        size = dtype
            .size
            .checked_mul(count)
            .and_then(|bytes| size.checked_add(bytes))
            .filter(|size| *size <= MAX_RAW_SIZE)
            .ok_or_else(|| format!("an element has more than {MAX_RAW_SIZE} bytes"))?;
        if dtype.kind == Kind::Object {
            return Err(format!("the field {name:?} is of an object type, which has no fixed size"));
        }
        fields.push(Field { name: name.to_string(), dtype, is_array: shape.is_some() });
    }
    Ok(Dtype { kind: Kind::Struct(fields), size, order })
}

/// The elements of a field that is an array.
fn subarray_elements(shape: &Json) -> Result<u64, String> {
    let fault = || format!("expected the shape of a field as a list of integers, found {}", shape.excerpt());
    let sizes = match shape {
        Json::Array(sizes) => sizes.as_slice(),
        size => std::slice::from_ref(size),
    };
    sizes
        .iter()
        .try_fold(1_u64, |product, size| product.checked_mul(size.as_u64().filter(|size| *size > 0)?))
        .ok_or_else(fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data_type(text: &str) -> String {
        Dtype::read(&Json::parse_str(text).unwrap()).unwrap().data_type().to_string_compact()
    }

    #[test]
    fn type_strings_become_data_types() {
        for (text, expected) in [
            ("\"|b1\"", "\"bool\""),
            ("\"|i1\"", "\"int8\""),
            ("\"<u1\"", "\"uint8\""),
            ("\">i2\"", "\"int16\""),
            ("\"<f2\"", "\"float16\""),
            ("\"<f8\"", "\"float64\""),
            ("\"<c8\"", "\"complex64\""),
            ("\"|V4\"", r#"{"name":"raw_bytes","configuration":{"length_bytes":4}}"#),
            ("\"bfloat16\"", "\"bfloat16\""),
            ("\"int2\"", "\"int2\""),
            ("\"<M8[ns]\"", r#"{"name":"numpy.datetime64","configuration":{"unit":"ns","scale_factor":1}}"#),
            (
                "\">m8[10us]\"",
                r#"{"name":"numpy.timedelta64","configuration":{"unit":"us","scale_factor":10}}"#,
            ),
            ("\"|S10\"", r#"{"name":"null_terminated_bytes","configuration":{"length_bytes":10}}"#),
            ("\"<U5\"", r#"{"name":"fixed_length_utf32","configuration":{"length_bytes":20}}"#),
            (
                r#"[["a","<i2"],["b","<f4"]]"#,
                r#"{"name":"struct","configuration":{"fields":[{"name":"a","data_type":"int16"},{"name":"b","data_type":"float32"}]}}"#,
            ),
            (
                r#"[["a","<i2"],["b",">f4"]]"#,
                r#"{"name":"struct","configuration":{"fields":[{"name":"a","data_type":"int16"},{"name":"b","data_type":"float32"}]}}"#,
            ),
            (r#"[["a","<i2",[2,2]]]"#, "\"r64\""),
        ] {
            assert_eq!(data_type(text), expected, "{text}");
        }
    }

    #[test]
    fn fields_keep_their_byte_orders_where_they_are_not_the_same() {
        let read = |text: &str| Dtype::read(&Json::parse_str(text).unwrap()).unwrap();
        let mixed = read(r#"[["a",">i2"],["b",[["c","|u1"],["d","<f4"]]],["e",">U2"]]"#);
        assert_eq!(mixed.big_endian_fields(), Some(vec![true, false, false, true]));
        assert_eq!(read(r#"[["a",">i2"],["b",">f4"]]"#).big_endian_fields(), None);
        assert_eq!(read(r#"[["a",">i2",[2]],["b","<f4"]]"#).big_endian_fields(), None);
        assert_eq!(read(r#"[["a",">i2"],["b","bfloat16"]]"#).extension(), Some("bfloat16"));
    }

    #[test]
    fn type_strings_that_numpy_does_not_have_are_refused() {
        for text in [
            "\"f4\"",
            "\"float32\"",
            "\"uint4\"",
            "\"<bfloat16\"",
            "\"=f4\"",
            "\"|f4\"",
            "\"<f3\"",
            "\"<f16\"",
            "\"<f\"",
            "\"<f04\"",
            "\"<M8\"",
            "\"<M8[]\"",
            "\"<M8[x]\"",
            "\"<M4[s]\"",
            "\"|S0\"",
            "\"|S99999999999\"",
            "\"<f4[s]\"",
            "\"\"",
            "\"<\"",
            "1",
            "[]",
            "[1]",
            r#"[["a"]]"#,
            r#"[["a","<f4"],["a","<f4"]]"#,
            r#"[["a","|O"]]"#,
            r#"[["a","<f4",[0]]]"#,
            r#"[["a","|V1048576"],["b","|u1"]]"#,
            "\"<é4\"",
        ] {
            assert!(Dtype::read(&Json::parse_str(text).unwrap()).is_err(), "{text}");
        }
    }
}
