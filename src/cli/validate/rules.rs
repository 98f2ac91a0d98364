//! `--explain CODE` and `--list-rules`.

use serde::Serialize;

use super::super::ExitStatus;
use super::super::session::Session;
use super::arguments::Format;
use crate::diagnostic::{Code, code};
use crate::operation::error::OperationError;
use crate::report::table::Table;

/// A rule, as `--list-rules --json` gives it.
#[derive(Serialize)]
struct Row {
    code: &'static str,
    name: &'static str,
    severity: &'static str,
    title: &'static str,
}

/// The table.
#[derive(Serialize)]
struct Rows {
    rules: Vec<Row>,
}

/// A rule with its page, as `--explain --json` gives it.
#[derive(Serialize)]
struct Explained {
    #[serde(flatten)]
    row: Row,
    page: &'static str,
}

impl Row {
    fn new(code: Code) -> Self {
        Row { code: code.code, name: code.name, severity: code.severity.name(), title: code.title() }
    }
}

/// Shows the page of a rule.
pub(super) fn explain(code: Code, format: Format, session: &Session) -> anyhow::Result<ExitStatus> {
    let page = code.page();
    let as_json = is_json(format, "--explain")?;
    let rule = Explained { row: Row::new(code), page };
    session.report(("rule", as_json), &rule, |rule, _, output| output.write_all(rule.page.as_bytes()))?;
    Ok(ExitStatus::Done)
}

/// Shows the table of rules.
pub(super) fn list(format: Format, session: &Session) -> anyhow::Result<ExitStatus> {
    let as_json = is_json(format, "--list-rules")?;
    let rows: Vec<Row> = code::ALL.iter().copied().map(Row::new).collect();
    session.report(("rules", as_json), &Rows { rules: rows }, |rows, style, output| {
        let mut table = Table::new(&["code", "severity", "name"]);
        for row in &rows.rules {
            let cells = [row.code, row.severity, row.name].map(str::to_owned);
            table.push(cells.to_vec(), Some(row.title.to_owned()));
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
