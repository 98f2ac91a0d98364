//! Hostile stores: each command ends soon, with little memory, and with a result or a clean error.
//!
//! A class is a table of cases. A case is a name and a function that builds the store. `limits` runs every command on
//! each store and checks the limits of `limits::run`.

#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a failed test reports the line")]

mod bombs;
mod case;
#[expect(unreachable_pub, clippy::cast_possible_truncation, reason = "it is a library of `fuzz`")]
#[path = "../../../fuzz/targets/checks.rs"]
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
mod zips;

use limits::survive;

macro_rules! survived {
    ($($test:ident: $name:literal $cases:path;)*) => {
        $(#[test]
        fn $test() {
            survive($name, &$cases());
        })*
    };
}

survived! {
    huge_and_overflowing_shapes_are_survived: "shapes" shapes::cases;
    huge_and_overflowing_shards_are_survived: "shards" shards::cases;
    zstd_bombs_are_survived: "zstd" bombs::zstd::cases;
    gzip_bombs_are_survived: "gzip" bombs::gzip::cases;
    zlib_bombs_are_survived: "zlib" bombs::zlib::cases;
    bz2_bombs_are_survived: "bz2" bombs::bz2::cases;
    lz4_and_lzma_bombs_are_survived: "lz4 and lzma" bombs::lz4_and_lzma::cases;
    pcodec_bombs_are_survived: "pcodec" bombs::pcodec::cases;
    blosc_bombs_are_survived: "blosc" bombs::blosc::cases;
    bombs_behind_other_codecs_are_survived: "chained bombs" bombs::chained::cases;
    lying_shard_indexes_are_survived: "shard index" shard_index::cases;
    documents_that_are_no_plain_json_are_survived: "documents" documents::cases;
    codec_chains_that_make_no_sense_are_survived: "codec chains" codec_chains::cases;
    keys_that_lead_elsewhere_are_survived: "paths" paths::cases;
    files_of_other_kinds_are_survived: "kinds of files" kinds_of_files::cases;
    groups_that_lie_are_survived: "hierarchy" hierarchy::cases;
    v2_documents_that_make_no_sense_are_survived: "v2" v2::cases;
    fill_values_that_are_none_are_survived: "fill values" fill_values::cases;
    chunks_that_hold_something_else_are_survived: "chunk bytes" chunk_bytes::cases;
    zip_files_that_lie_are_survived: "zip" zips::cases;
    text_for_the_terminal_is_defused: "terminal" terminal::cases;
}

#[test]
fn chunk_of_16_gib_is_refused_by_every_command_without_max_memory() {
    limits::refuse_by_default(&bombs::zstd::whole_chunk_of_16_gib());
}
