#![expect(clippy::disallowed_methods, reason = "tests write and read files")]

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use super::*;
use crate::store::Entry;

fn file(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> Node {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, bytes).unwrap();
    Node::new(path)
}

fn store(folder: &Path, references: &str, allows_file_references: bool) -> ReferenceStore {
    let options = RemoteOptions { allows_file_references, ..RemoteOptions::default() };
    ReferenceStore::new(file(folder, "in/refs.json", references), options)
}

fn read(store: &ReferenceStore, key: &str, part: Part) -> Result<Option<Vec<u8>>, String> {
    let mut bytes = vec![9];
    let found = store.read(&Key::new(key).unwrap(), part, 100, &mut bytes);
    found
        .map(|is_there| is_there.then_some(bytes))
        .map_err(|error| format!("{error}: {:?}", std::error::Error::source(&error)))
}

fn listed(store: &ReferenceStore, below: &str, depth: Depth) -> Vec<(String, EntryKind)> {
    let below = if below.is_empty() { Key::ROOT } else { Key::new(below).unwrap() };
    let mut entries = Vec::new();
    let each = &mut |entry: Entry<'_>| {
        entries.push((entry.name.to_owned(), entry.kind));
        ControlFlow::Continue(())
    };
    store.list(&below, depth, each).unwrap();
    entries
}

#[test]
fn objects_are_inline_or_whole_files_or_parts_of_them() {
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), "in/data/x.nc", b"0123456789");
    let text = r#"{"i": "text", "w": ["data/x.nc"], "p": ["./data/x.nc", 2, 5], "e": ["data/x.nc", 10, 0],
        "gone": ["y.nc", 0, 1], "long": ["data/x.nc", 8, 3]}"#;
    let store = store(folder.path(), text, false);
    let whole = |key| read(&store, key, Part::Whole).map(|bytes| bytes.map(|bytes| String::from_utf8(bytes).unwrap()));
    assert_eq!(whole("i").unwrap().as_deref(), Some("text"));
    assert_eq!(whole("w").unwrap().as_deref(), Some("0123456789"));
    assert_eq!(whole("p").unwrap().as_deref(), Some("23456"));
    assert_eq!(whole("e").unwrap().as_deref(), Some(""));
    assert_eq!(whole("none").unwrap(), None);
    assert!(whole("gone").unwrap_err().contains("y.nc`, which is not there"));
    assert!(whole("long").unwrap_err().contains("ends at byte 11 of"));
    assert_eq!(read(&store, "p", Part::Last(2)).unwrap().unwrap(), b"56");
    assert_eq!(read(&store, "i", Part::Last(9)).unwrap().unwrap(), b"text");
    assert_eq!(read(&store, "p", Part::Range { offset: 1, length: 3 }).unwrap().unwrap(), b"345");
    assert!(read(&store, "p", Part::Range { offset: 4, length: 2 }).is_err(), "it is in the file, not in the part");
    let sizes = ["i", "w", "p", "none"].map(|key| store.size(&Key::new(key).unwrap()).unwrap());
    assert_eq!(sizes, [Some(4), Some(10), Some(5), None]);
    for (key, expected) in [("i", "text"), ("w", "0123456789"), ("p", "23456")] {
        let mut reader = store.open(&Key::new(key).unwrap(), 100).unwrap().unwrap();
        let (mut part, mut piece, mut all) = (Vec::new(), [0; 3], Vec::new());
        reader.read_at(1, 2, &mut part).unwrap();
        assert_eq!(part, expected.as_bytes()[1..3]);
        assert!(reader.read_at(reader.length() - 1, 2, &mut part).is_err());
        while let count @ 1.. = reader.read_piece(all.len() as u64, &mut piece).unwrap() {
            all.extend_from_slice(&piece[..count]);
        }
        assert_eq!((all.len() as u64, &all[..]), (reader.length(), expected.as_bytes()));
    }
    assert!(store.open(&Key::new("long").unwrap(), 100).is_err());
}

#[test]
fn keys_are_listed_folder_by_folder() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"{"a/0.0": "", "a/b/c": "", "a/b/d": "", "a.b": "", "a0": "", "z/z/z": "", "../x": ""}"#;
    let store = store(folder.path(), text, false);
    let file = |name: &str| (name.to_owned(), EntryKind::File);
    let dir = |name: &str| (name.to_owned(), EntryKind::Folder);
    let unnamed = ("../x".to_owned(), EntryKind::Unnamed);
    assert_eq!(listed(&store, "", Depth::Folder), [unnamed.clone(), file("a.b"), dir("a"), file("a0"), dir("z")]);
    assert_eq!(listed(&store, "a", Depth::Folder), [file("0.0"), dir("b")]);
    assert_eq!(listed(&store, "a", Depth::All), [file("0.0"), file("b/c"), file("b/d")]);
    assert_eq!(listed(&store, "", Depth::All).len(), 7);
    assert_eq!(listed(&store, "a.b", Depth::All), []);
    let kinds = ["a", "a/b", "a/b/c", "a/", "q"].map(|key| Key::new(key).ok().map(|key| store.kind(&key).unwrap()));
    assert_eq!(
        kinds,
        [Some(Some(EntryKind::Folder)), Some(Some(EntryKind::Folder)), Some(Some(EntryKind::File)), None, Some(None)]
    );
}

#[test]
fn file_in_another_store_points_into_that_store() {
    let outer = crate::store::MemoryStore::new("memory");
    let outer = Node::of(std::sync::Arc::new(outer));
    outer.write("a/x.nc", b"0123").unwrap();
    let text = br#"{"k": ["../x.nc", 1, 2], "out": ["../../../x"], "f": ["/etc/passwd"]}"#;
    outer.write("a/b/refs.json", text).unwrap();
    let node = outer.child("a/b/refs.json").unwrap();
    let store = ReferenceStore::new(node, RemoteOptions::default());
    assert_eq!(read(&store, "k", Part::Whole).unwrap().unwrap(), b"12");
    assert!(read(&store, "out", Part::Whole).unwrap_err().contains("is outside of its store"));
    assert!(read(&store, "f", Part::Whole).unwrap_err().contains("--allow-file-references"));
}
