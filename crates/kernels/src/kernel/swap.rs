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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swap_reverses_each_component() {
        let mut target = [0; 8];
        swap(&[1, 2, 3, 4, 5, 6, 7, 8], &mut target, 4);
        assert_eq!(target, [4, 3, 2, 1, 8, 7, 6, 5]);
    }
}
