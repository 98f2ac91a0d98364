//! `--quality` and `--require`: quality measures of a quantisation, and requirements on them.

use serde_json::{Value, json};

use super::support::CliTest;

const ROWS: usize = 40;
const COLUMNS: usize = 90;

/// Returns a float64 level from a formula with the same result in every language. The same level is in
/// `crates/kernels/src/kernel/quality/tests.rs`.
fn level(seed: usize) -> Vec<f64> {
    let value = |place: usize| {
        let (i, j) = (place / COLUMNS, place % COLUMNS);
        let rough = u32::try_from((i * 37 + j * 101 + i * j * 13 + seed * 7) % 257).unwrap();
        let (i, j) = (f64::from(u32::try_from(i).unwrap()), f64::from(u32::try_from(j).unwrap()));
        let down = i - 20.0;
        (down * down / 1600.0 + j / 180.0) * 4.0 + f64::from(rough) / 257.0 * 0.5
    };
    (0..ROWS * COLUMNS).map(value).collect()
}

/// Writes levels as a float64 array in chunks of 2 x 16 x 32.
fn write(test: &CliTest, name: &str, levels: &[Vec<f64>]) {
    let count = levels.len();
    let members = json!({"shape": [count, ROWS, COLUMNS], "chunk_shape": [2, 16, 32], "data_type": "float64", "fill_value": "NaN"});
    test.array(name, members);
    for index in 0..count.div_ceil(2) * 9 {
        let (at, down, right) = (index / 9 * 2, index % 9 / 3 * 16, index % 3 * 32);
        let mut bytes = Vec::new();
        for place in 0..2 * 16 * 32 {
            let (level, row, column) = (at + place / 512, down + place / 32 % 16, right + place % 32);
            let is_inside = level < count && row < ROWS && column < COLUMNS;
            let value = if is_inside { levels[level][row * COLUMNS + column] } else { 0.0 };
            bytes.extend(value.to_le_bytes());
        }
        test.write(&format!("{name}/c/{}/{}/{}", index / 9, index % 9 / 3, index % 3), bytes);
    }
}

/// Writes two levels of 2400 rows in chunks of 50. One chunk in four is missing, and the first level has only NaN.
fn write_tall(test: &CliTest, name: &str) {
    let (shape, chunk_shape) = ([2, 2400, COLUMNS], [1, 50, COLUMNS]);
    let members = json!({"shape": shape, "chunk_shape": chunk_shape, "data_type": "float64", "fill_value": "NaN"});
    test.array(name, members);
    for index in (0..48).filter(|index| index % 4 != 1) {
        let rows = level(index % 16).into_iter().chain(level(index % 16 + 3)).take(50 * COLUMNS);
        test.write(&format!("{name}/c/1/{index}/0"), rows.flat_map(f64::to_le_bytes).collect::<Vec<u8>>());
        test.write(&format!("{name}/c/0/{index}/0"), f64::NAN.to_le_bytes().repeat(50 * COLUMNS));
    }
}

fn quality(test: &CliTest, arguments: &[&str]) -> Value {
    let run = test.run(["transcode", "--json"].iter().chain(arguments)).succeeds();
    run.json()["nodes"][0]["quantization"]["quality"].clone()
}

fn near(found: &Value, expected: f64) -> bool {
    (found.as_f64().unwrap() - expected).abs() < 1e-9
}

#[test]
fn measures_are_those_of_the_definitions_however_the_work_is_cut() {
    let test = CliTest::new();
    // The third level has no values, and the second is constant.
    let levels = [level(1), vec![2.5; ROWS * COLUMNS], vec![f64::NAN; ROWS * COLUMNS], level(4)];
    write(&test, "a", &levels);
    let step = ["--step", "0.125", "--quality", "--overwrite", "a", "b"];
    let plain = quality(&test, &step);
    let values: Vec<f64> = levels.iter().flatten().copied().filter(|value| !value.is_nan()).collect();
    let errors: Vec<f64> = values.iter().map(|x| (x * 8.0).round_ties_even() / 8.0 - x).collect();
    let count = f64::from(u32::try_from(values.len()).unwrap());
    assert_eq!(plain["points"], json!(values.len()));
    assert!(near(&plain["bias"], errors.iter().sum::<f64>() / count), "{plain}");
    let rms = (errors.iter().map(|error| error * error).sum::<f64>() / count).sqrt();
    let range = values.iter().copied().fold(f64::MIN, f64::max) - values.iter().copied().fold(f64::MAX, f64::min);
    assert!(near(&plain["psnr"], 20.0 * (range / rms).log10()), "{plain}");
    // ldcpy 0.20, for the last level. The first level has 0.97365.
    assert!(near(&plain["dssim"], 0.972_428_765_374_306), "{plain}");
    assert_eq!(plain["dssim_level"], json!([3]));
    for cut in [
        &["--threads", "1"][..],
        &["--threads", "5"],
        &["--max-memory", "6000000"],
        &["--chunk-shape", "1,40,7"],
        &["--chunk-shape", "4,3,90", "--shard-shape", "4,9,90"],
        &["--as", "cf"],
        &["--as", "plain"],
    ] {
        let other = quality(&test, &[cut, &step[..]].concat());
        if cut[0] == "--threads" {
            assert_eq!(other, plain);
        }
        for (name, value) in plain.as_object().unwrap() {
            let is_same = value.as_f64().map_or(&other[name] == value, |value| near(&other[name], value));
            assert!(is_same, "{cut:?}: {name} is {}, not {value}", other[name]);
        }
    }
    let text = test.run(["transcode"].iter().chain(&step)).succeeds();
    for line in ["  PSNR  ", "DSSIM           0.9724287654, the minimum of all levels, of [3]\n", "KS test         p "]
    {
        assert!(text.text().contains(line), "{}", text.text());
    }
}

#[test]
fn level_that_memory_has_no_room_for_is_measured_in_parts() {
    let test = CliTest::new();
    write_tall(&test, "a");
    let step = ["--step", "0.125", "--quality", "--overwrite", "a", "b"];
    let whole = quality(&test, &step);
    assert_eq!((&whole["points"], &whole["dssim_level"]), (&json!(1800 * COLUMNS), &json!([1])));
    for memory in ["1600000", "2200000"] {
        for threads in ["1", "3"] {
            let parts = quality(&test, &[&step[..], &["--max-memory", memory, "--threads", threads]].concat());
            for (name, value) in whole.as_object().unwrap() {
                let is_same = value.as_f64().map_or(&parts[name] == value, |value| near(&parts[name], value));
                assert!(is_same, "{memory}: {name} is {}, not {value}", parts[name]);
            }
        }
    }
}

#[test]
fn bits_that_are_kept_are_measured_like_codes() {
    let test = CliTest::new();
    write(&test, "a", &[level(1)]);
    let found = quality(&test, &["--keep-bits", "2", "--require", "signs_kept==1", "a", "b"]);
    let values = level(1);
    // Two bits after the leading one: a quarter of the power of two below, rounded to nearest, ties to even.
    let rounded = |x: f64| {
        let unit = if x == 0.0 { 1.0 } else { 2_f64.powf(x.abs().log2().floor() - 2.0) };
        (x / unit).round_ties_even() * unit
    };
    let count = f64::from(u32::try_from(values.len()).unwrap());
    let bias = values.iter().map(|x| rounded(*x) - x).sum::<f64>() / count;
    assert!(near(&found["bias"], bias), "{found}");
    let up_to = |at: f64, of: &dyn Fn(f64) -> f64| values.iter().filter(|x| of(**x) <= at).count();
    let ends = values.iter().flat_map(|x| [*x, rounded(*x)]);
    let distance = ends.map(|at| up_to(at, &|x| x).abs_diff(up_to(at, &rounded))).max().unwrap();
    assert!(near(&found["ks_statistic"], f64::from(u32::try_from(distance).unwrap()) / count), "{found}");
}

#[test]
fn quality_of_a_part_is_that_of_the_part() {
    let test = CliTest::new();
    write(&test, "a", &[level(4), level(9), level(1)]);
    write(&test, "last", &[level(1)]);
    let of_part = quality(&test, &["--step", "0.125", "--quality", "--select", "0=2:", "a", "b"]);
    assert_eq!(of_part, quality(&test, &["--step", "0.125", "--quality", "last", "c"]));
}

#[test]
fn contract_that_is_not_kept_leaves_no_destination() {
    let test = CliTest::new();
    write(&test, "a", &[level(1)]);
    let broken = ["transcode", "--step", "0.125", "--require", "dssim>=0.99,zeros_kept==1,rms_error<0.01", "a"];
    for destination in ["b", "b.zip"] {
        test.run(broken.iter().chain(&[destination])).fails(
            1,
            &[
                "`--require` failed, nothing was written: dssim>=0.99: dssim is 0.97365330287262",
                "; rms_error<0.01: rms_error is 0.0",
                "`--max-error`",
            ],
        );
        assert_eq!(test.names(), ["a"]);
    }
    let kept =
        ["transcode", "--step", "0.125", "--require", "dssim>=0.97,pearson>0.99", "--require", "bias<=0.01", "a", "b"];
    let run = test.run(kept.iter().chain(&["--json"])).succeeds();
    assert!(run.json()["nodes"][0]["quantization"]["quality"]["pearson"].as_f64().unwrap() > 0.99);
    // A DEST that would be replaced is not changed.
    let before = test.all_files("b");
    test.run(broken.iter().chain(&["b", "--overwrite"])).fails(1, &["dssim>=0.99"]);
    assert_eq!(test.all_files("b"), before);
    assert_eq!(test.names(), ["a", "b"]);
}

#[test]
fn contract_holds_for_each_array_and_names_it() {
    let test = CliTest::new();
    test.group("a");
    write(&test, "a/rough", &[level(1)]);
    write(&test, "a/even", &[vec![2.5; ROWS * COLUMNS]]);
    let coarse = ["transcode", "--step", "0.125", "a", "b"];
    test.run(coarse.iter().chain(&["--require", "dssim>=0.99,signs_kept==1"]))
        .fails(1, &["nothing was written: `/rough`: dssim>=0.99: dssim is 0.97", "--exclude"]);
    test.run(coarse.iter().chain(&["--require", "pearson>=0.5"])).fails(
        1,
        &["`/even`: pearson>=0.5: pearson is not defined, the values of the source, or what becomes of them, are constant"],
    );
    assert_eq!(test.names(), ["a"]);
    test.run(coarse.iter().chain(&["--require", "pearson>=0.5", "--exclude", "even"])).succeeds();
}

#[test]
fn so_many_codes_have_no_test_of_their_distribution() {
    let test = CliTest::new();
    write(&test, "a", &[level(1)]);
    for option in [&["--quantize", "uint32"][..], &["--keep-bits", "9"]] {
        let found = quality(&test, &[option, &["--quality", "--overwrite", "a", "b"]].concat());
        assert_eq!((&found["ks_p"], &found["ks_statistic"]), (&json!(null), &json!(null)), "{found}");
    }
    let text = test.run(["transcode", "--quantize", "uint32", "--quality", "a", "c"]).succeeds();
    let line = "KS test         not defined: the result can hold more than 2^20 different values";
    assert!(text.text().contains(line), "{}", text.text());
    test.run(["transcode", "--quantize", "uint32", "--require", "ks_p>0", "a", "d"])
        .fails(1, &["ks_p is not defined, the result can hold more than 2^20 different values"]);
}

#[test]
fn run_that_goes_on_measures_all_of_it() {
    let test = CliTest::new();
    write(&test, "a", &[level(1), level(4), level(7)]);
    let whole = test.read("a/c/1/2/1");
    let options = ["--quantize", "uint8", "--range", "0,7", "--quality", "--threads", "1", "a", "b"];
    test.write("a/c/1/2/1", &whole[..100]);
    test.run(["transcode"].iter().chain(&options)).fails(1, &["c/1/2/1"]);
    test.write("a/c/1/2/1", whole);
    let resumed = quality(&test, &[&options[..], &["--resume"]].concat());
    let options = ["--quantize", "uint8", "--range", "0,7", "--quality", "a", "c"];
    assert_eq!(resumed, quality(&test, &options));
}

#[test]
fn measures_of_very_small_and_very_great_numbers_are_those_of_others() {
    let test = CliTest::new();
    let levels = |factor: f64| {
        let mut rows = level(1).into_iter().map(|value| value * factor).collect::<Vec<_>>();
        rows[..COLUMNS].fill(0.0);
        vec![rows]
    };
    write(&test, "plain", &levels(1.0));
    let figures = |name: &str, destination: &str| {
        let arguments = ["transcode", "--json", "--keep-bits", "5", "--quality", name, destination];
        test.run(arguments).succeeds().json()["nodes"][0]["quantization"].clone()
    };
    let plain = figures("plain", "b");
    for (name, exponent) in [("small", -1000), ("tiny", -1015), ("great", 1018)] {
        let factor = 2_f64.powi(exponent);
        write(&test, name, &levels(factor));
        let found = figures(name, &format!("{name} b"));
        for measure in ["psnr", "pearson", "relative_error_share", "dssim", "ks_p", "zeros_kept"] {
            let (found, expected) = (&found["quality"][measure], &plain["quality"][measure]);
            assert!(near(found, expected.as_f64().unwrap()), "{name} {measure}: {found} {expected}");
        }
        for measure in ["/rms_error", "/max_abs_error", "/quality/bias"] {
            let [found, plain] = [&found, &plain].map(|json| json.pointer(measure).unwrap().as_f64().unwrap());
            let (value, expected) = (found / factor, plain);
            assert!((value - expected).abs() <= expected.abs() * 1e-6, "{name} {measure}: {value} {expected}");
        }
        let contract = ["transcode", "--keep-bits", "5", "--require", "psnr>=100", name, "c"];
        test.run(contract).fails(1, &["psnr>=100: psnr is "]);
    }
}
