//! Incomplete objects of an interrupted run: all objects that are not recorded as finished.

use super::{Driver, PassProgress, list_with_sizes};
use crate::array::{ChunkSet, position};
use crate::metadata::ArrayMetadata;
use crate::store::{Node, Result};

/// Number of objects that a thread handles at once.
const AT_ONCE: usize = 256;

/// Removes the unfinished objects of an array. If some objects are assigned to this run, only these are checked. The
/// others belong to other runs, and are too many to list. Finished objects are durable after a sync of the node.
pub fn remove_unfinished(node: &Node, array: &ArrayMetadata, part: &PassProgress<'_>, driver: &Driver) -> Result<()> {
    let unfinished = match &part.assigned {
        Some(assigned) => assigned.without(&part.done),
        // Remote objects are never incomplete. Those without a record are written again, without removal.
        None if node.capabilities().is_remote => return Ok(()),
        // Chunks are written in place, so an object without a line in the journal may be incomplete.
        None => list_with_sizes(node, array, driver)?.present.without(&part.done),
    };
    remove_objects(node, array, &unfinished, driver)
}

/// Removes some objects of an array. Missing ones are no error.
pub fn remove_objects(node: &Node, metadata: &ArrayMetadata, objects: &ChunkSet, driver: &Driver) -> Result<()> {
    each(objects, driver, |index| node.remove(&key(index, metadata)).map(|_| 0)).map(drop)
}

/// Returns the total size of some objects of an array in bytes. Requests only these objects.
pub fn bytes_of(node: &Node, metadata: &ArrayMetadata, objects: &ChunkSet, driver: &Driver) -> Result<u64> {
    each(objects, driver, |index| Ok(node.size(&key(index, metadata))?.unwrap_or(0)))
}

fn key(index: u64, metadata: &ArrayMetadata) -> String {
    metadata.chunk_key_encoding.key(&position(index, metadata))
}

/// Returns the sum of the results of `work`, in parallel.
fn each(objects: &ChunkSet, driver: &Driver, work: impl Fn(u64) -> Result<u64> + Send + Sync) -> Result<u64> {
    let add = |sum: u64, more: Result<u64>| more.map(|more| sum.saturating_add(more));
    let pieces: Vec<u64> = (0..objects.len()).step_by(AT_ONCE).collect();
    let sums = driver
        .map_plain(&pieces, |first| (*first..).take(AT_ONCE).map_while(|n| objects.nth(n)).map(&work).try_fold(0, add));
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
