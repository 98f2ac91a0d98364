//! Files that are read, files that are refused.

use super::*;
use crate::element::ElementType;

const FLOAT32: DataType = DataType::Number(NumberType::of(ElementType::Float32));
const INT16: DataType = DataType::Number(NumberType::of(ElementType::Int16));

fn file(version: u8, header: &str, elements: &[u8]) -> Vec<u8> {
    let length = u32::try_from(header.len()).unwrap().to_le_bytes();
    let length = if version == 1 { &length[..2] } else { &length[..] };
    [MAGIC, &[version, 0], length, header.as_bytes(), elements].concat()
}

fn header(descriptor: &str, shape: &str) -> String {
    format!("{{'descr': '{descriptor}', 'fortran_order': False, 'shape': {shape}, }}")
}

#[test]
fn what_is_written_is_read_again() {
    let elements: Vec<u8> = (0..48).collect();
    for shape in [vec![12], vec![3, 4], vec![1, 2, 6]] {
        let file = write(&FLOAT32, &shape, &elements).unwrap();
        assert_eq!((file.len() - elements.len()) % 64, 0);
        assert_eq!(read(&file).unwrap(), NpyArray { data_type: FLOAT32, shape, elements: elements.clone() });
    }
    let scalar = write(&INT16, &[], &[1, 0]).unwrap();
    assert_eq!(read(&scalar).unwrap().shape, Vec::<u64>::new());
    let empty = write(&INT16, &[0, 3], &[]).unwrap();
    assert_eq!(read(&empty).unwrap().shape, [0, 3]);
}

#[test]
fn every_type_has_a_descriptor_that_is_read_as_it() {
    let numbers = ElementType::ALL.map(|element| DataType::Number(NumberType::of(element)));
    let others = [
        DataType::Bool,
        DataType::Complex(NumberType::of(ElementType::Float32)),
        DataType::Complex(NumberType::of(ElementType::Float64)),
        DataType::Raw(3),
    ];
    for data_type in numbers.into_iter().chain(others) {
        let (descriptor, _) = describe(&data_type).unwrap();
        assert_eq!(layout_of(&descriptor).unwrap().0, data_type, "{descriptor}");
    }
}

#[test]
fn big_endian_and_fortran_order_are_turned() {
    let header = "{'shape': (2, 3), 'fortran_order': True, 'descr': \">i2\"}\n";
    for version in 1..=3 {
        let array = read(&file(version, header, &[0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6])).unwrap();
        let expected: Vec<u8> = (1..=6_i16).flat_map(i16::to_ne_bytes).collect();
        assert_eq!(array, NpyArray { data_type: INT16, shape: vec![2, 3], elements: expected });
    }
}

#[test]
fn fortran_order_of_three_dimensions_is_turned() {
    let elements = [0, 12, 4, 16, 8, 20, 1, 13, 5, 17, 9, 21, 2, 14, 6, 18, 10, 22, 3, 15, 7, 19, 11, 23];
    let header = "{'descr': '|u1', 'fortran_order': True, 'shape': (2L, 3L, 4L,)}";
    assert_eq!(read(&file(1, header, &elements)).unwrap().elements, (0..24).collect::<Vec<u8>>());
}

#[test]
fn size_that_does_not_fit_is_an_error() {
    let refused = |shape| read(&file(1, &header("<i2", shape), &[0; 12])).unwrap_err();
    assert_eq!(refused("(2, 4)"), NpyError::Size { expected: 16, found: 12 });
    assert_eq!(refused("(2,)"), NpyError::Size { expected: 4, found: 12 });
    assert_eq!(refused("(4294967296, 4294967296, 4294967296)"), NpyError::Size { expected: u64::MAX, found: 12 });
    assert_eq!(refused("(0, 18446744073709551615)"), NpyError::Size { expected: 0, found: 12 });
    let empty = header("<i2", "(0, 18446744073709551615, 7)");
    assert!(read(&file(1, &empty, &[])).is_ok());
    assert!(read(&file(1, &empty.replace("False", "True"), &[])).is_ok());
}

#[test]
fn malformed_headers_are_errors() {
    for text in [
        "",
        "{",
        "{}",
        "{'descr': '<i2'",
        "{'descr': '<i2', 'fortran_order': False}",
        "{'descr': '<i2', 'descr': '<i2', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<i2', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': '<i2', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<i2', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<i2', 'fortran_order': False, 'shape': 1}",
        "{'descr': [('a', '<i2')], 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<i2', 'fortran_order': False, 'shape': (1,)} + x",
        "{'descr': '<i2', 'fortran_order': False, 'shape': (1,), 'x': 1}",
    ] {
        assert!(matches!(read(&file(1, text, &[0; 2])), Err(NpyError::Header(_))), "{text}");
    }
    for descriptor in
        ["", "<", "<i", "<i3", "|i2", "<O8", "<U4", "<M8[ns]", "<f16", "<c9", "i2x", "<i99999999999999999999"]
    {
        let file = file(1, &header(descriptor, "(1,)"), &[0; 2]);
        assert!(matches!(read(&file), Err(NpyError::Descriptor(_))), "{descriptor}");
    }
}

#[test]
fn every_truncation_is_an_error() {
    let file = write(&INT16, &[3], &[1, 0, 2, 0, 3, 0]).unwrap();
    for length in 0..file.len() {
        assert!(read(&file[..length]).is_err(), "{length}");
    }
    assert_eq!(read(b"\x93NUMPY\x04\x00"), Err(NpyError::Version(4, 0)));
}
