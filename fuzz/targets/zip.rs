//! Zip files: whatever the directory and the members say, what is listed is what is found and read, and nothing else.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use zarrcast::store::{MemoryStore, Node, ZipStore};

/// Objects of more than this are not read.
const MOST_BYTES: u64 = 1 << 20;

fuzz_target!(|bytes: &[u8]| {
    let outer = Node::of(Arc::new(MemoryStore::new("memory")));
    outer.write("a.zip", bytes).unwrap();
    let zip = Node::of(Arc::new(ZipStore::new(outer.child("a.zip").unwrap())));
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let Ok(listing) = zip.list(&folder) else { return };
        for key in listing.files {
            let length = zip.size(&key).unwrap().unwrap();
            let mut whole = Vec::new();
            if let Ok(found) = zip.read_into(&key, MOST_BYTES, &mut whole) {
                assert!(found && whole.len() as u64 == length);
                read_in_parts(&zip, &key, &whole);
            } else if let Ok(Some(reader)) = zip.open(&key) {
                let offset = length / 2;
                let _ = reader.read_at(offset, (length - offset).min(1000), &mut whole);
            }
        }
        folders.extend(listing.folders);
    }
});

/// What is read in parts is what is read as a whole.
fn read_in_parts(zip: &Node, key: &str, whole: &[u8]) {
    let mut reader = zip.open(key).unwrap().unwrap();
    let (mut part, mut piece) = (Vec::new(), [0; 7]);
    let half = whole.len() / 2;
    reader.read_at(half as u64, (whole.len() - half) as u64, &mut part).unwrap();
    assert_eq!(part, whole[half..]);
    assert!(reader.read_at(half as u64, (whole.len() - half) as u64 + 1, &mut part).is_err());
    let mut all = Vec::new();
    while let count @ 1.. = reader.read_next(&mut piece).unwrap() {
        all.extend_from_slice(&piece[..count]);
    }
    assert_eq!(all, whole);
}
