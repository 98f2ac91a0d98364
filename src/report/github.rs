//! `validate` as workflow commands of GitHub Actions, which shows them as annotations.
//!
//! Grammar: <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands>; what must be
//! escaped is what the runner unescapes: `%`, CR and LF everywhere, `:` and `,` in properties too.

use std::io::{self, Write};

use super::uri::path_of;
use crate::diagnostic::{Diagnostic, Severity};
use crate::operation::validate_result::ValidateResult;

/// Writes a command for each finding, each on a line.
pub fn write(result: &ValidateResult, output: &mut dyn Write) -> io::Result<()> {
    for finding in &result.findings_and_differences() {
        writeln!(output, "{}", command(finding))?;
    }
    if result.truncated {
        let shown = result.findings.len();
        writeln!(output, "::notice title=findings left out::only the first {shown} findings are shown")?;
    }
    Ok(())
}

fn command(finding: &Diagnostic) -> String {
    let word = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "notice",
    };
    let location = &finding.location;
    let file = path_of(location).map_or_else(String::new, |path| format!("file={},", property(&path)));
    let mut message = finding.message.clone();
    let pointer = location.pointer.as_ref().filter(|pointer| !pointer.is_empty());
    let chunk = location.chunk.as_ref().map(|chunk| format!("chunk {chunk:?}"));
    for place in pointer.cloned().into_iter().chain(chunk) {
        message.push_str("\nat ");
        message.push_str(&place);
    }
    if let Some(help) = &finding.help {
        message.push_str("\nhelp: ");
        message.push_str(help);
    }
    let title = property(&format!("{} {}", finding.code, finding.name));
    format!("::{word} {file}title={title}::{}", data(&message))
}

/// The text behind the last `::`.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::code;

    /// Takes a command apart as the runner does: its word, its properties, its message.
    fn parse(line: &str) -> (String, Vec<(String, String)>, String) {
        let unescape = |text: &str| {
            let text = text.replace("%0D", "\r").replace("%0A", "\n");
            text.replace("%3A", ":").replace("%2C", ",").replace("%25", "%")
        };
        let (command, message) = line.strip_prefix("::").unwrap().split_once("::").unwrap();
        let (word, properties) = command.split_once(' ').unwrap();
        let properties = properties.split(',').map(|property| {
            let (name, value) = property.split_once('=').unwrap();
            (name.to_owned(), unescape(value))
        });
        (word.to_owned(), properties.collect(), unescape(message))
    }

    #[test]
    fn command_comes_back_from_the_runner_as_it_was() {
        let finding = Diagnostic::new(code::MEMBER_MISSING, "50 % of it::is\r\nmissing")
            .with_help("add it, now")
            .in_store("C:\\a,b::c")
            .at_key("zarr.json")
            .at_pointer("/x%2C");
        let (word, properties, message) = parse(&command(&finding));
        assert_eq!(word, "error");
        assert_eq!(
            properties,
            [("file", "C:\\a,b::c/zarr.json"), ("title", "ZM101 member-missing")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
        assert_eq!(message, "50 % of it::is\r\nmissing\nat /x%2C\nhelp: add it, now");
    }

    #[test]
    fn command_is_one_line_with_the_word_of_its_severity() {
        let warning = Diagnostic::new(code::KEY_UNKNOWN, "a\nb");
        assert_eq!(command(&warning), "::warning title=ZK201 key-unknown::a%0Ab");
        let info = Diagnostic::new(code::CODEC_UNSUPPORTED, "x").at_chunk([0, 2]).in_store("s");
        assert_eq!(command(&info), "::notice file=s,title=ZC105 codec-unsupported::x%0Aat chunk [0, 2]");
    }
}
