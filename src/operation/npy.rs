//! .npy files: the header, and where the elements lie.
