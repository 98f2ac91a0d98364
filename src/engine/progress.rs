//! How far an operation is, told to whoever wants to show it. No terminal here.

use std::sync::atomic::{AtomicU64, Ordering};

/// A listener to one piece of work, counted in bytes. Called from worker threads.
pub trait Progress: Send + Sync {
    /// The work begins: `_length` bytes in all, if that is known, under this name.
    fn start(&self, _name: &str, _length: Option<u64>) {}
    /// So many more bytes are done.
    fn advance(&self, _bytes: u64) {}
    /// The work has ended, well or not.
    fn finish(&self) {}
}

/// Nobody listens.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {}

/// A piece of a larger work, which shares the one bar of it: its own beginning and end are not told.
pub struct Piece<'a>(pub &'a dyn Progress);

impl Progress for Piece<'_> {
    fn advance(&self, bytes: u64) {
        self.0.advance(bytes);
    }
}

/// A piece of a larger work whose bytes are only known when it begins: what is done of it is told as that part of a
/// share that was set aside for it before.
pub struct Share<'a> {
    whole: &'a dyn Progress,
    /// Bytes of the whole for each time that the piece begins.
    bytes: u64,
    /// The length that the piece has given itself, and what is done of it.
    length: AtomicU64,
    done: AtomicU64,
}

impl<'a> Share<'a> {
    /// A share of so many bytes of the whole, in so many passes of equal length.
    pub fn new(whole: &'a dyn Progress, bytes: u64, passes: u64) -> Self {
        Share { whole, bytes: bytes / passes.max(1), length: AtomicU64::new(0), done: AtomicU64::new(0) }
    }

    /// The bytes of the share that `done` of the length stand for.
    fn part(&self, done: u64) -> u64 {
        let length = self.length.load(Ordering::Relaxed);
        let done = u128::from(done.min(length));
        u64::try_from(u128::from(self.bytes) * done / u128::from(length.max(1))).unwrap_or(self.bytes)
    }
}

impl Progress for Share<'_> {
    fn start(&self, _name: &str, length: Option<u64>) {
        self.length.store(length.unwrap_or(0), Ordering::Relaxed);
        self.done.store(0, Ordering::Relaxed);
    }

    fn advance(&self, bytes: u64) {
        let before = self.done.fetch_add(bytes, Ordering::Relaxed);
        self.whole.advance(self.part(before.saturating_add(bytes)) - self.part(before));
    }

    fn finish(&self) {
        self.advance(self.length.load(Ordering::Relaxed).saturating_sub(self.done.load(Ordering::Relaxed)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts what it is told.
    #[derive(Default)]
    struct Counter(AtomicU64);

    impl Progress for Counter {
        fn advance(&self, bytes: u64) {
            self.0.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    #[test]
    fn share_tells_its_part_of_the_whole_and_no_more() {
        let whole = Counter::default();
        let share = Share::new(&whole, 1000, 2);
        let told = || whole.0.load(Ordering::Relaxed);
        share.start("first", Some(30));
        share.advance(10);
        assert_eq!(told(), 166);
        share.finish();
        assert_eq!(told(), 500);
        share.start("second", Some(7));
        (0..9).for_each(|_| share.advance(1));
        share.finish();
        assert_eq!(told(), 1000);
        Share::new(&whole, 5, 1).finish();
        assert_eq!(told(), 1000);
    }
}
