//! Work over chunks by a pool of threads; the result is the same for any number of them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use crate::array::chunk_set::ChunkSet;
use crate::array::fault::{ChunkFault, Fault};
use crate::array::interrupt::Interrupt;

/// Chunks whose results are gathered before they are folded in order, at least, and for each thread: all wait for the
/// last of them.
const BATCH: usize = 1 << 14;
const BATCH_OF_A_THREAD: usize = 1 << 10;

/// Into how many parts each thread's share of the work is cut, at least.
const SHARES: usize = 64;

/// A pool of threads, and what each keeps from chunk to chunk.
#[derive(Debug)]
pub struct Driver {
    /// `None`: the thread that calls does all by itself.
    pool: Option<rayon::ThreadPool>,
    interrupt: Interrupt,
}

impl Driver {
    /// A pool of `threads`.
    pub fn new(threads: usize) -> Result<Self, rayon::ThreadPoolBuildError> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).build()?;
        Ok(Driver { pool: Some(pool), interrupt: Interrupt::default() })
    }

    /// A driver without threads of its own: for work that is itself one of many pieces of another driver's.
    #[must_use]
    pub fn alone(&self) -> Driver {
        Driver { pool: None, interrupt: self.interrupt.clone() }
    }

    /// The driver, stopping before the next unit once `interrupt` is raised.
    #[must_use]
    pub fn heeding(mut self, interrupt: &Interrupt) -> Self {
        self.interrupt = interrupt.clone();
        self
    }

    /// What stops it.
    pub fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    /// Its threads.
    pub fn num_threads(&self) -> usize {
        self.pool.as_ref().map_or(1, rayon::ThreadPool::current_num_threads)
    }

    /// Does `work` for each of `0..count`; the results in order.
    fn each<R: Send>(&self, count: usize, work: impl Fn(usize) -> R + Sync + Send) -> Vec<R> {
        match &self.pool {
            Some(pool) => {
                // So few at once that at the end no thread has many left while another has none.
                let most = count / (pool.current_num_threads() * SHARES) + 1;
                pool.install(|| (0..count).into_par_iter().with_max_len(most).map(work).collect())
            }
            None => (0..count).map(work).collect(),
        }
    }

    /// What its threads keep from one piece of work to the next, one for each.
    pub(super) fn workspaces<W: Default>(&self) -> Vec<Mutex<W>> {
        (0..self.num_threads()).map(|_| Mutex::default()).collect()
    }

    /// The place of what the thread that calls keeps.
    fn slot(&self) -> usize {
        if self.pool.is_some() { rayon::current_thread_index().unwrap_or(0) } else { 0 }
    }

    /// Does `work` for each chunk with a workspace of the thread's own, and gives the results to `fold` in the order
    /// of the set. After a fault no later chunk is begun; the fault of the earliest chunk is returned.
    pub fn run<W: Default + Send, R: Send>(
        &self,
        chunks: &ChunkSet,
        work: impl Fn(&mut W, u64) -> Result<R, Fault> + Sync,
        mut fold: impl FnMut(u64, R),
    ) -> Result<(), ChunkFault> {
        let workspaces: Vec<Mutex<W>> = self.workspaces();
        let batch = BATCH.max(BATCH_OF_A_THREAD * self.num_threads()) as u64;
        let failed_at = AtomicU64::new(u64::MAX);
        let (mut first, mut waiting) = (0, Vec::new());
        while first < chunks.len() && failed_at.load(Ordering::Relaxed) == u64::MAX {
            let count = usize::try_from((chunks.len() - first).min(batch)).unwrap_or(0);
            let work = |item| {
                let place = first + item as u64;
                if place > failed_at.load(Ordering::Relaxed) {
                    return None;
                }
                let index = chunks.nth(place)?;
                // A panic leaves a workspace of plain buffers, which any chunk may use again.
                let mut workspace = workspaces[self.slot()].lock().unwrap_or_else(PoisonError::into_inner);
                let result = guarded(|| {
                    self.interrupt.check()?;
                    work(&mut workspace, index)
                });
                if result.is_err() {
                    failed_at.fetch_min(place, Ordering::Relaxed);
                }
                Some(result.map(|result| (index, result)).map_err(|fault| ChunkFault { index, fault }))
            };
            // While the threads are at one batch, the one before it is folded.
            let before = std::mem::take(&mut waiting);
            let (results, folded) = self.beside(|| self.each(count, work), || fold_all(before, &mut fold));
            folded?;
            waiting = results;
            first += count as u64;
        }
        fold_all(waiting, &mut fold)
    }

    /// Does something by the threads, and meanwhile something else here.
    fn beside<A: Default + Send, B>(
        &self,
        work: impl FnOnce() -> A + Send,
        meanwhile: impl FnOnce() -> B,
    ) -> (A, B) {
        let Some(pool) = &self.pool else {
            let done = meanwhile();
            return (work(), done);
        };
        let mut result = A::default();
        let done = pool.in_place_scope(|scope| {
            scope.spawn(|_| result = work());
            meanwhile()
        });
        (result, done)
    }

    /// Does `work` for each chunk, whatever becomes of the others, and gives the results to `fold` in the order of the
    /// set, at most `batch` of them gathered at a time.
    pub fn run_each<W: Default + Send, R: Send>(
        &self,
        chunks: &ChunkSet,
        batch: u64,
        work: impl Fn(&mut W, u64) -> Result<R, Fault> + Sync,
        mut fold: impl FnMut(u64, Result<R, Fault>),
    ) {
        let workspaces: Vec<Mutex<W>> = self.workspaces();
        let mut first = 0;
        while first < chunks.len() {
            let end = (first + batch.max(1)).min(chunks.len());
            let count = usize::try_from(end - first).unwrap_or(0);
            let index_of = |item: usize| chunks.nth(first + item as u64).unwrap_or(0);
            let results = self.map(&workspaces, count, |workspace, item| work(workspace, index_of(item)));
            for (item, result) in results.into_iter().enumerate() {
                fold(index_of(item), result);
            }
            first = end;
        }
    }

    /// Does `work` for each of `0..count` with a workspace of the thread's own; the results in order.
    pub fn map<W: Default + Send, R: Send>(
        &self,
        workspaces: &[Mutex<W>],
        count: usize,
        work: impl Fn(&mut W, usize) -> Result<R, Fault> + Sync,
    ) -> Vec<Result<R, Fault>> {
        self.each(count, |item| {
            let mut workspace =
                workspaces[self.slot() % workspaces.len()].lock().unwrap_or_else(PoisonError::into_inner);
            guarded(|| {
                self.interrupt.check()?;
                work(&mut workspace, item)
            })
        })
    }
}

impl Driver {
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
        self.each(items.len(), |item| work(&items[item]))
    }
}

/// Gives results to `fold` in their order, up to the first fault.
fn fold_all<R>(
    results: Vec<Option<Result<(u64, R), ChunkFault>>>,
    fold: &mut impl FnMut(u64, R),
) -> Result<(), ChunkFault> {
    for result in results.into_iter().flatten() {
        let (index, result) = result?;
        fold(index, result);
    }
    Ok(())
}

/// Visits a place of a tree; what is below it becomes work of its own, the latest first, so that little waits.
fn visit_below<'s, T: Send + 's, V: Fn(T, &mut dyn FnMut(T)) + Sync>(
    scope: &rayon::Scope<'s>,
    place: T,
    visit: &'s V,
) {
    visit(place, &mut |below| scope.spawn(move |scope| visit_below(scope, below, visit)));
}

/// Runs work; a panic becomes a fault.
pub(super) fn guarded<R>(work: impl FnOnce() -> Result<R, Fault>) -> Result<R, Fault> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(Fault::Panic(text.unwrap_or_else(|| "no message".to_owned())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{ChainFault, ChainFaultKind};

    #[test]
    fn driver_folds_in_order_for_any_number_of_threads() {
        let chunks = ChunkSet::from_indices((0..60_000).filter(|i| i % 3 != 0).collect());
        for threads in [1, 2, 5] {
            let driver = Driver::new(threads).unwrap();
            let mut seen = Vec::new();
            driver.run::<(), u64>(&chunks, |(), index| Ok(index), |_, index| seen.push(index)).unwrap();
            assert!(seen.windows(2).all(|pair| pair[0] < pair[1]) && seen.len() as u64 == chunks.len());
        }
    }

    #[test]
    fn fault_of_the_program_or_the_machine_is_none_of_the_data() {
        let panic = guarded::<()>(|| panic!("a bug")).unwrap_err();
        let chain = |kind| Fault::Chain(ChainFault { place: "0".into(), codec: "zstd".to_owned(), kind });
        let of_machine = [panic, Fault::Memory { needed: 1 }, chain(ChainFaultKind::Memory { needed: 1 })];
        for fault in of_machine {
            assert!(!fault.is_of_data() && !fault.of_source(3).is_of_data());
        }
        assert!(chain(ChainFaultKind::Checksum("wrong".to_owned())).of_source(3).is_of_data());
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
        let fault = driver.run(&chunks, work, |_, ()| {}).unwrap_err();
        assert_eq!(fault.index, 1234);
        assert!(fault.fault.to_string().contains("a bug"));
    }
}
