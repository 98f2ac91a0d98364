//! `completions/` holds what the program generates, shell completions and manual pages, `docs/data-types.md` what each
//! data type supports, and `docs/codecs.md` which codecs there are.
//!
//! `UPDATE_GENERATED=1 cargo test --test generated` rewrites it.

#![expect(clippy::disallowed_methods, reason = "tests look at the repository's files")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn page_of_data_types_is_what_the_program_generates() {
    let generated = zarrcast::operation::data_type_page::data_type_page();
    expect_page("docs/data-types.md", &generated);
}

#[test]
fn page_of_codecs_is_what_the_program_generates() {
    expect_page("docs/codecs.md", &zarrcast::operation::codec_page::codec_page());
}

fn expect_page(name: &str, generated: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        let written = fs::write(&path, generated);
        assert!(written.is_ok(), "{name} cannot be written: {written:?}");
    }
    let committed = fs::read_to_string(path).unwrap_or_default();
    assert!(
        committed == generated,
        "{name} is stale: run `UPDATE_GENERATED=1 cargo test --test generated` and commit the result"
    );
}

#[test]
fn completions_folder_is_what_the_program_generates() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("completions");
    let generated = zarrcast::cli::generated_files().expect("text is written to memory");
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        fs::create_dir_all(&folder).unwrap();
        for entry in fs::read_dir(&folder).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
        for (name, text) in &generated {
            fs::write(folder.join(name), text).unwrap();
        }
        return;
    }
    let help = "run `UPDATE_GENERATED=1 cargo test --test generated` and commit the result";
    for (name, text) in &generated {
        let committed = fs::read(folder.join(name)).unwrap_or_default();
        assert!(committed == *text, "completions/{name} is stale: {help}");
    }
    let names: BTreeSet<_> = generated.iter().map(|(name, _)| name.clone()).collect();
    let committed: BTreeSet<_> = fs::read_dir(&folder)
        .expect("completions/ is part of the repository")
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(committed, names, "{help}");
}
