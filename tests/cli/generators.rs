//! Completions of bash with the script of the program. `cases/generators.txt` tests the rest.

use super::support::CliTest;

/// Returns bash's completions of the last word of a command line.
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
