//! `zarrcast validate STORE...`.

mod arguments;
mod rules;

use std::cmp::max;
use std::io::{self, Write};

use super::ExitStatus;
use super::exit_status::of_error;
use super::session::Session;
use crate::operation::validate::{ValidateOutcome, validate};
use crate::report::terminal::Style;
use crate::report::{github, json, junit, sarif, validate_text};

pub(super) use arguments::ValidateArguments;
use arguments::{Format, Task};

impl ValidateArguments {
    /// Runs the command and reports.
    pub(super) fn run(self, session: &Session) -> anyhow::Result<ExitStatus> {
        let format = self.format()?;
        let options = match self.task()? {
            Task::Explain(code) => return rules::explain(code, format, session),
            Task::ListRules => return rules::list(format, session),
            Task::Validate(options) => *options,
        };
        let outcome = validate(&options, session.progress());
        session.progress().finish();
        session.print(|output| write(&outcome, format, session.style(), output))?;
        Ok(report_failures(outcome, session))
    }
}

fn write(outcome: &ValidateOutcome, format: Format, style: Style, output: &mut dyn Write) -> io::Result<()> {
    match format {
        Format::Text => validate_text::write(&outcome.result, style, output),
        Format::Json => json::write("validate", &outcome.result, output),
        Format::Github => github::write(&outcome.result, output),
        Format::Junit => junit::write(outcome, output),
        Format::Sarif => sarif::write(outcome, output),
    }
}

/// Says which STOREs could not be looked at; the status of the whole run, the greatest of its parts.
fn report_failures(outcome: ValidateOutcome, session: &Session) -> ExitStatus {
    let result = &outcome.result;
    let differs = result.against.as_ref().is_some_and(|against| !against.equal);
    let found = if result.valid && !differs { ExitStatus::Done } else { ExitStatus::DataFault };
    outcome.failures.into_iter().map(anyhow::Error::from).fold(found, |status, failure| {
        session.report_error(&failure);
        max(status, of_error(&failure))
    })
}
