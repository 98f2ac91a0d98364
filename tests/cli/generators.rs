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
