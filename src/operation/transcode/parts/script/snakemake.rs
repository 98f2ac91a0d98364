//! A Snakefile.

use std::fmt::Write;

use super::{ScriptedJob, in_quotes, list_in_quotes};

pub(super) fn script(job: &ScriptedJob) -> String {
    let mut script = format!(
        r#"# A job of zarrcast in parts, by Snakemake: {words}.
#
#   snakemake --snakefile FILE --cores all --keep-going
#
# What is done is not done again: the same again does what is missing. Marks of it are files below MARKS, in the folder in
# which Snakemake works; where the job was begun anew, or the finish says that parts are missing, remove them before.
import hashlib
import shlex


def words(*given):
    return shlex.join(given).replace("{{", "{{{{").replace("}}", "}}}}")


PROGRAM = {program}
SOURCE = {source}
DESTINATION = {destination}
OPTIONS = [{options}]
PLACES = words(*OPTIONS, "--", SOURCE, DESTINATION)
TRANSCODE = words(PROGRAM, "transcode")
PART = TRANSCODE + " --threads {threads} --max-memory {memory} --partition {{wildcards.part}}"
# That of a machine that died is locked for a minute on an object store.
LATER = " || (status=$?; [ $status != 3 ] || sleep 30; exit $status)"
MARKS = "zarrcast-parts/" + hashlib.sha256(repr((SOURCE, DESTINATION)).encode()).hexdigest()[:12]


wildcard_constraints:
    part="[0-9]+",


rule finish:
    localrule: True
    input:
        MARKS + "/{last}.done",
    output:
        touch(MARKS + "/finish.done"),
    shell:
        TRANSCODE + " --finish " + PLACES
"#,
        words = job.passes_in_words(),
        program = in_quotes(&job.program),
        source = in_quotes(&job.source),
        destination = in_quotes(&job.destination),
        options = list_in_quotes(&job.options),
        threads = job.threads,
        memory = job.memory_bytes,
        last = job.passes.last().map_or("", |(name, _)| name),
    );
    let mut before = None;
    for pass in &job.passes {
        // Writing to a string does not fail.
        let _ = write_pass(&mut script, job, pass, before);
        before = Some(pass.0.as_str());
    }
    script
}

/// The rules of a pass: one for its parts, and one of all of them, that not every part of the next names every one of these.
fn write_pass(
    script: &mut String,
    job: &ScriptedJob,
    (name, partitions): &(String, u64),
    before: Option<&str>,
) -> std::fmt::Result {
    let input =
        before.map_or_else(String::new, |name| format!("    input:\n        MARKS + \"/{name}.done\",\n"));
    let mebibytes = job.process_mebibytes();
    let threads = job.threads;
    write!(
        script,
        r#"

rule part_of_{name}:
{input}    output:
        touch(MARKS + "/{name}/{{part}}"),
    threads: {threads}
    resources:
        mem_mb={mebibytes},
    retries: 3
    shell:
        PART + " --pass {name} " + PLACES + LATER


rule all_of_{name}:
    localrule: True
    input:
        expand(MARKS + "/{name}/{{part}}", part=range({partitions})),
    output:
        touch(MARKS + "/{name}.done"),
"#
    )
}
