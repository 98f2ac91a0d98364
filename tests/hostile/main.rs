//! Hostile stores: each command ends soon, within little memory, with a result or a clean error.
//!
//! A class is a table of cases; a case is a name and a function that makes the store. `limits` runs every command on
//! each store and holds it to what `limits::run` says.

// Other systems limit addresses differently, or not at all.
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "tests make and look at files")]
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test that fails says where")]

mod bombs;
mod case;
#[expect(unreachable_pub, clippy::cast_possible_truncation, reason = "a library of `fuzz`")]
#[path = "../../fuzz/targets/checks.rs"]
mod checks;
mod chunk_bytes;
mod codec_chains;
mod documents;
mod fill_values;
mod hierarchy;
mod kinds_of_files;
mod limits;
mod mutations;
mod paths;
mod shapes;
mod shard_index;
mod shards;
mod terminal;
mod v2;
#[path = "../support/zip.rs"]
mod zip_builder;
mod zips;

use limits::survive;

#[test]
fn huge_and_overflowing_shapes_are_survived() {
    survive("shapes", &shapes::cases());
}

#[test]
fn huge_and_overflowing_shards_are_survived() {
    survive("shards", &shards::cases());
}

#[test]
fn zstd_bombs_are_survived() {
    survive("zstd", &bombs::zstd::cases());
}

#[test]
fn chunk_of_16_gib_is_refused_by_every_command_without_max_memory() {
    limits::refuse_by_default(&bombs::zstd::whole_chunk_of_16_gib());
}

#[test]
fn gzip_bombs_are_survived() {
    survive("gzip", &bombs::gzip::cases());
}

#[test]
fn zlib_bombs_are_survived() {
    survive("zlib", &bombs::zlib::cases());
}

#[test]
fn bz2_bombs_are_survived() {
    survive("bz2", &bombs::bz2::cases());
}

#[test]
fn lz4_and_lzma_bombs_are_survived() {
    survive("lz4 and lzma", &bombs::lz4_and_lzma::cases());
}

#[test]
fn pcodec_bombs_are_survived() {
    survive("pcodec", &bombs::pcodec::cases());
}

#[test]
fn blosc_bombs_are_survived() {
    survive("blosc", &bombs::blosc::cases());
}

#[test]
fn bombs_behind_other_codecs_are_survived() {
    survive("chained bombs", &bombs::chained::cases());
}

#[test]
fn lying_shard_indexes_are_survived() {
    survive("shard index", &shard_index::cases());
}

#[test]
fn documents_that_are_no_plain_json_are_survived() {
    survive("documents", &documents::cases());
}

#[test]
fn codec_chains_that_make_no_sense_are_survived() {
    survive("codec chains", &codec_chains::cases());
}

#[test]
fn keys_that_lead_elsewhere_are_survived() {
    survive("paths", &paths::cases());
}

#[test]
fn files_of_other_kinds_are_survived() {
    survive("kinds of files", &kinds_of_files::cases());
}

#[test]
fn groups_that_lie_are_survived() {
    survive("hierarchy", &hierarchy::cases());
}

#[test]
fn v2_documents_that_make_no_sense_are_survived() {
    survive("v2", &v2::cases());
}

#[test]
fn fill_values_that_are_none_are_survived() {
    survive("fill values", &fill_values::cases());
}

#[test]
fn chunks_that_hold_something_else_are_survived() {
    survive("chunk bytes", &chunk_bytes::cases());
}

#[test]
fn zip_files_that_lie_are_survived() {
    survive("zip", &zips::cases());
}

#[test]
fn text_for_the_terminal_is_defused() {
    survive("terminal", &terminal::cases());
}
