//! The pages of the rules: what `--explain` prints, and what the help of the other reports is taken from.
//!
//! Each begins with `# CODE name: title`; the tests below hold the rest of its form.

use crate::diagnostic::Code;

/// The pages by code, sorted.
const PAGES: &[(&str, &str)] = &[
    ("ZC101", include_str!("page/ZC101.md")),
    ("ZC102", include_str!("page/ZC102.md")),
    ("ZC103", include_str!("page/ZC103.md")),
    ("ZC104", include_str!("page/ZC104.md")),
    ("ZC105", include_str!("page/ZC105.md")),
    ("ZC106", include_str!("page/ZC106.md")),
    ("ZC107", include_str!("page/ZC107.md")),
    ("ZC111", include_str!("page/ZC111.md")),
    ("ZC112", include_str!("page/ZC112.md")),
    ("ZC113", include_str!("page/ZC113.md")),
    ("ZC114", include_str!("page/ZC114.md")),
    ("ZC115", include_str!("page/ZC115.md")),
    ("ZC116", include_str!("page/ZC116.md")),
    ("ZC201", include_str!("page/ZC201.md")),
    ("ZC202", include_str!("page/ZC202.md")),
    ("ZC211", include_str!("page/ZC211.md")),
    ("ZC212", include_str!("page/ZC212.md")),
    ("ZC213", include_str!("page/ZC213.md")),
    ("ZC214", include_str!("page/ZC214.md")),
    ("ZC215", include_str!("page/ZC215.md")),
    ("ZC221", include_str!("page/ZC221.md")),
    ("ZC222", include_str!("page/ZC222.md")),
    ("ZC223", include_str!("page/ZC223.md")),
    ("ZC224", include_str!("page/ZC224.md")),
    ("ZC225", include_str!("page/ZC225.md")),
    ("ZC231", include_str!("page/ZC231.md")),
    ("ZC232", include_str!("page/ZC232.md")),
    ("ZC233", include_str!("page/ZC233.md")),
    ("ZC234", include_str!("page/ZC234.md")),
    ("ZC235", include_str!("page/ZC235.md")),
    ("ZC236", include_str!("page/ZC236.md")),
    ("ZC237", include_str!("page/ZC237.md")),
    ("ZC241", include_str!("page/ZC241.md")),
    ("ZC242", include_str!("page/ZC242.md")),
    ("ZC251", include_str!("page/ZC251.md")),
    ("ZC302", include_str!("page/ZC302.md")),
    ("ZC303", include_str!("page/ZC303.md")),
    ("ZC304", include_str!("page/ZC304.md")),
    ("ZC305", include_str!("page/ZC305.md")),
    ("ZD101", include_str!("page/ZD101.md")),
    ("ZD102", include_str!("page/ZD102.md")),
    ("ZD103", include_str!("page/ZD103.md")),
    ("ZD104", include_str!("page/ZD104.md")),
    ("ZD105", include_str!("page/ZD105.md")),
    ("ZD106", include_str!("page/ZD106.md")),
    ("ZD107", include_str!("page/ZD107.md")),
    ("ZD108", include_str!("page/ZD108.md")),
    ("ZD201", include_str!("page/ZD201.md")),
    ("ZD202", include_str!("page/ZD202.md")),
    ("ZD203", include_str!("page/ZD203.md")),
    ("ZD204", include_str!("page/ZD204.md")),
    ("ZD205", include_str!("page/ZD205.md")),
    ("ZD206", include_str!("page/ZD206.md")),
    ("ZD207", include_str!("page/ZD207.md")),
    ("ZG101", include_str!("page/ZG101.md")),
    ("ZG102", include_str!("page/ZG102.md")),
    ("ZG103", include_str!("page/ZG103.md")),
    ("ZG104", include_str!("page/ZG104.md")),
    ("ZG105", include_str!("page/ZG105.md")),
    ("ZG106", include_str!("page/ZG106.md")),
    ("ZG107", include_str!("page/ZG107.md")),
    ("ZG108", include_str!("page/ZG108.md")),
    ("ZH101", include_str!("page/ZH101.md")),
    ("ZH102", include_str!("page/ZH102.md")),
    ("ZH103", include_str!("page/ZH103.md")),
    ("ZH104", include_str!("page/ZH104.md")),
    ("ZH111", include_str!("page/ZH111.md")),
    ("ZH112", include_str!("page/ZH112.md")),
    ("ZH113", include_str!("page/ZH113.md")),
    ("ZH201", include_str!("page/ZH201.md")),
    ("ZH202", include_str!("page/ZH202.md")),
    ("ZH203", include_str!("page/ZH203.md")),
    ("ZH204", include_str!("page/ZH204.md")),
    ("ZH205", include_str!("page/ZH205.md")),
    ("ZK101", include_str!("page/ZK101.md")),
    ("ZK102", include_str!("page/ZK102.md")),
    ("ZK103", include_str!("page/ZK103.md")),
    ("ZK104", include_str!("page/ZK104.md")),
    ("ZK105", include_str!("page/ZK105.md")),
    ("ZK201", include_str!("page/ZK201.md")),
    ("ZK202", include_str!("page/ZK202.md")),
    ("ZK203", include_str!("page/ZK203.md")),
    ("ZK204", include_str!("page/ZK204.md")),
    ("ZK205", include_str!("page/ZK205.md")),
    ("ZK206", include_str!("page/ZK206.md")),
    ("ZK207", include_str!("page/ZK207.md")),
    ("ZK208", include_str!("page/ZK208.md")),
    ("ZK211", include_str!("page/ZK211.md")),
    ("ZK212", include_str!("page/ZK212.md")),
    ("ZK213", include_str!("page/ZK213.md")),
    ("ZK221", include_str!("page/ZK221.md")),
    ("ZK222", include_str!("page/ZK222.md")),
    ("ZM001", include_str!("page/ZM001.md")),
    ("ZM002", include_str!("page/ZM002.md")),
    ("ZM003", include_str!("page/ZM003.md")),
    ("ZM011", include_str!("page/ZM011.md")),
    ("ZM012", include_str!("page/ZM012.md")),
    ("ZM101", include_str!("page/ZM101.md")),
    ("ZM102", include_str!("page/ZM102.md")),
    ("ZM103", include_str!("page/ZM103.md")),
    ("ZM104", include_str!("page/ZM104.md")),
    ("ZM105", include_str!("page/ZM105.md")),
    ("ZM106", include_str!("page/ZM106.md")),
    ("ZM107", include_str!("page/ZM107.md")),
    ("ZM108", include_str!("page/ZM108.md")),
    ("ZM109", include_str!("page/ZM109.md")),
    ("ZM110", include_str!("page/ZM110.md")),
    ("ZM111", include_str!("page/ZM111.md")),
    ("ZM112", include_str!("page/ZM112.md")),
    ("ZM201", include_str!("page/ZM201.md")),
    ("ZM202", include_str!("page/ZM202.md")),
    ("ZM211", include_str!("page/ZM211.md")),
    ("ZM212", include_str!("page/ZM212.md")),
    ("ZM213", include_str!("page/ZM213.md")),
    ("ZM221", include_str!("page/ZM221.md")),
    ("ZM222", include_str!("page/ZM222.md")),
    ("ZM223", include_str!("page/ZM223.md")),
    ("ZM231", include_str!("page/ZM231.md")),
    ("ZM240", include_str!("page/ZM240.md")),
    ("ZM301", include_str!("page/ZM301.md")),
    ("ZM302", include_str!("page/ZM302.md")),
    ("ZM303", include_str!("page/ZM303.md")),
    ("ZS101", include_str!("page/ZS101.md")),
    ("ZS102", include_str!("page/ZS102.md")),
    ("ZS103", include_str!("page/ZS103.md")),
    ("ZS104", include_str!("page/ZS104.md")),
    ("ZS105", include_str!("page/ZS105.md")),
    ("ZS106", include_str!("page/ZS106.md")),
    ("ZS107", include_str!("page/ZS107.md")),
    ("ZX101", include_str!("page/ZX101.md")),
    ("ZX102", include_str!("page/ZX102.md")),
    ("ZX103", include_str!("page/ZX103.md")),
    ("ZX104", include_str!("page/ZX104.md")),
    ("ZX105", include_str!("page/ZX105.md")),
    ("ZX201", include_str!("page/ZX201.md")),
];

/// The pages of codes that are not given any more.
const RETIRED_PAGES: &[(&str, &str)] = &[("ZC301", include_str!("page/ZC301.md"))];

/// The page of a rule, Markdown of at most 80 columns; that of a retired one says so.
pub fn page(rule: Code) -> &'static str {
    let of_rule = PAGES.iter().chain(RETIRED_PAGES).find(|(code, _)| *code == rule.code);
    of_rule.map_or("", |(_, page)| page)
}

/// What a rule finds, as the heading of its page has it: one clause.
pub fn title(rule: Code) -> &'static str {
    page(rule).lines().next().and_then(|heading| heading.split_once(": ")).map_or("", |(_, title)| title)
}

/// The first sentence of what to do, on one line.
pub fn first_step(rule: Code) -> String {
    let (_, rest) = page(rule).split_once("\n## What to do\n\n").unwrap_or_default();
    let (section, _) = rest.split_once("\n## ").unwrap_or((rest, ""));
    let paragraph = section.trim().replace('\n', " ");
    match paragraph.find(". ") {
        Some(end) => paragraph[..end].to_owned(),
        None => paragraph.trim_end_matches('.').to_owned(),
    }
}

/// The first reference of a rule's page: a section of the specification, or a page of the registry.
pub fn reference(rule: Code) -> Option<&'static str> {
    let (_, references) = page(rule).split_once("\n## References\n")?;
    let start = references.find("https://")?;
    let url = &references[start..];
    let end = url.find(|letter: char| letter.is_whitespace() || matches!(letter, '>' | ')'));
    Some(&url[..end.unwrap_or(url.len())])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::code;

    const HEADINGS: [&str; 5] =
        ["## What it finds", "## Why it matters", "## What to do", "## Example", "## References"];

    #[test]
    fn every_code_has_a_page_and_every_page_a_code() {
        let codes: Vec<_> = code::ALL.iter().map(|rule| rule.code).collect();
        let pages: Vec<_> = PAGES.iter().map(|(code, _)| *code).collect();
        assert_eq!(pages, codes);
        for retired in code::RETIRED {
            let heading = format!("# {} {}: retired", retired.code, retired.name);
            assert!(page(*retired).starts_with(&heading), "{}", retired.code);
        }
    }

    #[test]
    fn page_has_the_headings_in_order_and_something_under_each() {
        for rule in code::ALL {
            let page = page(*rule);
            let heading = format!("# {} {}: ", rule.code, rule.name);
            assert!(page.starts_with(&heading), "{} does not begin with {heading:?}", rule.code);
            assert!(!title(*rule).ends_with('.') && !title(*rule).is_empty(), "the title of {}", rule.code);
            let headings: Vec<_> = page.lines().filter(|line| line.starts_with("## ")).collect();
            assert_eq!(headings, HEADINGS, "{}", rule.code);
            for section in page.split("\n## ").skip(1) {
                let text = section.split_once('\n').map_or("", |(_, text)| text).trim();
                assert!(text.len() > 15, "{}: nothing under {section:?}", rule.code);
            }
        }
    }

    #[test]
    fn page_fits_80_columns_and_names_a_reference() {
        for rule in code::ALL {
            let page = page(*rule);
            for line in page.lines() {
                assert!(line.chars().count() <= 80 || line.contains("https://"), "{}: {line}", rule.code);
                assert!(line.trim_end() == line, "{}: space at the end of {line:?}", rule.code);
            }
            assert!(page.ends_with('\n') && !page.ends_with("\n\n"), "the end of {}", rule.code);
            assert!(reference(*rule).is_some(), "{} refers to nothing", rule.code);
            let step = first_step(*rule);
            assert!(step.len() > 6 && !step.contains('\n'), "{}: {step:?}", rule.code);
        }
    }
}
