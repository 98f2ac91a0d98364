//! `--select`: a part of an array, or of the arrays of a hierarchy that have a dimension.

use serde_json::{Value, json};

use super::support::{CliTest, Run};

const SHAPE: [usize; 3] = [11, 9, 7];

fn document(chunk_grid: &Value) -> Value {
    json!({
        "shape": SHAPE, "data_type": "int16", "chunk_grid": chunk_grid, "fill_value": -7, "attributes": {"units": "K"},
        "dimension_names": ["time", "y", "x"],
    })
}

fn regular(shape: [usize; 3]) -> Value {
    json!({"name": "regular", "configuration": {"chunk_shape": shape}})
}

fn int16(bytes: &[u8]) -> Vec<i16> {
    bytes.as_chunks::<2>().0.iter().map(|bytes| i16::from_le_bytes(*bytes)).collect()
}

/// Returns the elements of an array, decoded into one chunk.
fn elements(test: &CliTest, store: &str) -> Vec<i16> {
    let run =
        test.zarrcast(format!("transcode --overwrite --write-empty-chunks --codecs none -c 0,0,0 '{store}' whole"));
    assert_eq!(run.status, 0, "{}", run.error);
    // A v2 SOURCE keeps its keys.
    let key = ["whole/c/0/0/0", "whole/0/0/0"].into_iter().find(|key| test.exists(key));
    key.map_or_else(
        || {
            let inspected = test.run(["inspect", "--json", store]).json();
            assert_eq!(inspected["fill_value"], -7, "where nothing is stored");
            let shape: Vec<usize> = serde_json::from_value(inspected["shape"].clone()).unwrap();
            vec![-7; shape.iter().product()]
        },
        |key| int16(&test.read(key)),
    )
}

/// Writes one array in many forms. Each element is its own number, and the corner [8.., 6.., ..] is missing.
fn stores() -> (CliTest, Vec<&'static str>, Vec<i16>) {
    let test = CliTest::new();
    let [time, y, x] = SHAPE;
    // The array in one chunk, then without a corner of chunks. The corner has the fill value, so small chunks are not
    // written.
    let absent = |place: usize| place / (y * x) >= 8 && place / x % y >= 6;
    let values: Vec<i16> =
        (0..time * y * x).map(|place| if absent(place) { -7 } else { i16::try_from(place).unwrap() }).collect();
    test.array("one", document(&regular(SHAPE)));
    test.write("one/c/0/0/0", values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>());
    let forms: [(&str, &[&str]); 5] = [
        ("plain", &["-c", "4,3,7"]),
        ("packed", &["-c", "4,3,7", "--compress", "zstd:3,crc32c"]),
        ("sharded", &["-c", "2,3,7", "-s", "4,6,7", "--compress", "gzip:5"]),
        ("wide", &["-c", "4,3,2", "-s", "12,9,8"]),
        ("old", &["-c", "4,3,7", "--zarr-format", "2"]),
    ];
    for (name, options) in forms {
        let run = test.run(["transcode"].iter().chain(options).chain(&["one", name]));
        assert_eq!(run.status, 0, "{name}: {}", run.error);
    }
    // Chunks of several lengths, as the specification of the grid allows.
    let lengths = json!([[4, 3, [2, 2]], [9], [[3, 3]]]);
    let grid = json!({"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": lengths}});
    test.array("ragged", document(&grid));
    let (mut first, chunks) = (0, [4, 3, 2, 2]);
    for (index, length) in chunks.into_iter().enumerate() {
        for column in 0..3 {
            let mut bytes = Vec::new();
            for place in first * y..(first + length) * y {
                for inside in column * 3..column * 3 + 3 {
                    // Elements outside the array may have any value.
                    let value = if inside < x { values[place * x + inside] } else { 99 };
                    bytes.extend(value.to_le_bytes());
                }
            }
            test.write(&format!("ragged/c/{index}/0/{column}"), bytes);
        }
        first += length;
    }
    (test, vec!["plain", "packed", "sharded", "wide", "old", "ragged"], values)
}

fn sliced(values: &[i16], ends: [[usize; 2]; 3]) -> Vec<i16> {
    let [_, y, x] = SHAPE;
    let mut taken = Vec::new();
    for t in ends[0][0]..ends[0][1] {
        for row in ends[1][0]..ends[1][1] {
            let first = (t * y + row) * x;
            taken.extend(&values[first + ends[2][0]..first + ends[2][1]]);
        }
    }
    taken
}

fn node(run: &Run) -> Value {
    assert_eq!(run.status, 0, "{}", run.error);
    let node = run.json()["nodes"][0].clone();
    assert_eq!(node["verify"]["equal"], true);
    node
}

#[test]
fn part_has_the_elements_of_the_slice_whatever_the_store_and_what_else_is_asked_for() {
    let (test, stores, values) = stores();
    let slices: [(&str, [[usize; 2]; 3]); 7] = [
        ("time=4:8", [[4, 8], [0, 9], [0, 7]]),
        ("time=0:5,x=1:", [[0, 5], [0, 9], [1, 7]]),
        ("y=3:8", [[0, 11], [3, 8], [0, 7]]),
        ("time=-4:-1,y=2:3,x=:2", [[7, 10], [2, 3], [0, 2]]),
        ("time=8:,y=6:", [[8, 11], [6, 9], [0, 7]]),
        ("time=10:11,y=8:9,x=6:7", [[10, 11], [8, 9], [6, 7]]),
        ("time=2:9,y=4:9,x=4:6", [[2, 9], [4, 9], [4, 6]]),
    ];
    let others: [&[&str]; 5] = [
        &[],
        &["-c", "3,2,4", "-s", "none"],
        &["-c", "2,2,2", "-s", "4,4,4", "--compress", "zstd:1"],
        &["--data-type", "int32", "--max-memory", "4MiB"],
        &["--fill-value", "5", "--threads", "1"],
    ];
    for store in stores {
        assert_eq!(elements(&test, store), values, "{store}");
        for (slice, ends) in slices {
            for options in others {
                // A cut of a rectilinear grid is a grid that no option requests.
                let is_cut = store == "ragged" && !options.contains(&"-c");
                // v2 has no shards.
                if is_cut || (store == "old" && options.contains(&"4,4,4")) {
                    continue;
                }
                let what = format!("--select {slice} {options:?} {store}");
                let fixed = ["transcode", "--json", "--verify", "--overwrite", "--select", slice];
                let run = test.run(fixed.iter().chain(options).chain(&[store, "out"]));
                assert_eq!(run.status, 0, "{what}: {}", run.error);
                let node = node(&run);
                let selection: Vec<[usize; 2]> = serde_json::from_value(node["selection"].clone()).unwrap();
                assert_eq!(selection, ends, "{what}");
                let elements_of_it: usize = ends.iter().map(|[start, stop]| stop - start).product();
                assert_eq!(node["verify"]["elements"], elements_of_it, "{what}");
                if options.is_empty() {
                    assert_eq!(test.run(["validate", "--level", "data", "out"]).status, 0, "{what}");
                }
                if options.contains(&"int32") {
                    let back = ["transcode", "--overwrite", "--data-type", "int16", "out", "back"];
                    assert_eq!(test.run(back).status, 0, "{what}");
                    assert_eq!(elements(&test, "back"), sliced(&values, ends), "{what}");
                } else {
                    assert_eq!(elements(&test, "out"), sliced(&values, ends), "{what}");
                }
            }
        }
    }
}

#[test]
fn chunks_that_stay_whole_are_moved_as_they_are() {
    let (test, ..) = stores();
    // Chunks with other bytes than the chain would encode, to show that they are copied from SOURCE.
    test.run(["transcode", "--compress", "zstd:19:checksum,crc32c", "plain", "strong"]).succeeds();
    for key in ["c/0/0/0", "c/1/1/0", "c/1/2/0", "c/2/1/0"] {
        test.write(&format!("packed/{key}"), test.read(&format!("strong/{key}")));
    }
    for store in ["plain", "packed"] {
        let out = format!("part of {store}");
        let run = test.run(["transcode", "--json", "--verify", "--select", "time=4:,y=3:", store, &out]);
        assert_eq!(node(&run)["route"], "copy");
        for (from, to) in [("c/1/1/0", "c/0/0/0"), ("c/1/2/0", "c/0/1/0"), ("c/2/1/0", "c/1/0/0")] {
            assert_eq!(test.read(&format!("{store}/{from}")), test.read(&format!("{out}/{to}")));
        }
        assert!(!test.exists(&format!("{out}/c/1/1")), "it is not stored in SOURCE");
    }
    let run = test.run(["transcode", "--json", "--verify", "--select", "time=:6", "packed", "cut"]);
    assert_eq!(node(&run)["route"], "recode");
    assert_eq!(test.read("cut/c/0/0/0"), test.read("packed/c/0/0/0"));
    assert_ne!(test.read("cut/c/1/0/0"), test.read("packed/c/1/0/0"));
}

#[test]
fn what_is_cut_off_is_nowhere_in_dest() {
    let (test, ..) = stores();
    test.run(["transcode", "--select", "time=0:5,x=0:6", "plain", "cut"]).succeeds();
    for (name, bytes) in test.all_files("cut") {
        if name.ends_with("json") {
            continue;
        }
        let found = int16(&bytes);
        assert_eq!(found.len(), 4 * 3 * 7, "{name}");
        for (place, value) in found.into_iter().enumerate() {
            let is_inside = value != -7;
            let (t, x) = (usize::try_from(value.max(0)).unwrap() / 63, usize::try_from(value.max(0)).unwrap() % 7);
            assert!(!is_inside || (t < 5 && x < 6), "{name}: {value} at {place}");
        }
    }
}

#[test]
fn inner_chunks_that_stay_whole_are_moved_between_shards() {
    let (test, _, values) = stores();
    let run = test.run(["transcode", "--json", "--verify", "--select", "time=2:8", "sharded", "part"]);
    assert_eq!(node(&run)["route"], "reshard");
    assert_eq!(elements(&test, "part"), sliced(&values, [[2, 8], [0, 9], [0, 7]]));
    let run = test.zarrcast("transcode --json --verify -s none --select time=2:8 sharded flat");
    assert_eq!(node(&run)["route"], "reshard");
    assert_eq!(elements(&test, "flat"), sliced(&values, [[2, 8], [0, 9], [0, 7]]));
}

#[test]
fn picture_of_a_part_compares_the_same_elements() {
    let test = CliTest::new();
    let chunks: Vec<Option<[f32; 4]>> =
        (0_u8..8).map(|chunk| Some([0.0, 1.0, 2.0, 3.0].map(|step| f32::from(chunk) * 4.0 + step))).collect();
    test.write_float32("a", "\"NaN\"", &chunks);
    for select in ["0=8:24", "0=9:25"] {
        let options =
            ["transcode", "--overwrite", "--max-error", "0.1", "--select", select, "--report", "r.html", "a", "b"];
        test.run(options).succeeds();
        let page = String::from_utf8(test.read("r.html")).unwrap();
        assert!(page.contains("selected") && !page.contains("no finite value"), "{page}");
        // The histogram of errors ends at the bound or the greatest error. Wrongly paired elements would differ by
        // whole steps.
        let (_, errors) = page.split_once("bins of equal width from -").unwrap();
        let least: f64 = errors.split_once(' ').unwrap().0.parse().unwrap();
        assert!(least <= 0.1, "{least}");
    }
}

#[test]
fn names_are_those_that_the_array_has() {
    let (test, _, values) = stores();
    let run = ["transcode", "--dimension-names", "x,time,y", "--select", "time=2:4", "plain", "b"];
    test.run(run).succeeds();
    assert_eq!(elements(&test, "b"), sliced(&values, [[2, 4], [0, 9], [0, 7]]));
}

#[test]
fn part_is_written_in_parts_and_resumed_like_any_array() {
    let (test, _, values) = stores();
    let whole = [[3, 10], [0, 9], [2, 6]];
    let select = "time=3:10,x=2:6";
    test.run(["transcode", "--select", select, "-c", "2,3,4", "packed", "once"]).succeeds();
    test.zarrcast(format!("transcode --select '{select}' -c 2,3,4 packed parts --init --partitions 3")).succeeds();
    for part in ["2", "0", "1"] {
        test.run(["transcode", "packed", "parts", "--partition", part]).succeeds();
    }
    test.run(["transcode", "packed", "parts", "--finish"]).succeeds();
    assert_eq!(test.all_files("parts"), test.all_files("once"));
    assert_eq!(elements(&test, "parts"), sliced(&values, whole));
    let other = ["transcode", "--select", select, "packed", "parts", "--partition", "0"];
    test.run(other).fails(2, &["the plan from --init already has the options of the job"]);
    let plan = test.run(["transcode", "--json", "--dry-run", "--select", select, "packed", "planned"]);
    assert_eq!(plan.json()["nodes"][0]["bytes_logical"], 7 * 9 * 4 * 2);
}
