use zarrcast_kernels::element::{FloatFormat, SmallFloat};

#[test]
fn fields_of_the_core_types_are_those_of_ieee_754() {
    for (format, infinity, nan, least) in [
        (FloatFormat::ieee(5, 10), 0x7c00, 0x7e00, -14),
        (FloatFormat::ieee(8, 23), 0x7f80_0000, 0x7fc0_0000, -126),
        (FloatFormat::BINARY64, 0x7ff0_0000_0000_0000, 0x7ff8_0000_0000_0000, -1022),
    ] {
        assert_eq!((format.infinity(), format.canonical_nan()), (infinity, Some(nan)));
        assert_eq!(format.least_exponent(), least);
        assert!(format.is_nan(nan | format.sign()) && !format.is_nan(infinity));
        assert!(format.is_zero(format.sign()) && !format.is_zero(1));
    }
}

fn float(name: &str) -> &'static SmallFloat {
    SmallFloat::from_name(name).unwrap()
}

#[test]
fn patterns_are_those_of_the_registry_pages_and_ml_dtypes() {
    for (name, bits, nan) in [
        ("bfloat16", 16, Some(0x7fc0)),
        ("float4_e2m1fn", 4, None),
        ("float6_e2m3fn", 6, None),
        ("float6_e3m2fn", 6, None),
        ("float8_e3m4", 8, Some(0x78)),
        ("float8_e4m3", 8, Some(0x7c)),
        ("float8_e4m3b11fnuz", 8, Some(0x80)),
        ("float8_e4m3fn", 8, Some(0x7f)),
        ("float8_e4m3fnuz", 8, Some(0x80)),
        ("float8_e5m2", 8, Some(0x7e)),
        ("float8_e5m2fnuz", 8, Some(0x80)),
        ("float8_e8m0fnu", 8, Some(0xff)),
    ] {
        assert_eq!((float(name).bits(), float(name).format.canonical_nan()), (bits, nan), "{name}");
    }
    assert_eq!(SmallFloat::all().count(), 12);
}

#[test]
fn values_are_those_of_ml_dtypes() {
    for (name, bits, value) in [
        ("bfloat16", 0x3f80, 1.0),
        ("bfloat16", 0x0001, 2_f64.powi(-133)),
        ("bfloat16", 0xff80, f64::NEG_INFINITY),
        ("float4_e2m1fn", 0x7, 6.0),
        ("float4_e2m1fn", 0x9, -0.5),
        ("float6_e2m3fn", 0x1f, 7.5),
        ("float6_e3m2fn", 0x1f, 28.0),
        ("float8_e3m4", 0x6f, 15.5),
        ("float8_e4m3", 0x77, 240.0),
        ("float8_e4m3b11fnuz", 0x7f, 30.0),
        ("float8_e4m3fn", 0x7e, 448.0),
        ("float8_e4m3fn", 0x81, -(2_f64.powi(-9))),
        ("float8_e4m3fnuz", 0x7f, 240.0),
        ("float8_e5m2", 0x7b, 57344.0),
        ("float8_e5m2fnuz", 0x7f, 57344.0),
        ("float8_e8m0fnu", 0x7f, 1.0),
        ("float8_e8m0fnu", 0x00, 2_f64.powi(-127)),
        ("float8_e8m0fnu", 0xfe, 2_f64.powi(127)),
    ] {
        assert_eq!(float(name).to_f64(bits), Some(value), "{name} {bits:#x}");
    }
    assert_eq!(float("float8_e4m3").to_f64(0x79), None);
    assert_eq!([0x7f, 0xff].map(|bits| float("float8_e4m3fn").to_f64(bits)), [None, None]);
    assert_eq!(float("float4_e2m1fn").to_f64(0x10), None);
}
