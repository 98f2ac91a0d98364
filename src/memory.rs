//! Memory allocations that may fail. A caller that can handle this uses [`fallibly`]. Anywhere else the program's
//! allocator ends the process with a message and the exit status for too little memory. Rust would abort it.

use std::cell::Cell;

thread_local! {
    static IS_PREPARED: Cell<bool> = const { Cell::new(false) };
}

/// Runs code that allocates and can handle missing memory.
pub fn fallibly<R>(allocate: impl FnOnce() -> R) -> R {
    // Calls may be nested. The outer one must still be prepared after the inner one.
    let before = IS_PREPARED.replace(true);
    let done = allocate();
    IS_PREPARED.set(before);
    done
}

/// True if this thread can handle missing memory.
pub fn may_be_refused() -> bool {
    // The value no longer exists while a thread ends.
    IS_PREPARED.try_with(Cell::get).unwrap_or(false)
}

/// Resizes a buffer to `size` bytes, new ones 0. The error is the bytes for which there is no memory.
pub fn resize(buffer: &mut Vec<u8>, size: usize) -> Result<(), u64> {
    let more = size.saturating_sub(buffer.len());
    // Exact, as budgets count the size of a buffer. A plain `resize` may reserve twice as much.
    fallibly(|| buffer.try_reserve_exact(more)).map_err(|_| size as u64)?;
    buffer.resize(size, 0);
    Ok(())
}
