//! The other byte order.

/// Reverses the bytes of each component of `width` bytes.
pub fn swap(source: &[u8], target: &mut [u8], width: usize) {
    fn words<const N: usize>(source: &[u8], target: &mut [u8]) {
        let (source, target) = (source.as_chunks::<N>().0, target.as_chunks_mut::<N>().0);
        for (from, to) in source.iter().zip(target) {
            *to = *from;
            to.reverse();
        }
    }
    match width {
        2 => words::<2>(source, target),
        4 => words::<4>(source, target),
        8 => words::<8>(source, target),
        _ => {
            let length = source.len().min(target.len());
            target[..length].copy_from_slice(&source[..length]);
        }
    }
}
