//! A result as blocks, in order. [`Report::write`] prints it as text, [`super::html::page`] as a page.

use super::table::Table;
use super::terminal::Role;
use crate::diagnostic::Diagnostic;
use crate::metadata::Json;
use crate::operation::{
    ArrayDrawing, ComparedArray, HistogramResult, InformationResult, PreviewResult, QuantizationResult,
};

/// Returns labels with their values.
pub(super) type Members<'a> = Vec<(&'a str, String)>;

/// A result in words and pictures.
#[derive(Debug, Default)]
pub struct Report<'a> {
    /// The subject, as the user named it.
    pub(super) title: String,
    /// The kind or the outcome of the subject.
    pub(super) state: String,
    /// The role of the state.
    pub(super) role: Option<Role>,
    /// True if text ends with the state, and has no title.
    pub(super) ends_with_state: bool,
    /// The most important figures, each with an additional text. On pages only.
    pub(super) figures: Vec<(&'static str, String, String)>,
    pub(super) blocks: Vec<Block<'a>>,
}

#[derive(Debug)]
pub(super) enum Block<'a> {
    /// A heading of level 2 to 4, with the name of a node if it is about one of several.
    Heading(u8, Option<String>, String),
    Members(Members<'a>),
    Attributes(&'a Json),
    /// A table, after its caption on a page.
    Table(&'a str, Table),
    /// Lines to copy, under a label: commands unchanged, JSON wrapped where possible.
    Code(&'a str, Vec<String>),
    Json(&'a str, Json),
    /// Sentences.
    Note(String),
    Blank,
    /// A name, the good outcome, and the text after it.
    Verified(String, &'static str, String),
    /// Findings, and whether there are more than these.
    Findings(&'a [Diagnostic], bool),
    /// A line each: the role of a label, the label, and its text.
    Remarks(Vec<(Option<Role>, &'static str, String)>),
    Histogram(&'a HistogramResult),
    /// The bits of an array. In text only.
    Bits(&'a InformationResult),
    Preview(&'a PreviewResult),
    /// The pictures of an array. This and the next are on pages only.
    Drawing(&'a ArrayDrawing),
    Comparison(&'a ComparedArray, &'a QuantizationResult),
    /// Blocks in text only, and blocks on pages only.
    Text(Vec<Block<'a>>),
    Page(Vec<Block<'a>>),
}

/// Returns a heading without the name of a node.
pub(super) fn heading(level: u8, words: impl Into<String>) -> Block<'static> {
    Block::Heading(level, None, words.into())
}

/// Returns findings under a heading, on pages only. Text has them on stderr.
pub(super) fn findings(warnings: &[Diagnostic]) -> Block<'_> {
    let findings = vec![heading(2, "findings"), Block::Findings(warnings, false)];
    Block::Page(if warnings.is_empty() { Vec::new() } else { findings })
}

/// Returns the members that have a value.
pub(super) fn known<T, const N: usize>(members: [(&str, Option<T>); N]) -> impl Iterator<Item = (&str, T)> {
    members.into_iter().filter_map(|(label, value)| Some((label, value?)))
}
