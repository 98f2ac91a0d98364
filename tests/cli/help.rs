//! Help, version, and what is not built.

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
fn version_names_the_program() {
    let run = CliTest::new().run(["--version"]).succeeds();
    assert_eq!(run.text(), format!("zarrcast {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn option_that_is_not_built_is_unknown() {
    for option in ["--anonymous", "--requests=4", "--storage-option=a=b"] {
        CliTest::new().run(["transcode", "a", "b", option]).fails(2, &["unexpected argument"]);
    }
}
