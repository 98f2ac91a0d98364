//! `zarrcast validate STORE...`.

use std::cmp::max;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, ValueEnum};

use super::arguments::{CommonArguments, ReportArguments, write_file};
use super::session::Session;
use super::value::{self, Document, PartNumber};
use super::{ExitStatus, require, require_one, status_of_error};
use crate::diagnostic::{Code, Severity, code};
use crate::metadata::{Json, Object};
use crate::operation::expect::contract;
use crate::operation::options::AgainstOptions;
use crate::operation::validate::{ValidateOutcome, validate};
use crate::operation::{OperationError, Partition, ValidateLevel, ValidateOptions};
use crate::report::table::Table;
use crate::report::terminal::Style;
use crate::report::{self, formats, github, html, junit, sarif};
use crate::store::Location;

impl ValidateArguments {
    pub(super) fn run(self, session: &Session) -> anyhow::Result<ExitStatus> {
        let format = self.format()?;
        let contract = self.write_expect.clone();
        let report = self.report.clone();
        if (self.explain.is_some() || self.list_rules) && report.report.is_some() {
            return Err(OperationError::usage("--report needs a STORE, but --explain and --list-rules check none")
                .with_help("leave --report out, or name a STORE")
                .into());
        }
        if let Some(code) = self.explain {
            return explain_rule(code, format, session);
        }
        if self.list_rules {
            return list_rules(format, session);
        }
        let options = self.options()?;
        report.check(options.stores.iter().chain(options.against.as_ref().map(|against| &against.other)))?;
        let outcome = validate(&options, &*session.progress, &session.interrupt);
        session.progress.finish();
        // A STORE that could not be opened is among the failures.
        if let Some(path) = contract.filter(|_| !outcome.result.checked.is_empty()) {
            write_contract(&options, &path, session)?;
        }
        report.write(|| html::page("validate", &[report::validate::report(&outcome.result, false)]))?;
        // If no STORE could be read, stderr already has everything.
        if format != Format::Text || !outcome.result.checked.is_empty() {
            session.print(|output| write(&outcome, format, session.style(), output))?;
        }
        Ok(report_failures(outcome, session))
    }

    /// Returns the output format. `--json` means `--format json`.
    pub(super) fn format(&self) -> Result<Format, OperationError> {
        match self.format {
            Some(format) if self.common.json && format != Format::Json => {
                Err(OperationError::usage("--json and --format give two output formats")
                    .with_help("leave one of them out"))
            }
            Some(format) => Ok(format),
            None if self.common.json => Ok(Format::Json),
            None => Ok(Format::Text),
        }
    }

    fn options(self) -> Result<ValidateOptions, OperationError> {
        let for_against = [("rtol", self.rtol.is_some()), ("atol", self.atol.is_some()), ("cf", self.cf)];
        require(self.against.is_some(), &for_against, "--against")?;
        require_one(&self.stores, ("--against", self.against.is_some()), "pair")?;
        require_one(&self.stores, ("--write-expect", self.write_expect.is_some()), "STORE")?;
        let stores = self.stores.into_iter().map(|store| self.common.location("STORE", store));
        let stores = stores.collect::<Result<Vec<Location>, _>>()?;
        let other = self.against.map(|other| self.common.location("--against", other)).transpose()?;
        self.common.check_settings(stores.iter().chain(&other), None)?;
        let level = self.level.unwrap_or_else(|| {
            let all_list = stores.iter().all(|store| store.node().lists());
            if all_list { ValidateLevel::Keys } else { ValidateLevel::Metadata }
        });
        if self.partition.is_some() && !matches!(level, ValidateLevel::Data | ValidateLevel::Index) {
            let message = "--partition needs --level data or index: at other levels no stored objects are read";
            return Err(OperationError::usage(message).with_help("add `--level data`, or leave --partition out"));
        }
        let partition = |(number, count): (PartNumber, u64)| {
            let index = number.counted_from_zero(self.first_index)?;
            Partition::new(index, count).ok_or_else(|| {
                OperationError::usage(format!("there is no share {index} of {count}: shares are counted from 0"))
                    .with_help(format!("give 0/{count} to {}/{count}", count - 1))
            })
        };
        let partition = self.partition.map(partition).transpose()?;
        let (rtol, atol) = (self.rtol.unwrap_or(0.0), self.atol.unwrap_or(0.0));
        let against = other.map(|other| AgainstOptions { other, rtol, atol, cf: self.cf });
        Ok(ValidateOptions {
            common: self.common.options(),
            stores,
            node: self.node,
            level,
            deny_warnings: self.deny.contains(&None),
            deny: self.deny.into_iter().flatten().collect(),
            allow: self.allow,
            max_findings: self.max_findings,
            partition,
            against,
            expect: self.expect.map(|path| Document::File(path).object("expect")).transpose()?,
        })
    }
}

/// The maximum number of unreadable chunks per array that stderr names. The result names more of them.
const MAX_CHUNK_ERRORS: usize = 3;

fn write(outcome: &ValidateOutcome, format: Format, style: Style, output: &mut dyn Write) -> io::Result<()> {
    match format {
        Format::Text => report::validate::report(&outcome.result, style.is_verbose).write(style, output),
        Format::Json => formats::write("validate", &outcome.result, output),
        Format::Github => github::write_github(&outcome.result, output),
        Format::Junit => junit::write_junit(outcome, output),
        Format::Sarif => sarif::write_sarif(outcome, output),
    }
}

fn write_contract(options: &ValidateOptions, path: &Path, session: &Session) -> anyhow::Result<()> {
    let contract = contract(options, &session.interrupt)?;
    let mut text = serde_json::to_vec_pretty(&Json::Object(contract)).context("the contract is not JSON")?;
    text.push(b'\n');
    Ok(write_file("write-expect", path, &text)?)
}

/// Reports failures, and returns the exit status of the run: the greatest of its parts.
fn report_failures(outcome: ValidateOutcome, session: &Session) -> ExitStatus {
    let ValidateOutcome { result, failures } = outcome;
    let is_sound = result.errors == 0 && result.against.as_ref().is_none_or(|against| against.equal);
    let mut status = if is_sound { ExitStatus::Done } else { ExitStatus::DataFault };
    let mut of_node = (None, 0);
    for (named, failure) in result.failures.iter().zip(failures) {
        let failure = anyhow::Error::from(failure);
        // A node that could not be read was not checked, whatever the reason.
        status = match status_of_error(&failure) {
            ExitStatus::Done | ExitStatus::DataFault => max(status, ExitStatus::Failed),
            of_failure => max(status, of_failure),
        };
        let node = Some((&named.store, &named.node));
        of_node = if of_node.0 == node { (node, of_node.1 + 1) } else { (node, 1) };
        if named.key.is_none() || of_node.1 <= MAX_CHUNK_ERRORS {
            session.report_error(&failure);
        }
    }
    status
}

/// The forms of the command. The last two take no STORE.
const USAGE: &str = "zarrcast validate [OPTIONS] <STORE>...
       zarrcast validate --explain <CODE>
       zarrcast validate --list-rules";

/// Check stores: metadata, keys, shard indexes, every chunk
///
/// Reports all findings, each with a stable code. A group is checked with all arrays and groups below it. The exit status
/// is 1 if a finding is an error.
#[derive(Debug, Args)]
#[command(after_help = include_str!("examples/validate.short.txt"))]
#[command(after_long_help = include_str!("examples/validate.txt"), override_usage = USAGE)]
pub(super) struct ValidateArguments {
    /// Arrays or groups to check
    ///
    /// Local folders, zip files, URLs (http://, s3://, gs://, az://) or kerchunk reference files. A path may continue inside a group.
    #[arg(value_name = "STORE", required_unless_present_any = ["explain", "list_rules"])]
    stores: Vec<PathBuf>,

    /// Path of a node inside each STORE and inside OTHER
    #[arg(long, value_name = "PATH", help_heading = "Check")]
    node: Option<String>,

    /// What to check: metadata, keys, index or data [default: keys]
    ///
    /// `keys` also checks names and sizes of files, `index` also the indexes of shards; `data` decodes every chunk. If a store cannot list its files (HTTP), the default is metadata.
    #[arg(long, value_name = "LEVEL", hide_possible_values = true, value_parser = value::one_of(&ValidateLevel::NAMES), help_heading = "Check")]
    level: Option<ValidateLevel>,

    /// Treat findings with this code, or all warnings, as errors
    #[arg(long, value_name = "CODE", value_parser = denied, help_heading = "Check")]
    deny: Vec<Option<Code>>,

    /// Hide findings with this code
    #[arg(long, value_name = "CODE", value_parser = code, help_heading = "Check")]
    allow: Vec<Code>,

    /// Show the first N findings; 0 shows all
    #[arg(value_parser = value::whole_number::<usize>)]
    #[arg(long, value_name = "N", default_value_t = 1000)]
    #[arg(help_heading = "Output")]
    max_findings: usize,

    /// Output format: text, json, github, junit or sarif
    ///
    /// `github` writes annotations of GitHub Actions, `junit` a test suite per store, `sarif` SARIF 2.1.0.
    #[arg(long, value_name = "FORMAT", hide_possible_values = true, value_enum, help_heading = "Output")]
    format: Option<Format>,

    /// Check share I of N of the chunks (I from 0, or auto/N)
    ///
    /// Needs --level data or index. `auto` reads SLURM_ARRAY_TASK_ID and others, like `transcode --partition auto`.
    #[arg(long, value_name = "I/N|auto/N", value_parser = share, conflicts_with = "against", allow_hyphen_values = true)]
    #[arg(help_heading = "Several machines")]
    partition: Option<(PartNumber, u64)>,

    /// First number of the array job [default: 1 for SGE and LSF, else 0]
    #[arg(long, value_name = "N", requires = "partition", help_heading = "Several machines", hide_short_help = true)]
    first_index: Option<u64>,

    /// Compare the values with those of OTHER
    ///
    /// Values are equal if |a-b| <= atol + rtol*|b|, where b is from OTHER. NaN equals NaN. Groups are paired by path.
    #[arg(long, value_name = "OTHER", help_heading = "Compare")]
    against: Option<PathBuf>,

    /// Tolerance relative to OTHER's value [default: 0]
    #[arg(long, value_name = "X", value_parser = value::max_error, help_heading = "Compare")]
    rtol: Option<f64>,

    /// Absolute tolerance [default: 0]
    #[arg(long, value_name = "Y", value_parser = value::max_error, help_heading = "Compare")]
    atol: Option<f64>,

    /// Compare both sides as CF readers see them
    #[arg(long, help_heading = "Compare")]
    cf: bool,

    /// Check the metadata against FILE (JSON)
    ///
    /// Every member in FILE must be equal. Attributes that are not in FILE are not compared. --write-expect and `inspect --json` write such files.
    #[arg(long, value_name = "FILE", help_heading = "Compare")]
    expect: Option<PathBuf>,

    /// Write a FILE for --expect from STORE
    #[arg(long, value_name = "FILE", help_heading = "Compare")]
    pub(super) write_expect: Option<PathBuf>,

    /// Show what a code means and what to do
    #[arg(long, value_name = "CODE", value_parser = code, conflicts_with_all = ["stores", "list_rules"], help_heading = "Rules")]
    explain: Option<Code>,

    /// List every code with its severity
    #[arg(long, conflicts_with = "stores", help_heading = "Rules")]
    list_rules: bool,

    #[command(flatten)]
    pub(super) report: ReportArguments,

    #[command(flatten)]
    pub(super) common: CommonArguments,
}

/// In what form to report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people
    Text,
    /// One document, the same as --json
    Json,
    /// Workflow commands of GitHub Actions: annotations
    Github,
    /// JUnit XML: a test suite for each store, a test case for each node
    Junit,
    /// SARIF 2.1.0
    Sarif,
}

/// The number of a share, and the number of shares.
fn share(text: &str) -> Result<(PartNumber, u64), String> {
    let read = |(number, count): (&str, &str)| {
        Some((value::part_number(number).ok()?, count.parse().ok().filter(|count| *count > 0)?))
    };
    text.split_once('/').and_then(read).ok_or_else(|| "expected I/N, such as 0/8, or auto/N".to_owned())
}

/// Parses `warnings`, which is `None`, or a code or its name.
fn denied(text: &str) -> Result<Option<Code>, String> {
    if text == Severity::Warning.name() || text == "warnings" { Ok(None) } else { code(text).map(Some) }
}

/// Parses a code or its name.
fn code(text: &str) -> Result<Code, String> {
    code::find(text).ok_or_else(|| {
        let next = match code::meant(text) {
            _ if text.contains(',') => "give one code, and repeat the option for others".to_owned(),
            Some(near) => format!("the nearest is {} ({})", near.code, near.name()),
            None => "`zarrcast validate --list-rules` shows all".to_owned(),
        };
        format!("no rule has this code or name; {next}")
    })
}

/// Returns a rule as `--list-rules --json` writes it.
fn rule(code: Code) -> Object {
    let rule = Object::new().with("code", code.code).with("name", code.name());
    rule.with("severity", code.severity.name()).with("title", code.title())
}

/// Writes the page of a rule.
pub(super) fn explain_rule(code: Code, format: Format, session: &Session) -> anyhow::Result<ExitStatus> {
    let page = code.page();
    let as_json = is_json(format, "--explain")?;
    let rule = rule(code).with("page", page);
    session.report(("rule", as_json), &rule, |_, output| output.write_all(page.as_bytes()))?;
    Ok(ExitStatus::Done)
}

pub(super) fn list_rules(format: Format, session: &Session) -> anyhow::Result<ExitStatus> {
    let as_json = is_json(format, "--list-rules")?;
    let rules = code::ALL.iter().map(|code| rule(*code).into()).collect();
    session.report(("rules", as_json), &Object::new().with("rules", Json::Array(rules)), |style, output| {
        let mut table = Table::new(&["code", "severity", "name"]);
        for code in code::ALL {
            table.push([code.code, code.severity.name(), code.name()], Some(code.title().to_owned()));
        }
        table.write(style, output)
    })?;
    Ok(ExitStatus::Done)
}

fn is_json(format: Format, task: &str) -> Result<bool, OperationError> {
    match format {
        Format::Text => Ok(false),
        Format::Json => Ok(true),
        Format::Github | Format::Junit | Format::Sarif => {
            Err(OperationError::usage(format!("{task} is shown as text or json alone")).with_help("leave --format out"))
        }
    }
}
