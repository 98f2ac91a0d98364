//! A parser for report pages, as strict as the tests need: is the page well-formed, and what is its text?

/// Elements without an end tag.
const VOID: [&str; 4] = ["meta", "img", "br", "hr"];

/// A well-formed page.
#[derive(Debug)]
pub(crate) struct Page {
    /// The source text of the file.
    pub(crate) source: String,
    /// The visible text, without tags.
    pub(crate) text: String,
}

impl Page {
    /// Parses a page. Every element is closed in order, and none runs a script. No attribute is an external link. Every
    /// id is unique, and every reference has its id.
    pub(crate) fn checked(source: &str) -> Self {
        let mut rest = source.strip_prefix("<!DOCTYPE html>").expect("a document type");
        let (mut open, mut text) = (Vec::<String>::new(), String::new());
        let (mut ids, mut references) = (Vec::new(), Vec::new());
        while let Some(start) = rest.find('<') {
            if !open.iter().any(|name| name == "style") {
                text.push_str(&decoded(&rest[..start]));
            }
            let (tag, after) = split_tag(&rest[start + 1..]);
            rest = after;
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop().as_deref(), Some(name), "</{name}>");
                text.push(' ');
                continue;
            }
            let is_closed = tag.ends_with('/');
            let name = tag.split([' ', '/', '\n']).next().unwrap().to_owned();
            assert!(!["script", "link", "iframe", "object", "base", "form"].contains(&name.as_str()), "<{tag}>");
            for (attribute, value) in attributes(&tag[name.len()..]) {
                assert!(!attribute.starts_with("on"), "<{tag}>");
                match attribute.as_str() {
                    "src" => assert!(value.starts_with("data:image/png;base64,"), "{value}"),
                    "href" => assert!(value.starts_with('#'), "{value}"),
                    "id" => ids.push(value),
                    "aria-labelledby" => references.extend(value.split(' ').map(str::to_owned)),
                    _ => {}
                }
            }
            if !is_closed && !VOID.contains(&name.as_str()) {
                open.push(name);
            }
        }
        assert!(open.is_empty() && rest.trim().is_empty(), "{open:?} {rest:?}");
        let style = source.split("<style>").nth(1).unwrap().split("</style>").next().unwrap();
        assert!(!style.contains("url(") && !style.contains("@import"));
        let num_ids = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), num_ids);
        assert!(references.iter().all(|id| ids.contains(id)), "{references:?}");
        assert!(source.contains("<html lang=\"en\">") && source.contains("<main>"));
        Page { source: source.to_owned(), text }
    }
}

/// Splits after a tag. A quoted `>` does not end it.
fn split_tag(text: &str) -> (&str, &str) {
    let mut quoted = false;
    for (place, letter) in text.char_indices() {
        match letter {
            '"' => quoted = !quoted,
            '>' if !quoted => return (&text[..place], &text[place + 1..]),
            '<' if !quoted => panic!("`<` in <{}", &text[..place]),
            _ => {}
        }
    }
    panic!("a tag is not closed: {text}")
}

fn attributes(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some((name, after)) = rest.split_once("=\"") {
        let (value, after) = after.split_once('"').expect("a closed quote");
        found.push((name.trim().to_owned(), decoded(value)));
        rest = after.trim_start();
    }
    found
}

fn decoded(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}
