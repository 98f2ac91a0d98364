//! The objects of an array that an interrupted run may have left without being whole: all but those that are noted.

use super::driver::Driver;
use super::journal::PassProgress;
use super::listing::list_with_sizes;
use crate::array::chunk_set::{ChunkSet, position};
use crate::metadata::array::ArrayMetadata;
use crate::store::{Node, StoreError};

/// Objects that a thread does at a time.
const AT_ONCE: u64 = 256;

/// Removes the objects of an array that are not done. Where some are assigned to a run, no others are looked at: they are
/// others' work, and so many that they are not listed. Those that are done are durable once the node is synced.
pub fn remove_unfinished(
    node: &Node,
    metadata: &ArrayMetadata,
    part: &PassProgress<'_>,
    driver: &Driver,
) -> Result<(), StoreError> {
    let Some(assigned) = part.assigned() else {
        if node.abilities().is_remote {
            // Objects come whole there, or not at all: those that have no line are written again, without being removed.
            return Ok(());
        }
        let unfinished = list_with_sizes(node, metadata, driver)?.present.without(part.done());
        return unfinished.iter().try_for_each(|index| node.remove(&key(index, metadata)).map(drop));
    };
    remove_objects(node, metadata, &assigned.without(part.done()), driver)
}

/// Removes some objects of an array, whether they are there or not.
pub fn remove_objects(
    node: &Node,
    metadata: &ArrayMetadata,
    objects: &ChunkSet,
    driver: &Driver,
) -> Result<(), StoreError> {
    each(objects, driver, |index| node.remove(&key(index, metadata)).map(drop)).map(drop)
}

/// Bytes that some objects of an array have, one by one: no others are looked at.
pub fn bytes_of(
    node: &Node,
    metadata: &ArrayMetadata,
    objects: &ChunkSet,
    driver: &Driver,
) -> Result<u64, StoreError> {
    let sizes = each(objects, driver, |index| node.size(&key(index, metadata)))?;
    Ok(sizes.into_iter().flatten().fold(0, u64::saturating_add))
}

fn key(index: u64, metadata: &ArrayMetadata) -> String {
    metadata.chunk_key_encoding.key(&position(index, metadata))
}

/// Does something with each object, many at a time.
fn each<R: Send>(
    objects: &ChunkSet,
    driver: &Driver,
    work: impl Fn(u64) -> Result<R, StoreError> + Send + Sync,
) -> Result<Vec<R>, StoreError> {
    let pieces: Vec<u64> = (0..objects.len().div_ceil(AT_ONCE)).map(|piece| piece * AT_ONCE).collect();
    let done = driver.map_plain(&pieces, |first| {
        let places = *first..(first + AT_ONCE).min(objects.len());
        places.filter_map(|place| objects.nth(place)).map(&work).collect::<Result<Vec<R>, _>>()
    });
    let mut all = Vec::new();
    for piece in done {
        all.extend(piece?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::journal::{Assignment, Fingerprint, Journal};
    use crate::engine::report::ObjectReport;
    use crate::metadata::array::ArrayDocument;
    use crate::metadata::json::Json;

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
}
