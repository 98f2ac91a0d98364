#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| zarrcast_fuzz::shard_index(bytes));
