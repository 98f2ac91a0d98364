//! Common behaviour of all stores.

pub(crate) mod faulty;

use std::ops::ControlFlow;
use std::sync::Arc;

use super::destination::NOBODY;
use super::*;
use faulty::Faults;

/// Returns an empty node of each kind of store, and the folder of the local ones.
fn nodes() -> (tempfile::TempDir, [Node; 4]) {
    let folder = tempfile::tempdir().unwrap();
    let memory = || Node::of(Arc::new(MemoryStore::new("memory")));
    let local = Node::new(folder.path().join("local"));
    let nodes = [
        local,
        memory(),
        memory().child("in/it").unwrap(),
        Faults::new([]).wrap(&Node::confined(folder.path().canonicalize().unwrap().join("faulty"))),
    ];
    nodes[0].create_root().unwrap();
    nodes[3].create_root().unwrap();
    (folder, nodes)
}

fn names(node: &Node, folder: &str) -> Vec<(String, EntryKind)> {
    let mut names = Vec::new();
    node.each_entry(folder, |key, kind, _| names.push((key.to_owned(), kind))).unwrap();
    names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    names
}

#[test]
fn objects_are_written_and_read_by_their_keys() {
    let (_folder, nodes) = nodes();
    for node in &nodes {
        let mut bytes = vec![1; 9];
        assert!(!node.read_into("c/0", 10, &mut bytes).unwrap() && bytes.is_empty());
        node.write("c/0", b"abcdef").unwrap();
        assert!(node.read_into("c/0", 6, &mut bytes).unwrap());
        assert_eq!(bytes, b"abcdef");
        let error = node.read_into("c/0", 5, &mut bytes).unwrap_err();
        assert_eq!(error.to_string(), format!("{}/c/0 holds 6 bytes, at most 5 expected", node.name()));
        assert!(node.read_into("c", 5, &mut bytes).unwrap_err().is_data_fault());
        assert!(node.read_into("../c/0", 9, &mut bytes).unwrap_err().is_data_fault());
        node.replace("c/0", b"xy").unwrap();
        node.publish("zarr.json", b"{}").unwrap();
        assert_eq!((node.size("c/0").unwrap(), node.size("c/1").unwrap()), (Some(2), None));
        assert!(matches!(node.sizes("c", &["0", "1"]).unwrap()[..], [Ok(Some(2)), Ok(None)]));
        assert!(node.remove("c/0").unwrap() && !node.remove("c/0").unwrap());
        node.sync().unwrap();
    }
}

#[test]
fn parts_of_objects_are_read() {
    let (_folder, nodes) = nodes();
    for node in &nodes {
        node.write("a", b"abcdef").unwrap();
        let key = node.prefix.join("a").unwrap();
        let mut bytes = Vec::new();
        for (part, expected) in [
            (Part::Whole, "abcdef"),
            (Part::Range { offset: 2, length: 3 }, "cde"),
            (Part::Last(2), "ef"),
            (Part::Last(9), "abcdef"),
        ] {
            let is_there = node.store.read(&key, part, 6, &mut bytes).unwrap();
            assert_eq!((is_there, bytes.as_slice()), (true, expected.as_bytes()));
        }
        assert!(node.store.read(&key, Part::Last(4), 3, &mut bytes).is_err());
        for (offset, length) in [(4, 3), (u64::MAX, 2), (7, 0)] {
            let read = node.store.read(&key, Part::Range { offset, length }, 6, &mut bytes);
            assert!(matches!(read, Err(StoreError::TooShort { found: 6, .. })), "{read:?}");
        }
        let mut reader = node.open("a", 1000).unwrap().unwrap();
        reader.read_at(1, 2, &mut bytes).unwrap();
        assert_eq!((reader.length(), bytes.as_slice()), (6, b"bc".as_slice()));
        assert!(matches!(reader.read_at(5, 2, &mut bytes), Err(StoreError::TooShort { found: 6, end: 7, .. })));
        let mut piece = [0; 4];
        let lengths: Vec<usize> =
            [0, 4, 6].iter().map(|offset| reader.read_piece(*offset, &mut piece).unwrap()).collect();
        assert_eq!(lengths, [4, 2, 0]);
        assert!(node.open("b", 1000).unwrap().is_none());
        // An object has no children.
        assert_eq!(node.size("a/b").unwrap(), None);
        assert!(matches!(node.sizes("a", &["b", "c", "d"]).unwrap()[..], [Ok(None), Ok(None), Ok(None)]));
        assert!(node.kind_of("a/b").unwrap().is_none() && node.open("a/b", 1000).unwrap().is_none());
    }
}

#[test]
fn object_that_is_written_in_order_may_change_at_its_start() {
    let (_folder, nodes) = nodes();
    for node in &nodes {
        let mut writer = node.create("c/0/0").unwrap();
        for bytes in [b"......", b"abcdef"] {
            writer.append(bytes).unwrap();
        }
        writer.write_at_start(b"index").unwrap();
        writer.finish().unwrap();
        assert_eq!(node.read_document("c/0/0").unwrap().unwrap(), b"index.abcdef");
    }
}

#[test]
fn objects_are_copied_between_stores_of_all_kinds() {
    let (_folder, nodes) = nodes();
    for from in &nodes {
        from.write("from", b"some bytes").unwrap();
        for to in &nodes {
            assert_eq!(to.copy_from(from, ("from", "to/it"), 10).unwrap(), Some(10));
            assert_eq!(to.read_document("to/it").unwrap().unwrap(), b"some bytes");
            assert!(matches!(to.copy_from(from, ("from", "x"), 9), Err(StoreError::TooLarge { .. })));
            assert_eq!(to.copy_from(from, ("none", "x"), 9).unwrap(), None);
        }
    }
}

#[test]
fn what_lies_below_a_key_is_listed() {
    let (_folder, nodes) = nodes();
    for node in &nodes {
        for key in ["zarr.json", "c/0/0", "c/0/1", "c.x", "c/1", "d/e/f"] {
            node.write(key, key.as_bytes()).unwrap();
        }
        let kind = |key: &str, kind| (key.to_owned(), kind);
        assert_eq!(
            names(node, ""),
            [
                kind("c", EntryKind::Folder),
                kind("c.x", EntryKind::File),
                kind("d", EntryKind::Folder),
                kind("zarr.json", EntryKind::File)
            ]
        );
        assert_eq!(names(node, "c"), [kind("c/0", EntryKind::Folder), kind("c/1", EntryKind::File)]);
        assert_eq!(names(node, "nothing"), []);
        let mut all = Vec::new();
        let each = &mut |entry: Entry<'_>| {
            all.push(entry.name.to_owned());
            ControlFlow::Continue(())
        };
        node.store.list(&node.prefix.join("c").unwrap(), Depth::All, each).unwrap();
        all.sort_unstable();
        assert_eq!(all, ["0/0", "0/1", "1"]);
        assert!(!node.is_empty().unwrap() && node.child("nothing").unwrap().is_empty().unwrap());
        assert_eq!(node.folders(100).unwrap().len(), 2);
        assert_eq!(node.kind_of("c").unwrap(), Some(EntryKind::Folder));
        assert_eq!(node.kind_of("c/1").unwrap(), Some(EntryKind::File));
        assert_eq!(node.kind_of("c/2").unwrap(), None);
        node.child("c").unwrap().remove_root().unwrap();
        assert_eq!(names(node, "").len(), 3);
    }
}

#[test]
fn node_knows_its_names_and_what_is_above() {
    let (folder, nodes) = nodes();
    for node in &nodes {
        let inside = node.child("a/b").unwrap();
        assert_eq!(inside.name(), format!("{}/a/b", node.name()));
        assert_eq!(inside.last_name(), "b");
        assert_eq!(inside.parent().unwrap().parent().unwrap(), *node);
        assert!(node.child("../x").is_err() && node.child("").is_err());
    }
    assert_eq!(nodes[0].parent().unwrap().name(), folder.path().display().to_string());
    assert_eq!(Node::new("a").parent().unwrap().name(), ".");
    assert_eq!(Node::new("a/b").parent().unwrap().name(), "a");
    assert!(Node::new("a").parent().unwrap().parent().is_none() && Node::new("/").parent().is_none());
    assert!(nodes[1].parent().is_none());
}

#[test]
fn log_is_locked_by_one_at_a_time_and_goes_on_after_its_first_lines() {
    const LOG: Key<'static> = Key::known(".run/log");
    let (_folder, nodes) = nodes();
    for node in [&nodes[0], &nodes[3]] {
        let mut log = node.begin_log(&LOG).unwrap();
        assert_eq!(log.lock(&NOBODY).unwrap(), Lock::Held);
        log.append(b"one\ntwo\ntor").unwrap();
        let mut other = node.begin_log(&LOG).unwrap();
        assert_eq!(other.lock(&NOBODY).unwrap(), Lock::Elsewhere(None));
        drop(log);
        assert_eq!(other.lock(&NOBODY).unwrap(), Lock::Held);
        assert_eq!(other.read(100).unwrap(), b"one\ntwo\ntor");
        other.cut(8).unwrap();
        other.append(b"three\n").unwrap();
        other.sync().unwrap();
        assert_eq!(other.read(100).unwrap(), b"one\ntwo\nthree\n");
        assert!(other.read(5).is_err() && !other.is_lost());
        node.child(".run").unwrap().remove_root().unwrap();
        assert!(other.is_lost());
    }
}

#[test]
fn what_is_whole_takes_the_place_of_what_is_there() {
    let (_folder, nodes) = nodes();
    for node in [&nodes[0], &nodes[3]] {
        let target = node.child("x").unwrap();
        let content = || target.read_document("a").unwrap();
        let begun = || {
            let beside = target.destination(true).unwrap();
            let run = beside.run();
            if !run.exists().unwrap() {
                run.create_root().unwrap();
            }
            drop(run.begin_log(&JOURNAL).unwrap());
            beside.begin().unwrap();
            beside
        };
        let first = begun();
        first.data.write("a", b"new").unwrap();
        assert!(!first.has_taken_place().unwrap());
        first.take_place(true).unwrap();
        assert!(first.has_taken_place().unwrap());
        assert_eq!(content().unwrap(), b"new");
        let second = begun();
        assert!(!second.has_taken_place().unwrap());
        second.data.write("a", b"newer").unwrap();
        assert!(second.take_place(false).is_err());
        assert_eq!(content().unwrap(), b"new");
        second.take_place(true).unwrap();
        assert_eq!(content().unwrap(), b"newer");
        assert_eq!(second.data.read_document("a").unwrap().unwrap(), b"new");
        assert!(second.has_taken_place().unwrap());
        second.clear().unwrap();
        assert_eq!(target.list("").unwrap().folders, Vec::<String>::new());
        assert!(!second.run().exists().unwrap() && !second.has_taken_place().unwrap());
    }
}

#[test]
fn node_knows_how_others_lie() {
    let (_folder, nodes) = nodes();
    for (index, node) in nodes.iter().enumerate() {
        let target = node.child("x").unwrap();
        let relation = |other: &Node| target.relation(other).unwrap();
        assert_eq!(relation(&node.child("x").unwrap()), Relation::Same);
        assert_eq!(relation(&node.child("xy").unwrap()), Relation::Apart);
        for other in [node.clone(), node.child("x/y").unwrap()] {
            assert_eq!(relation(&other), Relation::Nested);
        }
        for (other, _) in nodes.iter().zip(0..).filter(|(_, other)| *other != index) {
            assert_eq!(relation(&other.child("x").unwrap()), Relation::Apart);
        }
    }
}
