use zarrcast_kernels::element::{ElementType, NumberType};
use zarrcast_kernels::kernel::numcodecs::promoted;

#[test]
fn types_are_promoted_as_numpy_does() {
    use ElementType::{Float16, Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};
    for (one, other, expected) in [
        (Int8, Int8, Int8),
        (UInt8, UInt32, UInt32),
        (UInt8, Int8, Int16),
        (UInt16, Int32, Int32),
        (UInt32, Int32, Int64),
        (UInt64, Int8, Float64),
        (UInt64, Int64, Float64),
        (Int8, Float16, Float16),
        (Int16, Float16, Float32),
        (UInt16, Float32, Float32),
        (Int32, Float32, Float64),
        (Int64, Float16, Float64),
        (Float16, Float64, Float64),
    ] {
        let of = NumberType::of;
        assert_eq!(promoted(of(one), of(other)), of(expected), "{one:?} {other:?}");
        assert_eq!(promoted(of(other), of(one)), of(expected), "{one:?} {other:?}");
    }
}
