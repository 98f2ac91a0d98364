//! Patterns of the paths of arrays, for `--include` and similar options.

use std::fmt;

use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Serialize};

/// A pattern of paths inside a store, which have no leading slash.
///
/// `*` and `?` match within a name, and `**` matches any number of whole names. `[ab]` and `[!ab]` match one character
/// of a name, and `{a,b}` matches either. A backslash is an ordinary character: `[*]` is an asterisk.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct PathPattern {
    text: String,
    matcher: GlobMatcher,
}

/// The reason why a text is not a pattern, as one clause.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PatternError(String);

impl PathPattern {
    /// Parses a pattern.
    pub fn new(text: &str) -> Result<Self, PatternError> {
        // globset would read it as `*`, which is not what it looks like.
        let is_mixed = |name: &str| name.contains("**") && name != "**";
        if text.split(['/', '{', ',', '}']).any(is_mixed) {
            return Err(PatternError("`**` must be a whole name of the path".to_owned()));
        }
        let text = text.to_owned();
        let within_names = negations_within_names(&text);
        let built = GlobBuilder::new(&within_names).literal_separator(true).backslash_escape(false).build();
        let glob = built.map_err(|error| PatternError(error.kind().to_string()))?;
        Ok(PathPattern { text, matcher: glob.compile_matcher() })
    }

    /// True if it matches the path of a node. A leading slash is ignored.
    pub fn matches(&self, path: &str) -> bool {
        self.matcher.is_match(path.trim_start_matches('/'))
    }

    /// True if it ends with a name, not with a wildcard.
    pub fn ends_with_a_name(&self) -> bool {
        !self.text.rsplit('/').next().unwrap_or_default().contains(['*', '?', '['])
    }
}

/// Returns an option for each of these paths, as words of a shell: the path as a pattern, then `rest`. After three paths,
/// `...` stands for the others.
pub fn options_for(option: &str, paths: &[&str], rest: &str) -> String {
    let exact = |letter: char| match letter {
        // The first `: ` of a `--rule` ends the pattern.
        '*' | '?' | '[' | '{' | '}' | ':' => format!("[{letter}]"),
        _ => letter.to_string(),
    };
    let words = paths.iter().take(3).map(|path| path.chars().map(exact).collect::<String>() + rest);
    let quoted = words.map(|word| format!("{option} '{}'", word.replace('\'', r"'\''")));
    quoted.chain((paths.len() > 3).then(|| "...".to_owned())).collect::<Vec<_>>().join(" ")
}

/// Returns the pattern with a slash in each negated class. In globset, `[!x]` also matches a slash.
fn negations_within_names(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 8);
    let mut letters = text.chars().peekable();
    let mut is_class = false;
    while let Some(letter) = letters.next() {
        pattern.push(letter);
        if is_class {
            is_class = letter != ']';
        } else if letter == '[' {
            is_class = true;
            let negation = letters.next_if(|next| matches!(next, '!' | '^'));
            pattern.extend(negation);
            // These two are literal if they are first.
            pattern.extend(letters.next_if(|next| matches!(next, ']' | '-')));
            if negation.is_some() {
                pattern.push('/');
            }
        }
    }
    pattern
}

impl From<PathPattern> for String {
    fn from(pattern: PathPattern) -> Self {
        pattern.text
    }
}

impl TryFrom<String> for PathPattern {
    type Error = PatternError;

    fn try_from(text: String) -> Result<Self, PatternError> {
        PathPattern::new(&text)
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for PathPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for PathPattern {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_stay_within_a_name_but_for_two_asterisks() {
        let matches = r"a /a  n* north  * a  */t a/t  a?c abc  ** a/b  **/t t  **/t a/b/t  a/** a/b/c  a/**/t a/t  a/**/t a/b/c/t
            [ab]x bx  [!ab]x cx  [!]-]x cx  [!!]x cx  [a-c] b  [*] *  a\b a\b  .h .h  * .h  {a,b/c}/t b/c/t  {t,s}* salt
            [{]a[}] {a}";
        let others = r"* a/b  */t t  a?c a/c  a[!x]c a/c  a[!-x]c a/c  a[!-x]c a-c  a[!]x]c a]c  a[!]x]c a/c  a[!a-f]c a/c
            a/** a  a A  n* a/north  {a,b} c";
        for (pairs, expected) in [(matches, true), (others, false)] {
            for pair in pairs.split_whitespace().collect::<Vec<_>>().chunks(2) {
                assert_eq!(PathPattern::new(pair[0]).unwrap().matches(pair[1]), expected, "{pair:?}");
            }
        }
    }

    #[test]
    fn options_for_paths_match_them_alone_and_are_words_of_a_shell() {
        let all = options_for("--rule", &["a[1]/b*", "it's", "{a}:?", "x"], ": -c 1");
        assert_eq!(all, r"--rule 'a[[]1]/b[*]: -c 1' --rule 'it'\''s: -c 1' --rule '[{]a[}][:][?]: -c 1' ...");
        let words = shlex::split(&options_for("", &["a[1]/b*", "it's", "{a}:?"], "")).unwrap();
        let patterns: Vec<_> = words.iter().map(|word| PathPattern::new(word).unwrap()).collect();
        for path in ["a[1]/b*", "it's", "{a}:?", "a1/bc", "a:b"] {
            assert_eq!(
                patterns.iter().any(|pattern| pattern.matches(path)),
                !["a1/bc", "a:b"].contains(&path),
                "{path}"
            );
        }
    }

    #[test]
    fn what_is_no_pattern_is_told() {
        for (text, reason) in [
            ("a**b", "`**` must be a whole name of the path"),
            ("***", "`**` must be a whole name of the path"),
            ("{a**,b}", "`**` must be a whole name of the path"),
            ("[", "unclosed character class; missing ']'"),
            ("{a", "unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)"),
        ] {
            assert_eq!(PathPattern::new(text).unwrap_err().to_string(), reason, "{text}");
        }
    }

    #[test]
    fn pattern_with_a_wildcard_in_its_last_name_does_not_end_with_a_name() {
        assert!(["**/t", "{s,t}"].iter().all(|text| PathPattern::new(text).unwrap().ends_with_a_name()));
        assert!(["a/*", "t?", "[t]", "{s,t*}"].iter().all(|text| !PathPattern::new(text).unwrap().ends_with_a_name()));
    }
}
