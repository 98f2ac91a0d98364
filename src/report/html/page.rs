//! The page around a report: head, style, header, footer.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::text;

const STYLE: &str = include_str!("style.css");

/// What stands at the top of a page.
#[derive(Debug)]
pub(super) struct Header {
    /// The command: `inspect`.
    pub command: &'static str,
    /// What it was about, as the user named it.
    pub title: String,
    /// Under the title: what it is, or what became of it.
    pub summary: Markup,
}

/// The whole page.
pub(super) fn page(header: &Header, main: &Markup) -> String {
    let title = text(&header.title);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content=(concat!("zarrcast ", env!("CARGO_PKG_VERSION")));
                title { "zarrcast " (header.command) ": " (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    p.kind { "zarrcast " (header.command) }
                    h1 { bdi { (title) } }
                    (header.summary)
                }
                main { (main) }
                footer { p { "Written by zarrcast " (env!("CARGO_PKG_VERSION")) ". The page is whole: it loads nothing." } }
            }
        }
    };
    page.into_string()
}
