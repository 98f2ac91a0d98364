//! The codecs and data types of this crate in a program that uses zarrs, on stores in memory.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::single_range_in_vec_init,
    clippy::match_overlapping_arm,
    clippy::needless_pass_by_value,
    reason = "a test fails by panicking, and its helpers pass arguments in the simplest way"
)]
#![expect(clippy::disallowed_methods, reason = "tests read files")]
#![allow(clippy::float_cmp, clippy::cast_precision_loss, reason = "tests compare exact values")]

mod codecs;
mod data_types;
mod refused;
mod run_by_zarrs;
mod transpose;
mod values;

use std::sync::Arc;

use serde_json::{Value, json};
use zarrs::array::{Array, ArrayCreateError, ArrayMetadata};
use zarrs::storage::store::MemoryStore;
use zarrs::storage::{ReadableStorageTraits, StoreKey, WritableStorageTraits};

/// Returns the metadata of an array with a regular grid.
fn metadata(data_type: &str, fill_value: Value, shape: &[u64], chunk: &[u64], codecs: &Value) -> Value {
    json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default"},
        "fill_value": fill_value,
        "codecs": codecs,
    })
}

/// Stores an array with these metadata and opens it.
fn open(metadata: &Value) -> Result<Array<MemoryStore>, ArrayCreateError> {
    zarrcast::register();
    zarrcast::register();
    let store = Arc::new(MemoryStore::new());
    let key = StoreKey::new("zarr.json").unwrap();
    store.set(&key, serde_json::to_vec(metadata).unwrap().into()).unwrap();
    let opened = Array::open(store.clone(), "/");
    let made = Array::new_with_metadata(store, "/", ArrayMetadata::try_from(metadata.to_string().as_str()).unwrap());
    assert_eq!(opened.is_ok(), made.is_ok());
    opened
}

/// Returns the stored bytes of a key.
fn stored(array: &Array<MemoryStore>, key: &str) -> Option<Vec<u8>> {
    array.storage().get(&StoreKey::new(key).unwrap()).unwrap().map(|bytes| bytes.to_vec())
}

/// Returns a `sharding_indexed` codec with these inner codecs.
fn sharded(chunk: &[u64], codecs: &Value) -> Value {
    json!({"name": "sharding_indexed", "configuration": {
        "chunk_shape": chunk,
        "codecs": codecs,
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
    }})
}

/// `bytes`, little endian.
fn little() -> Value {
    json!({"name": "bytes", "configuration": {"endian": "little"}})
}

/// `scale_offset` and `cast_value` from degrees to codes, with NaN as 255.
fn quantizing() -> Vec<Value> {
    vec![
        json!({"name": "scale_offset", "configuration": {"offset": -10, "scale": 4}}),
        json!({"name": "cast_value", "configuration": {
            "data_type": "uint8",
            "scalar_map": {"encode": [["NaN", 255]], "decode": [[255, "NaN"]]},
        }}),
    ]
}
