//! Chunks in parallel: which there are, what is done with each, and in what order the results count.

pub mod ahead;
mod block_reader;
mod decoded_block;
pub mod driver;
pub mod fold;
pub mod groups;
pub mod job;
pub mod journal;
pub mod listing;
pub mod pairs;
mod pass;
pub mod plan;
pub mod progress;
pub mod route;
mod subchunk_writer;
pub mod transfer;
pub mod unfinished;

pub use ahead::Reads;
use block_reader::BlockReader;
use decoded_block::{DecodedBlock, Filling};
pub use driver::Driver;
use driver::guarded;
pub use fold::{Accumulator, Chunk, Fold};
pub use groups::Groups;
pub use job::{Job, ObjectJob};
pub use journal::{Journal, PassProgress};
pub use pairs::{Pair, Pairs};
use pass::{Buffers, Pass, Units, Workers, sources};
pub use progress::ObjectReport;
pub use progress::{Progress, Share, Silent};
pub use route::Route;
pub use subchunk_writer::SubchunkEncoder;
use subchunk_writer::{Encoded, Put, SubchunkWriter, all_in_order};
pub use transfer::Transfer;

pub use journal::{Assignment, Fingerprint};
pub use plan::{RechunkPlan, StagingShape};
