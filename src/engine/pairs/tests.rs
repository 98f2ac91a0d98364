//! Two arrays, compared and rechunked: the report of a panic.

use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::array::StoredArray;
use crate::array::{Fault, ObjectOf};
use crate::codec::{BoundChain, ValueConversion};
use crate::data_type::DataType;
use crate::engine::plan::{Costs, Grids};
use crate::engine::route::rechunk::{Rechunk, Schedule};
use crate::engine::{Fingerprint, Job, Journal, ObjectJob, Progress, RechunkPlan, Route, SubchunkEncoder};
use crate::metadata::{ArrayDocument, Json};
use crate::pipeline::{ArrayRepresentation, Completeness, Pipeline};
use crate::store::Node;

/// Returns an array of 4 x 4 bytes with this chunk shape.
fn array(node: Node, chunk_shape: [u64; 2]) -> StoredArray {
    let document = format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[4,4],"data_type":"uint8",
        "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":{chunk_shape:?}}}}},
        "chunk_key_encoding":{{"name":"default"}},"fill_value":0,"codecs":[{{"name":"bytes"}}]}}"#
    );
    let metadata = ArrayDocument::read(&Json::parse_str(&document).unwrap()).metadata().unwrap();
    let data_type = DataType::read(&metadata.data_type).unwrap().value;
    let fill_value = Some(data_type.fill_value_from_json(&metadata.fill_value).unwrap().value);
    let input = ArrayRepresentation { data_type, shape: chunk_shape.to_vec(), fill_value };
    let codecs = &metadata.codecs;
    let pipeline = Pipeline::build(input, codecs, Completeness::ToBytes, "", &mut Vec::new());
    let chain = BoundChain::bind(&pipeline).unwrap();
    StoredArray::new(node, metadata, chain, None)
}

/// Rechunks two chunks of two rows to four of one column, block by block.
fn columns(folder: &std::path::Path) -> (Box<ObjectJob>, Rechunk) {
    let source = array(Node::new(folder.join("a")), [2, 4]);
    let destination = array(Node::new(folder.join("b")), [4, 1]);
    for object in 0..2 {
        source.node.write(&source.key(object), &[1; 8]).unwrap();
    }
    let grids = Grids {
        shape: vec![4, 4],
        skipped: vec![0, 0],
        source_subchunk: vec![2, 4],
        destination_subchunk: vec![4, 1],
        destination_object: vec![4, 1],
        order: vec![0, 1],
    };
    let plan = RechunkPlan::new(grids, Costs { element: 1, subchunk: 0, worker: 0 }, 4).unwrap();
    assert_eq!(plan.num_groups(), 4);
    let encoder = SubchunkEncoder::new([&source; 2], &destination, &ValueConversion::default(), false).unwrap();
    let schedule = Schedule::new(&plan, 1, 4);
    let rechunk = Rechunk { plan, encoder, schedule };
    let route = Route::Rechunk(Box::new(rechunk.clone()));
    let source = source.with_present(Some(&ChunkSet::full(2)));
    let transfer = Transfer { source, destination, absent_element: None, origin: None };
    (Box::new(ObjectJob { transfer, route }), rechunk)
}

#[derive(Default)]
struct Nothing;

impl AddAssign for Nothing {
    fn add_assign(&mut self, _other: Nothing) {}
}

#[test]
fn panic_over_a_piece_names_its_chunk_whoever_shares_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let (job, _) = columns(folder.path());
    let visit = |(): &mut (), pair: &Pair<'_>| {
        assert!(pair.region.start != [0, 2], "a bug");
        Ok(Nothing)
    };
    for threads in [1, 2] {
        let pairs = Pairs::new(&job.transfer, 1 << 20, threads, 8 << 20).unwrap();
        assert_eq!(pairs.schedule.shares_blocks, threads == 2);
        let driver = Driver::new(threads).unwrap();
        let fault = pairs.fold(&driver, (&pairs.units(None), None), visit, |_, _| {}).unwrap_err();
        let Fault::At { of, index, fault } = fault.fault else { panic!("{fault:?}") };
        assert_eq!((of, index), (ObjectOf::Destination, 2));
        assert!(matches!(*fault, Fault::Panic(_)), "{fault:?}");
    }
}

/// Panics at the progress of the third block. Each block has 4 bytes.
#[derive(Default)]
struct Third(AtomicU64);

impl Progress for Third {
    fn start(&self, _name: &str, _length: Option<u64>) {}
    fn advance(&self, bytes: u64) {
        assert!(self.0.fetch_add(bytes, Ordering::Relaxed) < 8 || bytes == 0, "a bug");
    }
    fn finish(&self) {}
}

#[test]
fn panic_over_a_block_names_its_first_chunk() {
    let folder = tempfile::tempdir().unwrap();
    let (job, _) = columns(folder.path());
    job.transfer.destination.node.create_root().unwrap();
    let node = &job.transfer.destination.node;
    let fingerprint = Fingerprint::new([("a", vec![&b"a"[..]])]);
    let journal = Journal::open((&node.child("run").unwrap(), node), &fingerprint, false).unwrap();
    let driver = Driver::new(1).unwrap();
    let fault = Job::Objects(job).run(None, (&driver, &journal.pass("/"), &Third::default()), &mut |_| {}).unwrap_err();
    let Fault::At { of, index, fault } = fault.fault else { panic!("{fault:?}") };
    assert_eq!((of, index), (ObjectOf::Destination, 2));
    assert!(fault.to_string().contains("a bug"), "{fault}");
}
