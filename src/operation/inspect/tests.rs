//! Tests how often the chunks of an array are read.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use super::inspect;
use crate::array::Interrupt;
use crate::engine::Silent;
use crate::operation::{ArrayResult, HistogramOptions, InspectOptions, InspectResult};
use crate::store::tests::faulty::{Faults, StoreCall};
use crate::store::{MemoryStore, Node, PrefetchLimit};

/// Inspects an array of four chunks with checksums. Returns the result, and how often each chunk was read.
fn inspected(options: &InspectOptions) -> (ArrayResult, Vec<usize>) {
    let document = r#"{"zarr_format":3,"node_type":"array","shape":[4,4],"data_type":"float32","fill_value":0,
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2,2]}},
        "chunk_key_encoding":{"name":"default"},
        "codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]}"#;
    let node = Node::of(Arc::new(MemoryStore::new("memory"))).child("a").unwrap();
    node.write("zarr.json", document.as_bytes()).unwrap();
    for (key, first) in [("c/0/0", 1_u8), ("c/0/1", 5), ("c/1/0", 9), ("c/1/1", 13)] {
        let mut chunk: Vec<u8> = (0..4).flat_map(|index| f32::from(first + index).to_le_bytes()).collect();
        let checksum = crc32c::crc32c(&chunk);
        chunk.extend(checksum.to_le_bytes());
        node.write(key, &chunk).unwrap();
    }
    let hearing = Faults::hearing(PrefetchLimit { requests: 1, bytes: 1 });
    let mut options = InspectOptions { store: hearing.wrap(&node).into(), ..options.clone() };
    options.common.threads = NonZeroUsize::new(2);
    let result = inspect(&options, &Silent, &Interrupt::default()).unwrap();
    let InspectResult::Array(result) = result else { panic!("no array") };
    let mut reads = BTreeMap::<String, usize>::new();
    for heard in hearing.heard() {
        if let StoreCall::Read(name, _) = heard
            && name.contains("/c/")
        {
            *reads.entry(name).or_default() += 1;
        }
    }
    (*result, reads.into_values().collect())
}

#[test]
fn report_reads_values_twice_at_most() {
    let stats = InspectOptions { stats: true, draws: true, ..InspectOptions::default() };
    let given = Some(HistogramOptions { bins: 5, range: Some((0.0, 20.0)) });
    for options in
        [InspectOptions { stats: false, ..stats.clone() }, InspectOptions { histogram: given, ..stats.clone() }, stats]
    {
        let (result, reads) = inspected(&options);
        assert_eq!(reads, [2; 4], "{options:?}");
        let drawing = result.drawing.unwrap();
        let level = drawing.level.unwrap();
        assert_eq!((level.lines.len(), &level.values[..4]), (2, &[1.0, 2.0, 5.0, 6.0][..]));
        assert_eq!(drawing.histogram.unwrap().counts.iter().sum::<u64>(), 16);
        assert!(drawing.is_of_all && drawing.note.is_none());
    }
}
