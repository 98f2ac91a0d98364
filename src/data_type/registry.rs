//! The names in the core specification and the zarr-extensions registry (its `data-types` folder as of 2026-07-14).

use crate::diagnostic::spelling::{self, near};

/// Sorted. `r` means `r8`, `r16`, and so on.
const REGISTERED: &str = "
    bfloat16 bool bytes
    complex128 complex64 complex_bfloat16 complex_float16 complex_float32 complex_float4_e2m1fn complex_float64
    complex_float6_e2m3fn complex_float6_e3m2fn complex_float8_e3m4 complex_float8_e4m3 complex_float8_e4m3b11fnuz
    complex_float8_e4m3fnuz complex_float8_e5m2 complex_float8_e5m2fnuz complex_float8_e8m0fnu
    fixed_length_utf32
    float16 float32 float4_e2m1fn float64 float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 float8_e4m3b11fnuz
    float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu
    int16 int2 int32 int4 int64 int8
    numpy.datetime64 numpy.timedelta64 r string struct structured
    uint16 uint2 uint32 uint4 uint64 uint8";

/// The names that are read although no registry has them.
const UNREGISTERED: &str =
    "float8_e4m3fn complex_float8_e4m3fn raw_bytes null_terminated_bytes variable_length_bytes zarrs.optional";

/// Returns the names in the core specification and the registry, in order. Some need a configuration.
pub fn registered_types() -> impl Iterator<Item = &'static str> {
    REGISTERED.split_whitespace()
}

/// The type string of v2 without its byte order, and the names in `NumPy`, C and Rust. A name may mean several types.
const OTHER_NAMES: [(&str, &str, &str); 18] = [
    ("bool", "b1", "bool_ boolean"),
    ("uint8", "u1", "u8 byte ubyte"),
    ("int8", "i1", "i8 byte char"),
    ("int16", "i2", "i16 short"),
    ("int32", "i4", "i32 int integer"),
    ("int64", "i8", "i64 int integer long"),
    ("uint16", "u2", "u16 ushort"),
    ("uint32", "u4", "u32 uint unsigned"),
    ("uint64", "u8", "u64 uint unsigned ulong"),
    ("bfloat16", "", "bf16"),
    ("float16", "f2", "f16 half"),
    ("float32", "f4", "f32 float single"),
    ("float64", "f8", "f64 float double"),
    ("complex64", "c8", "complex"),
    ("complex128", "c16", "complex"),
    ("numpy.datetime64", "", "datetime64"),
    ("numpy.timedelta64", "", "timedelta64"),
    ("string", "", "str"),
];

/// Returns a name in lower case, without the byte order at the beginning in `NumPy`.
fn plain(name: &str) -> String {
    name.trim_start_matches(['<', '>', '|', '=']).to_lowercase()
}

/// Returns the data type that a misspelled name most likely means. Names of v2 are included: `<f8` is `float64`.
pub(super) fn meant(name: &str) -> Option<&'static str> {
    let of_v2 = OTHER_NAMES.iter().map(|(_, of_v2, _)| *of_v2).filter(|of_v2| !of_v2.is_empty());
    let known = registered_types().chain(UNREGISTERED.split_whitespace()).chain(of_v2);
    let meant = spelling::meant(&plain(name), known)?;
    Some(OTHER_NAMES.iter().find(|(_, of_v2, _)| *of_v2 == meant).map_or(meant, |(name, ..)| *name))
}

/// Returns at most three types that an unknown name may mean: by the names in other programs, else by the spelling.
pub fn meant_types(name: &str) -> Vec<&'static str> {
    let plain = plain(name);
    let is_other_name =
        |(_, of_v2, others): &&(&str, &str, &str)| *of_v2 == plain || others.split(' ').any(|other| other == plain);
    let meant: Vec<_> = OTHER_NAMES.iter().filter(is_other_name).map(|(name, ..)| *name).collect();
    // The entry `r` alone is not a name.
    if meant.is_empty() { near(&plain, registered_types().filter(|name| name.len() > 1)) } else { meant }
}

/// Returns true if the core or the registry has a name.
pub(super) fn is_registered(name: &str) -> bool {
    registered_types().any(|registered| registered == name) || is_raw_name(name)
}

/// Returns true if a name is `r` and digits.
pub(super) fn is_raw_name(name: &str) -> bool {
    name.strip_prefix('r').is_some_and(|bits| !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_type::DataType;
    use crate::metadata::json::Json;

    /// Examples of the registry's names that need a configuration or represent a family.
    const CONFIGURED: [(&str, &str); 6] = [
        ("fixed_length_utf32", r#"{"name":"fixed_length_utf32","configuration":{"length_bytes":8}}"#),
        ("numpy.datetime64", r#"{"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":1}}"#),
        ("numpy.timedelta64", r#"{"name":"numpy.timedelta64","configuration":{"unit":"ms","scale_factor":10}}"#),
        ("r", r#""r24""#),
        (
            "struct",
            r#"{"name":"struct","configuration":{"fields":[{"name":"a","data_type":"int16"},{"name":"b","data_type":"bool"}]}}"#,
        ),
        ("structured", r#"{"name":"structured","configuration":{"fields":[["a","int16"],["b","bool"]]}}"#),
    ];

    /// Types that are read although no registry has them.
    const OTHERS: [&str; 8] = [
        r#""int12""#,
        r#""uint10""#,
        r#""float8_e4m3fn""#,
        r#""complex_float8_e4m3fn""#,
        r#"{"name":"raw_bytes","configuration":{"length_bytes":3}}"#,
        r#"{"name":"null_terminated_bytes","configuration":{"length_bytes":3}}"#,
        r#""variable_length_bytes""#,
        r#"{"name":"zarrs.optional","configuration":{"name":"int16","configuration":{}}}"#,
    ];

    /// Returns a type for every name of the core and the registry, in order, and the unregistered ones.
    fn examples() -> impl Iterator<Item = DataType> {
        let configured = |name: &str| CONFIGURED.iter().find(|entry| entry.0 == name).map(|entry| entry.1.to_owned());
        let registered = registered_types().map(move |name| configured(name).unwrap_or_else(|| format!("\"{name}\"")));
        let all = registered.chain(OTHERS.map(str::to_owned));
        all.filter_map(|text| DataType::from_metadata(&Json::parse_str(&text).ok()?).ok())
    }

    #[test]
    fn page_of_data_types_has_each() {
        let page = include_str!("../../docs/data-types.md");
        for data_type in examples() {
            let name = match data_type.to_metadata() {
                Json::String(name) => name.to_string(),
                metadata => metadata.to_string(),
            };
            assert!(page.contains(&format!("\n| `{name}` | ")), "{name}");
        }
    }

    #[test]
    fn every_name_has_an_example() {
        let examples: Vec<DataType> = examples().collect();
        assert_eq!(examples.len(), registered_types().count() + OTHERS.len());
        assert!(examples.iter().all(|data_type| !matches!(data_type, DataType::Other(_))));
    }

    #[test]
    fn registered_names_are_sorted_and_known() {
        assert!(registered_types().is_sorted());
        assert!(is_registered("r16") && !is_registered("variable_length_bytes") && !is_registered("rx"));
        let configured = ["fixed_length_utf32", "numpy.datetime64", "numpy.timedelta64", "r", "struct", "structured"];
        for name in registered_types() {
            let known = DataType::from_name(name);
            assert_eq!(known.is_some(), !configured.contains(&name), "{name}");
            assert!(known.is_none_or(|known| known.is_registered()), "{name}");
        }
    }

    #[test]
    fn names_of_other_programs_are_known() {
        for (name, of_v2, others) in OTHER_NAMES {
            assert!(is_registered(name), "{name}");
            let others = others.split(' ').chain([of_v2]);
            others.for_each(|other| assert!(DataType::from_name(other).is_none(), "{other}"));
        }
    }
}
