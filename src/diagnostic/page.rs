//! The pages of the codes: the text of `--explain`, and the source of the help in the other reports.
//!
//! Each begins with `# CODE name: title`. The tests below check the rest of the form.

use super::Code;

impl Code {
    /// Returns the page of `--explain`: Markdown of at most 80 columns. The page of a retired code includes that it is
    /// retired.
    pub const fn page(self) -> &'static str {
        self.page
    }

    /// Returns the name of the code, in kebab-case.
    pub fn name(self) -> &'static str {
        self.page.split([' ', ':']).nth(2).unwrap_or_default()
    }

    /// Returns the fault that the rule finds, in one clause, from the heading of its page.
    pub fn title(self) -> &'static str {
        self.page.lines().next().and_then(|heading| heading.split_once(": ")).map_or("", |(_, title)| title)
    }

    /// Returns the first sentence of "What to do" as a clause on one line.
    pub fn first_step(self) -> String {
        let (_, rest) = self.page.split_once("\n## What to do\n\n").unwrap_or_default();
        let (section, _) = rest.split_once("\n## ").unwrap_or((rest, ""));
        let paragraph = section.trim().replace('\n', " ");
        let first = paragraph.split_once(". ").map_or(paragraph.trim_end_matches('.'), |(first, _)| first);
        // It begins with a verb.
        first.chars().take(1).flat_map(char::to_lowercase).chain(first.chars().skip(1)).collect()
    }

    /// Returns the first address in its references: a section of the specification, or a page of the registry.
    pub fn reference(self) -> Option<&'static str> {
        let (_, references) = self.page.split_once("\n## References\n")?;
        let start = references.find("https://")?;
        let url = &references[start..];
        let end = url.find(|letter: char| letter.is_whitespace() || matches!(letter, '>' | ')'));
        Some(&url[..end.unwrap_or(url.len())])
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::code;

    const HEADINGS: [&str; 5] =
        ["## What it finds", "## Why it matters", "## What to do", "## Example", "## References"];

    #[test]
    fn every_page_is_of_a_code() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/diagnostic/page");
        #[expect(clippy::disallowed_methods, reason = "tests look at the repository's files")]
        let files = std::fs::read_dir(folder).unwrap();
        let mut pages: Vec<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        pages.sort();
        let mut codes: Vec<_> = code::ALL.iter().chain(code::RETIRED).map(|rule| format!("{}.md", rule.code)).collect();
        codes.sort();
        assert_eq!(pages, codes);
        for retired in code::RETIRED {
            let heading = format!("# {} {}: retired", retired.code, retired.name());
            assert!(retired.page().starts_with(&heading), "{}", retired.code);
        }
    }

    #[test]
    fn page_has_the_headings_in_order_and_something_under_each() {
        for rule in code::ALL {
            let page = rule.page();
            let heading = format!("# {} {}: ", rule.code, rule.name());
            assert!(page.starts_with(&heading), "{} does not begin with {heading:?}", rule.code);
            assert!(!rule.title().ends_with('.') && !rule.title().is_empty(), "the title of {}", rule.code);
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
            let page = rule.page();
            for line in page.lines() {
                assert!(line.chars().count() <= 80 || line.contains("https://"), "{}: {line}", rule.code);
                assert!(line.trim_end() == line, "{}: space at the end of {line:?}", rule.code);
            }
            assert!(page.ends_with('\n') && !page.ends_with("\n\n"), "the end of {}", rule.code);
            assert!(rule.reference().is_some(), "{} refers to nothing", rule.code);
            let step = rule.first_step();
            assert!(step.len() > 6 && !step.contains('\n'), "{}: {step:?}", rule.code);
        }
    }
}
