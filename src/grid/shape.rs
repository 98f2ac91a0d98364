//! What any shape is held to.

/// The most dimensions of an array (as numpy has).
pub const MAX_RANK: usize = 64;

/// The product of a shape; `None` where it does not fit into 64 bits (a zero anywhere makes it 0).
pub fn num_elements(shape: &[u64]) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1_u64, |product, &size| product.checked_mul(size))
}
