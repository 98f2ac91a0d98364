//! `completions` and `man`.

use super::support::CliTest;

#[test]
fn completions_know_the_options_of_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let run = CliTest::new().run(["completions", shell]).succeeds();
        assert!(run.text().contains("max-error"), "{shell}");
    }
    CliTest::new().run(["completions", "cmd"]).fails(2, &["cmd"]);
}

#[test]
fn man_writes_a_page_for_the_program_and_each_command() {
    let test = CliTest::new();
    test.run(["man", "pages/man1"]).succeeds();
    let page = String::from_utf8(test.read("pages/man1/zarrcast-transcode.1")).unwrap();
    assert!(page.contains("zarrcast transcode") && page.contains("max\\-error"), "{page}");
    for command in ["inspect", "apply-codec", "completions", "man"] {
        assert!(test.exists(&format!("pages/man1/zarrcast-{command}.1")), "{command}");
    }
    assert!(test.exists("pages/man1/zarrcast.1"));
}

#[test]
fn man_into_what_is_no_folder_is_3() {
    let test = CliTest::new();
    test.write("file", "");
    test.run(["man", "file"]).fails(3, &["file"]);
}

/// What bash offers for the last word of a command line, by the completions that the program prints.
#[cfg(unix)]
fn completed(test: &CliTest, line: &[&str]) -> Option<Vec<String>> {
    const TRY: &str = r#"
        compopt() { :; }
        source "$1" || exit 1
        shift
        COMP_WORDS=("$@")
        COMP_CWORD=$(($# - 1))
        COMPREPLY=()
        _zarrcast zarrcast "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    test.write("zarrcast.bash", test.run(["completions", "bash"]).succeeds().text());
    let script = test.path("zarrcast.bash");
    let mut bash = std::process::Command::new("bash");
    bash.args(["--norc", "-c", TRY, "bash"]).arg(script).arg("zarrcast").args(line);
    let Ok(run) = bash.output() else { return None };
    assert!(run.status.success(), "{line:?}: {}", String::from_utf8_lossy(&run.stderr));
    let text = String::from_utf8(run.stdout).unwrap();
    Some(text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect())
}

#[cfg(unix)]
#[test]
fn bash_completes_values_of_options() {
    let test = CliTest::new();
    let cases: [(&[&str], &[&str]); 14] = [
        (&["transcode", "--data-type", "float1"], &["float16"]),
        (&["transcode", "-d", "numpy"], &[]),
        (&["transcode", "--quantize", "uint1"], &["uint16"]),
        (&["transcode", "--quantize", "fl"], &[]),
        (&["transcode", "--compress", "z"], &["zstd"]),
        (&["transcode", "-c", "a"], &["auto"]),
        (&["transcode", "-s", ""], &["auto", "none"]),
        (&["transcode", "--print-script", "s"], &["slurm", "snakemake"]),
        (&["transcode", "--color", "a"], &["auto", "always"]),
        (&["inspect", "--suggest", "int6"], &["int64"]),
        (&["apply-codec", "--codecs", "bl"], &["blosc"]),
        (&["validate", "--deny", "w"], &["warnings"]),
        (&["validate", "--explain", "ZC20"], &["ZC201", "ZC202"]),
        (&["validate", "--level", "d"], &["data"]),
    ];
    for (line, expected) in cases {
        let Some(offered) = completed(&test, line) else { return };
        assert_eq!(offered, expected, "{line:?}");
    }
}

#[test]
fn completions_offer_values_in_zsh_and_fish_and_others_are_taken_all_the_same() {
    for (shell, texts) in [
        ("zsh", ["complex_bfloat16", "ZC201\\:", "blosc"]),
        ("fish", ["complex_bfloat16", "ZC201\\t'", "blosc"]),
    ] {
        let run = CliTest::new().run(["completions", shell]).succeeds();
        for text in texts {
            assert!(run.text().contains(text), "{shell}: {text}");
        }
    }
    // What is offered is neither in help, nor all that is taken.
    let help = CliTest::new().run(["validate", "--help"]).succeeds().text().to_owned();
    assert!(!help.contains("ZC101,"), "{help}");
    let run = CliTest::new().run(["transcode", "--quantize", "uint12", "--compress", "zstd:3", "a", "b"]);
    assert_eq!(run.status, 3, "{}", run.error);
    let run = CliTest::new().run(["validate", "--deny", "codecs-empty", "a"]);
    assert_eq!(run.status, 3, "{}", run.error);
}
