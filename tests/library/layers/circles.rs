//! No two files of a row need each other, directly or through others.

use std::collections::{BTreeMap, BTreeSet};

use super::Source;
use super::paths::{Named, named};

/// Exceptions. Files whose path begins with the first may need files whose path begins with the second. The third is
/// the reason.
const ALLOWED: [(&str, &str, &str); 2] = [
    ("codec/chain", "codec/sharding.rs", "the format's own recursion: a chain has shards, which have chains"),
    ("store/", "store/", "not undone yet"),
];

/// Pairs of file indices: the first file needs the second. The value is a line that shows it.
type Needs = BTreeMap<(usize, usize), usize>;

/// The files of the library by their modules.
struct Files<'a> {
    sources: &'a [Source],
    by_module: BTreeMap<Vec<String>, usize>,
    named: Vec<Vec<Named>>,
}

impl<'a> Files<'a> {
    fn new(sources: &'a [Source]) -> Self {
        let by_module = sources.iter().enumerate().map(|(index, source)| (source.module.clone(), index));
        let named = sources.iter().map(|source| named(&source.module, &source.tokens)).collect();
        Files { sources, by_module: by_module.collect(), named }
    }

    /// Finds the file that defines the item of a path, through imports that re-export it.
    fn home(&self, path: &[String], depth: usize) -> Option<usize> {
        let (length, file) = (0..=path.len()).rev().find_map(|end| Some((end, *self.by_module.get(&path[..end])?)))?;
        let passed_on = path.get(length).filter(|_| depth < 8).and_then(|name| {
            let mut imports = self.named[file].iter();
            imports.rfind(|named| named.import.as_ref().is_some_and(|(alias, _)| alias == name))
        });
        match passed_on {
            Some(named) => {
                let path: Vec<String> = named.path.iter().chain(&path[length + 1..]).cloned().collect();
                self.home(&path, depth + 1)
            }
            None => Some(file),
        }
    }

    /// Returns the needs between files of a row.
    fn needs(&self) -> Needs {
        let mut needs = Needs::new();
        for (file, names) in self.named.iter().enumerate() {
            for name in names.iter().filter(|name| self.is_used(file, name)) {
                let Some(home) = self.home(&name.path, 0) else { continue };
                if home != file && self.sources[home].row == self.sources[file].row {
                    needs.entry((file, home)).or_insert(name.line);
                }
            }
        }
        needs
    }

    /// Checks whether a file itself uses a name, not only re-exports it.
    fn is_used(&self, file: usize, name: &Named) -> bool {
        let Some((alias, true)) = &name.import else { return true };
        self.sources[file].tokens.iter().filter(|token| token.text == *alias).count() > 1
    }

    /// Checks whether a file is a parent module of another.
    fn is_above(&self, parent: usize, child: usize) -> bool {
        self.sources[child].module.starts_with(&self.sources[parent].module)
    }

    /// Returns the needs that close a circle. A parent module and its children may need each other. So only one
    /// direction at a time, down to children or up to parents, is counted.
    fn in_circles(&self, needs: &Needs) -> BTreeSet<(usize, usize)> {
        let without = |excused: &dyn Fn(usize, usize) -> bool| {
            let kept: Vec<_> = needs.keys().copied().filter(|(from, to)| !excused(*from, *to)).collect();
            kept.iter().copied().filter(|(from, to)| reaches(&kept, *to, *from)).collect::<BTreeSet<_>>()
        };
        let mut all = without(&|from, to| self.is_above(from, to));
        all.extend(without(&|from, to| self.is_above(to, from)));
        all
    }

    fn path(&self, file: usize) -> String {
        self.sources[file].path.display().to_string()
    }

    fn is_allowed(&self, (from, to): (usize, usize), (first, second, _): (&str, &str, &str)) -> bool {
        self.path(from).starts_with(first) && self.path(to).starts_with(second)
    }
}

/// Checks whether one file needs another, directly or through others.
fn reaches(needs: &[(usize, usize)], from: usize, to: usize) -> bool {
    let mut seen = BTreeSet::from([from]);
    let mut next = vec![from];
    while let Some(file) = next.pop() {
        if file == to {
            return true;
        }
        let following = needs.iter().filter(|(needing, _)| *needing == file).map(|(_, needed)| *needed);
        next.extend(following.filter(|needed| seen.insert(*needed)));
    }
    false
}

#[test]
fn no_two_files_of_a_row_need_each_other() {
    let sources = super::sources();
    let files = Files::new(&sources);
    let needs = files.needs();
    let kept = |leaving: Option<usize>| -> Needs {
        let listed = ALLOWED.iter().enumerate().filter(|(index, _)| Some(*index) != leaving);
        let listed: Vec<_> = listed.map(|(_, allowed)| *allowed).collect();
        let is_kept = |pair: (usize, usize)| !listed.iter().any(|allowed| files.is_allowed(pair, *allowed));
        needs.iter().map(|(pair, line)| (*pair, *line)).filter(|(pair, _)| is_kept(*pair)).collect()
    };
    let circles = files.in_circles(&kept(None));
    let faults = circles.iter().map(|(from, to)| {
        format!("{}:{}: needs {}, which needs it", files.path(*from), needs[&(*from, *to)], files.path(*to))
    });
    let faults: Vec<String> = faults.collect();
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    for (index, (from, to, _)) in ALLOWED.iter().enumerate() {
        let is_needed = !files.in_circles(&kept(Some(index))).is_empty();
        assert!(is_needed, "no circle goes from `{from}` to `{to}` any more: take them off the list");
    }
}
