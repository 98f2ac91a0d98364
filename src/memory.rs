//! Memory that may be refused. Whoever is prepared for that asks by [`fallibly`]; anywhere else the program's allocator ends the
//! process with a message and the status of too little memory, where Rust would abort it.

use std::cell::Cell;

thread_local! {
    static IS_PREPARED: Cell<bool> = const { Cell::new(false) };
}

/// Runs what allocates, and is told where there is no memory.
pub fn fallibly<R>(allocate: impl FnOnce() -> R) -> R {
    let before = IS_PREPARED.replace(true);
    let done = allocate();
    IS_PREPARED.set(before);
    done
}

/// Whether this thread is prepared for a refusal.
pub fn may_be_refused() -> bool {
    // While a thread ends it has no such value any more.
    IS_PREPARED.try_with(Cell::get).unwrap_or(false)
}

/// Makes a buffer `size` bytes long, new ones 0; the error is the bytes that there is no memory for.
pub fn resize(buffer: &mut Vec<u8>, size: usize) -> Result<(), u64> {
    let more = size.saturating_sub(buffer.len());
    fallibly(|| buffer.try_reserve_exact(more)).map_err(|_| size as u64)?;
    buffer.resize(size, 0);
    Ok(())
}
