//! Tests of the layers. A row may use only rows below it, and some crates belong to one row. No two files of a row need
//! each other.

#![expect(clippy::disallowed_methods, reason = "tests read the repository's files")]
#![expect(clippy::unwrap_used, reason = "a failed test reports the line")]

mod circles;
mod generated;
mod paths;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// The rows, from the top. `metadata::json` is a separate row: data types are read from it, and documents contain
/// types. The codecs and their registry are separate rows, too: documents of v2 and pipelines use them, while a running
/// chain is above both. A codec is read from `metadata::extension`.
const ROWS: [&str; 19] = [
    "cli",
    "report",
    "operation",
    "engine",
    "array",
    "codec",
    "pipeline",
    "store",
    "metadata",
    "codec::registry",
    "codec::kinds",
    "data_type",
    "metadata::extension",
    "metadata::json",
    "kernel",
    "grid",
    "element",
    "memory",
    "diagnostic",
];

/// Paths that only some rows may name, with those rows.
const OWNED: [(&str, &[&str]); 30] = [
    ("clap", &["cli"]),
    ("clap_complete", &["cli"]),
    ("clap_mangen", &["cli"]),
    ("anyhow", &["cli"]),
    ("println!", &[]),
    ("eprintln!", &[]),
    ("print!", &[]),
    ("stdout()", &["cli", "report"]),
    ("stderr()", &["cli", "report"]),
    ("process::exit", &[]),
    ("signal_hook", &["cli"]),
    ("anstream", &["report"]),
    ("anstyle", &["report"]),
    ("maud", &["report"]),
    ("png", &["report"]),
    ("unicode_width", &["report"]),
    ("rayon", &["engine"]),
    ("std::fs", &["store"]),
    ("fs::", &["store"]),
    // A node is a store and a key. Only the command line opens other files, which arguments name.
    ("std::path", &["store", "cli"]),
    ("rustix", &["store", "engine"]),
    ("rawzip", &["store"]),
    ("zarrs", &["codec"]),
    ("blosc_src", &["codec::kinds"]),
    // In this row, only `store::remote`.
    ("futures_util", &["store"]),
    ("object_store", &["store"]),
    ("reqwest", &["store"]),
    ("rustls", &["store"]),
    ("tokio", &["store"]),
    ("quick_xml", &["store"]),
];

/// Paths that only `store::remote` may name.
const NETWORK: [&str; 6] = ["futures_util", "object_store", "reqwest", "rustls", "tokio", "quick_xml"];

/// A source file: its row, and its code without comments and unit tests.
struct Source {
    path: PathBuf,
    row: &'static str,
    /// The path of the module.
    module: Vec<String>,
    tokens: Vec<paths::Token>,
    lines: Vec<(usize, String)>,
}

#[test]
fn row_uses_only_rows_below_it() {
    let mut faults = String::new();
    for source in sources() {
        let place = ROWS.iter().position(|row| *row == source.row).unwrap();
        for paths::Named { path, line: number, .. } in paths::named(&source.module, &source.tokens) {
            let Some(row) = row_of(&path.join("::")) else { continue };
            let used_place = ROWS.iter().position(|other| *other == row).unwrap();
            if used_place < place {
                let Source { path, row: own, .. } = &source;
                writeln!(faults, "{}:{number}: `{own}` uses `{row}`, above it", path.display()).unwrap();
            }
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
}

#[test]
fn crate_of_one_row_is_named_in_no_other() {
    let mut faults = String::new();
    for source in sources() {
        for (number, line) in &source.lines {
            for (name, owners) in OWNED {
                if names(line, name) && !owners.contains(&source.row) {
                    writeln!(faults, "{}:{number}: `{name}` in `{}`", source.path.display(), source.row).unwrap();
                }
            }
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
}

/// Each command is a module of `operation`, and shared code is next to them. `inspect` is an exception: it tries the
/// plans and routes of `transcode` on a sample, so that it reports what a run would do.
#[test]
fn command_is_used_by_no_other() {
    const COMMANDS: [&str; 4] = ["apply_codec", "inspect", "transcode", "validate"];
    const ALLOWED: (&str, &str) = ("operation/inspect/ways.rs", "transcode");
    let mut is_allowed_needed = false;
    let command_of = |path: &[String]| match path {
        [row, command, ..] if row == "operation" => COMMANDS.into_iter().find(|known| known == command),
        _ => None,
    };
    let mut faults = String::new();
    for source in sources().iter().filter(|source| source.row == "operation") {
        let own = command_of(&source.module);
        for paths::Named { path, line: number, .. } in paths::named(&source.module, &source.tokens) {
            if let Some(command) = command_of(&path).filter(|command| Some(*command) != own) {
                if source.path.ends_with(ALLOWED.0) && command == ALLOWED.1 {
                    is_allowed_needed = true;
                    continue;
                }
                writeln!(faults, "{}:{number}: uses `{command}`", source.path.display()).unwrap();
            }
        }
    }
    assert!(is_allowed_needed, "`{}` uses no other command any more", ALLOWED.0);
    assert!(faults.is_empty(), "\n{faults}");
}

#[test]
fn crates_of_the_network_are_named_in_one_module() {
    for source in sources().iter().filter(|source| !source.path.starts_with("store/remote")) {
        for (number, line) in &source.lines {
            let named = NETWORK.into_iter().find(|name| names(line, name));
            assert!(named.is_none(), "{}:{number}: `{}`", source.path.display(), named.unwrap_or_default());
        }
    }
}

#[test]
fn every_module_of_the_library_is_a_row() {
    let library = fs::read_to_string(source_folder().join("lib.rs")).unwrap();
    for line in library.lines() {
        if let Some(module) = line.strip_prefix("pub mod ").and_then(|rest| rest.strip_suffix(';')) {
            assert!(ROWS.contains(&module), "`{module}` is in no row");
        }
    }
}

#[test]
fn severity_is_decided_by_the_table_and_the_options_of_validate_alone() {
    let deciders = [Path::new("diagnostic/code.rs"), Path::new("operation/validate.rs")];
    for source in sources().iter().filter(|source| !deciders.contains(&source.path.as_path())) {
        for (number, line) in &source.lines {
            assert!(!line.contains(".severity = "), "{}:{number}: judge it by a Profile", source.path.display());
        }
    }
}

/// `docs/architecture.md` contains the rows. Each has the first sentence of its module and the paths that only it may
/// name. `UPDATE_GENERATED=1 cargo test --test library layers` writes them again.
#[test]
fn page_of_the_architecture_has_the_rows() {
    const MARKS: (&str, &str) = ("<!-- rows -->\n", "<!-- /rows -->");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/architecture.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(MARKS.0).unwrap();
    let (_, after) = rest.split_once(MARKS.1).unwrap();
    let mut table = "| row | what it is | what only it names |\n| --- | --- | --- |\n".to_owned();
    for row in ROWS {
        let owned: Vec<_> =
            OWNED.iter().filter(|(_, owners)| owners.contains(&row)).map(|(name, _)| format!("`{name}`")).collect();
        writeln!(table, "| `{row}` | {} | {} |", first_sentence(row), owned.join(", ")).unwrap();
    }
    let expected = format!("{before}{}{table}{}{after}", MARKS.0, MARKS.1);
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        fs::write(&path, &expected).unwrap();
        return;
    }
    assert!(
        page == expected,
        "docs/architecture.md is stale: run `UPDATE_GENERATED=1 cargo test --test library layers`"
    );
}

/// Returns the first sentence of the documentation of a row's module.
fn first_sentence(row: &str) -> String {
    let modules = source_folders().map(|folder| folder.join(row.replace("::", "/")));
    let files = modules.iter().flat_map(|module| [module.join("mod.rs"), module.with_extension("rs")]);
    let file = files.into_iter().find(|file| file.exists());
    let text = fs::read_to_string(file.unwrap()).unwrap();
    let lines: Vec<_> = text.lines().map_while(|line| line.strip_prefix("//! ")).collect();
    let paragraph = lines.join(" ");
    let end = paragraph.find(". ").map_or(paragraph.len(), |end| end + 1);
    paragraph[..end].trim_end_matches('.').replace('|', "\\|")
}

#[test]
fn main_is_a_thin_shell() {
    let program = fs::read_to_string(source_folder().join("main.rs")).unwrap();
    assert!(program.lines().count() < 60);
}

fn source_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Returns the source folders of the program's own crates.
fn source_folders() -> [PathBuf; 2] {
    [source_folder(), Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/kernels/src")]
}

fn sources() -> Vec<Source> {
    let mut files = Vec::new();
    for folder in source_folders() {
        collect(&folder, &mut files);
    }
    assert!(files.len() > 10, "the sources are somewhere else");
    files.into_iter().filter_map(|path| Source::read(&path)).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

impl Source {
    /// Returns `None` for `lib.rs` and `main.rs`, which are in no row, and for unit tests.
    fn read(path: &Path) -> Option<Source> {
        let relative = source_folders().iter().find_map(|folder| path.strip_prefix(folder).ok()).unwrap();
        let module = relative.with_extension("");
        let parts: Vec<_> = module.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        if parts.iter().any(|part| part == "tests") {
            return None;
        }
        let row = row_of(&parts.join("::"))?;
        let text = fs::read_to_string(path).unwrap();
        let lines = text
            .lines()
            .enumerate()
            .take_while(|(_, line)| *line != "#[cfg(test)]")
            .filter(|(_, line)| !line.trim_start().starts_with("//"))
            .map(|(index, line)| (index + 1, line.to_owned()))
            .collect();
        let tokens = paths::tokens(&text);
        let module: Vec<String> = parts.iter().filter(|part| *part != "mod").map(ToString::to_string).collect();
        Some(Source { path: relative.to_owned(), row, module, tokens, lines })
    }
}

/// Returns the row of a path inside the crate: the longest row that is a prefix.
fn row_of(path: &str) -> Option<&'static str> {
    let holds = |row: &&&str| path == **row || path.strip_prefix(**row).is_some_and(|rest| rest.starts_with("::"));
    ROWS.iter().filter(holds).max_by_key(|row| row.len()).copied()
}

/// Checks whether a line names a crate, path or macro as a separate word outside a string.
fn names(line: &str, name: &str) -> bool {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    line.match_indices(name).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + name.len()..].chars().next();
        let is_crate = name.chars().all(is_word);
        let in_string = line[..start].matches('"').count() % 2 == 1;
        !in_string
            && before.is_none_or(|letter| !is_word(letter) && letter != '.' && letter != '#')
            // A crate name comes before `::` or ends a `use`.
            && (!is_crate || after.is_some_and(|letter| letter == ':' || letter == ';') || line.contains("extern crate"))
    })
}
