//! Checks generated files: the shell completions and manual pages in `completions/`, and the rules in `docs/rules.md`.
//!
//! `UPDATE_GENERATED=1 cargo test --test library layers` writes them again.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use zarrcast::diagnostic::code::{ALL, RETIRED};

#[test]
fn page_of_rules_has_all_of_them() {
    expect_page("docs/rules.md", &rule_page().unwrap());
}

/// Returns the chapter of the guide: a table, then the page of each rule, the same as `--explain`.
fn rule_page() -> Result<String, std::fmt::Error> {
    let mut page = "\
# Rules

What `zarrcast validate` finds. Each rule has a code and a name, which stay as they are; `--deny` and `--allow` take either, and
`zarrcast validate --explain ZC201` prints what stands here. *Error*: wrong. *Warning*: read here, but not by every reader.
*Info*: worth knowing. Retired codes are listed last.

| code | name | severity | what it finds |
| --- | --- | --- | --- |
"
    .to_owned();
    for rule in ALL {
        let (code, name, severity) = (rule.code, rule.name(), rule.severity);
        writeln!(page, "| [{code}](#{code}) | {name} | {severity} | {} |", rule.title())?;
    }
    for rule in ALL.iter().chain(RETIRED) {
        // Forges and mdBook both read this anchor.
        let (code, name, title) = (rule.code, rule.name(), rule.title());
        let (_, body) = rule.page().split_once('\n').unwrap_or_default();
        writeln!(page, "\n<a id=\"{code}\"></a>\n\n# {code} {name}: {title}\n\n{}", body.trim())?;
    }
    Ok(page)
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
        "{name} is stale: run `UPDATE_GENERATED=1 cargo test --test library layers` and commit the result"
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
    let help = "run `UPDATE_GENERATED=1 cargo test --test library layers` and commit the result";
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

#[test]
fn manual_pages_explain_every_option_and_have_the_usual_sections() {
    for (name, text) in zarrcast::cli::generated_files().unwrap() {
        let text = String::from_utf8(text).unwrap();
        if !name.ends_with(".1") {
            continue;
        }
        for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "SEE ALSO"] {
            let heading = [section.to_owned(), format!("\"{section}\"")].map(|title| format!(".SH {title}\n"));
            assert!(heading.iter().any(|heading| text.contains(heading)), "{name}: {section}");
        }
        for option in text.split("\n.TP\n").skip(1) {
            assert!(option.lines().nth(1).is_some_and(|line| !line.starts_with(".SH")), "{name}: {option}");
        }
    }
}
