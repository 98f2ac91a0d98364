//! `validate --list-rules`.

use super::support::CliTest;

#[test]
fn list_rules_has_every_code_once_in_order() {
    let test = CliTest::new();
    let json = test.run(["validate", "--list-rules", "--json"]).succeeds().json();
    let codes: Vec<&str> =
        json["rules"].as_array().unwrap().iter().map(|rule| rule["code"].as_str().unwrap()).collect();
    assert!(codes.len() > 70 && codes.windows(2).all(|pair| pair[0] < pair[1]));
    let text = test.run(["validate", "--list-rules"]).succeeds();
    for code in codes {
        assert_eq!(text.text().matches(&format!("\n  {code}  ")).count(), 1, "{code}");
    }
    assert!(text.text().lines().all(|line| line.chars().count() <= 80));
}
