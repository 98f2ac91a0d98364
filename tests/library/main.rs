//! The library: its kernels, its codecs beside those of zarrs, and what of it is public.

mod kernels;
mod pipeline;
mod public_api;
mod zarrs_plugin;
