//! No secret is ever printed.

use super::{Answer, Manner, Server, array, run, sound};
use crate::support::CliTest;

#[test]
fn no_secret_is_printed_whatever_happens() {
    let test = CliTest::new();
    let refusing = Server::start(array("/a"), Manner::Ranges, Box::new(|_, _| Some(Answer::new(403, ""))));
    let sound = sound(array("/a"), Manner::Ranges);
    for server in [&refusing, &sound] {
        let host = server.address.trim_start_matches("http://");
        for path in ["a", "b"] {
            let url = format!("http://user:hidden@{host}/{path}?signature=hidden");
            let commands: [&[&str]; 5] = [
                &["inspect", &url],
                &["inspect", &url, "--json"],
                &["validate", &url, "--json"],
                &["transcode", &url, "copy", "--overwrite", "--json", "-v"],
                &["transcode", &url, &url],
            ];
            for command in commands {
                let run = run(&test, server, command);
                let output = String::from_utf8_lossy(&run.output).into_owned();
                assert!(
                    !run.error.contains("hidden") && !output.contains("hidden"),
                    "{command:?}: {output}{}",
                    run.error
                );
            }
        }
    }
    for text in ["--storage-option=hidden", "--storage-option=nothing_known=hidden"] {
        let run = run(&test, &sound, &["inspect", "s3://bucket/a", text]);
        assert!(!run.error.contains("=hidden"), "{}", run.error);
    }
}
