//! `transcode` in parts: one job over many processes, by whatever starts a command with a number.

use std::io::Write;

use clap::Args;

use crate::cli::arguments::ReportArguments;
use crate::cli::session::{Session, print_as_it_is};
use crate::cli::value::{self, PartNumber};
use crate::cli::{ExitStatus, require};
use crate::operation::transcode::parts::{
    Engine, Finished, PartitionRequest, PassName, finish, init, partition, print_script, status,
};
use crate::operation::{OperationError, RunOptions, TranscodeOptions};
use crate::report::parts;

const ENGINES: [(&str, Engine); 4] = [
    ("slurm", Engine::Slurm),
    ("kubernetes", Engine::Kubernetes),
    ("dask", Engine::Dask),
    ("snakemake", Engine::Snakemake),
];
const PASSES: [(&str, PassName); 3] =
    [("range", PassName::Range), ("staging", PassName::Staging), ("write", PassName::Write)];

/// One job over many machines.
#[derive(Debug, Args)]
#[command(next_help_heading = "Several machines")]
pub(super) struct PartsArguments {
    /// Plan the job and write the plan into DEST (with --partitions)
    #[arg(long, requires = "partitions", conflicts_with_all = ["overwrite", "resume", "dry_run", "partition", "status", "finish"], hide_short_help = true)]
    init: bool,

    /// Number of parts of the job
    #[arg(long, value_name = "N", requires = "init", value_parser = value::above_zero::<u64>,
        conflicts_with_all = ["partition", "status", "finish", "print_script"], hide_short_help = true)]
    partitions: Option<u64>,

    /// Run one part: its number from 0, or `auto` in a scheduler's array job
    ///
    /// `auto` reads SLURM_ARRAY_TASK_ID, JOB_COMPLETION_INDEX, AWS_BATCH_JOB_ARRAY_INDEX, BATCH_TASK_INDEX, SGE_TASK_ID, PBS_ARRAY_INDEX or LSB_JOBINDEX.
    #[arg(long, value_name = "I|auto", value_parser = value::part_number, conflicts_with_all = ["status", "finish"], hide_short_help = true)]
    partition: Option<PartNumber>,

    /// Pass of the part: range, staging or write [default: the first that is not complete]
    #[arg(long, value_name = "NAME", requires = "partition", value_parser = value::one_of(&PASSES), hide_possible_values = true, hide_short_help = true)]
    pass: Option<PassName>,

    /// First number of the array job [default: 1 for SGE and LSF, else 0]
    #[arg(long, value_name = "N", hide_short_help = true)]
    first_index: Option<u64>,

    /// Show which parts are done
    #[arg(long, conflicts_with = "finish", hide_short_help = true)]
    status: bool,

    /// Check that all parts are done, and publish DEST
    #[arg(long, hide_short_help = true)]
    finish: bool,

    /// Print a script for the whole job: slurm, kubernetes, dask or snakemake
    ///
    /// Store options, --threads and --max-memory are copied into the script. Secrets are refused: set them in the environment.
    #[arg(long, value_parser = value::one_of(&ENGINES), value_name = "ENGINE", hide_possible_values = true, conflicts_with_all = ["init", "partition", "status", "finish"], hide_short_help = true)]
    pub(super) print_script: Option<Engine>,
}

impl PartsArguments {
    /// True if any of them is given.
    pub(super) fn is_given(&self) -> bool {
        self.init || self.partitions.is_some() || self.goes_by_plan() || self.first_index.is_some()
    }

    /// True for a job that was planned before.
    fn goes_by_plan(&self) -> bool {
        self.partition.is_some() || self.status || self.finish || self.print_script.is_some()
    }

    /// A usage error where there is no result that a page could show.
    pub(super) fn check_report(&self, is_given: bool) -> Result<(), OperationError> {
        if !is_given || self.finish || !self.is_given() {
            return Ok(());
        }
        Err(OperationError::usage("--report of a job in parts belongs to --finish")
            .with_help("leave it out here, and give it to --finish: the page shows the whole job"))
    }

    /// Runs what is asked for, and reports; `access` are options of the commands of a script.
    pub(super) fn run(
        &self,
        options: &TranscodeOptions,
        access: Vec<String>,
        (as_json, report): (bool, &ReportArguments),
        session: &Session,
    ) -> anyhow::Result<ExitStatus> {
        let needed = "--partition, --status, --finish or --print-script";
        require(self.goes_by_plan(), &[("first-index", self.first_index.is_some())], needed)?;
        // The parser asks for nothing where another option conflicts with what is missing.
        require(self.init, &[("partitions", self.partitions.is_some())], "--init")?;
        if let Some(partitions) = self.partitions {
            let result = init(options, partitions, &*session.progress, &session.interrupt)?;
            session.warn(&result.warnings);
            session.report(("init", as_json), &result, |style, output| parts::init(&result).write(style, output))?;
            return Ok(ExitStatus::Done);
        }
        check_alone(options)?;
        if let Some(engine) = self.print_script {
            let script = print_script(options, engine, self.first_index.unwrap_or(0), access)?;
            // The script is for a file or a shell, so its bytes must not be escaped.
            print_as_it_is(|output| output.write_all(script.as_bytes()))?;
            return Ok(ExitStatus::Done);
        }
        if let Some(index) = self.partition {
            let wanted = PartitionRequest { index: index.counted_from_zero(self.first_index)?, pass: self.pass };
            let result = partition(options, wanted, &*session.progress, &session.interrupt)?;
            session.warn(&result.warnings);
            let text = |style, output: &mut dyn Write| parts::part(&result).write(style, output);
            session.report(("partition", as_json), &result, text)?;
            return Ok(ExitStatus::Done);
        }
        let found = if self.finish {
            match finish(options, &*session.progress, &session.interrupt)? {
                Finished::Now(result) => {
                    session.warn(&result.warnings);
                    super::write_report(report, options, &result, session)?;
                    super::write_text(&result, as_json, session)?;
                    return Ok(ExitStatus::Done);
                }
                Finished::Before(found) if report.report.is_some() => {
                    let said = "the job was finished before: --report writes no page, `inspect --report` shows DEST";
                    session.note(|output| writeln!(output, "{said}"));
                    found
                }
                Finished::Missing(found) | Finished::Before(found) => found,
            }
        } else {
            status(options)?
        };
        session.warn(&found.warnings);
        let found = found.counted_from(self.first_index.unwrap_or(0));
        session.report(("status", as_json), &found, |style, output| parts::status(&found).write(style, output))?;
        Ok(if found.is_missing_any() { ExitStatus::DataFault } else { ExitStatus::Done })
    }
}

/// Refuses options of the job, because the plan has them.
fn check_alone(options: &TranscodeOptions) -> Result<(), OperationError> {
    let run = RunOptions { common: options.run.common.clone(), ..RunOptions::default() };
    let (source, destination) = (options.source.clone(), options.destination.clone());
    // The comparison covers all options, so none that is given here is ignored silently.
    if *options == (TranscodeOptions { run, ..TranscodeOptions::new(source, destination) }) {
        return Ok(());
    }
    Err(OperationError::usage("the plan from --init already has the options of the job")
        .with_help("leave them out here"))
}
