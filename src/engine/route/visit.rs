//! What the source has where each subchunk of the destination is: what a comparison needs.

use std::sync::Mutex;

use super::rechunk::Rechunk;
use crate::array::fault::{ChunkFault, Fault};
use crate::array::reader::crop;
use crate::codec::region::as_index;
use crate::engine::block_reader::{BlockReader, sources};
use crate::engine::decoded_block::DecodedBlock;
use crate::engine::driver::{Driver, guarded};
use crate::engine::progress::Silent;
use crate::engine::transfer::Transfer;
use crate::engine::workers::{ObjectBuffers, Workers};

/// The elements of the source where a subchunk of the destination is.
#[derive(Debug)]
pub struct GatheredSubchunk<'a> {
    /// Its position in the grid of the destination's subchunks.
    pub position: &'a [u64],
    /// What lies inside the array, in elements along each dimension.
    pub shape: &'a [u64],
    /// The elements inside the array, in C order.
    pub elements: &'a [u8],
    /// Whether any of them is stored.
    pub is_stored: bool,
}

/// Gives every subchunk of the destination's grid to `visit`, with the elements that the source has there; what it makes
/// of them goes to `fold`, in no order. Blocks that hold nothing of an object that is wanted are left out.
pub fn visit_subchunks<R: Send>(
    transfer: &Transfer,
    rechunk: &Rechunk,
    driver: &Driver,
    (is_wanted, visit): (&dyn Fn(u64) -> bool, &(impl Fn(&GatheredSubchunk<'_>) -> Result<R, Fault> + Sync)),
    mut fold: impl FnMut(R),
) -> Result<(), ChunkFault> {
    let (source, origin) = sources(transfer);
    let encoder = &rechunk.encoder;
    let reader = BlockReader { source: &source, origin: origin.as_ref(), encoder, progress: &Silent };
    let buffers: Vec<Mutex<ObjectBuffers>> = driver.workspaces();
    let mut decoded = DecodedBlock::default();
    let groups = transfer.overlapped(&rechunk.plan.group_shape());
    let objects = rechunk.plan.groups();
    for index in groups.iter() {
        if !objects.objects(index).flatten().any(is_wanted) {
            continue;
        }
        for block in rechunk.plan.blocks(index) {
            let mut workers = Workers { driver, buffers: &buffers, block: &mut DecodedBlock::default() };
            let visited =
                reader.read(&block, &transfer.destination, &mut decoded, &mut workers).and_then(|_| {
                    let (decoded, element_size) = (&decoded, rechunk.encoder.element_size());
                    workers.each(decoded.num_subchunks(), |_, item| {
                        visit_subchunk(transfer, (decoded, item), element_size, visit)
                    })
                });
            visited.map_err(|fault| ChunkFault { index, fault })?.into_iter().for_each(&mut fold);
        }
    }
    Ok(())
}

fn visit_subchunk<R>(
    transfer: &Transfer,
    (decoded, item): (&DecodedBlock, usize),
    element_size: usize,
    visit: &impl Fn(&GatheredSubchunk<'_>) -> Result<R, Fault>,
) -> Result<R, Fault> {
    let side = &transfer.destination;
    let position = decoded.position(item);
    let subchunk = decoded.lock(item);
    let whole = side.subchunk_shape();
    let valid = side.cropped(&side.region_of_subchunk(&position));
    let shape = valid.as_deref().unwrap_or(whole);
    let mut cropped = Vec::new();
    let has_gaps = as_index(shape.iter().product::<u64>()) * element_size != subchunk.elements.len();
    if has_gaps {
        cropped.clone_from(&subchunk.elements);
        crop(&mut cropped, whole, (&vec![0; shape.len()], shape), element_size);
    }
    let elements = if has_gaps { &cropped } else { &subchunk.elements };
    let gathered = GatheredSubchunk { position: &position, shape, elements, is_stored: subchunk.is_stored };
    guarded(|| visit(&gathered)).map_err(|fault| fault.of_destination(side.object_of(&position).0))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::array::ChunkSet;
    use crate::array::fault::ObjectOf;
    use crate::array::stored::StoredArray;
    use crate::codec::BoundChain;
    use crate::codec::conversion::ValueChange;
    use crate::data_type::DataType;
    use crate::engine::job::{Job, ObjectJob};
    use crate::engine::journal::{Fingerprint, Journal};
    use crate::engine::plan::{Costs, Grids, RechunkPlan};
    use crate::engine::progress::Progress;
    use crate::engine::route::Route;
    use crate::engine::route::rechunk::Schedule;
    use crate::engine::subchunk_encoder::SubchunkEncoder;
    use crate::metadata::array::ArrayDocument;
    use crate::metadata::json::Json;
    use crate::pipeline::{ArrayRepresentation, Completeness, Pipeline};
    use crate::store::Node;

    /// An array of 4 x 4 bytes in these chunks.
    fn side(node: Node, chunk_shape: [u64; 2]) -> StoredArray {
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

    /// From two chunks of two rows to four of one column, block by block.
    fn columns(folder: &std::path::Path) -> (Box<ObjectJob>, Rechunk) {
        let source = side(Node::new(folder.join("a")), [2, 4]);
        let destination = side(Node::new(folder.join("b")), [4, 1]);
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
        let encoder = SubchunkEncoder::new(&source, &destination, &ValueChange::None, false).unwrap();
        let schedule = Schedule::new(&plan, 1, 4);
        let rechunk = Rechunk { plan, encoder, schedule };
        let route = Route::Rechunk(Box::new(rechunk.clone()));
        let source = source.with_present(Some(&ChunkSet::full(2)));
        let transfer = Transfer { source, destination, absent_element: None, origin: None };
        (Box::new(ObjectJob { transfer, route }), rechunk)
    }

    #[test]
    fn panic_over_a_subchunk_names_its_chunk() {
        let folder = tempfile::tempdir().unwrap();
        let (job, rechunk) = columns(folder.path());
        let visit = |subchunk: &GatheredSubchunk<'_>| {
            assert!(subchunk.position != [0, 2], "a bug");
            Ok(())
        };
        let fault =
            visit_subchunks(&job.transfer, &rechunk, &Driver::new(2).unwrap(), (&|_| true, &visit), |()| {})
                .unwrap_err();
        let Fault::At { of, index, fault } = fault.fault else { panic!("{fault:?}") };
        assert_eq!((of, index), (ObjectOf::Destination, 2));
        assert!(matches!(*fault, Fault::Panic(_)), "{fault:?}");
    }

    /// Panics when it hears of the third block, of 4 bytes each.
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
        let fault =
            Job::Objects(job).run(&driver, &Third::default(), &journal.pass("/"), |_| {}).unwrap_err();
        let Fault::At { of, index, fault } = fault.fault else { panic!("{fault:?}") };
        assert_eq!((of, index), (ObjectOf::Destination, 2));
        assert!(fault.to_string().contains("a bug"), "{fault}");
    }
}
