//! Findings that hold for many nodes, each said once.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use crate::diagnostic::{Diagnostic, Location, Severity};

/// The nodes of a group that are named unless all are asked for.
const SHOWN: usize = 3;

/// One finding, or the same finding about several nodes.
#[derive(Debug)]
pub(super) struct Group<'a> {
    /// In their order; never empty.
    findings: Vec<&'a Diagnostic>,
}

/// The members that two findings have in common if they say the same; numbers may differ.
#[derive(PartialEq, Eq, Hash)]
struct Kind {
    code: &'static str,
    severity: Severity,
    message: String,
    help: Option<String>,
    pointer: Option<String>,
}

impl Kind {
    fn of(finding: &Diagnostic) -> Self {
        Kind {
            code: finding.code,
            severity: finding.severity,
            message: without_numbers(&finding.message),
            help: finding.help.as_deref().map(without_numbers),
            pointer: finding.location.pointer.as_deref().map(without_numbers),
        }
    }
}

/// The text, each run of digits as one `0`: two arrays that lack chunks seldom lack equally many.
fn without_numbers(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        // A comma between digits sets thousands apart.
        let is_comma = letter == ',' && letters.peek().is_some_and(char::is_ascii_digit);
        let is_of_number = letter.is_ascii_digit() || (is_comma && kept.ends_with('0'));
        if !is_of_number {
            kept.push(letter);
        } else if !kept.ends_with('0') {
            kept.push('0');
        }
    }
    kept
}

/// The groups: those of errors first, each kind in the order of the first findings. A finding about a chunk stands alone, and so does what only one node
/// has, however often.
pub(super) fn grouped(findings: &[Diagnostic]) -> Vec<Group<'_>> {
    let mut places: HashMap<Kind, Vec<usize>> = HashMap::new();
    let of_nodes = |finding: &&Diagnostic| finding.location.chunk.is_none();
    for (place, finding) in findings.iter().enumerate().filter(|(_, finding)| of_nodes(finding)) {
        places.entry(Kind::of(finding)).or_default().push(place);
    }
    let node = |place: &usize| {
        let Location { store, node, .. } = &findings[*place].location;
        (store, node)
    };
    let mut heads: HashMap<usize, Vec<usize>> = HashMap::new();
    for places in places.into_values() {
        if places.iter().any(|place| node(place) != node(&places[0])) {
            heads.insert(places[0], places);
        }
    }
    let members: HashSet<usize> = heads.values().flatten().copied().collect();
    let group = |place: usize| match heads.get(&place) {
        Some(places) => Some(places.iter().map(|place| &findings[*place]).collect()),
        None => (!members.contains(&place)).then(|| vec![&findings[place]]),
    };
    let groups = (0..findings.len()).filter_map(group);
    let mut groups: Vec<Group<'_>> = groups.map(|findings| Group { findings }).collect();
    groups.sort_by_key(|group| Reverse(group.first().severity));
    groups
}

impl<'a> Group<'a> {
    /// The first finding, which stands for all.
    pub(super) fn first(&self) -> &'a Diagnostic {
        self.findings[0]
    }

    /// True if it is about several nodes.
    pub(super) fn is_of_many(&self) -> bool {
        self.findings.len() > 1
    }

    /// The number of nodes.
    pub(super) fn num_nodes(&self) -> usize {
        self.of_nodes().len()
    }

    /// The first finding of each node.
    fn of_nodes(&self) -> Vec<&Diagnostic> {
        let (mut seen, mut first) = (HashSet::new(), self.findings.clone());
        first.retain(|&found| seen.insert((&found.location.store, &found.location.node)));
        first
    }

    /// The nodes, each once; all of them, or the first three and how many more there are. Where what is said of them
    /// differs in its numbers, each with what is said of it. A store that they share is named once.
    pub(super) fn nodes(&self, all: bool) -> String {
        let first = self.first();
        let is_same = self.findings.iter().all(|found| found.message == first.message);
        let store = first.location.store.as_deref();
        let store = store.filter(|_| self.findings.iter().all(|found| found.location.store == first.location.store));
        let of_nodes = self.of_nodes();
        let shown = if all { of_nodes.len() } else { SHOWN };
        let node = |found: &&Diagnostic| {
            let node = match (store, found.location.node.as_deref()) {
                (Some(_), Some(node)) => node.to_owned(),
                _ => named(&found.location),
            };
            if is_same { node } else { format!("{node} ({})", found.message) }
        };
        let mut nodes: Vec<String> = of_nodes.iter().take(shown).map(node).collect();
        if of_nodes.len() > shown {
            nodes.push(format!("{} more (-v names all)", of_nodes.len() - shown));
        }
        let nodes = nodes.join(", ");
        store.map_or_else(|| nodes.clone(), |store| format!("{store}: {nodes}"))
    }
}

/// A node by its store and path.
fn named(location: &Location) -> String {
    let store = location.store.as_deref().unwrap_or_default().trim_end_matches('/');
    let node = location.node.as_deref().unwrap_or_default();
    if node == "/" { store.to_owned() } else { format!("{store}{node}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::code;

    fn absent(store: &str, node: &str, count: u64) -> Diagnostic {
        let message = format!("{count} of 10 chunks are absent");
        Diagnostic::new(code::CHUNKS_ABSENT, message).in_store(store).at_node(node)
    }

    #[test]
    fn finding_of_many_nodes_is_one_group_with_the_first_three() {
        let other = Diagnostic::new(code::KEY_UNKNOWN, "x").in_store("s").at_node("/b").at_key("b/x");
        let mut findings = vec![absent("s", "/a", 1), other];
        findings.extend(["/b", "/c", "/d", "/e"].map(|node| absent("s", node, 1)));
        let groups = grouped(&findings);
        // A warning comes before an info.
        assert_eq!(groups.iter().map(|group| group.findings.len()).collect::<Vec<_>>(), [1, 5]);
        assert_eq!(groups[1].num_nodes(), 5);
        assert_eq!(groups[1].nodes(false), "s: /a, /b, /c, 2 more (-v names all)");
        assert_eq!(groups[1].nodes(true), "s: /a, /b, /c, /d, /e");
    }

    #[test]
    fn findings_that_differ_in_numbers_alone_are_one_group_that_names_each() {
        let findings = [absent("s", "/", 1), absent("t", "/", 12)];
        let groups = grouped(&findings);
        assert_eq!(groups.len(), 1);
        assert_eq!(groups[0].nodes(false), "s (1 of 10 chunks are absent), t (12 of 10 chunks are absent)");
        assert_eq!(without_numbers("12 of 1,234,567 in [3, 4]"), "0 of 0 in [0, 0]");
    }

    #[test]
    fn errors_come_before_warnings() {
        let error = Diagnostic::new(code::CHUNK_CORRUPT, "x").in_store("s").at_node("/b");
        let findings = [absent("s", "/a", 1), error];
        let groups = grouped(&findings);
        assert_eq!(groups.iter().map(|group| group.first().code).collect::<Vec<_>>(), ["ZX101", "ZK221"]);
    }

    #[test]
    fn findings_of_one_node_or_of_chunks_stand_alone() {
        let chunk = |node| Diagnostic::new(code::CHUNK_CORRUPT, "x").at_node(node).at_chunk([0]);
        let findings = [absent("s", "/a", 1), absent("s", "/a", 1), chunk("/a"), chunk("/b")];
        assert_eq!(grouped(&findings).len(), 4);
    }
}
