//! Constant arrays, which come back from `transcode --quantize` bit for bit.

use super::support::CliTest;

const TYPES: [(&str, usize); 3] = [("float16", 2), ("float32", 4), ("float64", 8)];

/// Quantises an array of these bit patterns and takes the codes off again; the bytes of what comes back.
fn quantised_and_back(
    (data_type, size): (&str, usize),
    (fill_value, codes): (&str, &str),
    bits: [u64; 4],
) -> Vec<u8> {
    let test = CliTest::new();
    let metadata = format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"{data_type}","fill_value":{fill_value},
        "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[4]}}}},
        "chunk_key_encoding":{{"name":"default","configuration":{{"separator":"/"}}}},
        "codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}}],"attributes":{{}}}}"#
    );
    test.write("a/zarr.json", metadata).write("a/c/0", bytes(bits, size));
    let context = format!("{data_type} {bits:x?} with the fill value {fill_value} as {codes}");
    let run =
        test.run(["transcode", "--quantize", codes, "--verify", "--write-empty-chunks", "--json", "a", "b"]);
    assert_eq!(run.status, 0, "{context}: {}", run.error);
    assert_eq!(run.json()["nodes"][0]["quantization"]["max_abs_error"], 0.0, "{context}");
    let run = test.run(["transcode", "--unpack", "--write-empty-chunks", "b", "c"]);
    assert_eq!(run.status, 0, "{context}: {}", run.error);
    test.read("c/c/0")
}

fn bytes(bits: [u64; 4], size: usize) -> Vec<u8> {
    bits.iter().flat_map(|bits| bits.to_le_bytes()[..size].to_vec()).collect()
}

#[test]
fn quantize_of_a_constant_array_comes_back_bit_for_bit() {
    for (data_type, size) in TYPES {
        let sign = 1_u64 << (8 * size - 1);
        let infinity = match size {
            2 => 0x7c00,
            4 => u64::from(f32::INFINITY.to_bits()),
            _ => f64::INFINITY.to_bits(),
        };
        let greatest = infinity - 1;
        for bits in [0, sign, 1, sign | 1, greatest, sign | greatest, infinity / 2 + 3] {
            for codes in ["uint8", "int8", "uint16", "int32"] {
                for fill_value in ["0.0", "\"NaN\""] {
                    let back = quantised_and_back((data_type, size), (fill_value, codes), [bits; 4]);
                    assert_eq!(back, bytes([bits; 4], size), "{data_type} {bits:x} {fill_value} {codes}");
                }
            }
        }
    }
}

#[test]
fn quantize_of_negative_zeros_and_nan_keeps_both() {
    for (data_type, size) in TYPES {
        let sign = 1_u64 << (8 * size - 1);
        let nan = match size {
            2 => 0x7e00,
            4 => u64::from(f32::NAN.to_bits()),
            _ => f64::NAN.to_bits(),
        };
        let back = quantised_and_back((data_type, size), ("\"NaN\"", "uint8"), [sign, nan, sign, nan]);
        assert_eq!(back, bytes([sign, nan, sign, nan], size), "{data_type}");
    }
}

#[test]
fn quantize_of_both_zeros_gives_zeros() {
    for (data_type, size) in TYPES {
        let sign = 1_u64 << (8 * size - 1);
        for fill_value in ["0.0", "\"NaN\""] {
            let back = quantised_and_back((data_type, size), (fill_value, "uint8"), [0, sign, 0, sign]);
            assert_eq!(back, bytes([0; 4], size), "{data_type} {fill_value}");
        }
    }
}
