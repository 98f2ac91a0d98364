//! Thread pool for work on chunks. The result does not depend on the number of threads. Also passes that write objects by
//! units: each thread does its own units, or all threads share one unit at a time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use super::{DecodedBlock, ObjectReport, PassProgress, PrefetchPlan, Progress, ReadAhead, Transfer, reads_all};
use crate::array::{ChunkFault, ChunkSet, Fault, Interrupt, ReadBuffers, Result, SubchunkSource};
use crate::codec::ConversionBuffers;
use crate::store::held;

/// Smallest number of results that are collected before they are folded in order, in total and per thread. All threads
/// wait for the last result of a batch.
const BATCH: usize = 1 << 14;
const BATCH_OF_A_THREAD: usize = 1 << 10;

/// Smallest number of times that a thread fetches more work. It keeps the last pieces small, so that all threads end at
/// about the same time.
const TURNS: usize = 64;
/// Most chunks that a thread fetches at once. It knows its next chunks this far in advance.
const MOST_AT_ONCE: usize = 16;

/// The result of work on chunks. The fault is that of the first chunk.
pub type ChunkResult<T = ()> = std::result::Result<T, ChunkFault>;

/// Thread pool with an interrupt.
#[derive(Debug, Clone)]
pub struct Driver {
    /// `None` means that the calling thread does everything.
    pool: Option<Arc<rayon::ThreadPool>>,
    interrupt: Interrupt,
}

impl Driver {
    /// Creates a pool of `threads` threads, or of fewer if the system refuses. Each thread needs address space.
    pub fn new(threads: usize) -> Result<Self, rayon::ThreadPoolBuildError> {
        match rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).build() {
            Err(_) if threads > 1 => Self::new(threads / 2),
            built => built.map(|pool| Driver { pool: Some(Arc::new(pool)), interrupt: Interrupt::default() }),
        }
    }

    /// Returns a driver without threads, for work inside a task of this driver.
    #[must_use]
    pub fn alone(&self) -> Driver {
        Driver { pool: None, interrupt: self.interrupt.clone() }
    }

    /// Returns the driver with an interrupt, which it checks before each unit.
    #[must_use]
    pub fn heeding(self, interrupt: &Interrupt) -> Self {
        Driver { interrupt: interrupt.clone(), ..self }
    }

    /// Returns the interrupt.
    pub fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    /// Returns the number of threads.
    pub fn num_threads(&self) -> usize {
        self.pool.as_ref().map_or(1, |pool| pool.current_num_threads())
    }

    /// Runs `work` for each of `0..count` on the threads, and `meanwhile` on this thread. The numbers are distributed
    /// in order. Returns all results in order.
    fn run_with<R: Send, B>(
        &self,
        count: usize,
        work: impl Fn(usize) -> Option<R> + Sync,
        meanwhile: impl FnOnce() -> B,
    ) -> (Vec<Option<R>>, B) {
        let Some(pool) = &self.pool else {
            let done = meanwhile();
            return ((0..count).map(work).collect(), done);
        };
        let threads = pool.current_num_threads();
        let at_once = (count / (threads * TURNS)).clamp(1, MOST_AT_ONCE);
        let mut results: Vec<Option<R>> = Vec::new();
        results.resize_with(count, || None);
        // Each turn is a range of numbers, with the slots for their results.
        let turns = Mutex::new((0..count).step_by(at_once).zip(results.chunks_mut(at_once)));
        let take_turns = || {
            // A closure, as `while let` would keep the lock during the work.
            let next = || held(&turns).next();
            while let Some((first, slots)) = next() {
                for (number, slot) in (first..).zip(slots) {
                    *slot = work(number);
                }
            }
        };
        // In place, so that `meanwhile` runs on this thread: the `fold` of a caller need not be `Send`.
        let done = pool.in_place_scope(|scope| {
            for _ in 0..threads.min(count.div_ceil(at_once)) {
                scope.spawn(|_| take_turns());
            }
            meanwhile()
        });
        (results, done)
    }

    /// Returns one buffer per thread, which it reuses for all its work.
    pub(super) fn workspaces<W: Default>(&self) -> Vec<Mutex<W>> {
        (0..self.num_threads()).map(|_| Mutex::default()).collect()
    }

    /// Runs `work` unless a stop was requested. A panic becomes a fault.
    pub(super) fn checked<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        guarded(|| {
            self.interrupt.check()?;
            work()
        })
    }

    /// Runs `work` for each chunk with the thread's own workspace, and calls `fold` with the results in order. After a
    /// fault no later chunk starts, and the fault of the first chunk is returned. Announces `reads` to their stores in
    /// advance.
    pub fn run_ahead<W: Default + Send, R: Send>(
        &self,
        chunks: &ChunkSet,
        reads: &[PrefetchPlan<'_>],
        work: impl Fn(&mut W, u64) -> Result<R> + Sync,
        fold: impl FnMut(u64, R),
    ) -> ChunkResult {
        let batch = BATCH.max(BATCH_OF_A_THREAD * self.num_threads()) as u64;
        let work = |workspace: &mut W, index| self.checked(|| work(workspace, index));
        self.run_batches(chunks, &ReadAhead::for_sources(reads, chunks), (batch, &self.workspaces()), work, fold)
    }

    /// Runs `work` for each chunk even after faults, and calls `fold` with the results in order. Only if the store does
    /// not accept the credentials, no later chunk starts. At most `batch` results are collected at once.
    pub fn run_each<W: Default + Send, R: Send>(
        &self,
        chunks: &ChunkSet,
        reads: &[PrefetchPlan<'_>],
        batch: u64,
        work: impl Fn(&mut W, u64) -> Result<R> + Sync,
        mut fold: impl FnMut(u64, Result<R>),
    ) {
        let work = |workspace: &mut W, index| match self.checked(|| work(workspace, index)) {
            Err(fault) if fault.is_unauthorized() => Err(fault),
            outcome => Ok(outcome),
        };
        let by = (batch.max(1), &*self.workspaces());
        let ahead = ReadAhead::for_sources(reads, chunks);
        if let Err(ChunkFault { index, fault }) = self.run_batches(chunks, &ahead, by, work, &mut fold) {
            fold(index, Err(fault));
        }
    }

    /// Implements the loop over chunks. `batch` results are collected at once, and each thread has its own workspace.
    pub(super) fn run_batches<W: Default + Send, R: Send>(
        &self,
        chunks: &ChunkSet,
        ahead: &[Mutex<ReadAhead<'_>>],
        (batch, workspaces): (u64, &[Mutex<W>]),
        work: impl Fn(&mut W, u64) -> Result<R> + Sync,
        mut fold: impl FnMut(u64, R),
    ) -> ChunkResult {
        let failed_at = AtomicU64::new(u64::MAX);
        let (mut first, mut waiting) = (0, Vec::new());
        while first < chunks.len() && failed_at.load(Ordering::Relaxed) == u64::MAX {
            let count = usize::try_from((chunks.len() - first).min(batch)).unwrap_or(0);
            let work = |item| {
                let nth = first + item as u64;
                // After a fault, later chunks are not started.
                let index = chunks.nth(nth).filter(|_| nth <= failed_at.load(Ordering::Relaxed))?;
                for ahead in ahead {
                    held(ahead).begin(nth);
                }
                let slot = if self.pool.is_some() { rayon::current_thread_index().unwrap_or(0) } else { 0 };
                let result = match workspaces[slot % workspaces.len()].try_lock() {
                    Ok(mut workspace) => work(&mut workspace, index),
                    // The thread's own is in use further up the stack: rayon runs other work on a waiting thread.
                    Err(_) => work(&mut W::default(), index),
                };
                if result.is_err() {
                    // Chunks before a failed one are still done. So the first fault is the same for any order of the
                    // threads.
                    failed_at.fetch_min(nth, Ordering::Relaxed);
                }
                Some((index, result))
            };
            // The threads work on one batch while the previous one is folded.
            let before = std::mem::take(&mut waiting);
            let (results, folded) = self.run_with(count, work, || fold_all(before, &mut fold));
            folded?;
            waiting = results;
            first += count as u64;
        }
        fold_all(waiting, &mut fold)
    }

    /// Visits a tree from its root, in parallel and in any order. `visit` passes the children to its callback.
    pub(super) fn visit_tree<T: Send>(&self, root: T, visit: impl Fn(T, &mut dyn FnMut(T)) + Sync) {
        let Some(pool) = &self.pool else {
            let mut nodes = vec![root];
            while let Some(node) = nodes.pop() {
                visit(node, &mut |below| nodes.push(below));
            }
            return;
        };
        pool.scope(|scope| visit_below(scope, root, &visit));
    }

    /// Maps each item in parallel. Returns the results in order.
    pub fn map_plain<T: Sync, R: Send>(&self, items: &[T], work: impl Fn(&T) -> R + Send + Sync) -> Vec<R> {
        self.run_with(items.len(), |item| Some(work(&items[item])), || ()).0.into_iter().flatten().collect()
    }
}

/// Calls `fold` with the indices of chunks and their results in order, up to the first fault.
fn fold_all<R>(results: Vec<Option<(u64, Result<R>)>>, fold: &mut impl FnMut(u64, R)) -> ChunkResult {
    results.into_iter().flatten().try_for_each(|(index, result)| {
        fold(index, result.map_err(|fault| ChunkFault { index, fault })?);
        Ok(())
    })
}

/// Visits a node of a tree. Its children become tasks, the latest first, so that few of them wait.
fn visit_below<'s, T: Send + 's, V: Fn(T, &mut dyn FnMut(T)) + Sync>(scope: &rayon::Scope<'s>, node: T, visit: &'s V) {
    visit(node, &mut |below| scope.spawn(move |scope| visit_below(scope, below, visit)));
}

/// Runs `work`. A panic becomes a fault.
pub(super) fn guarded<R>(work: impl FnOnce() -> Result<R>) -> Result<R> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(Fault::Panic(text.unwrap_or_else(|| "no message".to_owned())))
    })
}

/// The threads of a pass, its units, finished and unfinished, and the receiver of its progress.
pub type PassContext<'t> = (&'t Driver, &'t PassProgress<'t>, &'t dyn Progress);

/// Takes the reports of a pass.
pub type Reports<'r> = dyn FnMut(ObjectReport) + 'r;

pub(super) struct Pass<'a, R> {
    pub(super) transfer: &'a Transfer,
    /// Conversion of elements or subchunks of the source to those of the destination.
    pub(super) route: &'a R,
    pub(super) source: SubchunkSource<'a>,
    /// Subchunks of the original array, if the source is intermediate data.
    pub(super) origin: Option<SubchunkSource<'a>>,
    pub(super) driver: &'a Driver,
    /// Finished objects of the destination.
    pub(super) progress: &'a PassProgress<'a>,
    /// Observer of reads and writes.
    pub(super) listener: &'a dyn Progress,
}

impl<'a, R> Pass<'a, R> {
    pub(super) fn new(transfer: &'a Transfer, route: &'a R, (driver, progress, listener): PassContext<'a>) -> Self {
        let origin = transfer.origin.as_ref().map(SubchunkSource::new);
        Pass { transfer, route, source: source_of(transfer), origin, driver, progress, listener }
    }

    /// Returns the pass for reads by subchunks. Reads in blocks announce their parts themselves.
    pub(super) fn by_subchunks(mut self) -> Self {
        self.source.reads_all = reads_all(&self.transfer.source, &self.transfer.destination);
        self
    }

    /// Returns the result of a pass. Adds the size of the shard indexes that were read. A fault without an object
    /// belongs to the object that was being written.
    pub(super) fn ended(&self, run: ChunkResult, fold: &mut Reports<'_>) -> ChunkResult {
        let indexes = ObjectReport { bytes_read: self.source.index_bytes(), ..ObjectReport::default() };
        // An empty range of units, as several units may share an index.
        let noted = self.progress.finished(0..0, &indexes);
        fold(indexes);
        run.map_err(ChunkFault::of_destination).and(noted.map_err(|fault| ChunkFault { index: 0, fault }))
    }
}

/// Returns the subchunks of a transfer's source. Only few entries of the indexes of intermediate data are needed.
pub(super) fn source_of(transfer: &Transfer) -> SubchunkSource<'_> {
    let mut source = SubchunkSource::new(&transfer.source);
    source.reads_entries = transfer.origin.is_some();
    source
}

/// Buffers of a thread, reused for all objects, so that no object needs an allocation.
#[derive(Debug, Default)]
pub(super) struct Buffers<V = ()> {
    /// Buffers for a subchunk of the source.
    pub(super) source: ReadBuffers,
    /// Encoded object or subchunk of the destination.
    pub(super) written: Vec<u8>,
    pub(super) conversion: ConversionBuffers,
    /// Blocks of both sides. If threads share a unit, those of the first thread.
    pub(super) blocks: [DecodedBlock; 2],
    /// Counts of the thread's work that are not yet in the report of an object.
    pub(super) report: ObjectReport,
    /// Buffers of the user of the elements.
    pub(super) visitor: V,
}

/// One thread, or all threads that share each unit.
pub(super) struct Workers<'a, V = ()> {
    pub(super) driver: &'a Driver,
    /// Buffers of each thread. There is only one if the other threads have their own units.
    pub(super) buffers: &'a [Mutex<Buffers<V>>],
}

impl<'a, V: Default + Send> Workers<'a, V> {
    pub(super) fn first(&self) -> MutexGuard<'a, Buffers<V>> {
        held(&self.buffers[0])
    }

    /// Returns the buffers if there is only one thread.
    pub(super) fn alone(&self) -> Option<MutexGuard<'a, Buffers<V>>> {
        (self.buffers.len() == 1).then(|| self.first())
    }

    /// Runs `work` for each of `0..count`, and calls `fold` with the results in order, up to the first fault.
    pub(super) fn each<R: Send>(
        &self,
        count: u64,
        work: impl Fn(&mut Buffers<V>, u64) -> Result<R> + Sync,
        mut fold: impl FnMut(u64, R),
    ) -> Result<()> {
        let work = |buffers: &mut Buffers<V>, item| self.driver.checked(|| work(buffers, item));
        if let Some(mut own) = self.alone() {
            return (0..count).try_for_each(|item| {
                fold(item, work(&mut own, item)?);
                Ok(())
            });
        }
        let by = ((BATCH_OF_A_THREAD * self.buffers.len()) as u64, self.buffers);
        self.driver.run_batches(&ChunkSet::full(count), &[], by, work, fold).map_err(|ChunkFault { fault, .. }| fault)
    }

    /// Calls `work` with the blocks that are kept between units.
    pub(super) fn with_blocks<R>(&self, work: impl FnOnce(&mut [DecodedBlock; 2]) -> Result<R>) -> Result<R> {
        // Taken out, as the workers lock the buffers that contain them.
        let mut blocks = std::mem::take(&mut self.first().blocks);
        let done = work(&mut blocks);
        self.first().blocks = blocks;
        done
    }
}

impl Driver {
    /// Returns true if there are too few units for all threads.
    pub(super) fn outnumbers(&self, units: &ChunkSet) -> bool {
        units.len() < 2 * self.num_threads() as u64
    }

    /// Like [`Driver::run_ahead`]. With `shares_units`, all threads share one unit at a time, else each has its own
    /// units.
    pub(super) fn run_units<V: Default + Send, R: Send>(
        &self,
        units: &ChunkSet,
        reads: &[PrefetchPlan<'_>],
        shares_units: bool,
        work: impl Fn(&Workers<'_, V>, u64) -> Result<R> + Sync,
        fold: impl FnMut(u64, R),
    ) -> ChunkResult {
        let alone = self.alone();
        if shares_units {
            let workers = Workers { driver: self, buffers: &self.workspaces() };
            // Units run one after the other on this thread, and only the work inside one uses the pool.
            return alone.run_ahead(units, reads, |(): &mut (), unit| work(&workers, unit), fold);
        }
        let by_one = |buffers: &mut [Mutex<Buffers<V>>; 1], unit| work(&Workers { driver: &alone, buffers }, unit);
        self.run_ahead(units, reads, by_one, fold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{ChainFault, CodecError};

    #[test]
    fn driver_folds_in_order_for_any_number_of_threads() {
        let chunks = (0..60_000).filter(|i| i % 3 != 0).collect::<ChunkSet>();
        for threads in [1, 2, 5] {
            let driver = Driver::new(threads).unwrap();
            let mut seen = Vec::new();
            driver.run_ahead::<(), u64>(&chunks, &[], |(), index| Ok(index), |_, index| seen.push(index)).unwrap();
            assert!(seen.windows(2).all(|pair| pair[0] < pair[1]) && seen.len() as u64 == chunks.len());
        }
    }

    #[test]
    fn fault_of_the_program_or_the_machine_is_none_of_the_data() {
        let panic = guarded::<()>(|| panic!("a bug")).unwrap_err();
        let chain = |kind: CodecError| Fault::Chain(ChainFault::new("0", "zstd", kind));
        let of_machine = [panic, Fault::Memory { needed: 1 }, chain(CodecError::Memory { needed: 1 })];
        for fault in of_machine {
            assert!(!fault.is_of_data() && !fault.of_source(3).is_of_data());
        }
        assert!(chain(CodecError::Checksum("wrong".to_owned())).of_source(3).is_of_data());
        assert!(Fault::Other("short".to_owned()).is_of_data());
    }

    #[test]
    fn driver_reports_the_earliest_fault_and_survives_a_panic() {
        let driver = Driver::new(3).unwrap();
        let chunks = ChunkSet::full(5000);
        let work = |(): &mut (), index: u64| match index {
            1234 => panic!("a bug"),
            1500.. => Err(Fault::Other("later".to_owned())),
            _ => Ok(()),
        };
        let fault = driver.run_ahead(&chunks, &[], work, |_, ()| {}).unwrap_err();
        assert_eq!(fault.index, 1234);
        assert!(fault.fault.to_string().contains("a bug"));
    }
    #[test]
    fn driver_hands_out_chunks_in_their_order() {
        for threads in [1, 2, 5] {
            let (driver, begun) = (Driver::new(threads).unwrap(), Mutex::new(Vec::new()));
            let work = |(): &mut (), index: u64| {
                begun.lock().unwrap().push(index);
                Ok(())
            };
            driver.run_ahead(&ChunkSet::full(20_000), &[], work, |_, ()| {}).unwrap();
            let begun = begun.into_inner().unwrap();
            let mut sorted = begun.clone();
            sorted.sort_unstable();
            assert!(sorted.iter().copied().eq(0..20_000));
            if threads == 1 {
                assert_eq!(begun, sorted);
            }
        }
    }

    #[test]
    fn driver_takes_work_from_its_own_units() {
        for threads in [1, 3] {
            let driver = Driver::new(threads).unwrap();
            let inner = |number: &u64| {
                let mut sum = 0;
                driver
                    .run_ahead::<u64, u64>(&ChunkSet::full(100), &[], |_, index| Ok(index), |_, index| sum += index)
                    .unwrap();
                sum + number
            };
            let outer = |(): &mut (), index: u64| Ok(driver.map_plain(&[index, 1], inner).iter().sum::<u64>());
            let mut sums = Vec::new();
            driver.run_ahead(&ChunkSet::full(200), &[], outer, |_, sum| sums.push(sum)).unwrap();
            assert!(sums.into_iter().eq((0..200).map(|index| 2 * 4950 + index + 1)));
        }
    }

    #[test]
    fn driver_stops_once_it_is_asked_to() {
        let (interrupt, done) = (Interrupt::default(), AtomicU64::new(0));
        let driver = Driver::new(2).unwrap().heeding(&interrupt);
        let work = |(): &mut (), index: u64| {
            if index == 700 {
                interrupt.raise();
            }
            done.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        let fault = driver.run_ahead(&ChunkSet::full(1 << 20), &[], work, |_, ()| {}).unwrap_err();
        // No batch begins after the one with the interrupt.
        assert!(matches!(fault.fault, Fault::Interrupted(_)) && done.into_inner() <= BATCH as u64);
    }
}
