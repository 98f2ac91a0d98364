//! The checks of the fuzz targets on fixtures with pseudorandom changes, equal in each run.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use super::checks;
use crate::support::zip::{Member, zip};

/// The number of changed inputs for each seed.
const ROUNDS: usize = 300;

/// Changes of larger documents and chunks are slow and find no more.
const MAX_SEED_BYTES: usize = 8192;

/// Bytes that change the meaning of a document or an index.
const WORDS: &[&[u8]] = &[
    b"-1",
    b"1e999",
    b"18446744073709551615",
    b"null",
    b"[]",
    b"{}",
    b"\"",
    b"0x",
    b"NaN",
    b"\xff\xff\xff\xff",
    b"\0",
];

/// xorshift64*, so that each run changes the same bytes.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let drawn = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(drawn).unwrap() % bound.max(1)
    }

    fn change(&mut self, seeds: &[Vec<u8>], bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len() + 1);
            let end = (at + self.below(16)).min(bytes.len());
            match self.below(6) {
                0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
                1 => bytes.truncate(at),
                2 => drop(bytes.drain(at..end)),
                3 => bytes.extend_from_within(at..end),
                4 => {
                    let other = &seeds[self.below(seeds.len())];
                    bytes.truncate(at);
                    bytes.extend(&other[self.below(other.len())..]);
                }
                _ => drop(bytes.splice(at..end, WORDS[self.below(WORDS.len())].iter().copied())),
            }
        }
    }
}

fn survive(check: fn(&[u8]), seeds: &[Vec<u8>]) {
    assert!(!seeds.is_empty());
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for seed in seeds {
        check(seed);
        for _ in 0..ROUNDS {
            let mut bytes = seed.clone();
            random.change(seeds, &mut bytes);
            let outcome = catch_unwind(AssertUnwindSafe(|| check(&bytes)));
            assert!(outcome.is_ok(), "panics on {}", bytes.escape_ascii());
        }
    }
}

/// Returns small files below `folder` whose names are `wanted`.
fn files(folder: &Path, wanted: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if wanted(entry.file_name().unwrap().to_str().unwrap())
                && entry.metadata().unwrap().len() <= MAX_SEED_BYTES as u64
            {
                found.push(entry);
            }
        }
    }
    found.sort();
    found
}

fn documents(wanted: &dyn Fn(&str) -> bool) -> Vec<(PathBuf, Vec<u8>)> {
    let valid = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/valid");
    files(&valid, wanted).into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

fn arrays() -> Vec<(PathBuf, Vec<u8>)> {
    documents(&|name| name == "zarr.json")
}

fn contents(documents: Vec<(PathBuf, Vec<u8>)>) -> Vec<Vec<u8>> {
    documents.into_iter().map(|(_, bytes)| bytes).collect()
}

#[test]
fn changed_documents_are_read_and_written_as_they_were() {
    let names = ["zarr.json", ".zarray", ".zgroup", ".zmetadata"];
    survive(checks::document, &contents(documents(&|name| names.contains(&name))));
}

#[test]
fn changed_fill_values_come_back() {
    survive(checks::fill_value, &contents(arrays()));
}

#[test]
fn changed_pipelines_are_bound_or_refused() {
    survive(checks::pipeline, &contents(arrays()));
}

#[test]
fn changed_chunks_decode_to_their_size_or_are_refused() {
    let with_chunk = |(path, mut bytes): (PathBuf, Vec<u8>)| {
        let chunk = files(path.parent().unwrap(), &|name| {
            name.starts_with(|first: char| first.is_ascii_digit() || first == 'c')
        });
        bytes.push(0);
        bytes.extend(chunk.first().map(|chunk| fs::read(chunk).unwrap()).unwrap_or_default());
        bytes
    };
    survive(checks::apply_codec_decode, &arrays().into_iter().map(with_chunk).collect::<Vec<_>>());
}

#[test]
fn changed_shard_indexes_reach_nothing_outside_their_shard() {
    let entry = |offset: u64, length: u64| [offset.to_le_bytes(), length.to_le_bytes()].concat();
    let absent = entry(u64::MAX, u64::MAX);
    survive(
        checks::shard_index,
        &[
            [&b"\0abc"[..], &entry(0, 3)].concat(),
            [&b"\x08"[..], &entry(16, 3), b"abc"].concat(),
            [&b"\x01abc"[..], &entry(0, 3), &absent].concat(),
        ],
    );
}

#[test]
fn changed_zips_give_what_they_list() {
    let text = b"abcabcabcabc".repeat(9);
    let zips = [Member::stored, Member::deflated]
        .map(|make| zip(&["zarr.json", "c/0/0", "c/0/1"].map(|name| make(name, &text))));
    survive(checks::zip, &zips);
}
