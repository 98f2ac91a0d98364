//! A Python program for `dask.distributed`.

use super::{ScriptedJob, in_quotes, list_in_quotes};

pub(super) fn script(job: &ScriptedJob) -> String {
    format!(
        r#"#!/usr/bin/env python3
"""A job of zarrcast in parts, by Dask: {words}.

    python FILE ADDRESS    on the workers of that scheduler, which reach the program, SOURCE and DEST as this machine does
    python FILE            on workers of this machine

A part takes THREADS threads and about {mebibytes} MiB: a worker should do one at a time (`dask worker --nthreads 1`).
What is done is not done again: the same again does what is missing.
"""

PROGRAM = {program}
SOURCE = {source}
DESTINATION = {destination}
OPTIONS = [{options}]
THREADS = {threads}
MEMORY_BYTES = {memory}

{BODY}"#,
        words = job.passes_in_words(),
        mebibytes = job.process_mebibytes(),
        program = in_quotes(&job.program),
        source = in_quotes(&job.source),
        destination = in_quotes(&job.destination),
        options = list_in_quotes(&job.options),
        threads = job.threads,
        memory = job.memory_bytes,
    )
}

const BODY: &str = include_str!("dask.py");
