//! How far an operation is, told to whoever wants to show it. No terminal here.

/// A listener to one piece of work, counted in bytes. Called from worker threads.
pub trait Progress: Send + Sync {
    /// The work begins: `length` bytes in all, if that is known, under this name.
    fn start(&self, name: &str, length: Option<u64>);
    /// `bytes` more are done.
    fn advance(&self, bytes: u64);
    /// The work has ended, well or not.
    fn finish(&self);
}

/// Nobody listens.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn start(&self, _name: &str, _length: Option<u64>) {}
    fn advance(&self, _bytes: u64) {}
    fn finish(&self) {}
}
