//! Help, version, and features that are not built.

use super::support::CliTest;

const COMMANDS: [&str; 6] = ["inspect", "validate", "transcode", "apply-codec", "completions", "man"];

#[test]
fn help_lists_every_command_and_exits_with_0() {
    let run = CliTest::new().run(["--help"]).succeeds();
    for command in COMMANDS {
        assert!(run.text().contains(&format!("\n  {command} ")), "{}", run.text());
    }
}

#[test]
fn help_of_a_command_has_an_example_and_fits_100_columns() {
    for command in COMMANDS {
        let run = CliTest::new().run([command, "--help"]).succeeds();
        let example = format!("    zarrcast {command} ");
        assert!(run.text().contains(&example) || run.text().contains(example.trim_start()), "{}", run.text());
        for line in run.text().lines() {
            assert!(line.chars().count() <= 110, "{command}: {line}");
        }
    }
}

#[test]
fn help_is_short_with_h_and_bounded_with_help() {
    for command in ["inspect", "validate", "transcode", "apply-codec"] {
        for (option, most) in [("-h", 60), ("--help", 300)] {
            let run = CliTest::new().run_with([command, option], &[("COLUMNS", "80")]).succeeds();
            let lines = run.text().lines().count();
            assert!(lines <= most, "{command} {option}: {lines} lines");
            let examples = run.text().split("\nExamples").nth(1).unwrap_or_default();
            assert!(examples.matches("zarrcast ").count() >= 4, "{command} {option}");
        }
    }
}

#[test]
fn short_help_has_the_options_of_the_contract_of_a_command() {
    let inspect = "node storage depth stats histogram suggest sample information chunk inner-chunk preview preview-png \
                   missing cf report json verbose";
    let validate = "node level deny allow max-findings format partition against rtol atol cf expect write-expect explain \
                    list-rules report json verbose";
    let apply =
        "codecs decode data-type shape fill-value no-fill-check like chunk stages round-trip repeat json verbose";
    for (command, options) in
        [("inspect", inspect), ("validate", validate), ("apply-codec", apply), ("transcode", "verbose")]
    {
        let run = CliTest::new().run([command, "-h"]).succeeds();
        for option in options.split_whitespace() {
            assert!(run.text().contains(&format!(" --{option}")), "{command} -h lacks --{option}");
        }
    }
}

#[test]
fn version_names_the_program() {
    let run = CliTest::new().run(["--version"]).succeeds();
    assert_eq!(run.text(), format!("zarrcast {}\n", env!("CARGO_PKG_VERSION")));
}

/// Returns the command lines of the examples in a help text, with their continuation lines.
fn examples(help: &str) -> Vec<String> {
    let Some((_, text)) = help.split_once("\nExample") else { return Vec::new() };
    let mut examples: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in text.lines() {
        let begins = line.starts_with("    zarrcast ");
        if begins {
            examples.push(line.trim_start().to_owned());
        } else if goes_on {
            let example = examples.last_mut().unwrap();
            example.push('\n');
            example.push_str(line);
        }
        let quotes = examples.last().map_or(0, |example| example.matches('\'').count());
        goes_on = (begins || goes_on) && (line.ends_with('\\') || quotes % 2 == 1);
    }
    examples
}

#[test]
fn examples_in_help_are_whole_at_any_width_and_parse() {
    let help = |command: &str, columns: &str| {
        let test = CliTest::new();
        let run = test.run_with([command, "--help"], &[("COLUMNS", columns)]);
        examples(run.succeeds().text())
    };
    let mut number = 0;
    for command in COMMANDS {
        let wide = help(command, "100");
        assert!(!wide.is_empty(), "{command}");
        for columns in ["80", "60", "40"] {
            assert_eq!(help(command, columns), wide, "{command} at {columns}");
        }
        for example in wide {
            let line = example.split(" | ").next().unwrap().split(" > ").next().unwrap();
            let line = line.replace("~/", "home/").replace("\\\n", " ");
            let words = shlex::split(&line).unwrap_or_else(|| panic!("{example}"));
            // The files of the examples do not exist, but all options must be valid.
            let run = CliTest::new().run(&words[1..]);
            assert_ne!(run.status, 2, "{example}: {}", run.error);
            number += 1;
        }
    }
    assert!(number > 20, "{number}");
}
