//! `inspect --stats` compared with the values that other implementations read.

use serde_json::Value;

use super::support::{CliTest, fixture};

/// An array of the fixtures and its elements as float64, which is exact except for `uint64` and `int64`.
struct Expected {
    fixture: String,
    node: String,
    values: Vec<f64>,
}

/// Returns the fixture arrays with an ordered type and completely known elements.
fn expected() -> Vec<Expected> {
    let folder = fixture("../expected");
    let index: Value = serde_json::from_slice(&std::fs::read(folder.join("index.json")).unwrap()).unwrap();
    let arrays = index["arrays"].as_array().unwrap().iter();
    let arrays = arrays.filter(|array| array["extent"] == array["shape"]).filter_map(|array| {
        let bytes = std::fs::read(folder.join(array["elements"].as_str().unwrap())).unwrap();
        Some(Expected {
            fixture: array["fixture"].as_str().unwrap().trim_start_matches("valid/").to_owned(),
            node: array["node"].as_str().unwrap().to_owned(),
            values: values(array["data_type"].as_str().unwrap(), &bytes)?,
        })
    });
    let arrays: Vec<_> = arrays.collect();
    assert!(arrays.len() > 100, "{} arrays", arrays.len());
    arrays
}

fn values(data_type: &str, bytes: &[u8]) -> Option<Vec<f64>> {
    macro_rules! read {
        ($type:ty, $value:ident => $number:expr) => {
            bytes
                .chunks_exact(size_of::<$type>())
                .map(|element| <$type>::from_le_bytes(element.try_into().unwrap()))
                .map(|$value| $number)
                .collect()
        };
    }
    Some(match data_type {
        "float16" => read!(u16, bits => half::f16::from_bits(bits).to_f64()),
        "float32" => read!(f32, value => f64::from(value)),
        "float64" => read!(f64, value => value),
        "int8" => read!(i8, value => f64::from(value)),
        "int16" => read!(i16, value => f64::from(value)),
        "int32" => read!(i32, value => f64::from(value)),
        "uint8" | "bool" => read!(u8, value => f64::from(value)),
        "uint16" | "uint10" => read!(u16, value => f64::from(value)),
        "uint32" => read!(u32, value => f64::from(value)),
        _ => return None,
    })
}

#[test]
fn stats_of_every_fixture_are_those_of_its_elements() {
    let mut unsupported = 0;
    for Expected { fixture: name, node, values } in expected() {
        let store = fixture(&name);
        let run = CliTest::new().run([
            "inspect",
            "--json",
            "--stats",
            "--storage",
            "never",
            "--node",
            &node,
            store.to_str().unwrap(),
            "-q",
        ]);
        if run.status == 1 {
            let warnings = run.json()["warnings"].clone();
            let mut names = warnings.as_array().unwrap().iter().map(|finding| &finding["name"]);
            assert!(names.any(|found| found == "codec-unsupported"), "{name}: {warnings}");
            unsupported += 1;
            continue;
        }
        assert_eq!(run.status, 0, "{name}: {}", run.error);
        let stats = run.json()["stats"].clone();
        let finite: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
        let count = |is: fn(&f64) -> bool| values.iter().filter(|value| is(value)).count();
        assert_eq!(stats["count"], values.len(), "{name}");
        assert_eq!(stats["finite"], finite.len(), "{name}");
        assert_eq!(stats["nan"], count(|value| value.is_nan()), "{name}");
        assert_eq!(stats["positive_infinity"], count(|value| *value == f64::INFINITY), "{name}");
        assert_eq!(stats["negative_infinity"], count(|value| *value == f64::NEG_INFINITY), "{name}");
        if finite.is_empty() {
            assert_eq!([&stats["min"], &stats["mean"], &stats["standard_deviation"]], [&Value::Null; 3], "{name}");
            continue;
        }
        let (min, max) = finite.iter().fold((f64::MAX, f64::MIN), |(min, max), x| (min.min(*x), max.max(*x)));
        assert_eq!((stats["min"].as_f64(), stats["max"].as_f64()), (Some(min), Some(max)), "{name}");
        let near = |found: &Value, wanted: f64, of: f64| {
            let found = found.as_f64().unwrap();
            assert!((found - wanted).abs() <= 1e-14 * of, "{name}: {found} is not {wanted}");
        };
        let number = f64::from(u32::try_from(finite.len()).unwrap());
        let mean = finite.iter().map(|value| value / number).sum::<f64>();
        let squares: f64 = finite.iter().map(|value| (value - mean).powi(2) / number).sum();
        near(&stats["mean"], mean, max.abs().max(min.abs()));
        near(&stats["standard_deviation"], squares.sqrt(), max - min);
    }
    assert!(unsupported < 6, "{unsupported} chains are not supported");
}
