//! The names that the core specification and the zarr-extensions registry have, beyond those that are decoded.

/// Sorted.
const REGISTERED: [&str; 32] = [
    "bfloat16",
    "bytes",
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
    "float4_e2m1fn",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "numpy.datetime64",
    "numpy.timedelta64",
    "string",
    "struct",
    "structured",
];

/// Whether a name that is not decoded is registered.
pub(super) fn is_registered(name: &str) -> bool {
    REGISTERED.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registered_names_are_sorted() {
        assert!(REGISTERED.is_sorted());
        assert!(
            is_registered("string") && is_registered("bfloat16") && !is_registered("variable_length_bytes")
        );
    }
}
