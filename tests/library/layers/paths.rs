//! Finds the crate paths that a source file names: in imports, and inline after `crate::`, `super::`, `self::` or the
//! name of a child module.

use std::iter::Peekable;
use std::str::CharIndices;

/// A word or a sign of a source file, outside comments, strings and unit tests.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// A path from the root of the crate that a file names.
#[derive(Debug, Clone)]
pub(crate) struct Named {
    pub(crate) path: Vec<String>,
    pub(crate) line: usize,
    /// For an import: its name, and whether it is public.
    pub(crate) import: Option<(String, bool)>,
}

/// Returns the tokens of a file without items under `#[cfg(test)]`.
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut letters = text.char_indices().peekable();
    let mut line = 1;
    while let Some((start, letter)) = letters.next() {
        match letter {
            '\n' => line += 1,
            '/' if text[start..].starts_with("//") => while letters.next_if(|(_, letter)| *letter != '\n').is_some() {},
            '"' => line += skip_string(&mut letters),
            '\'' => skip_character(&text[start + 1..], &mut letters),
            _ if letter.is_alphanumeric() || letter == '_' => {
                let mut end = start + letter.len_utf8();
                while let Some((at, next)) = letters.next_if(|(_, l)| l.is_alphanumeric() || *l == '_') {
                    end = at + next.len_utf8();
                }
                let quotes = text[end..].trim_start_matches('#');
                if matches!(&text[start..end], "r" | "br") && quotes.starts_with('"') {
                    line += skip_raw_string(text.len() - end - quotes.len(), &mut letters);
                } else {
                    tokens.push(Token { text: text[start..end].to_owned(), line });
                }
            }
            ':' if text[start..].starts_with("::") => {
                letters.next();
                tokens.push(Token { text: "::".to_owned(), line });
            }
            _ if letter.is_whitespace() => {}
            _ => tokens.push(Token { text: letter.to_string(), line }),
        }
    }
    without_tests(&tokens)
}

/// Skips a string. Returns the number of line breaks in it.
fn skip_string(letters: &mut Peekable<CharIndices<'_>>) -> usize {
    let mut lines = 0;
    while let Some((_, letter)) = letters.next() {
        match letter {
            '\\' => lines += usize::from(letters.next().is_some_and(|(_, letter)| letter == '\n')),
            '\n' => lines += 1,
            '"' => break,
            _ => {}
        }
    }
    lines
}

/// Skips a raw string between `signs` hash signs. Returns the number of line breaks in it.
fn skip_raw_string(signs: usize, letters: &mut Peekable<CharIndices<'_>>) -> usize {
    let (mut lines, mut found) = (0, None);
    for (_, letter) in letters.by_ref().skip(signs + 1) {
        lines += usize::from(letter == '\n');
        found = match (letter, found) {
            ('"', _) => Some(0),
            ('#', Some(count)) => Some(count + 1),
            _ => None,
        };
        if found == Some(signs) {
            break;
        }
    }
    lines
}

/// Skips a character literal. A lifetime is read later as a word.
fn skip_character(rest: &str, letters: &mut Peekable<CharIndices<'_>>) {
    let mut following = rest.chars();
    let (first, second) = (following.next(), following.next());
    if first == Some('\\') {
        letters.next();
        letters.next();
        while letters.next().is_some_and(|(_, letter)| letter != '\'') {}
    } else if second == Some('\'') {
        letters.next();
        letters.next();
    }
}

fn without_tests(tokens: &[Token]) -> Vec<Token> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut rest = tokens;
    while let [first, following @ ..] = rest {
        if rest.len() < MARK.len() || !rest.iter().zip(MARK).all(|(token, mark)| token.text == mark) {
            kept.push(first.clone());
            rest = following;
            continue;
        }
        let mut depth = 0;
        let end = rest.iter().position(|token| {
            depth += i32::from(token.text == "{") - i32::from(token.text == "}");
            depth == 0 && (token.text == ";" || token.text == "}")
        });
        rest = &rest[end.map_or(rest.len(), |end| end + 1)..];
    }
    kept
}

/// Returns the child modules that a file declares.
pub(crate) fn children(tokens: &[Token]) -> Vec<String> {
    let declared = tokens.windows(3).filter(|part| part[0].text == "mod" && part[2].text == ";");
    declared.map(|part| part[1].text.clone()).collect()
}

/// Returns the paths that the file of `module` names.
pub(crate) fn named(module: &[String], tokens: &[Token]) -> Vec<Named> {
    let children = children(tokens);
    let mut all = Vec::new();
    let mut index = 0;
    while index < tokens.len() {
        let text = tokens[index].text.as_str();
        let before = index.checked_sub(1).map_or("", |before| tokens[before].text.as_str());
        let leads = ["crate", "super", "self"].contains(&text) || children.iter().any(|child| child == text);
        let follows = tokens.get(index + 1).is_some_and(|next| next.text == "::");
        // `use<'a>` is not an import.
        if text == "use" && tokens.get(index + 1).is_some_and(|next| next.text != "<") {
            let is_public = before == "pub" || before == ")";
            let mut found = Vec::new();
            index = read_tree(tokens, index + 1, &[], &mut found);
            found.retain(|(path, ..)| {
                ["crate", "super", "self"].contains(&path[0].as_str()) || children.contains(&path[0])
            });
            all.extend(found.into_iter().map(|(path, alias, line)| Named {
                path: absolute(module, &path),
                line,
                import: Some((alias, is_public)),
            }));
        } else if leads && follows && !["::", ".", "in"].contains(&before) {
            let line = tokens[index].line;
            let mut path = vec![text.to_owned()];
            index += 1;
            while let [colons, name, ..] = &tokens[index..]
                && colons.text == "::"
                && name.text.starts_with(|letter: char| letter.is_alphanumeric() || letter == '_')
            {
                path.push(name.text.clone());
                index += 2;
            }
            all.push(Named { path: absolute(module, &path), line, import: None });
        } else {
            index += 1;
        }
    }
    all
}

/// Reads one tree of an import from `index` on. Returns the index after it.
fn read_tree(
    tokens: &[Token],
    mut index: usize,
    before: &[String],
    found: &mut Vec<(Vec<String>, String, usize)>,
) -> usize {
    let mut path = before.to_vec();
    let line = tokens[index].line;
    while index < tokens.len() {
        match tokens[index].text.as_str() {
            "::" => index += 1,
            "{" => {
                index += 1;
                while tokens[index].text != "}" {
                    index = read_tree(tokens, index, &path, found);
                    index += usize::from(tokens[index].text == ",");
                }
                return index + 1;
            }
            "as" => {
                found.push((path, tokens[index + 1].text.clone(), line));
                return index + 2;
            }
            "," | ";" | "}" => break,
            name => {
                path.push(name.to_owned());
                index += 1;
            }
        }
    }
    // `use a::{self}` imports `a`.
    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    if let Some(alias) = path.last().cloned() {
        found.push((path, alias, line));
    }
    index
}

/// Returns the path from the root of the crate.
fn absolute(module: &[String], path: &[String]) -> Vec<String> {
    let (mut base, mut rest) = match path[0].as_str() {
        "crate" => (Vec::new(), &path[1..]),
        "self" => (module.to_vec(), &path[1..]),
        _ => (module.to_vec(), path),
    };
    while let [first, following @ ..] = rest
        && first == "super"
    {
        base.pop();
        rest = following;
    }
    base.extend_from_slice(rest);
    base
}
