//! The objects of an array that an interrupted run may have left without being whole: all but those that are noted.

use super::{Driver, PassProgress, list_with_sizes};
use crate::array::{ChunkSet, position};
use crate::metadata::ArrayMetadata;
use crate::store::{Node, Result};

/// Objects that a thread does at a time.
const AT_ONCE: usize = 256;

/// Removes the objects of an array that are not done. Where some are assigned to a run, no others are looked at: they are
/// others' work, and so many that they are not listed. Those that are done are durable once the node is synced.
pub fn remove_unfinished(node: &Node, array: &ArrayMetadata, part: &PassProgress<'_>, driver: &Driver) -> Result<()> {
    let unfinished = match &part.assigned {
        Some(assigned) => assigned.without(&part.done),
        // Objects come whole there, or not at all: those that have no line are written again, without being removed.
        None if node.abilities().is_remote => return Ok(()),
        None => list_with_sizes(node, array, driver)?.present.without(&part.done),
    };
    remove_objects(node, array, &unfinished, driver)
}

/// Removes some objects of an array, whether they are there or not.
pub fn remove_objects(node: &Node, metadata: &ArrayMetadata, objects: &ChunkSet, driver: &Driver) -> Result<()> {
    each(objects, driver, |index| node.remove(&key(index, metadata)).map(|_| 0)).map(drop)
}

/// Bytes that some objects of an array have, one by one: no others are looked at.
pub fn bytes_of(node: &Node, metadata: &ArrayMetadata, objects: &ChunkSet, driver: &Driver) -> Result<u64> {
    each(objects, driver, |index| Ok(node.size(&key(index, metadata))?.unwrap_or(0)))
}

fn key(index: u64, metadata: &ArrayMetadata) -> String {
    metadata.chunk_key_encoding.key(&position(index, metadata))
}

/// The sum of what each object comes to, many at a time.
fn each(objects: &ChunkSet, driver: &Driver, work: impl Fn(u64) -> Result<u64> + Send + Sync) -> Result<u64> {
    let add = |sum: u64, more: Result<u64>| more.map(|more| sum.saturating_add(more));
    let pieces: Vec<u64> = (0..objects.len()).step_by(AT_ONCE).collect();
    let sums = driver.map_plain(&pieces, |first| {
        (*first..).take(AT_ONCE).map_while(|place| objects.nth(place)).map(&work).try_fold(0, add)
    });
    sums.into_iter().try_fold(0, add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::journal::{Assignment, Fingerprint};
    use crate::engine::{Journal, ObjectReport};
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
