//! A result as blocks, in order. [`Report::write`] prints it as text, [`super::html::page`] as a page.

use super::table::Table;
use super::terminal::Role;
use crate::diagnostic::Diagnostic;
use crate::metadata::Json;
use crate::operation::{
    ArrayDrawing, ComparedArray, HistogramResult, InformationResult, PreviewResult, QuantizationResult,
};

/// Labels with their values.
pub(super) type Members<'a> = Vec<(&'a str, String)>;

/// A result in words and pictures.
#[derive(Debug, Default)]
pub struct Report<'a> {
    /// The thing, as the user named it. Where it is empty, the blocks stand alone.
    pub(super) title: String,
    /// Its kind, or what became of it.
    pub(super) state: String,
    /// The look of the state.
    pub(super) role: Option<Role>,
    /// True if text has the state in its last line, and no title.
    pub(super) ends_with_state: bool,
    /// The few figures that say most, each with what stands beside it; on pages alone.
    pub(super) figures: Vec<(&'static str, String, String)>,
    pub(super) blocks: Vec<Block<'a>>,
}

#[derive(Debug)]
pub(super) enum Block<'a> {
    /// A heading of level 2 to 4, with the name of a node where it is about one of several.
    Heading(u8, Option<String>, String),
    Members(Members<'a>),
    Attributes(&'a Json),
    /// With the words that stand above it on a page.
    Table(&'a str, Table),
    /// Lines to copy, under a label: commands as they are, JSON broken where it may be.
    Code(&'a str, Vec<String>),
    Json(&'a str, Json),
    /// Sentences.
    Note(String),
    Blank,
    /// A name, what was found of it and how that looks, and what goes on behind it.
    Verified(String, (Role, String), String),
    /// Findings, and whether there are more than these.
    Findings(&'a [Diagnostic], bool),
    /// A line each: a label, how it looks, and what it says.
    Remarks(Vec<(Option<Role>, &'static str, String)>),
    Histogram(&'a HistogramResult),
    /// The bits of an array; in text alone.
    Bits(&'a InformationResult),
    Preview(&'a PreviewResult),
    /// The pictures of an array; on pages alone, as is the next.
    Drawing(&'a ArrayDrawing),
    Comparison(&'a ComparedArray, &'a QuantizationResult),
    /// In text alone, and on pages alone.
    Text(Vec<Block<'a>>),
    Page(Vec<Block<'a>>),
}

/// A heading of no node in particular.
pub(super) fn heading(level: u8, words: impl Into<String>) -> Block<'static> {
    Block::Heading(level, None, words.into())
}

/// The members that have a value.
pub(super) fn known<const N: usize>(members: [(&str, Option<String>); N]) -> impl Iterator<Item = (&str, String)> {
    members.into_iter().filter_map(|(label, value)| Some((label, value?)))
}
