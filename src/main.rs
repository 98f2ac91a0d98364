//! The program: a thin shell over the library.

mod allocator;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

fn main() -> ExitCode {
    ExitCode::from(zarrcast::cli::run(std::env::args_os()) as u8)
}
