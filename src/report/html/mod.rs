//! Results as one HTML page: all that the text says, and pictures. The page needs nothing from elsewhere, no script either.
//!
//! Names and texts of a store are hostile: the macro escapes what HTML acts on, and [`text`] what writing acts on.

mod blocks;
mod chart;
mod comparison;
mod parts;
mod picture;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::block::Report;
use super::defused::one_line;
use super::quantity::counted;
use super::terminal::Role;
use blocks::write_blocks;
use parts::{Ids, heading};

const STYLE: &str = include_str!("style.css");

/// The page of a command about one thing, or about several, with a section each.
pub fn page(command: &str, reports: &[Report<'_>]) -> String {
    let ids = &mut Ids::default();
    if let [report] = reports {
        return around(command, &report.title, &summary(report), &write_blocks(&report.blocks, 0, ids));
    }
    let main = html! {
        @for report in reports {
            section {
                (heading(2, &report.title))
                (summary(report))
                (write_blocks(&report.blocks, 1, ids))
            }
        }
    };
    around(command, &counted(reports.len() as u64, "store"), &html! {}, &main)
}

/// Below a title: the state, and the figures that say most.
fn summary(report: &Report<'_>) -> Markup {
    let class = report.role.map(|role| format!("verdict {}", class(role)));
    html! {
        p class=[class] { bdi { (text(&report.state)) } }
        (parts::figures(&report.figures))
    }
}

/// The class of what looks so.
fn class(role: Role) -> &'static str {
    match role {
        Role::Error => "error",
        Role::Warning => "warning",
        Role::Good => "good",
        Role::Heading | Role::Label | Role::Faint => "faint",
    }
}

/// The whole page: head, style, header, footer.
fn around(command: &str, title: &str, summary: &Markup, main: &Markup) -> String {
    let title = text(title);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content=(concat!("zarrcast ", env!("CARGO_PKG_VERSION")));
                title { "zarrcast " (command) ": " (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    p.kind { "zarrcast " (command) }
                    h1 { bdi { (title) } }
                    (summary)
                }
                main { (main) }
                footer { p { "Written by zarrcast " (env!("CARGO_PKG_VERSION")) ". The page is whole: it loads nothing." } }
            }
        }
    };
    page.into_string()
}

/// Words in which what stands in backticks is code, and no line is broken in an arrow.
fn marked(words: &str) -> Markup {
    let words = text(words).replace("->", "\u{2192}");
    html! { bdi { @for (place, part) in words.split('`').enumerate() {
        @if place % 2 == 1 { code { (part) } } @else { (part) }
    } } }
}

/// Text from a store: control characters, and those that turn the direction of writing, as escapes.
fn text(text: &str) -> String {
    one_line(text).into_owned()
}
