//! The rules of `validate` as their users see them: a page for each code of the table in `diagnostic::code`.
//!
//! What a rule checks stands where its facts are read: in the metadata, the data types, the pipeline, the engine.

mod page;

use crate::diagnostic::{Code, code, spelling};

pub use page::{first_step, page, reference, title};

/// Every rule, sorted by code.
pub fn all() -> impl Iterator<Item = Code> {
    code::ALL.iter().copied()
}

/// The rule of a code or a name, in upper or lower case; a retired one, too.
pub fn find(text: &str) -> Option<Code> {
    all()
        .chain(code::RETIRED.iter().copied())
        .find(|rule| rule.code.eq_ignore_ascii_case(text) || rule.name.eq_ignore_ascii_case(text))
}

/// The rule whose code or name needs the fewest edits to become `text`.
pub fn nearest(text: &str) -> Code {
    let text = text.to_lowercase();
    let codes: Vec<String> = all().map(|rule| rule.code.to_lowercase()).collect();
    let known = codes.iter().map(String::as_str).chain(all().map(|rule| rule.name));
    spelling::nearest(&text, known).and_then(find).unwrap_or(code::MEMBER_MISSING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_is_found_by_code_and_name_in_any_case() {
        assert_eq!(find("zc201"), Some(code::ENDIAN_MISSING));
        assert_eq!(find("endian-missing"), Some(code::ENDIAN_MISSING));
        assert_eq!(find("endian"), None);
    }

    #[test]
    fn nearest_rule_is_the_one_with_the_fewest_changes() {
        assert_eq!(nearest("endian-mising"), code::ENDIAN_MISSING);
        assert_eq!(nearest("ZC20l"), code::ENDIAN_MISSING);
        assert_eq!(nearest("ZC2O1"), code::ENDIAN_MISSING);
    }
}
