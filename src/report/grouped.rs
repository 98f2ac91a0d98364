//! Findings that hold for many nodes, each said once.

use std::collections::HashMap;

use crate::diagnostic::{Diagnostic, Location, Severity};

/// The nodes of a group that are named unless all are asked for.
const SHOWN: usize = 3;

/// One finding, or the same finding about several nodes.
#[derive(Debug)]
pub(super) struct Group<'a> {
    /// In their order; never empty.
    findings: Vec<&'a Diagnostic>,
}

/// What findings have in common that say the same: numbers may differ.
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
    for letter in text.chars() {
        if !letter.is_ascii_digit() {
            kept.push(letter);
        } else if !kept.ends_with('0') {
            kept.push('0');
        }
    }
    kept
}

/// The groups, each where its first finding is. A finding about a chunk stands alone, and so does what only one node
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
    let members: std::collections::HashSet<usize> = heads.values().flatten().copied().collect();
    let group = |place: usize| match heads.get(&place) {
        Some(places) => Some(places.iter().map(|place| &findings[*place]).collect()),
        None => (!members.contains(&place)).then(|| vec![&findings[place]]),
    };
    (0..findings.len()).filter_map(group).map(|findings| Group { findings }).collect()
}

impl<'a> Group<'a> {
    /// The first finding, which stands for all.
    pub(super) fn first(&self) -> &'a Diagnostic {
        self.findings[0]
    }

    /// Whether it is about several nodes.
    pub(super) fn is_of_many(&self) -> bool {
        self.findings.len() > 1
    }

    /// How many nodes there are.
    pub(super) fn num_nodes(&self) -> usize {
        let mut nodes: Vec<_> = self.findings.iter().map(|found| named(&found.location)).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes.len()
    }

    /// The nodes, each once; all of them, or the first three and how many more there are. Where what is said of them
    /// differs in its numbers, each with what is said of it.
    pub(super) fn nodes(&self, all: bool) -> Vec<String> {
        let is_same = self.findings.iter().all(|found| found.message == self.first().message);
        let mut nodes: Vec<String> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for found in self.findings.iter().filter(|found| seen.insert(named(&found.location))) {
            let node = named(&found.location);
            nodes.push(if is_same { node } else { format!("{node} ({})", found.message) });
        }
        if !all && nodes.len() > SHOWN {
            let more = nodes.len() - SHOWN;
            nodes.truncate(SHOWN);
            nodes.push(format!("{more} more (-v names all)"));
        }
        nodes
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
        assert_eq!(groups.iter().map(|group| group.findings.len()).collect::<Vec<_>>(), [5, 1]);
        assert_eq!(groups[0].num_nodes(), 5);
        assert_eq!(groups[0].nodes(false), ["s/a", "s/b", "s/c", "2 more (-v names all)"]);
        assert_eq!(groups[0].nodes(true), ["s/a", "s/b", "s/c", "s/d", "s/e"]);
    }

    #[test]
    fn findings_that_differ_in_numbers_alone_are_one_group_that_names_each() {
        let findings = [absent("s", "/", 1), absent("t", "/", 12)];
        let groups = grouped(&findings);
        assert_eq!(groups.len(), 1);
        assert_eq!(
            groups[0].nodes(false),
            ["s (1 of 10 chunks are absent)", "t (12 of 10 chunks are absent)"]
        );
    }

    #[test]
    fn findings_of_one_node_or_of_chunks_stand_alone() {
        let chunk = |node| Diagnostic::new(code::CHUNK_CORRUPT, "x").at_node(node).at_chunk([0]);
        let findings = [absent("s", "/a", 1), absent("s", "/a", 1), chunk("/a"), chunk("/b")];
        assert_eq!(grouped(&findings).len(), 4);
    }
}
