//! The program: a thin shell over the library.

use std::process::ExitCode;

/// Metadata are many small pieces of memory, made on one thread and given back on another: a tree of small arrays takes a
/// third more time with the allocator of most systems.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    zarrcast::cli::run(std::env::args_os()).into()
}
