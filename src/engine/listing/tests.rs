use std::sync::Arc;

use super::*;
use crate::engine::journal::{Assignment, Fingerprint};
use crate::engine::{Journal, ObjectReport};
use crate::metadata::{ArrayDocument, Json};
use crate::store::MemoryStore;

/// Returns the metadata of an array of 40 x 3 chunks of one element.
fn metadata(separator: char) -> ArrayMetadata {
    let document = format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[40,3],"data_type":"uint8","chunk_grid":
        {{"name":"regular","configuration":{{"chunk_shape":[1,1]}}}},"chunk_key_encoding":{{"name":"default",
        "configuration":{{"separator":"{separator}"}}}},"fill_value":0,"codecs":[{{"name":"bytes"}}]}}"#
    );
    ArrayDocument::read(&Json::parse_str(&document).unwrap()).metadata().unwrap()
}

#[test]
fn listing_is_the_same_for_any_number_of_threads() {
    for separator in ['/', '.'] {
        let folder = tempfile::tempdir().unwrap();
        let (node, metadata) = (Node::new(folder.path()), metadata(separator));
        let chunks: ChunkSet = (0..120).filter(|index| index % 5 != 0).collect();
        for index in chunks.iter() {
            let key = metadata.chunk_key_encoding.key(&position(index, &metadata));
            node.write(&key, b"seven b").unwrap();
        }
        // None of these is a chunk. The last one is too deep for the listing.
        for key in ["zarr.json", "notes", "c/40/0", "a/b/c/d/e"] {
            node.write(key, b"").unwrap();
        }
        let misplaced = format!("c{separator}1{separator}2");
        node.write(&format!("{misplaced}/x"), b"").unwrap();
        for threads in [1, 4] {
            let driver = Driver::new(threads).unwrap();
            let listing = list_with_sizes(&node, &metadata, &driver).unwrap();
            assert_eq!(listing.present, chunks);
            assert_eq!(listing.present_bytes, 7 * chunks.len());
            assert_eq!(listing.misplaced_folder(), Some(misplaced.as_str()));
            assert_eq!(listing.unknown_keys(), ["c/40/0", "notes"]);
            assert_eq!(list(&node, &metadata, &driver.alone()).unwrap().present, chunks);
        }
    }
}

/// The valid sizes of chunks of seven bytes.
fn seven(_: &[u64]) -> std::ops::RangeInclusive<u64> {
    7..=7
}

#[test]
fn listing_of_all_below_at_once_is_that_of_each_folder() {
    for separator in ['/', '.'] {
        let (node, metadata) = (Node::of(Arc::new(MemoryStore::new("m"))), metadata(separator));
        for index in (0..120).filter(|index| index % 5 != 0) {
            let key = metadata.chunk_key_encoding.key(&position(index, &metadata));
            node.write(&key, if index % 7 == 0 { b"six by" } else { b"seven b" }).unwrap();
        }
        let strays = ["zarr.json", "notes", "c/40/0", "c/x", "c/1/0/y", "c/2/notes/z", "a/b/c/d/e", "a/b/f", "a/0"];
        for key in strays {
            node.write(key, b"").unwrap();
        }
        node.write(&format!("c{separator}1{separator}1/x/y"), b"").unwrap();
        node.write(&format!("c{separator}1{separator}1/z"), b"").unwrap();
        let driver = Driver::new(2).unwrap();
        for purpose in
            [Purpose::Reading { with_sizes: false }, Purpose::Reading { with_sizes: true }, Purpose::Validating(&seven)]
        {
            let [near, far] = [false, true].map(|is_far| scan_as(&node, &metadata, purpose, &driver, is_far).unwrap());
            assert!(near.present.len() > 90 && near.strays.len() > 3);
            assert_eq!(near, far, "{separator} {}", purpose.wants_sizes());
        }
    }
}

#[test]
fn what_a_part_has_not_done_is_removed_and_nothing_of_others() {
    let document = r#"{"zarr_format":3,"node_type":"array","shape":[2000],"data_type":"uint8","chunk_grid":
        {"name":"regular","configuration":{"chunk_shape":[1]}},"chunk_key_encoding":{"name":"default"},
        "fill_value":0,"codecs":[{"name":"bytes"}]}"#;
    let metadata = ArrayDocument::read(&Json::parse_str(document).unwrap()).metadata().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let node = Node::new(folder.path());
    for index in 0..2000 {
        node.write(&key(index, &metadata), b"three").unwrap();
    }
    let open = || {
        let assigned = Assignment::from([("/".to_owned(), (300..1500).collect())]);
        let fingerprint = Fingerprint::new([("a", vec![&b"a"[..]])]);
        let folder = node.child(".zarrcast/parts/write/7").unwrap();
        Journal::open_part((&folder, &node), &fingerprint, assigned).unwrap()
    };
    let journal = open();
    journal.pass("/").finished(400..500, &ObjectReport::default()).unwrap();
    journal.flush().unwrap();
    drop(journal);
    let (driver, journal) = (Driver::new(2).unwrap(), open());
    remove_unfinished(&node, &metadata, &journal.pass("/"), &driver).unwrap();
    let left = list_with_sizes(&node, &metadata, &driver).unwrap().present;
    assert_eq!(left, ChunkSet::from_ranges(vec![0..300, 400..500, 1500..2000]));
    let some = ChunkSet::from_ranges(vec![290..310, 499..501]);
    assert_eq!(bytes_of(&node, &metadata, &some, &driver).unwrap(), 11 * 5);
}

#[test]
fn far_more_keys_than_the_grid_has_chunks_are_not_all_listed() {
    let (node, metadata) = (Node::of(Arc::new(MemoryStore::new("m"))), metadata('/'));
    for number in 0..=4 * LISTED_WHOLE {
        node.write(&format!("other/{number}/x"), b"").unwrap();
    }
    node.write("c/3/1", b"seven b").unwrap();
    let driver = Driver::new(2).unwrap();
    let purpose = Purpose::Validating(&seven);
    let [near, far] = [false, true].map(|is_far| scan_as(&node, &metadata, purpose, &driver, is_far).unwrap());
    assert_eq!(near, far);
    assert_eq!(far.strays.len(), 1);
}
