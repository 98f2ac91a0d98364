//! Scripts that run a job in parts with a scheduler: all passes, the finish, and again any missing parts.
//!
//! They contain locations, but no secrets. Completed parts are skipped, so the same script submits the missing parts.

use std::fmt::Write;

const PROGRAM: &str = "zarrcast";

/// Number of pods of a Kubernetes pass at the same time. Users with more capacity change it.
const MOST_AT_ONCE: u64 = 100;

/// A scheduler.
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

/// The parameters of a script for a job in parts.
pub(super) struct ScriptedJob {
    /// SOURCE as the machines that run parts reach it.
    pub source: String,
    /// DEST as the machines that run parts reach it.
    pub destination: String,
    /// Name and number of partitions of each pass, in order.
    pub passes: Vec<(String, u64)>,
    /// Limit for the chunk data of a part in flight, in bytes: its `--max-memory`.
    pub memory_bytes: u64,
    pub threads: usize,
    /// Number of the first part, if an engine counts parts itself: in arrays of Slurm.
    pub first_index: u64,
    /// Whether each part reads its own objects back.
    pub verifies: bool,
    /// Options that every command needs to access SOURCE and DEST, such as `--anonymous`.
    pub access: Vec<String>,
}

pub(super) fn script(engine: Engine, job: &ScriptedJob) -> String {
    match engine {
        Engine::Slurm => job.filled(include_str!("script/slurm.sh.tmpl"), &[]),
        Engine::Kubernetes => job.kubernetes(),
        Engine::Dask => job.filled(include_str!("script/dask.py.tmpl"), &[]),
        Engine::Snakemake => job.snakefile(),
    }
}

impl ScriptedJob {
    /// Fills a template with the values of all scripts, quoted for its engine, and with its own values.
    fn filled(&self, template: &str, own: &[(&str, &str)]) -> String {
        let is_shell = template.starts_with("#!/bin/bash");
        let (quoted, between) = if is_shell { (in_shell as fn(&str) -> String, " ") } else { (in_quotes as _, ", ") };
        let options: Vec<String> = self.access.iter().map(|word| quoted(word)).collect();
        let passes: Vec<String> = self.passes.iter().map(|(name, partitions)| format!("{name}:{partitions}")).collect();
        let words: Vec<String> = self.passes.iter().map(|(name, parts)| format!("{name} in {parts}")).collect();
        let reads_back = if self.verifies { "; each part reads its own objects back" } else { "" };
        let all = [
            ("words", words.join(", ") + reads_back),
            ("mebibytes", self.process_mebibytes().to_string()),
            ("threads", self.threads.to_string()),
            ("memory", self.memory_bytes.to_string()),
            ("first", self.first_index.to_string()),
            ("program", quoted(PROGRAM)),
            ("source", quoted(&self.source)),
            ("destination", quoted(&self.destination)),
            ("options", options.join(between)),
            ("passes", passes.join(" ")),
        ];
        let all = all.iter().map(|(name, value)| (*name, value.as_str())).chain(own.iter().copied());
        filled(template, &all.collect::<Vec<_>>())
    }

    /// Returns a Snakefile. Each pass has a rule for its parts, and one for all of them. So the parts of the next pass
    /// need not name every part of this one.
    fn snakefile(&self) -> String {
        let last = self.passes.last().map_or("", |(name, _)| name);
        let mut script = self.filled(include_str!("script/snakefile.tmpl"), &[("last", last)]);
        let mut input = String::new();
        for (name, partitions) in &self.passes {
            let own = [("name", name.as_str()), ("partitions", &partitions.to_string()), ("input", &input)];
            script += &self.filled(include_str!("script/snakefile-pass.tmpl"), &own);
            input = format!("    input:\n        MARKS + \"/{name}.done\",\n");
        }
        script
    }

    /// Returns Kubernetes Jobs as YAML: an Indexed Job for each pass, and one for the finish. They do not repeat what
    /// cannot succeed: wrong data, a wrong command or pass. A part of a pass that is too early exits with 4.
    ///
    /// <https://kubernetes.io/docs/concepts/workloads/controllers/job/>
    fn kubernetes(&self) -> String {
        let names: Vec<String> = self.passes.iter().map(|(name, _)| format!("zarrcast-{name}")).collect();
        let words = self.access.iter().map(String::as_str).chain(["--", &self.source, &self.destination]);
        // Kubernetes would expand `$(NAME)` as a variable.
        let line = |word: &str| format!("            - {}\n", in_quotes(&word.replace('$', "$$")));
        let is_remote = |name: &&String| name.contains("://") && !name.starts_with("file://");
        let num_remote = [&self.source, &self.destination].iter().filter(|name| is_remote(name)).count();
        let secrets = if num_remote > 0 { include_str!("script/kubernetes-secrets.yaml.tmpl") } else { "" };
        let volumes = if num_remote < 2 { include_str!("script/kubernetes-volumes.yaml.tmpl") } else { "" };
        let (names, places) = (names.join(" "), words.map(line).collect::<String>());
        let shared = [("names", names.as_str()), ("places", &places), ("secrets", secrets), ("volumes", volumes)];
        let mut script = self.filled(include_str!("script/kubernetes.yaml.tmpl"), &shared);
        for (name, partitions) in &self.passes {
            let (at_once, partitions) = (MOST_AT_ONCE.min(*partitions).to_string(), partitions.to_string());
            let own = [("name", name.as_str()), ("partitions", &partitions), ("at_once", &at_once)];
            let own = [&own[..], &shared].concat();
            script += &self.filled(include_str!("script/kubernetes-pass.yaml.tmpl"), &own);
        }
        script + &self.filled(include_str!("script/kubernetes-finish.yaml.tmpl"), &shared)
    }

    /// Returns the memory of a part's process, in MiB. Chunk data in flight are most of it, but not all.
    fn process_mebibytes(&self) -> u64 {
        self.memory_bytes.div_ceil(1 << 20).saturating_mul(5) / 4 + 256
    }
}

/// Returns a template with its `{{name}}`s replaced. Braces in values and around unknown names stay.
fn filled(template: &str, values: &[(&str, &str)]) -> String {
    let (mut text, mut rest) = (String::new(), template);
    while let Some((before, after)) = rest.split_once("{{") {
        let named =
            |(name, value): &(&str, &'_ str)| Some((value.to_string(), after.strip_prefix(name)?.strip_prefix("}}")?));
        let (value, after) = values.iter().find_map(named).unwrap_or(("{{".to_owned(), after));
        text = text + before + &value;
        rest = after;
    }
    text + rest
}

/// Quotes any word for a shell.
fn in_shell(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Returns any text in double quotes, valid in Python and in YAML.
fn in_quotes(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        // Writing to a string never fails.
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
            source: "it's \"$(here)\"\\{x}\n".to_owned(),
            destination: "s3://bucket/to".to_owned(),
            passes: vec![("range".to_owned(), 8), ("write".to_owned(), 12)],
            memory_bytes: (512 << 20) - 1,
            threads: 4,
            first_index: 0,
            verifies: false,
            access: vec!["--requests=8".to_owned()],
        }
    }

    #[test]
    fn words_are_quoted_whatever_they_hold() {
        assert_eq!(in_shell("it's $HOME\n"), "'it'\\''s $HOME\n'");
        assert_eq!(in_quotes("a \"b\" \\ é\n\u{2028}\u{7f}"), r#""a \"b\" \\ é\U0000000a\U00002028\U0000007f""#);
    }

    #[test]
    fn a_process_is_given_more_than_its_chunks() {
        assert_eq!(job().process_mebibytes(), 512 + 128 + 256);
    }

    #[test]
    fn slurm_assigns_what_the_shell_would_expand() {
        let script = script(Engine::Slurm, &job());
        assert!(script.contains("\nsource='it'\\''s \"$(here)\"\\{x}\n'\n"), "{script}");
        assert!(
            script.contains("\npasses=(range:8 write:12)\n") && script.contains("#SBATCH --mem=896M\n"),
            "{script}"
        );
    }

    #[test]
    fn kubernetes_expands_no_variable() {
        let script = script(Engine::Kubernetes, &job());
        assert!(script.contains(r#"- "it's \"$$(here)\"\\{x}\U0000000a""#), "{script}");
        assert!(script.contains("  completions: 12\n  parallelism: 12\n"), "{script}");
    }

    #[test]
    fn kubernetes_mounts_a_volume_for_places_that_are_folders() {
        let both = script(Engine::Kubernetes, &job());
        assert!(both.contains("volumeMounts") && both.contains("envFrom"), "{both}");
        let remote = script(Engine::Kubernetes, &ScriptedJob { source: "s3://bucket/from".to_owned(), ..job() });
        assert!(!remote.contains("volume") && remote.contains("envFrom"), "{remote}");
    }

    #[test]
    fn values_that_look_like_names_stay() {
        assert_eq!(filled("{{a}} {{b}} {{c}} {{", &[("a", "{{b}}"), ("b", "x")]), "{{b}} x {{c}} {{");
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
