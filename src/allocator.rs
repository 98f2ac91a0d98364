//! The allocator of the program: mimalloc for small allocations, the system's mappings for large buffers.

use std::alloc::{GlobalAlloc, Layout};
use std::io::Write;
use std::ptr;

use mimalloc::MiMalloc;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// The size from which a buffer has a mapping of its own, in bytes.
const LARGE: usize = 8 << 20;

/// The smallest page size of any system. A mapping begins at a page boundary.
const LEAST_PAGE: usize = 1 << 12;

/// The global allocator. Small allocations use mimalloc: metadata are many pieces, allocated on one thread and freed on
/// another. With the allocator of most systems, a hierarchy of small arrays needs a third more time.
///
/// Large buffers are mapped, and unmapped as soon as they are freed. mimalloc keeps freed memory for a second. Threads
/// with large chunks therefore used more than `--max-memory`, by as many buffers as other threads had just freed. A
/// mapped buffer that grows is not copied either, which would need the memory of both. One that shrinks returns the
/// unused memory. Smaller buffers are reused often, and a mapping would cost a page fault per page.
pub(crate) struct Allocator;

/// True if memory of this layout has a mapping of its own. It is then freed as a mapping, too.
fn is_mapped(layout: Layout) -> bool {
    layout.size() >= LARGE && layout.align() <= LEAST_PAGE
}

// SAFETY: the owner of an allocation depends on its layout alone, which is the same when it is freed. A mapping has the
// requested length, begins at a page boundary, and overlaps nothing else.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_mapped(layout) {
            return had(map(layout.size()), layout.size());
        }
        // SAFETY: the caller's obligations are the same for both.
        had(unsafe { MiMalloc.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_mapped(layout) {
            return had(map(layout.size()), layout.size());
        }
        // SAFETY: the caller's obligations are the same for both.
        had(unsafe { MiMalloc.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, bytes: *mut u8, layout: Layout) {
        if is_mapped(layout) {
            // SAFETY: this is a whole mapping, and the caller no longer uses it. The call fails only if the system
            // cannot keep one more mapping. The memory then stays mapped.
            let _ = unsafe { munmap(bytes.cast(), layout.size()) };
            return;
        }
        // SAFETY: mimalloc allocated it, with the same layout.
        unsafe { MiMalloc.dealloc(bytes, layout) }
    }

    unsafe fn realloc(&self, bytes: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller guarantees that the size, rounded up to the alignment, is valid in a layout.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        let is_large = (is_mapped(layout), is_mapped(wanted));
        if is_large == (false, false) {
            // SAFETY: mimalloc allocated it, with the same layout.
            return had(unsafe { MiMalloc.realloc(bytes, layout, size) }, size);
        }
        if is_large == (true, true)
            // SAFETY: this is a whole mapping, and the caller uses only the returned pointer.
            && let Some(moved) = unsafe { remap(bytes, layout.size(), size) }
        {
            return moved;
        }
        // SAFETY: the caller requests at least one byte.
        let moved = unsafe { self.alloc(wanted) };
        if !moved.is_null() {
            // SAFETY: both have so many bytes and do not overlap. The caller no longer uses the old one.
            unsafe {
                ptr::copy_nonoverlapping(bytes, moved, layout.size().min(size));
                self.dealloc(bytes, layout);
            }
        }
        moved
    }
}

/// Returns allocated memory. If it is null and the caller cannot handle that, the process ends here. Rust would abort
/// it.
fn had(memory: *mut u8, size: usize) -> *mut u8 {
    if memory.is_null() && !zarrcast::memory::may_be_refused() {
        end(size);
    }
    memory
}

/// Ends the process with the exit status for too little memory. It allocates none itself.
#[cold]
fn end(size: usize) -> ! {
    const TOO_LITTLE: i32 = 3;
    let (mut digits, mut first, mut rest) = ([b'0'; 20], 20, size);
    while rest > 0 && first > 0 {
        first -= 1;
        digits[first] += u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
    }
    let help: &[u8] = b" bytes more: the limit of the process is reached\n  \
        help: raise the limit (`ulimit -v`), or give fewer `--threads`; `--resume` goes on with what is unfinished\n";
    // This handle has no buffer, so it allocates nothing.
    let mut stderr = std::io::stderr();
    for text in [b"error: there is no memory for ".as_slice(), &digits[first..], help] {
        let _ = stderr.write_all(text);
    }
    // This is `_exit`. The hooks of an ordinary exit could allocate again.
    signal_hook::low_level::exit(TOO_LITTLE)
}

/// Returns new memory of zeros, or null if there is none. As with mimalloc, only touched pages count.
fn map(size: usize) -> *mut u8 {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: the system chooses an address that is not in use.
    let mapped = unsafe { mmap_anonymous(ptr::null_mut(), size, ProtFlags::READ | ProtFlags::WRITE, flags) };
    mapped.map_or(ptr::null_mut(), <*mut _>::cast)
}

/// Changes the length of a mapping without a copy, and possibly its address. `None` if nothing was changed.
///
/// # Safety
///
/// `bytes` is a whole mapping of `from` bytes.
#[cfg(target_os = "linux")]
unsafe fn remap(bytes: *mut u8, from: usize, to: usize) -> Option<*mut u8> {
    // SAFETY: the caller of this function guarantees it.
    let moved = unsafe { rustix::mm::mremap(bytes.cast(), from, to, rustix::mm::MremapFlags::MAYMOVE) };
    moved.ok().map(<*mut _>::cast)
}

/// Returns `None`: other systems have no such call.
///
/// # Safety
///
/// Always safe to call.
#[cfg(not(target_os = "linux"))]
unsafe fn remap(_: *mut u8, _: usize, _: usize) -> Option<*mut u8> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a byte that depends on its index.
    fn pattern(offset: usize) -> u8 {
        offset.to_le_bytes()[0]
    }

    #[test]
    fn bytes_stay_as_a_buffer_grows_and_shrinks_across_the_border() {
        let sizes = [1, LARGE - 1, LARGE, LARGE + 1, 3 * LARGE + 7, 2 * LARGE, LARGE, LARGE - 1, 9];
        for alignment in [1, 64, LEAST_PAGE, 2 * LEAST_PAGE] {
            let layout = |size| Layout::from_size_align(size, alignment).unwrap();
            // SAFETY: each size is above zero, and only bytes of the allocation are accessed.
            unsafe {
                let mut bytes = Allocator.alloc(layout(sizes[0]));
                bytes.write(pattern(0));
                for (from, to) in sizes.iter().zip(&sizes[1..]) {
                    bytes = Allocator.realloc(bytes, layout(*from), *to);
                    assert!(!bytes.is_null() && bytes.addr().is_multiple_of(alignment));
                    let kept = *from.min(to);
                    let mut all = std::slice::from_raw_parts(bytes, kept).iter().enumerate();
                    assert!(all.all(|(offset, byte)| *byte == pattern(offset)), "{alignment}: {from} to {to}");
                    (kept..*to).for_each(|offset| bytes.add(offset).write(pattern(offset)));
                }
                Allocator.dealloc(bytes, layout(9));
            }
        }
    }

    #[test]
    fn memory_of_zeros_is_zeros_and_too_much_is_refused() {
        for size in [7, LARGE - 1, LARGE, 3 * LARGE + 1] {
            let layout = Layout::from_size_align(size, 8).unwrap();
            // SAFETY: the size is above zero, and only bytes of the allocation are read.
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
