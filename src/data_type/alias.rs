//! What other programs call the data types, so that a message can offer the name that Zarr has.

use super::registry::REGISTERED;
use crate::diagnostic::spelling::near;

/// Names of `NumPy`, C and Rust; where they mean different types, all of them.
const ALIASES: [(&str, &[&str]); 45] = [
    ("b1", &["bool"]),
    ("bf16", &["bfloat16"]),
    ("bool_", &["bool"]),
    ("boolean", &["bool"]),
    ("byte", &["uint8", "int8"]),
    ("c16", &["complex128"]),
    ("c8", &["complex64"]),
    ("char", &["int8"]),
    ("complex", &["complex64", "complex128"]),
    ("datetime64", &["numpy.datetime64"]),
    ("double", &["float64"]),
    ("f16", &["float16"]),
    ("f2", &["float16"]),
    ("f32", &["float32"]),
    ("f4", &["float32"]),
    ("f64", &["float64"]),
    ("f8", &["float64"]),
    ("float", &["float32", "float64"]),
    ("half", &["float16"]),
    ("i1", &["int8"]),
    ("i16", &["int16"]),
    ("i2", &["int16"]),
    ("i32", &["int32"]),
    ("i4", &["int32"]),
    ("i64", &["int64"]),
    ("i8", &["int8", "int64"]),
    ("int", &["int32", "int64"]),
    ("integer", &["int32", "int64"]),
    ("long", &["int64"]),
    ("short", &["int16"]),
    ("single", &["float32"]),
    ("str", &["string"]),
    ("timedelta64", &["numpy.timedelta64"]),
    ("u1", &["uint8"]),
    ("u16", &["uint16"]),
    ("u2", &["uint16"]),
    ("u32", &["uint32"]),
    ("u4", &["uint32"]),
    ("u64", &["uint64"]),
    ("u8", &["uint8", "uint64"]),
    ("ubyte", &["uint8"]),
    ("uint", &["uint32", "uint64"]),
    ("ulong", &["uint64"]),
    ("unsigned", &["uint32", "uint64"]),
    ("ushort", &["uint16"]),
];

/// The types that an unknown name may mean: by what other programs call them (a byte order in front, as `NumPy` writes
/// it, is left out), else by the spelling; at most three.
pub fn meant_types(name: &str) -> Vec<&'static str> {
    let plain = name.trim_start_matches(['<', '>', '|', '=']).to_lowercase();
    match ALIASES.iter().find(|(alias, _)| *alias == plain) {
        Some((_, meant)) => meant.to_vec(),
        None => near(&plain, REGISTERED.into_iter().filter(|name| name.len() > 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_programs_are_known() {
        assert!(ALIASES.is_sorted_by_key(|(alias, _)| *alias));
        for (alias, meant) in ALIASES {
            assert!(super::super::DataType::from_name(alias).is_none(), "{alias}");
            assert!(meant.iter().all(|name| REGISTERED.contains(name)), "{alias}");
        }
        assert_eq!(meant_types("u8"), ["uint8", "uint64"]);
        assert_eq!(meant_types("double"), ["float64"]);
        assert_eq!(meant_types("<f4"), ["float32"]);
        assert_eq!(meant_types("Float32")[0], "float32");
        assert_eq!(meant_types("unit8")[0], "uint8");
        assert!(meant_types("zebra").is_empty());
    }
}
