//! The pages of the rules: what `--explain` prints, and what the help of the other reports is taken from.
//!
//! Each begins with `# CODE name: title`; the tests below hold the rest of its form.

use crate::diagnostic::Code;

/// The pages by code, sorted.
const PAGES: &[(&str, &str)] = &[];

/// The page of a rule, Markdown of at most 80 columns.
pub fn page(rule: Code) -> &'static str {
    PAGES.binary_search_by_key(&rule.code, |(code, _)| code).map_or("", |place| PAGES[place].1)
}

/// What a rule finds, as the heading of its page has it: one clause.
pub fn title(rule: Code) -> &'static str {
    page(rule).lines().next().and_then(|heading| heading.split_once(": ")).map_or("", |(_, title)| title)
}

/// The first reference of a rule's page: a section of the specification, or a page of the registry.
pub fn reference(rule: Code) -> Option<&'static str> {
    let (_, references) = page(rule).split_once("\n## References\n")?;
    let start = references.find("https://")?;
    let url = &references[start..];
    let end = url.find(|letter: char| letter.is_whitespace() || matches!(letter, '>' | ')'));
    Some(&url[..end.unwrap_or(url.len())])
}
