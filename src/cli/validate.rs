//! `zarrcast validate STORE...`.

mod arguments;
mod rules;

pub(super) use arguments::ValidateArguments;

use std::cmp::max;
use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;

use super::session::Session;
use super::{ExitStatus, status_of_error};
use crate::metadata::json::Json;
use crate::operation::error::OperationError;
use crate::operation::expect::contract;
use crate::operation::options::ValidateOptions;
use crate::operation::validate::{ValidateOutcome, validate};
use crate::report::terminal::Style;
use crate::report::{self, github, html, json, junit, sarif};
use crate::store::file;
use arguments::{Format, Task};

impl ValidateArguments {
    /// Runs the command and reports.
    pub(super) fn run(self, session: &Session) -> anyhow::Result<ExitStatus> {
        let format = self.format()?;
        let contract = self.write_expect.clone();
        let report = self.report.clone();
        let options = match self.task()? {
            Task::Explain(code) => return rules::explain(code, format, session),
            Task::ListRules => return rules::list(format, session),
            Task::Validate(options) => *options,
        };
        let stores = options.stores.iter().chain(options.against.as_ref().map(|against| &against.other));
        let report = report.file(stores)?;
        let outcome = validate(&options, session.progress(), session.interrupt());
        session.progress().finish();
        // A STORE that could not be opened is among the failures.
        if let Some(path) = contract.filter(|_| !outcome.result.checked.is_empty()) {
            write_contract(&options, &path, session)?;
        }
        if let Some(report) = report {
            report.write(&html::page("validate", &[report::validate::report(&outcome.result, false)]))?;
        }
        session.print(|output| write(&outcome, format, session.style(), output))?;
        Ok(report_failures(outcome, session))
    }
}

/// The chunks of one array that stderr names where they cannot be read; the result names more of them.
const MAX_CHUNK_ERRORS: usize = 3;

fn write(outcome: &ValidateOutcome, format: Format, style: Style, output: &mut dyn Write) -> io::Result<()> {
    match format {
        Format::Text => report::validate::report(&outcome.result, style.is_verbose()).write(style, output),
        Format::Json => json::write("validate", &outcome.result, output),
        Format::Github => github::write(&outcome.result, output),
        Format::Junit => junit::write(outcome, output),
        Format::Sarif => sarif::write(outcome, output),
    }
}

/// Writes the contract of the one STORE.
fn write_contract(options: &ValidateOptions, path: &Path, session: &Session) -> anyhow::Result<()> {
    let contract = contract(options, session.interrupt())?;
    let mut text = serde_json::to_vec_pretty(&Json::Object(contract)).context("the contract is not JSON")?;
    text.push(b'\n');
    file::write(path, &text).map_err(|error| {
        let message = "the file of --write-expect cannot be written";
        OperationError::environment(message).because(error).with_help("check the path and its permissions")
    })?;
    Ok(())
}

/// Reports failures, and returns the exit status of the run: the greatest of its parts.
fn report_failures(outcome: ValidateOutcome, session: &Session) -> ExitStatus {
    let ValidateOutcome { result, failures } = outcome;
    let differs = result.against.as_ref().is_some_and(|against| !against.equal);
    let is_sound = result.errors == 0 && !differs;
    let mut status = if is_sound { ExitStatus::Done } else { ExitStatus::DataFault };
    let mut of_node = (None, 0);
    for (named, failure) in result.failures.iter().zip(failures) {
        let failure = anyhow::Error::from(failure);
        // Whatever the reason, what could not be read was not checked.
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
