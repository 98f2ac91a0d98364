//! `NaN`, `Infinity` and `-Infinity` as bare words: no JSON (RFC 8259, section 6), but what Python's `json` writes and
//! reads unless it is told otherwise, and so what zarr-python and xarray put into attributes.

use super::{Json, JsonErrorKind, push_token};

/// A number that JSON has no literal for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NotFinite {
    /// Not a number.
    NaN,
    /// Above every number.
    Infinity,
    /// Below every number.
    NegativeInfinity,
}

impl NotFinite {
    /// As Python writes it; in quotes, the form that Zarr has for the value of a float.
    pub const fn word(self) -> &'static str {
        match self {
            NotFinite::NaN => "NaN",
            NotFinite::Infinity => "Infinity",
            NotFinite::NegativeInfinity => "-Infinity",
        }
    }
}

/// The bare words of a document, all of them where they may stand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NotFiniteValues {
    /// How many there are.
    pub count: usize,
    /// The first of them, and the RFC 6901 pointer to it.
    pub first: Option<(NotFinite, String)>,
}

impl NotFiniteValues {
    /// The bare words of a document that stand at these offsets of its text, in their order. The first that may not
    /// stand where it does is an error, with its offset.
    pub(super) fn within(
        document: &Json,
        offsets: &[usize],
        is_allowed: impl Fn(&str) -> bool,
    ) -> Result<Self, (usize, JsonErrorKind)> {
        let mut found = NotFiniteValues::default();
        visit(document, &mut String::new(), &mut |value, pointer| {
            if !is_allowed(pointer) {
                let offset = offsets.get(found.count).copied().unwrap_or_default();
                let (word, pointer) = (value.word(), pointer.to_owned());
                return Err((offset, JsonErrorKind::NotFiniteAt { word, pointer }));
            }
            found.first.get_or_insert_with(|| (value, pointer.to_owned()));
            found.count += 1;
            Ok(())
        })?;
        Ok(found)
    }
}

/// Visits every bare word in the order of the text, which is that of the tree.
fn visit<E>(
    json: &Json,
    pointer: &mut String,
    visitor: &mut impl FnMut(NotFinite, &str) -> Result<(), E>,
) -> Result<(), E> {
    let length = pointer.len();
    match json {
        Json::NotFinite(value) => visitor(*value, pointer)?,
        Json::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                pointer.push('/');
                pointer.push_str(&index.to_string());
                visit(element, pointer, visitor)?;
                pointer.truncate(length);
            }
        }
        Json::Object(object) => {
            for (name, member) in object.iter() {
                push_token(pointer, name);
                visit(member, pointer, visitor)?;
                pointer.truncate(length);
            }
        }
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        r#"{"attributes":{"a":NaN,"b":[1,-Infinity],"c/d":{"e":Infinity}},"fill_value":"NaN"}"#;

    fn is_attribute(pointer: &str) -> bool {
        pointer.starts_with("/attributes/")
    }

    #[test]
    fn bare_words_are_read_where_they_are_allowed_and_written_as_they_were() {
        let (json, found) = Json::parse_with_not_finite(TEXT.as_bytes(), is_attribute).unwrap();
        assert_eq!(found.count, 3);
        assert_eq!(found.first, Some((NotFinite::NaN, "/attributes/a".to_owned())));
        assert_eq!(json.to_string_compact(), TEXT);
        let again = Json::parse_with_not_finite(&json.to_document(), is_attribute).unwrap().0;
        assert!(again.same_value(&json));
        assert!(!json.pointer("/attributes/a").unwrap().same_value(&Json::from("NaN")));
    }

    #[test]
    fn bare_words_elsewhere_are_named_by_place_and_pointer() {
        let text = "{\"attributes\":{\"a\":NaN},\n\"fill_value\":-Infinity}";
        let error = Json::parse_with_not_finite(text.as_bytes(), is_attribute).unwrap_err();
        assert_eq!((error.line, error.column), (2, 14));
        let kind = JsonErrorKind::NotFiniteAt { word: "-Infinity", pointer: "/fill_value".to_owned() };
        assert_eq!(error.kind, kind);
        assert_eq!(error.diagnostic().code, "ZM001");
    }

    #[test]
    fn bare_words_are_strings_to_programs_that_read_json() {
        let (json, _) = Json::parse_with_not_finite(TEXT.as_bytes(), is_attribute).unwrap();
        let text = serde_json::to_string(&json).unwrap();
        assert_eq!(
            Json::parse_str(&text).unwrap().pointer("/attributes/b/1"),
            Some(&Json::from("-Infinity"))
        );
        assert_eq!(json.to_value()["attributes"]["c/d"]["e"], "Infinity");
    }
}
