//! The names that the core specification and the zarr-extensions registry have (its `data-types` folder as of
//! 2026-07-14).

use crate::diagnostic::spelling;

/// Sorted; `r` stands for `r8`, `r16`, and so on.
pub(super) const REGISTERED: [&str; 51] = [
    "bfloat16",
    "bool",
    "bytes",
    "complex128",
    "complex64",
    "complex_bfloat16",
    "complex_float16",
    "complex_float32",
    "complex_float4_e2m1fn",
    "complex_float64",
    "complex_float6_e2m3fn",
    "complex_float6_e3m2fn",
    "complex_float8_e3m4",
    "complex_float8_e4m3",
    "complex_float8_e4m3b11fnuz",
    "complex_float8_e4m3fnuz",
    "complex_float8_e5m2",
    "complex_float8_e5m2fnuz",
    "complex_float8_e8m0fnu",
    "fixed_length_utf32",
    "float16",
    "float32",
    "float4_e2m1fn",
    "float64",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "int16",
    "int2",
    "int32",
    "int4",
    "int64",
    "int8",
    "numpy.datetime64",
    "numpy.timedelta64",
    "r",
    "string",
    "struct",
    "structured",
    "uint16",
    "uint2",
    "uint32",
    "uint4",
    "uint64",
    "uint8",
];

/// The names that the core specification and the registry have, in order; some need a configuration.
pub fn registered_types() -> impl Iterator<Item = &'static str> {
    REGISTERED.into_iter()
}

/// What is read by a name that no registry has; and the type strings of v2, without their byte order, by what v3 calls
/// them.
const OTHER_NAMES: [(&str, &str); 19] = [
    ("float8_e4m3fn", "float8_e4m3fn"),
    ("complex_float8_e4m3fn", "complex_float8_e4m3fn"),
    ("raw_bytes", "raw_bytes"),
    ("null_terminated_bytes", "null_terminated_bytes"),
    ("variable_length_bytes", "variable_length_bytes"),
    ("b1", "bool"),
    ("i1", "int8"),
    ("i2", "int16"),
    ("i4", "int32"),
    ("i8", "int64"),
    ("u1", "uint8"),
    ("u2", "uint16"),
    ("u4", "uint32"),
    ("u8", "uint64"),
    ("f2", "float16"),
    ("f4", "float32"),
    ("f8", "float64"),
    ("c8", "complex64"),
    ("c16", "complex128"),
];

/// The data type that a name was most likely meant to be, names as v2 has them included: `<f8` is `float64`.
pub(super) fn meant(name: &str) -> Option<&'static str> {
    let name = name.trim_start_matches(['<', '>', '|', '=']).to_lowercase();
    let known = REGISTERED.into_iter().chain(OTHER_NAMES.map(|(known, _)| known));
    let meant = spelling::meant(&name, known)?;
    Some(OTHER_NAMES.iter().find(|(known, _)| *known == meant).map_or(meant, |(_, named)| *named))
}

/// Whether the core or the registry has a name.
pub(super) fn is_registered(name: &str) -> bool {
    REGISTERED.binary_search(&name).is_ok() || is_raw_name(name)
}

/// Whether a name is `r` and digits.
pub(super) fn is_raw_name(name: &str) -> bool {
    name.strip_prefix('r')
        .is_some_and(|bits| !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_type::DataType;
    use crate::metadata::json::Json;

    /// What the registry's names that need a configuration, or stand for a family, are shown with.
    const CONFIGURED: [(&str, &str); 6] = [
        ("fixed_length_utf32", r#"{"name":"fixed_length_utf32","configuration":{"length_bytes":8}}"#),
        ("numpy.datetime64", r#"{"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":1}}"#),
        (
            "numpy.timedelta64",
            r#"{"name":"numpy.timedelta64","configuration":{"unit":"ms","scale_factor":10}}"#,
        ),
        ("r", r#""r24""#),
        (
            "struct",
            r#"{"name":"struct","configuration":{"fields":[{"name":"a","data_type":"int16"},{"name":"b","data_type":"bool"}]}}"#,
        ),
        ("structured", r#"{"name":"structured","configuration":{"fields":[["a","int16"],["b","bool"]]}}"#),
    ];

    /// What is read though no registry has it.
    const UNREGISTERED: [&str; 7] = [
        r#""int12""#,
        r#""uint10""#,
        r#""float8_e4m3fn""#,
        r#""complex_float8_e4m3fn""#,
        r#"{"name":"raw_bytes","configuration":{"length_bytes":3}}"#,
        r#"{"name":"null_terminated_bytes","configuration":{"length_bytes":3}}"#,
        r#""variable_length_bytes""#,
    ];

    /// A type for every name of the core and the registry, in order, and those that no registry has.
    fn examples() -> impl Iterator<Item = DataType> {
        let configured =
            |name: &str| CONFIGURED.iter().find(|entry| entry.0 == name).map(|entry| entry.1.to_owned());
        let registered =
            REGISTERED.into_iter().map(move |name| configured(name).unwrap_or_else(|| format!("\"{name}\"")));
        let all = registered.chain(UNREGISTERED.map(str::to_owned));
        all.filter_map(|text| DataType::from_metadata(&Json::parse_str(&text).ok()?).ok())
    }

    #[test]
    fn page_of_data_types_has_each() {
        let page = include_str!("../../docs/data-types.md");
        for data_type in examples() {
            let name = match data_type.to_metadata() {
                Json::String(name) => name.to_string(),
                metadata => metadata.to_string_compact(),
            };
            assert!(page.contains(&format!("\n| `{name}` | ")), "{name}");
        }
    }

    #[test]
    fn every_name_has_an_example() {
        let examples: Vec<DataType> = examples().collect();
        assert_eq!(examples.len(), REGISTERED.len() + UNREGISTERED.len());
        assert!(examples.iter().all(|data_type| !matches!(data_type, DataType::Other(_))));
    }

    #[test]
    fn data_type_that_was_meant_is_offered_by_its_v3_name() {
        for (name, expected) in [
            ("flaot32", Some("float32")),
            ("Float32", Some("float32")),
            ("|f8", Some("float64")),
            ("u8", Some("uint64")),
            ("strnig", Some("string")),
            ("", None),
            ("decimal128", None),
        ] {
            assert_eq!(meant(name), expected, "{name}");
        }
    }

    #[test]
    fn registered_names_are_sorted_and_known() {
        assert!(REGISTERED.is_sorted());
        assert!(is_registered("r16") && !is_registered("variable_length_bytes") && !is_registered("rx"));
        let configured =
            ["fixed_length_utf32", "numpy.datetime64", "numpy.timedelta64", "r", "struct", "structured"];
        for name in REGISTERED {
            let known = DataType::from_name(name);
            assert_eq!(known.is_some(), !configured.contains(&name), "{name}");
            assert!(known.is_none_or(|known| known.is_registered()), "{name}");
        }
    }
}
