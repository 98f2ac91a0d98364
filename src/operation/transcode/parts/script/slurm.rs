//! A script for `bash` that submits itself to Slurm: an array of tasks for each pass, and the finish.

use super::{ScriptedJob, in_shell};

pub(super) fn script(job: &ScriptedJob) -> String {
    let passes: Vec<String> =
        job.passes.iter().map(|(name, partitions)| format!("{name}:{partitions}")).collect();
    format!(
        "#!/bin/bash
#SBATCH --job-name=zarrcast
#SBATCH --cpus-per-task={threads}
#SBATCH --mem={mebibytes}M
#
# A job of zarrcast in parts, by Slurm: {words}.
#
#   bash FILE [OPTION OF sbatch]...    submits what is missing: an array of tasks for each pass, then the finish
#
# At first that is all of it. The log of the finish says whether anything is missing: then do the same again, once nothing of
# it is queued any more. An array holds what MaxArraySize of the site allows: where there are more parts, a task does
# several, one after the other. PARTS_A_TASK=N in the environment asks for that.

program={program}
source={source}
destination={destination}
passes=({passes})
options=({options})
first={first}
resources=(--threads {threads} --max-memory {memory})

{BODY}",
        words = job.passes_in_words(),
        mebibytes = job.process_mebibytes(),
        threads = job.threads,
        program = in_shell(&job.program),
        source = in_shell(&job.source),
        destination = in_shell(&job.destination),
        passes = passes.join(" "),
        options = job.options.iter().map(|word| in_shell(word)).collect::<Vec<_>>().join(" "),
        first = job.first_index,
        memory = job.memory_bytes,
    )
}

const BODY: &str = include_str!("slurm.sh");

#[cfg(test)]
mod tests {
    use super::super::tests::job;
    use super::script;

    #[test]
    fn slurm_assigns_what_the_shell_would_expand() {
        let script = script(&job());
        assert!(script.contains("\nsource='it'\\''s \"$(here)\"\\{x}\n'\n"), "{script}");
        assert!(
            script.contains("\npasses=(range:8 write:12)\n") && script.contains("#SBATCH --mem=896M\n"),
            "{script}"
        );
    }
}
