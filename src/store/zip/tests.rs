use std::ops::ControlFlow;
use std::sync::Arc;

use self::builder::{Member, end_record, zip, zip_with};
use crate::store::tests::faulty::{Faults, StoreCall};
use crate::store::{Depth, EntryKind, Key, MemoryStore, Node, Part, PrefetchLimit, Store, StoreError, ZipStore};

#[path = "../../../tests/support/zip.rs"]
mod builder;

/// Returns the store of a zip file.
fn store_of(bytes: &[u8]) -> ZipStore {
    let outer = Node::of(Arc::new(MemoryStore::new("memory")));
    outer.write("a.zip", bytes).unwrap();
    ZipStore::new(outer.child("a.zip").unwrap())
}

fn node_of(members: &[Member]) -> Node {
    Node::of(Arc::new(store_of(&zip(members))))
}

fn fault(members: &[Member]) -> String {
    node_of(members).kind().unwrap_err().to_string()
}

/// Bytes that hardly compress and differ everywhere.
fn bytes(length: usize) -> Vec<u8> {
    let words = (0_u64..).map(|index| index.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17));
    words.flat_map(u64::to_le_bytes).take(length).collect()
}

#[test]
fn members_are_read_whole_and_in_parts_whatever_stores_them() {
    for length in [0, 1, 5000, 3 << 20] {
        let content = bytes(length);
        let node = node_of(&[
            Member::stored("zarr.json", "{}"),
            Member::stored("s", &content),
            Member::deflated("d", &content),
            Member::by_zstd("z", &content),
        ]);
        for key in ["s", "d", "z"] {
            assert_eq!(node.read_document(key).unwrap().unwrap(), content);
            assert_eq!(node.size(key).unwrap(), Some(length as u64));
            let mut reader = node.open(key, 1000).unwrap().unwrap();
            let (half, mut part) = (length / 2, Vec::new());
            for (offset, size) in [(half, length - half), (0, half), (half, half.min(3)), (length, 0)] {
                reader.read_at(offset as u64, size as u64, &mut part).unwrap();
                assert_eq!(part, content[offset..offset + size], "{key}");
            }
            assert!(reader.read_at(length as u64, 1, &mut part).is_err());
            let (mut all, mut piece) = (Vec::new(), vec![0; 1000]);
            while let count @ 1.. = reader.read_piece(all.len() as u64, &mut piece).unwrap() {
                all.extend_from_slice(&piece[..count]);
            }
            assert_eq!(all, content);
            assert!(node.store.read(&Key::new(key).unwrap(), Part::Last(3), 3, &mut part).unwrap());
            assert_eq!(part, content[length.saturating_sub(3)..]);
            if length > 0 {
                let whole = node.store.read(&Key::new(key).unwrap(), Part::Whole, length as u64 - 1, &mut part);
                assert!(matches!(whole, Err(StoreError::TooLarge { .. })));
            }
        }
    }
}

#[test]
fn compressed_members_are_read_in_parts_up_to_a_bound() {
    let content = bytes(17 << 20);
    let large = Member { bytes: (1 << 30) + 1, is_zip64: true, ..Member::deflated("large", &content) };
    let node = node_of(&[Member::stored("zarr.json", "{}"), Member::deflated("d", &content), large]);
    let reader = node.open("d", 1000).unwrap().unwrap();
    let mut part = Vec::new();
    for offset in [content.len() - 8, 100, 108, 1 << 20, 5] {
        reader.read_at(offset as u64, 8, &mut part).unwrap();
        assert_eq!(part, content[offset..offset + 8]);
    }
    let error = node.open("large", u64::MAX).err().unwrap();
    assert!(error.is_data_fault() && error.to_string().contains("above 1 GiB must be stored"), "{error}");
}

#[test]
fn members_are_listed_as_in_folders() {
    let names = ["zarr.json", "c/0/0", "c/0/1", "c/0-x", "c.x", "c/1", "d/", "e/", "e/f/"];
    let node = node_of(&names.map(|name| Member::stored(name, "")));
    let list = |folder| {
        let mut found = Vec::new();
        node.each_entry(folder, |key, kind, _| found.push((key.to_owned(), kind))).unwrap();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found
    };
    let folder = |key: &str| (key.to_owned(), EntryKind::Folder);
    let file = |key: &str| (key.to_owned(), EntryKind::File);
    assert_eq!(list(""), [folder("c"), file("c.x"), folder("d"), folder("e"), file("zarr.json")]);
    assert_eq!(list("c"), [folder("c/0"), file("c/0-x"), file("c/1")]);
    assert_eq!(list("e"), [folder("e/f")]);
    assert_eq!((list("d"), list("nothing")), (vec![], vec![]));
    let mut all = Vec::new();
    let each = &mut |entry: crate::store::Entry<'_>| {
        all.push(entry.name.to_owned());
        ControlFlow::Continue(())
    };
    node.store.list(&Key::ROOT, Depth::All, each).unwrap();
    assert_eq!(all, ["c.x", "c/0-x", "c/0/0", "c/0/1", "c/1", "zarr.json"]);
    let kind = |key| node.kind_of(key).unwrap();
    assert_eq!(
        (kind("c"), kind("c/1"), kind("e/f")),
        (Some(EntryKind::Folder), Some(EntryKind::File), Some(EntryKind::Folder))
    );
    assert_eq!((kind("c/2"), kind("c/1/x"), kind("zarr")), (None, None, None));
    assert!(matches!(node.open("c", 1000), Err(StoreError::NotAFile { .. })));
    assert!(matches!(node.sizes("", &["zarr.json", "none"]).unwrap()[..], [Ok(Some(0)), Ok(None)]));
}

#[test]
fn one_folder_that_holds_all_is_taken_and_may_be_named() {
    let node = node_of(&[
        Member::stored("top/", ""),
        Member::stored("top/zarr.json", "{}"),
        Member::stored("top/x/zarr.json", "x"),
        Member::stored("__MACOSX/._top", ""),
    ]);
    for key in ["zarr.json", "top/zarr.json"] {
        assert_eq!(node.read_document(key).unwrap().unwrap(), b"{}");
    }
    assert_eq!(node.read_document("x/zarr.json").unwrap().unwrap(), b"x");
    assert_eq!(node.list("").unwrap().folders, ["x"]);
    // Here the folder `c` inside `c` is meant.
    let node = node_of(&[Member::stored("c/zarr.json", "{}"), Member::stored("c/c/0", "1")]);
    assert_eq!(node.read_document("c/0").unwrap().unwrap(), b"1");
    for others in [["a/zarr.json", "b/zarr.json"], ["a/zarr.json", "x"]] {
        let node = node_of(&others.map(|name| Member::stored(name, "")));
        assert!(node.open("zarr.json", 1000).unwrap().is_none() && node.open("a/zarr.json", 1000).unwrap().is_some());
    }
}

#[test]
fn zip_may_have_what_stands_before_it_and_a_comment_that_looks_like_an_end() {
    let members = [Member::stored("zarr.json", "{}"), Member::stored("c/0", "1234")];
    let fakes =
        [end_record(3, 9, 9, b""), end_record(0, 0, 0, b"and more"), b"PK\x05\x06".to_vec(), vec![b'x'; 65_535]];
    for (prefix, comment) in fakes.iter().map(|fake| (&b""[..], &fake[..])).chain([(&b"#!/bin/sh"[..], &b"x"[..])]) {
        let node = Node::of(Arc::new(store_of(&zip_with(prefix, &members, comment))));
        assert_eq!(node.read_document("c/0").unwrap().unwrap(), b"1234");
    }
    // Offsets from the zip's own start.
    let shifted = [b"prefix".to_vec(), zip(&members)].concat();
    assert_eq!(Node::of(Arc::new(store_of(&shifted))).read_document("c/0").unwrap().unwrap(), b"1234");
}

#[test]
fn zip64_is_read() {
    let mut members = [Member::stored("zarr.json", "{}"), Member::stored("c/0", "1234")];
    for member in &mut members {
        member.is_zip64 = true;
    }
    assert_eq!(node_of(&members).read_document("c/0").unwrap().unwrap(), b"1234");
    members[1].header = Some(1 << 40);
    assert!(fault(&members).contains("ends beyond the end"));
    members[1].header = Some(u64::MAX);
    assert!(fault(&members).contains("is damaged"));
    // A 16-bit count that has wrapped.
    let many: Vec<Member> = (0..70_000).map(|index| Member::stored(&format!("c/{index}"), "")).collect();
    let node = node_of(&many);
    assert_eq!((node.kind_of("69999").unwrap(), node.kind_of("70000").unwrap()), (Some(EntryKind::File), None));
}

#[test]
fn file_that_is_no_zip_is_a_file() {
    for bytes in [&b""[..], b"no zip", b"<!DOCTYPE html>"] {
        let node = Node::of(Arc::new(store_of(bytes)));
        assert_eq!(node.kind().unwrap(), Some(EntryKind::File));
        assert_eq!(node.first_bytes(100).unwrap(), bytes);
        assert!(node.open("zarr.json", 1000).unwrap().is_none() && node.is_empty().unwrap());
    }
    let nothing = ZipStore::new(Node::of(Arc::new(MemoryStore::new("memory"))).child("a.zip").unwrap());
    let node = Node::of(Arc::new(nothing));
    assert!(!node.exists().unwrap());
    assert_eq!((node.name(), node.parent().unwrap().name()), ("memory/a.zip".into(), "memory".into()));
}

#[test]
fn cut_and_damaged_directories_are_errors() {
    let whole = zip(&[Member::stored("zarr.json", "{}"), Member::deflated("c/0", bytes(100))]);
    for length in 4..whole.len() {
        let error = store_of(&whole[..length]).kind(&Key::ROOT).unwrap_err();
        assert!(error.to_string().starts_with("memory/a.zip is damaged: "), "{length}: {error}");
    }
    let start = whole.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    let mut no_member = whole.clone();
    no_member[start] = 0;
    assert!(store_of(&no_member).kind(&Key::ROOT).is_err());
    let mut count = whole.clone();
    let end = whole.len() - 22;
    count[end + 8..end + 12].copy_from_slice(&[3, 0, 3, 0]);
    let error = store_of(&count).kind(&Key::ROOT).unwrap_err();
    assert_eq!(error.to_string(), "memory/a.zip is damaged: its directory claims 3 entries and has 2");
}

#[test]
fn names_that_lead_out_and_members_that_overlap_are_errors() {
    let with = |name: &str| fault(&[Member::stored("zarr.json", "{}"), Member::stored(name, "")]);
    assert_eq!(with("/etc/x"), "memory/a.zip is damaged: the name of its member \"/etc/x\" is an absolute path");
    for name in ["../x", "a/../../x", "a/.."] {
        assert!(with(name).contains(&format!("the name of its member {name:?} points outside of it")));
    }
    let mut twice = [Member::stored("a", "1234"), Member::stored("b", "1234")];
    twice[1].header = Some(0);
    assert!(fault(&twice).contains("its members \"a\" and \"b\" overlap") || fault(&twice).contains("\"b\" and \"a\""));
    // Not valid keys, but harmless.
    let node = node_of(&[Member::stored("./a", ""), Member::stored("a//b", ""), Member::stored("zarr.json", "{}")]);
    assert_eq!(node.list("").unwrap().unnamed, ["./a", "a//b"]);
}

#[test]
fn members_that_cannot_be_read_say_why() {
    let good = Member::stored("c/0", "1234");
    let cases: [(Member, &str); 8] = [
        (Member { flags: 1, ..good.clone() }, "it is encrypted"),
        (Member { method: 12, ..good.clone() }, "its compression method 12 is not supported"),
        (Member { crc32: 0, ..good.clone() }, "its checksum is 9be3e0a3, 00000000 expected"),
        (Member { bytes: 5, ..good.clone() }, "it holds 4 bytes, 5 expected"),
        (Member { header_name: Some(b"c/1".to_vec()), ..good.clone() }, "its header is missing"),
        (Member { bytes: 99, ..Member::deflated("c/0", "1234") }, "4 bytes were decoded, 99 expected"),
        (Member { bytes: 3, ..Member::by_zstd("c/0", "1234") }, "4 bytes were decoded, 3 expected"),
        (Member { method: 8, ..Member::stored("c/0", [7; 100]) }, "it cannot be decompressed"),
    ];
    for (member, reason) in cases {
        let node = node_of(&[Member::stored("zarr.json", "{}"), member.clone()]);
        let error = node.read_document("c/0").unwrap_err();
        assert!(error.is_data_fault() && error.to_string().contains(reason), "{reason}: {error}");
        let is = if member.method == 12 { "not read" } else { "damaged" };
        assert!(error.to_string().starts_with(&format!("memory/a.zip/c/0 is {is}: ")), "{error}");
        let copied = Node::of(Arc::new(MemoryStore::new("other"))).copy_from(&node, ("c/0", "x"), 1000);
        assert!(copied.is_err(), "{reason}");
    }
    let node = node_of(&[Member::stored("zarr.json", "{}"), good.clone(), good]);
    assert!(node.read_document("c/0").unwrap_err().to_string().contains("there are two members of this name"));
    assert!(node.read_document("zarr.json").unwrap().is_some());
}

#[test]
fn bombs_cost_what_is_asked_for() {
    let zeros = vec![0; 64 << 20];
    let node = node_of(&[Member::deflated("d", &zeros), Member::by_zstd("z", &zeros), Member::stored("x", "")]);
    let mut bytes = Vec::new();
    for key in ["d", "z"] {
        assert!(matches!(node.read_into(key, 1000, &mut bytes), Err(StoreError::TooLarge { .. })));
        assert!(bytes.capacity() < 1 << 20);
    }
    // A member with a smaller declared size than its contents.
    for member in [Member::deflated("d", &zeros), Member::by_zstd("d", &zeros)] {
        let node = node_of(&[Member { bytes: 1000, ..member }, Member::stored("x", "")]);
        let mut bytes = Vec::new();
        assert!(node.read_into("d", 1000, &mut bytes).is_err());
        assert!(bytes.capacity() < 1 << 20);
    }
}

#[test]
fn zip_in_a_zip_is_read_by_ranges() {
    let inner = zip(&[Member::stored("zarr.json", "{}"), Member::deflated("c/0", "1234")]);
    for member in [Member::stored("b.zip", &inner), Member::deflated("b.zip", &inner)] {
        let file = node_of(&[member, Member::stored("x", "")]).child("b.zip").unwrap();
        let node = Node::of(Arc::new(ZipStore::new(file)));
        assert_eq!(node.read_document("c/0").unwrap().unwrap(), b"1234");
        assert_eq!(node.name(), "memory/a.zip/b.zip");
    }
}

#[test]
fn writer_knows_zip64_and_keeps_the_last_of_a_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.zip");
    let node = Node::of(Arc::new(ZipStore::new(Node::new(&path))));
    let destination = node.destination(false).unwrap();
    destination.run().create_root().unwrap();
    let staging = &destination.data;
    for index in 0..70_000 {
        staging.write(&format!("c/{index}"), b"").unwrap();
    }
    for text in ["old", "new"] {
        staging.write("zarr.json", text.as_bytes()).unwrap();
        assert_eq!(staging.read_document("zarr.json").unwrap().unwrap(), text.as_bytes());
    }
    staging.write("gone/x", b"").unwrap();
    assert!(staging.remove("gone/x").unwrap() && !staging.remove("gone/x").unwrap());
    staging.publish("last", b"").unwrap();
    destination.take_place(false).unwrap();
    destination.clear().unwrap();
    assert_eq!(node.read_document("zarr.json").unwrap().unwrap(), b"new");
    assert_eq!(node.list("c").unwrap().files.len(), 70_000);
    assert_eq!(node.kind_of("gone").unwrap(), None);
    assert!(destination.take_place(false).is_err());
    assert_eq!(Node::new(folder.path()).list("").unwrap().files, ["a.zip"]);
}

/// Reads all listed members. Each must have its listed length.
fn read_all(bytes: &[u8]) {
    let node = Node::of(Arc::new(store_of(bytes)));
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let Ok(listing) = node.list(&folder) else { return };
        for key in listing.files {
            let length = node.size(&key).unwrap().unwrap();
            let mut whole = Vec::new();
            if node.read_into(&key, 1 << 20, &mut whole).is_ok() {
                assert_eq!(whole.len() as u64, length);
            } else if let Ok(Some(reader)) = node.open(&key, 1000) {
                let _ = reader.read_at(length / 2, (length - length / 2).min(1000), &mut whole);
            }
        }
        folders.extend(listing.folders);
    }
}

#[test]
fn every_byte_may_be_another() {
    let mut members =
        [Member::stored("zarr.json", "{}"), Member::deflated("c/0", bytes(40)), Member::by_zstd("c/1", bytes(40))];
    members[0].is_zip64 = true;
    let good = zip(&members);
    read_all(&good);
    for at in 0..good.len() {
        for other in [0, 1, good[at] ^ 1, good[at] ^ 0x80, 0xff] {
            let mut damaged = good.clone();
            damaged[at] = other;
            read_all(&damaged);
        }
    }
}

#[test]
fn store_below_is_told_what_is_read_of_it() {
    let faults = Faults::hearing(PrefetchLimit { requests: 4, bytes: 1 << 20 });
    let outer = Node::of(Arc::new(MemoryStore::new("memory")));
    let large = bytes(2 << 20);
    let members = [Member::stored("c/0", "1234"), Member::stored("c/1", &large), Member::deflated("c/2", &large)];
    outer.write("a.zip", &zip(&members)).unwrap();
    let node = Node::of(Arc::new(ZipStore::new(faults.wrap(&outer.child("a.zip").unwrap()))));
    assert!(node.prefetch_limit().is_some() && node.exists().unwrap());
    let before = faults.heard().len();
    let soon = ["c/0", "c/1", "c/2", "c/3"].map(|key| (key.to_owned(), Part::Whole));
    node.prefetch(&soon);
    for (key, content) in [("c/0", &b"1234"[..]), ("c/1", &large), ("c/2", &large)] {
        assert_eq!(node.read_document(key).unwrap().unwrap(), content);
    }
    let heard = faults.heard().split_off(before);
    let (expected, read): (Vec<_>, Vec<_>) =
        heard.into_iter().partition(|heard| matches!(heard, StoreCall::Expected(..)));
    let parts = |heard: Vec<StoreCall>| -> Vec<Part> {
        heard
            .into_iter()
            .map(|heard| match heard {
                StoreCall::Expected(_, part) | StoreCall::Read(_, part) => part,
            })
            .collect()
    };
    assert_eq!((expected.len(), parts(expected)), (3, parts(read)));
}
