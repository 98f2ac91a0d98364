//! Scripts that carry out a job in parts by an engine that people have: all passes, the finish, and again what is missing.
//!
//! They name places, and no secrets. What is done is not done again, so that the same script submits what is missing.

mod dask;
mod kubernetes;
mod slurm;
mod snakemake;

use std::fmt::Write;

/// What starts a command with a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Engine {
    /// A script for `bash` that submits itself to Slurm.
    Slurm,
    /// Indexed Jobs, as YAML.
    Kubernetes,
    /// A Python program for `dask.distributed`.
    Dask,
    /// A Snakefile.
    Snakemake,
}

/// A job in parts as a script has to know it.
#[derive(Debug, Clone)]
pub(super) struct ScriptedJob {
    /// How zarrcast is called.
    pub program: String,
    /// SOURCE, as machines that run parts reach it.
    pub source: String,
    /// DEST, likewise.
    pub destination: String,
    /// Name and number of partitions of each pass, in order.
    pub passes: Vec<(String, u64)>,
    /// Bytes that a part may have in flight: its `--max-memory`.
    pub memory_bytes: u64,
    /// Worker threads of a part.
    pub threads: usize,
    /// What parts are counted from where an engine counts them by itself: in arrays of Slurm.
    pub first_index: u64,
    /// Whether each part reads its own objects back.
    pub verifies: bool,
    /// Options that every command takes to reach SOURCE and DEST, such as `--anonymous`.
    pub options: Vec<String>,
}

/// The script of a job for an engine.
pub(super) fn script(engine: Engine, job: &ScriptedJob) -> String {
    match engine {
        Engine::Slurm => slurm::script(job),
        Engine::Kubernetes => kubernetes::script(job),
        Engine::Dask => dask::script(job),
        Engine::Snakemake => snakemake::script(job),
    }
}

impl ScriptedJob {
    /// What a part's process is given, in MiB: chunk data in flight are most of it, not all.
    fn process_mebibytes(&self) -> u64 {
        const MEBIBYTE: u64 = 1 << 20;
        (self.memory_bytes.div_ceil(MEBIBYTE)).saturating_mul(5) / 4 + 256
    }

    /// In words: `range in 8 parts, write in 12`.
    fn passes_in_words(&self) -> String {
        let pass = |(name, partitions): &(String, u64)| format!("{name} in {partitions}");
        let passes: Vec<String> = self.passes.iter().map(pass).collect();
        let reads_back = if self.verifies { "; each part reads its own objects back" } else { "" };
        format!("{}{reads_back}", passes.join(", "))
    }
}

/// A word as a shell takes it, whatever it holds.
fn in_shell(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Words in double quotes, with commas between.
fn list_in_quotes(words: &[String]) -> String {
    words.iter().map(|word| in_quotes(word)).collect::<Vec<_>>().join(", ")
}

/// A text in double quotes, as Python and YAML read it alike, whatever it holds.
fn in_quotes(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        // Writing to a string does not fail.
        let _ = match character {
            '"' | '\\' => write!(quoted, "\\{character}"),
            ' '..='~' => write!(quoted, "{character}"),
            _ if character.is_alphanumeric() => write!(quoted, "{character}"),
            _ => write!(quoted, "\\U{:08x}", u32::from(character)),
        };
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn job() -> ScriptedJob {
        ScriptedJob {
            program: "zarrcast".to_owned(),
            source: "it's \"$(here)\"\\{x}\n".to_owned(),
            destination: "s3://bucket/to".to_owned(),
            passes: vec![("range".to_owned(), 8), ("write".to_owned(), 12)],
            memory_bytes: (512 << 20) - 1,
            threads: 4,
            first_index: 0,
            verifies: false,
            options: vec!["--requests=8".to_owned()],
        }
    }

    #[test]
    fn words_are_quoted_whatever_they_hold() {
        assert_eq!(in_shell("it's $HOME\n"), "'it'\\''s $HOME\n'");
        assert_eq!(
            in_quotes("a \"b\" \\ é\n\u{2028}\u{7f}"),
            r#""a \"b\" \\ é\U0000000a\U00002028\U0000007f""#
        );
    }

    #[test]
    fn a_process_is_given_more_than_its_chunks() {
        assert_eq!(job().process_mebibytes(), 512 + 128 + 256);
    }

    #[test]
    fn every_script_has_places_and_memory() {
        for engine in [Engine::Slurm, Engine::Kubernetes, Engine::Dask, Engine::Snakemake] {
            let script = script(engine, &job());
            for part in ["s3://bucket/to", "536870911", "--max-memory", "--finish", "range", "--requests=8"] {
                assert!(script.contains(part), "{engine:?} without {part}:\n{script}");
            }
            assert!(script.ends_with('\n'), "{script}");
        }
    }
}
