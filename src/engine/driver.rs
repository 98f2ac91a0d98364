//! Work over chunks by a pool of threads; the result is the same for any number of them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::{ReadAhead, Reads};
use crate::array::{ChunkFault, ChunkSet, Fault, Interrupt, Result};
use crate::store::held;

/// Chunks whose results are gathered before they are folded in order, at least, and for each thread: all wait for the
/// last of them.
const BATCH: usize = 1 << 14;
pub(super) const BATCH_OF_A_THREAD: usize = 1 << 10;

/// So many times, at least, a thread comes for more: at the end none has many chunks left while another has none.
const TURNS: usize = 64;
/// Chunks that it takes at a time, at most: what is next is known that far ahead.
const MOST_AT_ONCE: usize = 16;

/// A pool of threads, and what each keeps from chunk to chunk.
#[derive(Debug, Clone)]
pub struct Driver {
    /// `None`: the thread that calls does all by itself.
    pool: Option<Arc<rayon::ThreadPool>>,
    interrupt: Interrupt,
}

impl Driver {
    /// A pool of `threads`, or of fewer where the system does not give so many: each takes an address space of its own.
    pub fn new(threads: usize) -> Result<Self, rayon::ThreadPoolBuildError> {
        let mut threads = threads.max(1);
        loop {
            match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
                Err(_) if threads > 1 => threads /= 2,
                built => {
                    return built.map(|pool| Driver { pool: Some(Arc::new(pool)), interrupt: Interrupt::default() });
                }
            }
        }
    }

    /// A driver without threads of its own: for work that is itself one of many pieces of another driver's.
    #[must_use]
    pub fn alone(&self) -> Driver {
        Driver { pool: None, interrupt: self.interrupt.clone() }
    }

    /// The driver, stopping before the next unit once `interrupt` is raised.
    #[must_use]
    pub fn heeding(self, interrupt: &Interrupt) -> Self {
        Driver { interrupt: interrupt.clone(), ..self }
    }

    /// The interrupt that stops it.
    pub fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    /// Its threads.
    pub fn num_threads(&self) -> usize {
        self.pool.as_ref().map_or(1, |pool| pool.current_num_threads())
    }

    /// Does `work` for each of `0..count` by the threads, to which the numbers are handed out in their order, and meanwhile
    /// something else here. The results are in order; each is there.
    fn beside<R: Send, B>(
        &self,
        count: usize,
        work: impl Fn(usize) -> R + Sync,
        meanwhile: impl FnOnce() -> B,
    ) -> (Vec<Option<R>>, B) {
        let Some(pool) = &self.pool else {
            let done = meanwhile();
            return ((0..count).map(|number| Some(work(number))).collect(), done);
        };
        let threads = pool.current_num_threads();
        let at_once = (count / (threads * TURNS)).clamp(1, MOST_AT_ONCE);
        let mut results: Vec<Option<R>> = Vec::new();
        results.resize_with(count, || None);
        // Each turn is a stretch of numbers, with the place for their results.
        let turns = Mutex::new((0..count).step_by(at_once).zip(results.chunks_mut(at_once)));
        let take_turns = || {
            let next = || held(&turns).next();
            while let Some((first, places)) = next() {
                for (number, place) in (first..).zip(places) {
                    *place = Some(work(number));
                }
            }
        };
        let done = pool.in_place_scope(|scope| {
            for _ in 0..threads.min(count.div_ceil(at_once)) {
                scope.spawn(|_| take_turns());
            }
            meanwhile()
        });
        (results, done)
    }

    /// Buffers that its threads keep from one piece of work to the next, one for each.
    pub(super) fn workspaces<W: Default>(&self) -> Vec<Mutex<W>> {
        (0..self.num_threads()).map(|_| Mutex::default()).collect()
    }

    /// Does something with what the thread that calls keeps. What it is using already, further up the stack (it may take up
    /// other work where it waits for some), it does not use twice.
    fn with_own<W: Default, R>(&self, workspaces: &[Mutex<W>], work: impl FnOnce(&mut W) -> R) -> R {
        let slot = if self.pool.is_some() { rayon::current_thread_index().unwrap_or(0) } else { 0 };
        match workspaces[slot % workspaces.len()].try_lock() {
            Ok(mut workspace) => work(&mut workspace),
            Err(_) => work(&mut W::default()),
        }
    }

    /// Does `work`, unless it was asked to stop; a panic becomes a fault.
    pub(super) fn checked<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        guarded(|| {
            self.interrupt.check()?;
            work()
        })
    }

    /// Does `work` for each chunk with a workspace of the thread's own, and gives the results to `fold` in the order
    /// of the set. After a fault no later chunk is begun; the fault of the earliest chunk is returned. The stores of what
    /// the work `reads` are told ahead of it.
    pub fn run_ahead<W: Default + Send, R: Send>(
        &self,
        chunks: &ChunkSet,
        reads: &[&dyn Reads],
        work: impl Fn(&mut W, u64) -> Result<R> + Sync,
        fold: impl FnMut(u64, R),
    ) -> Result<(), ChunkFault> {
        let batch = BATCH.max(BATCH_OF_A_THREAD * self.num_threads()) as u64;
        let work = |workspace: &mut W, index| self.checked(|| work(workspace, index));
        self.run_batches(chunks, &ReadAhead::of(reads, chunks), (batch, &self.workspaces()), work, fold)
    }

    /// Does `work` for each chunk, whatever becomes of the others, and gives the results to `fold` in the order of the
    /// set, at most `batch` of them gathered at a time.
    pub fn run_each<W: Default + Send, R: Send>(
        &self,
        chunks: &ChunkSet,
        reads: &[&dyn Reads],
        batch: u64,
        work: impl Fn(&mut W, u64) -> Result<R> + Sync,
        fold: impl FnMut(u64, Result<R>),
    ) {
        let work = |workspace: &mut W, index| Ok(self.checked(|| work(workspace, index)));
        let by = (batch.max(1), &*self.workspaces());
        // No unit fails.
        let _ = self.run_batches(chunks, &ReadAhead::of(reads, chunks), by, work, fold);
    }

    /// The one loop: so many results are gathered at a time, with workspaces that the threads keep.
    pub(super) fn run_batches<W: Default + Send, R: Send>(
        &self,
        chunks: &ChunkSet,
        ahead: &[ReadAhead<'_>],
        (batch, workspaces): (u64, &[Mutex<W>]),
        work: impl Fn(&mut W, u64) -> Result<R> + Sync,
        mut fold: impl FnMut(u64, R),
    ) -> Result<(), ChunkFault> {
        let failed_at = AtomicU64::new(u64::MAX);
        let (mut first, mut waiting) = (0, Vec::new());
        while first < chunks.len() && failed_at.load(Ordering::Relaxed) == u64::MAX {
            let count = usize::try_from((chunks.len() - first).min(batch)).unwrap_or(0);
            let work = |item| {
                let place = first + item as u64;
                let index = chunks.nth(place).filter(|_| place <= failed_at.load(Ordering::Relaxed));
                let Some(index) = index else { return Ok(None) };
                for ahead in ahead {
                    ahead.begin(place);
                }
                let result = self.with_own(workspaces, |workspace| work(workspace, index));
                if result.is_err() {
                    failed_at.fetch_min(place, Ordering::Relaxed);
                }
                result.map(|result| Some((index, result))).map_err(|fault| ChunkFault { index, fault })
            };
            // While the threads are at one batch, the one before it is folded.
            let before = std::mem::take(&mut waiting);
            let (results, folded) = self.beside(count, work, || fold_all(before, &mut fold));
            folded?;
            waiting = results;
            first += count as u64;
        }
        fold_all(waiting, &mut fold)
    }

    /// Visits a tree from its root, many places at a time and in no order; `visit` tells what to visit next.
    pub(super) fn visit_tree<T: Send>(&self, root: T, visit: impl Fn(T, &mut dyn FnMut(T)) + Sync) {
        let Some(pool) = &self.pool else {
            let mut places = vec![root];
            while let Some(place) = places.pop() {
                visit(place, &mut |below| places.push(below));
            }
            return;
        };
        pool.scope(|scope| visit_below(scope, root, &visit));
    }

    /// Gives back what thousands of small things took, without waiting for it where there are threads.
    pub fn discard<T: Send + 'static>(&self, things: T) {
        if let Some(pool) = &self.pool {
            pool.spawn(move || drop(things));
        }
    }

    /// Does something with each item, many at a time; the results in order.
    pub fn map_plain<T: Sync, R: Send>(&self, items: &[T], work: impl Fn(&T) -> R + Send + Sync) -> Vec<R> {
        self.beside(items.len(), |item| work(&items[item]), || ()).0.into_iter().flatten().collect()
    }
}

/// The index of a chunk and what became of it; `None` where it was not begun, after a fault.
type Outcome<R> = Result<Option<(u64, R)>, ChunkFault>;

/// Gives results to `fold` in their order, up to the first fault.
fn fold_all<R>(results: Vec<Option<Outcome<R>>>, fold: &mut impl FnMut(u64, R)) -> Result<(), ChunkFault> {
    for result in results.into_iter().flatten() {
        if let Some((index, result)) = result? {
            fold(index, result);
        }
    }
    Ok(())
}

/// Visits a place of a tree; what is below it becomes work of its own, the latest first, so that little waits.
fn visit_below<'s, T: Send + 's, V: Fn(T, &mut dyn FnMut(T)) + Sync>(scope: &rayon::Scope<'s>, place: T, visit: &'s V) {
    visit(place, &mut |below| scope.spawn(move |scope| visit_below(scope, below, visit)));
}

/// Runs work; a panic becomes a fault.
pub(super) fn guarded<R>(work: impl FnOnce() -> Result<R>) -> Result<R> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(Fault::Panic(text.unwrap_or_else(|| "no message".to_owned())))
    })
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
        let chain = |kind| Fault::Chain(ChainFault { place: "0".into(), codec: "zstd".to_owned(), kind });
        let of_machine = [panic, Fault::Memory { needed: 1 }, chain(CodecError::Memory { needed: 1 }.into())];
        for fault in of_machine {
            assert!(!fault.is_of_data() && !fault.of_source(3).is_of_data());
        }
        assert!(chain(CodecError::Checksum("wrong".to_owned()).into()).of_source(3).is_of_data());
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
