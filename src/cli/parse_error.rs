//! Messages of clap about wrong arguments.

use std::error::Error;

use clap::error::{ContextKind, ContextValue};

use super::ExitStatus;
use super::session::Session;
use crate::report::defused::one_line;
use crate::report::failure;

/// Prints clap's own message; `--help` and `--version` are no errors.
pub(super) fn report(mut error: clap::Error) -> ExitStatus {
    let escaped: Vec<_> =
        error.context().filter_map(|(kind, value)| escaped(value).map(|value| (kind, value))).collect();
    let cause = error.source().map(ToString::to_string).filter(|cause| one_line(cause) != *cause);
    if escaped.is_empty() && cause.is_none() {
        let session = Session::of_terminal();
        if error.use_stderr() && session.error_style().width().is_some() {
            let text = error.render().to_string();
            session.note(|output| failure::write_usage_error(&text, session.error_style(), output));
        } else {
            // A closed stream cannot be told about.
            let _ = error.print();
        }
    } else {
        for (kind, value) in escaped {
            error.insert(kind, value);
        }
        // Without styles, escapes are those of arguments, which are shown and not taken out.
        error.remove(ContextKind::Usage);
        let plain = clap::Command::new("").styles(clap::builder::Styles::plain());
        let text = error.with_cmd(&plain).render().ansi().to_string();
        let text = cause.map_or(text.clone(), |cause| text.replace(&cause, &one_line(&cause)));
        Session::new(None).note(|output| write!(output, "{text}"));
        return ExitStatus::UsageFault;
    }
    if error.use_stderr() { ExitStatus::UsageFault } else { ExitStatus::Done }
}

/// An argument that a message names, as part of one line; `None` where it is that already.
fn escaped(value: &ContextValue) -> Option<ContextValue> {
    let is_other = |text: &String| one_line(text) != *text;
    let line = |text: &String| one_line(text).into_owned();
    match value {
        ContextValue::String(text) if is_other(text) => Some(ContextValue::String(line(text))),
        ContextValue::Strings(texts) if texts.iter().any(is_other) => {
            Some(ContextValue::Strings(texts.iter().map(line).collect()))
        }
        _ => None,
    }
}
