//! `transcode` in parts: where a job begins, and what others have left there.

use super::parts::{command, field, init, part};
use super::support::CliTest;
use super::two_passes::{files, write_planes};

#[test]
fn job_begins_where_nothing_but_empty_folders_is() {
    let test = CliTest::new();
    field(&test, "a");
    for folder in ["b", "b2/.zarrcast"] {
        std::fs::create_dir_all(test.path(folder)).unwrap();
        let destination = folder.split('/').next().unwrap();
        // As after a kill before the plan was sealed.
        assert_eq!(init(&test, &[], "2", destination)["was_there"], false);
        assert_eq!(init(&test, &[], "2", destination)["was_there"], true);
        for index in 0..2 {
            part(&test, destination, index).succeeds();
        }
        command(&test, destination, "--finish").succeeds();
        assert!(!test.exists(&format!("{destination}/.zarrcast")));
        let refused = test.run(["transcode", "a", destination, "--init", "--partitions", "2"]);
        let refused = refused.fails(3, &["exists already", "remove first what is there"]);
        assert!(!refused.error.contains("--overwrite"), "{}", refused.error);
    }
}

/// A part that was planned before DEST was removed and planned anew ends after that.
#[test]
fn part_of_a_job_that_was_removed_counts_for_nothing() {
    let test = CliTest::new();
    field(&test, "a");
    init(&test, &["--compress", "zstd:1"], "2", "b");
    part(&test, "b", 0).succeeds();
    let old = test.all_files("b");
    std::fs::remove_dir_all(test.path("b")).unwrap();
    init(&test, &["--compress", "gzip:9"], "2", "b");
    for (key, bytes) in &old {
        if key != ".zarrcast/plan.json" {
            test.write(&format!("b/{key}"), bytes);
        }
    }
    let status = command(&test, "b", "--status");
    assert!(status.error.contains("is of another job"), "{}", status.error);
    assert_eq!(status.json()["passes"][0]["missing"], "0-1");
    for index in 0..2 {
        assert_eq!(part(&test, "b", index).succeeds().json()["was_done"], false);
    }
    let finished = command(&test, "b", "--finish");
    assert!(finished.status == 0 && finished.error.contains("is of another job"), "{}", finished.error);
    test.run(["transcode", "-q", "--compress", "gzip:9", "a", "whole"]).succeeds();
    assert!(files(&test.path("b")) == files(&test.path("whole")));
}

/// What a part leaves that ends late, or a finish that was killed at the last.
#[test]
fn what_is_left_in_a_complete_destination_is_explained_and_removed() {
    let test = CliTest::new();
    field(&test, "a");
    init(&test, &[], "2", "b");
    (0..2).for_each(|index| drop(part(&test, "b", index).succeeds()));
    command(&test, "b", "--finish").succeeds();
    let wanted = files(&test.path("b"));
    for left in ["b/.zarrcast", "b/.zarrcast/7f/done/write"] {
        std::fs::create_dir_all(test.path(left)).unwrap();
        if left.ends_with("write") {
            test.write(&format!("{left}/0.json"), b"");
        }
        let found = test.run(["validate", "--level", "keys", "b"]);
        assert!(found.text().contains("ZK202") && found.text().contains("`--finish`"), "{}", found.text());
        assert_eq!(command(&test, "b", "--status").status, 0);
        assert!(test.exists(left));
        assert_eq!(command(&test, "b", "--finish").status, 0);
        assert!(!test.exists("b/.zarrcast"), "{left}");
        assert!(files(&test.path("b")) == wanted);
    }
}

#[test]
fn pass_for_intermediate_data_has_no_more_parts_than_there_are_stored_objects() {
    let test = CliTest::new();
    write_planes(&test, "a", false);
    let planned = init(&test, &["-c", "0,5,6", "-s", "0,20,24", "--max-memory", "560000"], "100", "b");
    let partitions = |pass: usize| planned["passes"][pass]["partitions"].as_u64().unwrap();
    assert_eq!(planned["passes"][0]["name"], "staging", "{planned}");
    assert!(partitions(0) <= planned["objects"].as_u64().unwrap(), "{planned}");
}
