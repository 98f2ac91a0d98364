//! `validate --level data` of zstd chunks compared with their reading and decompression alone. The ratio is its
//! overhead.
//!
//! One thread. The files are in the page cache. Throughput is in decoded bytes.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a benchmark that cannot run fails")]
#![allow(missing_docs, reason = "criterion's macros make public functions")]

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use zarrcast::operation::Interrupt;
use zarrcast::operation::options::{ValidateLevel, ValidateOptions};
use zarrcast::operation::progress::Silent;
use zarrcast::operation::validate::validate;

/// The size of a decoded chunk in bytes.
const CHUNK: usize = 1 << 20;

/// The number of chunks.
const CHUNKS: usize = 64;

/// Writes a float32 array whose values change slowly, like measurements.
fn write_array(root: &Path) -> Vec<PathBuf> {
    let elements = CHUNK / 4;
    let document = format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[{}],"data_type":"float32","chunk_grid":{{"name":"regular",
        "configuration":{{"chunk_shape":[{elements}]}}}},"chunk_key_encoding":{{"name":"default"}},"fill_value":0,
        "codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}},
        {{"name":"zstd","configuration":{{"level":1,"checksum":false}}}}]}}"#,
        elements * CHUNKS
    );
    std::fs::create_dir(root.join("c")).unwrap();
    std::fs::write(root.join("zarr.json"), document).unwrap();
    let write = |index: usize| {
        let first = u16::try_from(index).unwrap();
        let value = |place: u16| f32::from(first) + f32::from(place / 7) / 64.0;
        let bytes: Vec<u8> =
            (0..=u16::MAX).cycle().take(elements).flat_map(|place| value(place).to_le_bytes()).collect();
        let path = root.join(format!("c/{index}"));
        std::fs::write(&path, zstd::bulk::compress(&bytes, 1).unwrap()).unwrap();
        path
    };
    (0..CHUNKS).map(write).collect()
}

fn levels(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let paths = write_array(folder.path());
    let mut group = criterion.benchmark_group("validate");
    group.sample_size(20).throughput(Throughput::Bytes((CHUNK * CHUNKS) as u64));
    let mut decompressor = zstd::bulk::Decompressor::new().unwrap();
    let mut decoded = vec![0; CHUNK];
    group.bench_function("decompression", |bencher| {
        bencher.iter(|| {
            for path in &paths {
                let encoded = std::fs::read(path).unwrap();
                black_box(decompressor.decompress_to_buffer(&encoded, &mut decoded).unwrap());
            }
        });
    });
    for level in [ValidateLevel::Keys, ValidateLevel::Data] {
        let mut options = ValidateOptions::new(folder.path().into());
        options.common.threads = NonZeroUsize::new(1);
        options.level = level;
        group.bench_function(level.name(), |bencher| {
            bencher.iter(|| assert!(validate(&options, &Silent, &Interrupt::default()).result.valid));
        });
    }
}

criterion_group!(benches, levels);
criterion_main!(benches);
