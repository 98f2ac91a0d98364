//! `apply-codec`.
