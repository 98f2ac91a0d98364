//! The memory of the program: small pieces are mimalloc's, large buffers the system's own.

use std::alloc::{GlobalAlloc, Layout};
use std::io::Write;
use std::ptr;

use mimalloc::MiMalloc;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// Bytes of a buffer from which on it is mapped for itself.
const LARGE: usize = 8 << 20;

/// A mapping begins on a page boundary. No system has smaller pages.
const LEAST_PAGE: usize = 1 << 12;

/// mimalloc for what is small: metadata are many pieces, made on one thread and given back on another, and a tree of
/// small arrays takes a third more time with the allocator of most systems.
///
/// Large buffers are mapped, and unmapped the moment they are freed: mimalloc keeps freed memory for a second, so
/// threads that each have a large chunk took more than `--max-memory` allows, by as many buffers as others had just
/// given back. A buffer that grows is not copied either, of which both would be held meanwhile, and one that shrinks
/// gives back what it no longer needs. Smaller ones are used again and again, and would cost a fault for each page.
pub(crate) struct Allocator;

/// Whether memory is mapped for itself: it is given back in the same way.
fn is_mapped(layout: Layout) -> bool {
    layout.size() >= LARGE && layout.align() <= LEAST_PAGE
}

// SAFETY: whose a piece of memory is follows from its layout alone, which is the same when it is given back. What is
// mapped is as long as was asked for, begins with a page, and overlaps nothing else.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_mapped(layout) {
            return had(map(layout.size()), layout.size());
        }
        // SAFETY: what the caller holds to is the same for both.
        had(unsafe { MiMalloc.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_mapped(layout) {
            return had(map(layout.size()), layout.size());
        }
        // SAFETY: what the caller holds to is the same for both.
        had(unsafe { MiMalloc.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, bytes: *mut u8, layout: Layout) {
        if is_mapped(layout) {
            // SAFETY: this is all of what was mapped, and the caller no longer uses it. It fails only where the system
            // cannot keep one more mapping; then the memory stays.
            let _ = unsafe { munmap(bytes.cast(), layout.size()) };
            return;
        }
        // SAFETY: mimalloc has made it, of the same layout.
        unsafe { MiMalloc.dealloc(bytes, layout) }
    }

    unsafe fn realloc(&self, bytes: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller sees to it that the size, rounded up to the alignment, is no more than a layout may have.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        let is_large = (is_mapped(layout), is_mapped(wanted));
        if is_large == (false, false) {
            // SAFETY: mimalloc has made it, of the same layout.
            return had(unsafe { MiMalloc.realloc(bytes, layout, size) }, size);
        }
        if is_large == (true, true)
            // SAFETY: this is all of what was mapped, and the caller uses only what comes of it.
            && let Some(moved) = unsafe { remap(bytes, layout.size(), size) }
        {
            return moved;
        }
        // SAFETY: the caller asks for at least one byte.
        let moved = unsafe { self.alloc(wanted) };
        if !moved.is_null() {
            // SAFETY: both have so many bytes and do not overlap; the caller no longer uses the former.
            unsafe {
                ptr::copy_nonoverlapping(bytes, moved, layout.size().min(size));
                self.dealloc(bytes, layout);
            }
        }
        moved
    }
}

/// Memory that was asked for. Where there is none and whoever asks is not prepared for that, the process ends here: Rust
/// would abort it.
fn had(memory: *mut u8, size: usize) -> *mut u8 {
    if memory.is_null() && !zarrcast::memory::may_be_refused() {
        end(size);
    }
    memory
}

/// Ends the process with the status of too little memory, without asking for any.
#[cold]
fn end(size: usize) -> ! {
    const TOO_LITTLE: i32 = 3;
    let (mut digits, mut place, mut rest) = ([b'0'; 20], 20, size);
    while rest > 0 && place > 0 {
        place -= 1;
        digits[place] += u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
    }
    let help: &[u8] = b" bytes more: the limit of the process is reached\n  \
        help: raise the limit (`ulimit -v`), or give fewer `--threads`; `--resume` goes on with what is unfinished\n";
    let mut stderr = std::io::stderr();
    for text in [b"error: there is no memory for ".as_slice(), &digits[place..], help] {
        let _ = stderr.write_all(text);
    }
    signal_hook::low_level::exit(TOO_LITTLE)
}

/// New memory of zeros; null where there is none. As with mimalloc, only what is touched counts.
fn map(size: usize) -> *mut u8 {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: the system chooses the place, where nothing else is.
    let mapped = unsafe { mmap_anonymous(ptr::null_mut(), size, ProtFlags::READ | ProtFlags::WRITE, flags) };
    mapped.map_or(ptr::null_mut(), <*mut _>::cast)
}

/// Makes mapped memory longer or shorter without copying, wherever it then lies; `None` where it is what it was.
///
/// # Safety
///
/// The memory is all of what was mapped at once.
#[cfg(target_os = "linux")]
unsafe fn remap(bytes: *mut u8, from: usize, to: usize) -> Option<*mut u8> {
    // SAFETY: as of this function.
    let moved = unsafe { rustix::mm::mremap(bytes.cast(), from, to, rustix::mm::MremapFlags::MAYMOVE) };
    moved.ok().map(<*mut _>::cast)
}

/// Other systems have no such call.
///
/// # Safety
///
/// Always.
#[cfg(not(target_os = "linux"))]
unsafe fn remap(_: *mut u8, _: usize, _: usize) -> Option<*mut u8> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of which each tells its place.
    fn pattern(place: usize) -> u8 {
        place.to_le_bytes()[0]
    }

    #[test]
    fn bytes_stay_as_a_buffer_grows_and_shrinks_across_the_border() {
        let sizes = [1, LARGE - 1, LARGE, LARGE + 1, 3 * LARGE + 7, 2 * LARGE, LARGE, LARGE - 1, 9];
        for alignment in [1, 64, LEAST_PAGE, 2 * LEAST_PAGE] {
            let layout = |size| Layout::from_size_align(size, alignment).unwrap();
            // SAFETY: each size is more than nothing, and only so many bytes are touched of what was just made.
            unsafe {
                let mut bytes = Allocator.alloc(layout(sizes[0]));
                bytes.write(pattern(0));
                for (from, to) in sizes.iter().zip(&sizes[1..]) {
                    bytes = Allocator.realloc(bytes, layout(*from), *to);
                    assert!(!bytes.is_null() && bytes.addr().is_multiple_of(alignment));
                    let kept = *from.min(to);
                    let mut all = std::slice::from_raw_parts(bytes, kept).iter().enumerate();
                    assert!(all.all(|(place, byte)| *byte == pattern(place)), "{alignment}: {from} to {to}");
                    (kept..*to).for_each(|place| bytes.add(place).write(pattern(place)));
                }
                Allocator.dealloc(bytes, layout(9));
            }
        }
    }

    #[test]
    fn memory_of_zeros_is_zeros_and_too_much_is_refused() {
        for size in [7, LARGE - 1, LARGE, 3 * LARGE + 1] {
            let layout = Layout::from_size_align(size, 8).unwrap();
            // SAFETY: the size is more than nothing, and only so many bytes are read of what was just made.
            unsafe {
                let bytes = Allocator.alloc_zeroed(layout);
                assert!(std::slice::from_raw_parts(bytes, size).iter().all(|byte| *byte == 0));
                Allocator.dealloc(bytes, layout);
            }
        }
        let mut buffer = vec![1_u8; LARGE];
        let refused = zarrcast::memory::fallibly(|| buffer.try_reserve_exact(isize::MAX as usize - LARGE));
        assert!(refused.is_err());
        assert!(buffer.iter().all(|byte| *byte == 1));
    }
}
