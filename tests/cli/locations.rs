//! Where stores lie: what is a location of this build, what is refused, and what is offered instead.

use super::support::CliTest;

const ARRAY: &str = r#"{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"uint8",
    "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4]}},
    "chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes"}],"attributes":{}}"#;

const GROUP: &str = r#"{"zarr_format":3,"node_type":"group","attributes":{}}"#;

/// An array `a.zarr`.
fn with_array() -> CliTest {
    let test = CliTest::new();
    test.write("a.zarr/zarr.json", ARRAY).write("a.zarr/c/0", [1, 2, 3, 4]);
    test
}

#[test]
fn scheme_that_is_not_built_is_refused_wherever_a_location_is_taken() {
    let test = with_array();
    for url in ["abfs://c@account/x", "memory://x", "foo+bar-1.0://x", "zip::s3://b/a.zip"] {
        let commands: [&[&str]; 9] = [
            &["inspect", url],
            &["inspect", "--preview", url],
            &["validate", url],
            &["validate", "a.zarr", url],
            &["validate", "a.zarr", "--against", url],
            &["transcode", "a.zarr", url],
            &["transcode", "a.zarr", url, "--overwrite"],
            &["transcode", url, "b.zarr", "--dry-run"],
            &["apply-codec", "--like", url, "--chunk", "0", "out.npy"],
        ];
        for command in commands {
            let run = test.run(command);
            run.fails(2, &["this build does not read or write `", "file:///path"]);
            assert_eq!(test.names(), ["a.zarr"], "{command:?}");
        }
    }
}

#[test]
fn secrets_of_a_url_are_not_printed() {
    let run = CliTest::new().run(["inspect", "https://me:pass@host/a.zarr?signature=secret#x"]);
    assert!(!run.error.contains("pass") && !run.error.contains("secret"), "{}", run.error);
    run.fails(2, &["STORE `https://host/a.zarr`"]);
}

#[test]
fn file_url_is_percent_decoded_and_names_no_host() {
    let test = with_array();
    let folder = test.path("").display().to_string();
    let url =
        format!("file://{}b%20c.zarr", if folder.ends_with('/') { folder } else { format!("{folder}/") });
    test.run(["transcode", "a.zarr", &url]).succeeds();
    assert!(test.exists("b c.zarr/zarr.json"));
    test.run(["inspect", &url]).succeeds();
    test.run(["validate", "a.zarr", "--against", &url]).succeeds();
    test.run(["inspect", "file://host/a.zarr"]).fails(2, &["file:///data/a.zarr"]);
    test.run(["transcode", "a.zarr", "file://d.zarr"]).fails(2, &["names no host"]);
    test.run(["transcode", "a.zarr", "file:///%zz"]).fails(2, &["two hexadecimal digits"]);
}

#[test]
fn chain_of_other_stores_than_zip_is_refused() {
    let test = with_array();
    for name in ["a.zip|zip:inner|zstd", "a.zarr|zarr3:"] {
        test.run(["inspect", name]).fails(2, &["stores inside other ones by `|z"]);
        test.run(["transcode", "a.zarr", name]).fails(2, &["stores inside other ones by `|z"]);
    }
    test.run(["inspect", "a.zip|zip:../x"]).fails(2, &["\"../x\" is not a path inside a zip file"]);
}

/// Runs a command that fails, whatever it has on stdout: `validate` lists there what could not be read.
fn fails(test: &CliTest, command: &[&str], status: i32, texts: &[&str]) {
    let run = test.run(command);
    assert_eq!(run.status, status, "{command:?}: {}", run.error);
    for text in texts {
        assert!(run.error.contains(text), "{command:?}: {text}: {}", run.error);
    }
}

#[test]
fn file_that_is_no_store_is_named_for_what_it_is() {
    let test = with_array();
    let pointer: &[u8] = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    let files: [(&str, &[u8], &str, &str); 12] = [
        ("a.nc", b"CDF\x02\0\0\0\0", "a NetCDF classic file", "to_zarr"),
        ("b.nc", b"\x89HDF\r\n\x1a\n\0", "an HDF5 file (as NetCDF-4 files are)", "to_zarr"),
        ("c.grib2", b"GRIB\0\0\0\x02", "a GRIB file", "cfgrib"),
        ("d.npy", b"\x93NUMPY\x01\0v\0{", "a .npy file", "apply-codec"),
        ("e.tif", b"II*\0\x08\0\0\0", "a TIFF file", "bioformats2raw"),
        ("f.png", b"\x89PNG\r\n\x1a\n", "a PNG picture", "folder"),
        ("g.gz", b"\x1f\x8b\x08\0", "a gzip file", "tar -xzf"),
        ("h.zst", b"\x28\xb5\x2f\xfd\0", "a zstd file", "unzstd"),
        ("i.zarr", pointer, "a Git LFS pointer", "git lfs pull"),
        ("j.zarr", b"<!DOCTYPE html><html>", "an HTML page", "download"),
        ("k.txt", b"hello", "a file, not a folder", "zarr.json"),
        ("l.json", b"{\"a\": 1}", "a file, not a folder", "zarr.json"),
    ];
    for (name, bytes, what, help) in files {
        test.write(name, bytes);
        for path in [name.to_owned(), format!("{name}/inner")] {
            test.run(["inspect", &path]).fails(3, &[what, help]);
            fails(&test, &["validate", &path], 3, &[what, help]);
            test.run(["transcode", &path, "out.zarr"]).fails(3, &[what, help]);
            fails(&test, &["validate", "a.zarr", "--against", &path], 3, &[what, help]);
        }
    }
    assert!(!test.exists("out.zarr"));
}

#[test]
fn part_of_a_store_is_named_with_its_folder() {
    let test = with_array();
    test.run(["inspect", "a.zarr/zarr.json"])
        .fails(3, &["a document of the node `a.zarr`", "name the folder: a.zarr"]);
    test.run(["inspect", "a.zarr/c/0"])
        .fails(3, &["a chunk of the array `a.zarr`", "name the folder: a.zarr; `inspect --chunk"]);
    test.write("a.zarr/c/0.partial", "x").write("a.zarr/notes", "x");
    test.run(["inspect", "a.zarr/c/0.partial"]).fails(3, &["a file of the node `a.zarr`"]);
    test.run(["inspect", "a.zarr/notes"]).fails(3, &["a file of the node `a.zarr`"]);
    test.run(["inspect", "a.zarr/c"]).fails(3, &["nothing Zarr at `a.zarr/c`", "inside the node `a.zarr`"]);
}

#[test]
fn document_that_is_no_json_is_named_for_what_it_is() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    let test = with_array();
    test.write("a.zarr/zarr.json", pointer);
    test.run(["inspect", "a.zarr"]).fails(1, &["`a.zarr/zarr.json` is a Git LFS pointer", "git lfs pull"]);
    test.run(["transcode", "a.zarr", "b.zarr"]).fails(1, &["is a Git LFS pointer", "git lfs pull"]);
    let run = test.run(["validate", "a.zarr"]);
    assert_eq!(run.status, 1);
    assert!(
        run.text().contains("`zarr.json` is a Git LFS pointer") && run.text().contains("git lfs pull"),
        "{}",
        run.text()
    );
}

#[test]
fn node_that_is_not_there_is_answered_with_the_nearest_names() {
    let test = CliTest::new();
    test.write("ocean.zarr/zarr.json", GROUP);
    for name in ["temperature", "salinity", "deep/velocity"] {
        test.write(&format!("ocean.zarr/{name}/zarr.json"), ARRAY);
    }
    test.write("ocean.zarr/deep/zarr.json", GROUP);
    for command in ["inspect", "validate"] {
        let fails = |path: &str, texts: &[&str]| fails(&test, &[command, path], 3, texts);
        fails(
            "ocean.zarr/temprature",
            &["`ocean.zarr/temprature` does not exist", "did you mean `ocean.zarr/temperature`?"],
        );
        fails("ocean.zarr/deep/velocty", &["did you mean `ocean.zarr/deep/velocity`?"]);
        fails("ocean.zarr/xyz", &["in `ocean.zarr` there are `deep`, `salinity`, `temperature`"]);
        fails("ocaen.zarr/temperature", &["did you mean `ocean.zarr`?"]);
        fails("ocean.zarr/temperature/x", &["has no node in it"]);
        fails("elsewhere", &["check the path"]);
    }
    test.write("plain/a.zarr/zarr.json", ARRAY);
    test.run(["inspect", "plain"]).fails(3, &["there are nodes in it: `plain/a.zarr`"]);
    test.run(["transcode", "ocean.zarr/salinty", "b"]).fails(3, &["did you mean `ocean.zarr/salinity`?"]);
    fails(
        &test,
        &["validate", "ocean.zarr/salinity", "--against", "ocean.zarr/salinty"],
        3,
        &["did you mean `ocean.zarr/salinity`?"],
    );
    test.run(["inspect", "ocean.zarr", "--node", "deep/velocit"])
        .fails(3, &["did you mean `ocean.zarr/deep/velocity`?"]);
}

#[test]
fn chunk_that_is_a_pointer_is_named_for_what_it_is() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    let test = CliTest::new();
    let zstd = r#"[{"name":"bytes"},{"name":"zstd","configuration":{"level":1,"checksum":false}}]"#;
    test.write("a.zarr/zarr.json", ARRAY.replace(r#"[{"name":"bytes"}]"#, zstd)).write("a.zarr/c/0", pointer);
    let texts = ["the stored chunk is a Git LFS pointer", "git lfs pull"];
    test.run(["transcode", "a.zarr", "b.zarr", "--compress", "gzip"]).fails(1, &texts);
    for command in [&["validate", "--level", "data", "a.zarr"][..], &["inspect", "--chunk", "0", "a.zarr"]] {
        let run = test.run(command);
        assert_eq!(run.status, 1);
        assert!(
            texts.iter().all(|text| format!("{}{}", run.text(), run.error).contains(text)),
            "{}{}",
            run.text(),
            run.error
        );
    }
}

#[test]
fn group_in_place_of_an_array_and_file_above_the_destination_are_named() {
    let test = with_array();
    test.write("g.zarr/zarr.json", GROUP).write("g.zarr/x/zarr.json", ARRAY).write("file", "x");
    test.run(["apply-codec", "--like", "g.zarr", "--chunk", "0", "out"])
        .fails(3, &["is a group", "`g.zarr/x`"]);
    test.run(["transcode", "a.zarr", "file/b"])
        .fails(3, &["`file/b` cannot be made: file is a file, not a folder"]);
}

#[test]
fn destination_with_the_name_of_another_format_is_refused() {
    let test = with_array();
    let names =
        ["x.nc", "x.json", "X.TIF", "x.npy", "x.h5/", "x.parquet", "file:///tmp/x.grib2", "a.zarr/x.csv"];
    for name in names {
        test.run(["transcode", "a.zarr", name]).fails(2, &["only Zarr is written", ".zarr), or a zip file"]);
    }
    test.run(["transcode", "a.zarr", "x.nc.zarr"]).succeeds();
}
