//! Checks that must pass for any bytes. Each is run by a fuzz target, and by `tests/cli/hostile` on mutated fixtures.

use std::sync::Arc;

use zarrcast::codec::{BoundChain, Codec, Workspace};
use zarrcast::data_type::DataType;
use zarrcast::diagnostic::Profile;
use zarrcast::metadata::consolidated::Consolidated;
use zarrcast::metadata::json::Json;
use zarrcast::metadata::{ArrayDocument, GroupDocument, node_kind, v2};
use zarrcast::pipeline::{ArrayRepresentation, Completeness, Pipeline};
use zarrcast::store::{MemoryStore, Node, ZipStore};

/// Larger chunks and members are only slower.
const MAX_BYTES: u64 = 1 << 20;

/// Any document is read without a panic, and written JSON is read back unchanged.
pub fn document(text: &[u8]) {
    let Ok(document) = Json::parse(text) else { return };
    for written in [document.to_string().into_bytes(), document.to_document()] {
        assert_eq!(Json::parse(&written).as_ref(), Ok(&document));
    }
    assert!(document.same_value(&document.clone()));
    let _ = node_kind(&document);
    let _ = ArrayDocument::read(&document).metadata().map(|metadata| {
        let key = metadata.chunk_key_encoding.key(&metadata.grid.counts());
        assert!(key.split('/').all(|name| !matches!(name, "" | "." | "..")), "{key}");
    });
    let _ = GroupDocument::read(&document);
    let _ = v2::read_array(&document).metadata();
    let mut found = Vec::new();
    v2::read_group(&document, &mut found);
    let _ = v2::read_attributes(&document, &mut found);
    let _ = Consolidated::read_v3(&document, &mut found);
    let _ = Consolidated::read_v2(&document, &mut found);
}

/// A fill value from JSON has the same bytes after it is written and read again. The input is an array document, or at
/// least its `data_type` and `fill_value`.
pub fn fill_value(text: &[u8]) {
    let Ok(document) = Json::parse(text) else { return };
    let (Some(data_type), Some(fill_value)) = (document.get("data_type"), document.get("fill_value")) else {
        return;
    };
    let Ok(data_type) = DataType::from_metadata(data_type) else { return };
    let again = DataType::from_metadata(&data_type.to_metadata());
    assert_eq!(again.as_ref().ok(), Some(&data_type));
    let Ok(read) = data_type.fill_value_from_json(fill_value) else { return };
    let written = data_type.fill_value_to_json(&read.value).unwrap();
    assert_eq!(data_type.fill_value_from_json(&written).unwrap().value, read.value);
}

/// No index lets bytes outside a shard be read. The first byte of the input is the number of inner chunks and the
/// position of the index. The rest is the shard.
pub fn shard_index(bytes: &[u8]) {
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
    let chain = read_chain(document.as_bytes()).unwrap();
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
}

/// Any chain of an array document is followed, and bound or refused. The input is the document.
pub fn pipeline(document: &[u8]) {
    let Some((pipeline, _)) = read_pipeline(document) else { return };
    let _ = (pipeline.output(), pipeline.innermost_chunk_shape());
    if let Ok(chain) = BoundChain::bind(&pipeline) {
        let _ = (chain.max_encoded_bytes(), chain.max_representation_bytes(), chain.encoded());
    }
}

/// Bytes decode to a chunk of the right size, or are refused. The input is an array document, NUL, and a chunk.
pub fn apply_codec_decode(bytes: &[u8]) {
    let Some(end) = bytes.iter().position(|byte| *byte == 0) else { return };
    let Some(chain) = read_chain(&bytes[..end]) else { return };
    if chain.max_representation_bytes() > MAX_BYTES {
        return;
    }
    let mut decoded = Vec::new();
    if chain.decode(&bytes[end + 1..], &mut decoded, &mut Workspace::default()).is_ok()
        && let Some(expected) = chain.decoded().num_bytes()
    {
        assert_eq!(decoded.len() as u64, expected);
    }
}

/// Every listed file of a zip file is found and read, and no other file.
pub fn zip(bytes: &[u8]) {
    let outer = Node::of(Arc::new(MemoryStore::new("memory")));
    outer.write("a.zip", bytes).unwrap();
    let zip = Node::of(Arc::new(ZipStore::new(outer.child("a.zip").unwrap())));
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let Ok(listing) = zip.list(&folder) else { return };
        for key in listing.files {
            let length = zip.size(&key).unwrap().unwrap();
            let mut whole = Vec::new();
            if let Ok(found) = zip.read_into(&key, MAX_BYTES, &mut whole) {
                assert!(found && whole.len() as u64 == length);
                read_in_parts(&zip, &key, &whole);
            } else if let Ok(Some(reader)) = zip.open(&key, length) {
                let offset = length / 2;
                let _ = reader.read_at(offset, (length - offset).min(1000), &mut whole);
            }
        }
        folders.extend(listing.folders);
    }
}

/// Checks that an object read in parts equals the whole object.
fn read_in_parts(zip: &Node, key: &str, whole: &[u8]) {
    let mut reader = zip.open(key, MAX_BYTES).unwrap().unwrap();
    let (mut part, mut piece) = (Vec::new(), [0; 7]);
    let half = whole.len() / 2;
    reader.read_at(half as u64, (whole.len() - half) as u64, &mut part).unwrap();
    assert_eq!(part, whole[half..]);
    assert!(reader.read_at(half as u64, (whole.len() - half) as u64 + 1, &mut part).is_err());
    let mut all = Vec::new();
    while let count @ 1.. = reader.read_piece(all.len() as u64, &mut piece).unwrap() {
        all.extend_from_slice(&piece[..count]);
    }
    assert_eq!(all, whole);
}

/// Returns the pipeline of an array document, and whether a finding forbids reading. `None` without a pipeline.
fn read_pipeline(document: &[u8]) -> Option<(Pipeline, bool)> {
    let document = Json::parse(document).ok()?;
    let members = ArrayDocument::read(&document);
    let metadata = members.metadata()?;
    let mut diagnostics = members.diagnostics;
    let data_type = DataType::from_metadata(&metadata.data_type).ok()?;
    let fill_value = data_type.fill_value_from_json(&metadata.fill_value).ok().map(|read| read.value);
    let input = ArrayRepresentation { data_type, shape: metadata.grid.largest().to_vec(), fill_value };
    let pipeline = Pipeline::build(input, &metadata.codecs, Completeness::ToBytes, "/codecs", &mut diagnostics);
    Some((pipeline, diagnostics.iter().any(|found| Profile::Read.forbids(found))))
}

/// Returns the chain of an array document. `None` for any error.
fn read_chain(document: &[u8]) -> Option<BoundChain> {
    let (pipeline, is_faulty) = read_pipeline(document)?;
    if is_faulty { None } else { BoundChain::bind(&pipeline).ok() }
}
