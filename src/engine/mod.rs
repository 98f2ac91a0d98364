//! Work on chunks in parallel: routes, the journal of a run, and results in a fixed order.

pub mod ahead;
mod block_reader;
mod decoded_block;
pub mod driver;
pub mod fold;
pub mod job;
pub mod journal;
pub mod listing;
pub mod pairs;
pub mod plan;
pub mod progress;
pub mod route;
mod subchunk_writer;
pub mod transfer;

pub use ahead::{PrefetchPlan, ReadAhead, reads_all, reads_in, reads_of_box, reads_of_object, stays_open};
use block_reader::BlockReader;
use decoded_block::{DecodedBlock, DecodedSubchunk, Filling, PADDING};
use driver::{Buffers, Pass, Workers, guarded, source_of};
pub use driver::{ChunkResult, Driver, PassContext, Reports};
pub use fold::{Accumulator, Chunk, Fold};
pub use job::{Job, ObjectJob};
pub use journal::{Assignment, Fingerprint, Journal, PassProgress, digest};
pub use listing::{bytes_of, list_with_sizes, remove_unfinished};
pub use pairs::{Pair, PairBlock, Pairs};
pub use plan::{BudgetTooSmall, Costs, Grids, RechunkPlan, StagingShape};
pub use progress::{ObjectReport, Progress, Silent, SubProgress};
pub use route::{CopyJob, Intermediate, Rechunk, Route, Schedule, Staged, SubchunkChange};
pub use subchunk_writer::SubchunkEncoder;
use subchunk_writer::{Encoded, Put, SubchunkWriter, all_in_order, cells_in_order, in_order};
pub use transfer::{Groups, Transfer};
