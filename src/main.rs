//! The program: a thin shell over the library.

mod allocator;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

fn main() -> ExitCode {
    zarrcast::cli::run(std::env::args_os()).into()
}
