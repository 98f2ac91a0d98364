//! The library: its kernels, its layers, its codecs compared with those of zarrs, and its public items.

mod kernels;
mod layers;
mod pipeline;
mod public_api;
mod zarrs_plugin;
