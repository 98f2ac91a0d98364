//! Documents: read whatever they are, and written as they were.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zarrcast::metadata::consolidated::Consolidated;
use zarrcast::metadata::json::Json;
use zarrcast::metadata::{ArrayDocument, GroupDocument, node_kind, v2};

fuzz_target!(|text: &[u8]| {
    let Ok(document) = Json::parse(text) else { return };
    for written in [document.to_string_compact(), document.to_string_pretty()] {
        assert_eq!(Json::parse_str(&written).as_ref(), Ok(&document));
    }
    assert!(document.same_value(&document.clone()));
    let _ = (node_kind(&document), document.to_value());
    let _ = ArrayDocument::read(&document).metadata().map(|metadata| {
        let key = metadata.chunk_key_encoding.key(&metadata.chunk_grid_shape());
        assert!(key.split('/').all(|name| !matches!(name, "" | "." | "..")), "{key}");
    });
    let _ = GroupDocument::read(&document);
    let _ = v2::read_array(&document).metadata();
    let mut found = Vec::new();
    v2::read_group(&document, &mut found);
    let _ = v2::read_attributes(&document, &mut found);
    let _ = Consolidated::read_v3(&document, &mut found);
    let _ = Consolidated::read_v2(&document, &mut found);
});
