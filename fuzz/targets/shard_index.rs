//! Shard indexes: whatever they say, nothing outside of the shard is read. The first byte of the input tells the number
//! of inner chunks and where the index is; the rest is the shard.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zarrcast::codec::{Codec, Workspace};

fuzz_target!(|bytes: &[u8]| {
    let Some((first, shard)) = bytes.split_first() else { return };
    let count = u64::from(first & 7) + 1;
    let location = if first & 8 == 0 { "end" } else { "start" };
    let checksum = if first & 16 == 0 { "" } else { r#",{"name":"crc32c"}"# };
    let little = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
    let document = format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[{length}],"data_type":"uint8","fill_value":7,
        "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[{length}]}}}},
        "chunk_key_encoding":{{"name":"default"}},
        "codecs":[{{"name":"sharding_indexed","configuration":{{"chunk_shape":[3],"codecs":[{little}],
        "index_codecs":[{little}{checksum}],"index_location":"{location}"}}}}]}}"#,
        length = count * 3
    );
    let chain = zarrcast_fuzz::chain(document.as_bytes()).unwrap();
    let (mut decoded, mut encoded, mut workspace) = (Vec::new(), Vec::new(), Workspace::default());
    if let Codec::Sharding(sharding) = &chain.codecs()[0].codec
        && let Ok((offset, length)) = sharding.index_range(shard.len() as u64)
    {
        let index = &shard[offset as usize..(offset + length) as usize];
        if let Ok(entries) = sharding.decode_index(index, shard.len() as u64, &mut workspace) {
            assert_eq!(entries.len() as u64, count);
            assert!(entries.iter().flatten().all(|(offset, length)| offset + length <= shard.len() as u64));
        }
    }
    if chain.decode(shard, &mut decoded, &mut workspace).is_ok() {
        assert_eq!(decoded.len() as u64, count * 3);
        let mut again = Vec::new();
        chain.encode(&decoded, &mut encoded, &mut workspace).unwrap();
        chain.decode(&encoded, &mut again, &mut workspace).unwrap();
        assert_eq!(again, decoded);
    }
});
