//! DEST: its existing content, the folder of an unfinished run, and the replacement of DEST.
//!
//! Without `--overwrite`, objects are written to their final paths, and the metadata last. With it, everything is
//! written next to DEST, in the folder of the run, and then exchanged for DEST at once. Zip files always are. An object
//! store cannot exchange, so the old content is removed first. The folder of the run is removed last: while it exists,
//! `--resume` knows what is left to do.
//!
//! The existing content of DEST, and what is refused before anything is written.

use std::cmp::Reverse;
use std::ops::ControlFlow;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::array::fault::CleanupFn;
use crate::diagnostic::{Diagnostic, code};
use crate::engine::{Assignment, Driver, Fingerprint, Journal, journal::JournalError};
use crate::metadata::NodeKind;
use crate::operation::{
    FaultClass, OperationError, Result, TranscodeOptions, document, error::help_of, hierarchy, open,
};
use crate::store::{
    Depth, Destination, Entry, EntryKind, JOURNAL, Key, Node, PLAN, RUN_FOLDER, Relation, StoreError, has_begun,
    has_run_folder,
};

/// Maximum time that an exiting process waits for its last journal entries.
const PATIENCE: Duration = Duration::from_secs(3);

/// DEST, before a run claims it.
#[derive(Debug, Clone)]
pub(super) struct Output {
    /// As the user named it.
    pub(super) shown: String,
    destination: Destination,
    existing: Existing,
    overwrites: bool,
    /// SOURCE, and the objects elsewhere that it reads.
    source: (Node, Vec<Node>),
    /// Whether it continues an unfinished run.
    resumes: bool,
    /// Whether an earlier run has replaced DEST already, and only cleaning up is left.
    has_taken_place: bool,
    /// Warnings about the hierarchy that contains DEST.
    pub warnings: Vec<Diagnostic>,
}

impl Output {
    /// Returns the node to which the run writes.
    pub(super) fn data(&self) -> &Node {
        &self.destination.data
    }

    /// Returns whether another run can continue an unfinished one.
    pub(super) fn keeps_unfinished(&self) -> bool {
        self.destination.keeps_unfinished()
    }

    /// Returns the message for a run that is stopped at once: what is left, and the next step.
    pub(super) fn left_when_stopped(&self) -> String {
        if self.keeps_unfinished() {
            return self.next_to_resume();
        }
        format!("nothing of `{}` is kept; run the command again", self.shown)
    }

    fn next_to_resume(&self) -> String {
        let (new, overwrite) = if self.overwrites { ("the new ", "--overwrite ") } else { ("", "") };
        format!("{new}`{}` is unfinished: run the same command with `{overwrite}--resume` to continue", self.shown)
    }

    /// Returns the clean-up for a process that exits before the run ends. It writes the journal entries, and releases
    /// unfinished uploads and locks. If an unfinished run is not kept, it is removed.
    pub(super) fn cleanup(&self, journal: Weak<Journal>) -> CleanupFn {
        let destination = self.destination.clone();
        Box::new(move || {
            if !destination.keeps_unfinished() {
                // If this fails, the next run does it.
                return drop(destination.remove());
            }
            if let Some(journal) = journal.upgrade() {
                journal.flush_in_time(PATIENCE);
            }
            destination.data.release_on_exit();
        })
    }

    /// Fails if the run that would be resumed has another plan, apart from what is `open` in this one.
    pub(super) fn check_plan(&self, fingerprint: &Fingerprint, open: &[&str]) -> Result<()> {
        let checked = if self.resumes { Journal::check_plan(&self.destination.run(), fingerprint) } else { Ok(()) };
        match checked {
            Err(JournalError::OtherPlan { differences }) if differences.iter().all(|part| open.contains(&&**part)) => {
                Ok(())
            }
            checked => checked.map_err(|error| self.refused(error)),
        }
    }

    /// Claims DEST: everything that is written from now on belongs to this run.
    pub(super) fn claim(self, fingerprint: &Fingerprint) -> Result<LockedDestination> {
        // The folder of the journal, unless it exists.
        let folder = match &self.destination.beside {
            None => (self.existing == Existing::Nothing).then_some(self.data()),
            Some(run) => (!run.exists().map_err(cannot_write)?).then_some(run),
        };
        let is_made = folder.map(Node::create_root).transpose().map_err(cannot_write)?.is_some();
        let failed = |error: JournalError| {
            // A folder that another run has begun meanwhile must not be removed.
            let is_others = matches!(error, JournalError::Held(_));
            // The folder is empty. If this fails, too, `--resume` accepts an empty folder.
            let _ = if is_made && !is_others { self.destination.remove() } else { Ok(()) };
            self.refused(error)
        };
        // The journal is locked before anything at DEST is removed.
        let journal = self.open(fingerprint).map_err(failed)?;
        let is_begun = journal.left.is_begun;
        if self.destination.beside.is_some() {
            self.begin_beside(&journal).map_err(failed)?;
            let is_published = self.has_taken_place;
            return Ok(self.claimed(journal, is_begun, is_published));
        }
        // Objects of the old hierarchy may still be there. A resumed run would publish them as its own.
        if journal.left.is_noted && !is_begun && !self.overwrites && self.data().capabilities().is_remote {
            let message = "was being replaced by a run that ended before it had removed the old one";
            return Err(OperationError::environment(format!("`{}` {message}", self.shown))
                .with_help("continue that command with `--overwrite --resume`, or start again with `--overwrite`"));
        }
        let clears = self.overwrites && !is_begun && self.existing != Existing::Nothing;
        if clears && self.data().is_shown_by(&self.source.0, &self.source.1).map_err(cannot_write)? {
            let help = "choose another path for DEST, or name SOURCE by its address in the bucket";
            return Err(OperationError::environment(format!(
                "`{}` is SOURCE, contains it or is inside it: the web server of SOURCE shows its objects",
                self.shown
            ))
            .with_help(help));
        }
        // While old objects remain, no checkpoint says that DEST is ready. A later run then removes the rest first.
        journal.begin(!clears).map_err(failed)?;
        if clears {
            self.clear_place(&journal)?;
        }
        let is_left = matches!(self.existing, Existing::Unfinished | Existing::Node | Existing::LeftNode);
        let is_resumed = self.resumes && is_left && !clears;
        let is_published = is_resumed && is_node(self.data()).map_err(cannot_write)?;
        Ok(self.claimed(journal, is_resumed, is_published))
    }

    fn claimed(self, journal: Journal, is_resumed: bool, is_published: bool) -> LockedDestination {
        let left = self.next_to_resume();
        LockedDestination { output: self, journal: Arc::new(journal), is_resumed, is_published, left }
    }

    fn open(&self, fingerprint: &Fingerprint) -> Result<Journal, JournalError> {
        let target = &self.destination.target;
        if self.destination.beside.is_some() && self.keeps_unfinished() && has_run_folder(target) {
            // Nobody else may write what is to be replaced.
            Journal::check_free(&target.below(&RUN_FOLDER))?;
        }
        Journal::open((&self.destination.run(), self.data()), fingerprint, self.resumes)
    }

    fn begin_beside(&self, journal: &Journal) -> Result<(), JournalError> {
        // The journal of the published run was there before the lock was taken. Another run has replaced it meanwhile.
        if self.has_taken_place && !journal.left.is_begun {
            return Err(JournalError::Lost);
        }
        // This is before `begin`, which empties the folder of the run: the only copy of the old hierarchy may be there.
        self.destination.restore()?;
        if !journal.left.is_begun {
            self.destination.begin()?;
        }
        journal.begin(true)
    }

    /// Makes the root folder of a hierarchy that is written to its final path.
    pub(super) fn make_root(&self) -> Result<()> {
        if self.existing == Existing::Nothing {
            self.data().create_root().map_err(cannot_write)?;
        }
        Ok(())
    }

    /// Claims a part of the work, with a log in its own folder. Others may write chunks that are not `assigned`. `left`
    /// is the next step if the part does not finish.
    pub(super) fn claim_part(
        self,
        folder: &str,
        fingerprint: &Fingerprint,
        assigned: Assignment,
        left: String,
    ) -> Result<LockedDestination> {
        let folder = self.data().below(&Key::new(folder).map_err(cannot_write)?.into_owned());
        // The folder is looked for first, because opening the log creates it.
        let is_resumed = matches!(folder.kind(), Ok(Some(EntryKind::Folder)));
        let opened = Journal::open_part((&folder, self.data()), fingerprint, assigned);
        let journal = opened.map_err(|error| self.refused(error))?;
        Ok(LockedDestination { left, ..self.claimed(journal, is_resumed, false) })
    }

    /// Removes the old content of a DEST that cannot be exchanged at once. The journal stays: it tells later runs what
    /// this one has begun.
    fn clear_place(&self, journal: &Journal) -> Result<()> {
        let unfinished = |error: OperationError| {
            let next = "continue with `--overwrite --resume`, or start again with `--overwrite`";
            with_next_step(error, &format!("part of `{}` may be removed: {next}", self.shown))
        };
        self.data().remove_others(&RUN_FOLDER).map_err(|error| unfinished(cannot_write(error)))?;
        journal.checkpoint().map_err(|error| unfinished(self.refused(error)))
    }

    fn refused(&self, error: JournalError) -> OperationError {
        let shown = &self.shown;
        let (message, help) = match error {
            JournalError::Store(error) => return cannot_write(error),
            JournalError::Lost => {
                let help = "find out which runs write there, and run one of them again";
                (format!("another run took over `{shown}`"), help)
            }
            JournalError::Held(_) => {
                (format!("`{shown}` is locked"), "wait until the other run has ended, or choose another DEST")
            }
            JournalError::OtherPlan { .. } => {
                let help = "give the options of that run, or replace it with `--overwrite` alone";
                (format!("`{shown}` is an unfinished run with another plan"), help)
            }
        };
        OperationError::environment(message).because(error).with_help(help)
    }

    /// Writes the documents. The last one makes DEST a node.
    fn write_documents(&self, documents: &[(String, String)], driver: &Driver) -> Result<(), StoreError> {
        let Some(((key, document), others)) = documents.split_last() else { return Ok(()) };
        // Each document below the root is written atomically, and parents after their children.
        let depth = |(key, _): &&(String, String)| key.matches('/').count();
        let mut deepest_first: Vec<&(String, String)> = others.iter().collect();
        deepest_first.sort_by_key(|document| Reverse(depth(document)));
        for level in deepest_first.chunk_by(|one, other| depth(one) == depth(other)) {
            let written = driver.map_plain(level, |(key, document)| self.data().replace(key, document.as_bytes()));
            written.into_iter().collect::<Result<(), _>>()?;
        }
        // The root document makes DEST open. After a power failure it must not exist without the others.
        if !others.is_empty() {
            self.data().sync()?;
        }
        self.data().publish(key, document.as_bytes())
    }

    /// Removes the output. If that fails and `is_sound`, another run can continue.
    fn give_up(&self, error: OperationError, is_sound: bool) -> OperationError {
        match self.destination.remove() {
            Ok(()) => error,
            Err(_) if is_sound && self.keeps_unfinished() => with_next_step(error, &self.next_to_resume()),
            Err(_) => {
                let left = self.data().name();
                with_next_step(error, &format!("`{left}` is left without metadata: remove it by hand"))
            }
        }
    }
}

/// A destination that only this run may write.
pub(crate) struct LockedDestination {
    pub output: Output,
    pub journal: Arc<Journal>,
    /// Whether an earlier run began.
    pub is_resumed: bool,
    /// Whether the metadata are published already.
    pub is_published: bool,
    /// The remains of a run that does not finish, and the next step.
    pub left: String,
}

impl LockedDestination {
    /// Returns the clean-up for a process that exits before the run ends.
    pub(super) fn cleanup(&self) -> CleanupFn {
        self.output.cleanup(Arc::downgrade(&self.journal))
    }

    /// Makes the written data and their journal entries durable.
    pub(crate) fn checkpoint(&self) -> Result<()> {
        let failed = |error| OperationError::environment("the destination cannot be made durable").because(error);
        self.journal.checkpoint().map_err(failed)?;
        self.journal.confirm().map_err(|error| self.output.refused(error))
    }

    /// Returns a warning if no lock excludes runs on other machines.
    pub(crate) fn unlocked_warning(&self) -> Option<Diagnostic> {
        let shown = &self.output.shown;
        let before = self.journal.lock.before.as_ref();
        let before = before.map(|holder| format!("; {holder} has written there before, and has probably ended"));
        let before = before.unwrap_or_default();
        let message =
            format!("the storage of `{shown}` has no locks: a run on another machine could write there, too{before}");
        let found = Diagnostic::new(code::NOT_LOCKED, message);
        (!self.journal.lock.is_held).then(|| found.with_help("make sure that no two machines write there at once"))
    }

    /// Writes the documents, publishes the complete DEST, and removes the files of the run.
    pub(crate) fn publish(self, documents: &[(String, String)], driver: &Driver) -> Result<()> {
        let LockedDestination { output, journal, is_published, left, .. } = self;
        // A process that was paused may have lost its lock to another run. Only the store knows this.
        journal.confirm().map_err(|error| output.refused(error))?;
        let keeps = output.keeps_unfinished();
        let ended = |error| if keeps { with_next_step(error, &left) } else { output.give_up(error, true) };
        if !is_published {
            output.write_documents(documents, driver).map_err(|error| ended(cannot_write(error)))?;
            output.destination.take_place(output.overwrites).map_err(|error| {
                let done = if output.overwrites { "replaced" } else { "put into its place" };
                ended(OperationError::environment(format!("`{}` cannot be {done}", output.shown)).because(error))
            })?;
        }
        // DEST is complete here. A failure to clean up must not remove it.
        output.destination.clear().map_err(|error| {
            let message = format!("`{}` is complete, but temporary files cannot be removed", output.shown);
            let help = if keeps {
                "run the same command with `--resume` to try again".to_owned()
            } else {
                format!("remove `{}` by hand", output.destination.run().name())
            };
            OperationError::environment(message).because(error).with_help(help)
        })
    }

    /// Ends a run that failed. Its output is kept for another run, unless the output is wrong (`is_final`). The
    /// output of a part is always kept. Without any output, DEST is removed.
    pub(crate) fn fail(self, error: OperationError, is_final: bool) -> OperationError {
        let LockedDestination { output, journal, is_published, left, .. } = self;
        let is_whole = journal.assigned.is_none();
        if is_whole && is_final {
            // If the lock is lost, DEST belongs to another run.
            return if is_published || journal.is_lost() { error } else { output.give_up(error, false) };
        }
        // Objects without a journal entry are written again.
        let _ = journal.flush();
        let next = |error: OperationError| match error.class() {
            FaultClass::Interrupted => error.with_help(left),
            _ => with_next_step(error, &left),
        };
        if !is_whole {
            return next(error);
        }
        if journal.is_lost() {
            return error;
        }
        // Without a finished unit there is nothing to resume.
        if (journal.total().written == 0 && !is_published) || !output.keeps_unfinished() {
            return output.give_up(error, true);
        }
        next(error)
    }
}

/// Returns whether a document makes a location a node.
pub(super) fn is_node(node: &Node) -> Result<bool, StoreError> {
    if node.capabilities().is_remote {
        // All are requested at once, with one request each. A failed request may be for the one that exists.
        let sizes: Vec<_> = node.sizes("", &document::NODE_KEYS)?.into_iter().collect::<Result<_, _>>()?;
        return Ok(sizes.iter().any(Option::is_some));
    }
    Ok(document::NODE_KEYS.iter().any(|key| matches!(node.kind_of(key), Ok(Some(EntryKind::File)))))
}

pub(super) fn cannot_write(error: StoreError) -> OperationError {
    OperationError::environment("the destination cannot be written").because(error)
}

/// Returns an error with a further next step.
fn with_next_step(error: OperationError, next: &str) -> OperationError {
    let help = help_of(&error).map_or_else(|| next.to_owned(), |help| format!("{help}; {next}"));
    error.with_help(help)
}

/// The existing node, file or folder at the path of DEST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Existing {
    Nothing,
    EmptyFolder,
    /// A run has left its journal, but no metadata.
    Unfinished,
    Node,
    /// A node whose run did not remove its journal.
    LeftNode,
    Other,
}

impl Output {
    /// Finds out what a run would do with a node of SOURCE that has this document. Nothing is touched.
    pub(crate) fn find(source: &Node, document: &str, options: &TranscodeOptions) -> Result<Self> {
        let (shown, run) = (options.destination.display().to_string(), &options.run);
        if options.destination.is_inside_zip() {
            // A zip file is written as a whole. An existing folder with such a name is a folder.
            let message = format!("DEST `{}` is inside a zip file, which is written as a whole", options.destination);
            return Err(OperationError::usage(message).with_help("choose a new zip file or a folder"));
        }
        let node = options.destination.node();
        // In a remote store each check costs a request, and no link can have the name.
        let is_remote = node.capabilities().is_remote;
        if !is_remote {
            refuse_file_above(Some(&node), false, &shown)?;
        }
        let destination = node.destination(run.overwrite).map_err(|error| no_destination(error, &shown))?;
        // Only `--overwrite` removes what SOURCE may still need: objects elsewhere that a reference file names.
        let targets = if run.overwrite { source.targets().map_err(unreadable)? } else { Vec::new() };
        for other in std::iter::once(source).chain(&targets) {
            check_apart(&destination.target, other, &shown)?;
        }
        let format = options.change.zarr_format.unwrap_or(if document == "zarr.json" { 3 } else { 2 });
        let warnings = if is_remote { Vec::new() } else { check_hierarchy_above(&node, format, &shown)? };
        let mut existing = existing(&destination)?;
        if existing == Existing::Nothing {
            // The name may be a link whose target does not exist.
            if is_remote {
                refuse_file_above(node.parent().as_ref(), true, &shown)?;
            } else if node.exists().map_err(unreadable)? {
                existing = Existing::Other;
            }
        }
        let mut resumes = run.resume && destination.keeps_unfinished();
        if run.overwrite {
            refuse_unreplaceable(existing, (&destination.target, source), &shown)?;
        } else if run.partitions.is_some() {
            if existing == Existing::Unfinished && !has_begun(&destination.target).map_err(unreadable)? {
                // There is only the folder of a plan that was not sealed, or of late parts: it counts as empty.
                existing = Existing::EmptyFolder;
            }
            resumes |= existing == Existing::EmptyFolder;
            // `--init` takes no `--overwrite`, so the help must not name that option.
            refuse_existing(existing, resumes, &shown)
                .map_err(|error| error.with_help("choose a new path, or remove it first"))?;
        } else {
            let plan = || destination.target.below(&RUN_FOLDER).kind_of(PLAN);
            if existing == Existing::Unfinished && matches!(plan(), Ok(Some(EntryKind::File))) {
                let help = "`--status` shows what is missing, `--finish` publishes it, `--overwrite` replaces it";
                let message = format!("`{shown}` is an unfinished job in parts");
                return Err(OperationError::environment(message).with_help(help));
            }
            refuse_existing(existing, run.resume, &shown)?;
        }
        if let Some(run) = &destination.beside {
            refuse_others(run, &shown)?;
        }
        let has_taken_place = resumes && destination.has_taken_place().map_err(unreadable)?;
        let data = if has_taken_place { destination.target.clone() } else { destination.data.clone() };
        let destination = Destination { data, ..destination };
        // Files and folders get the permissions that `cp` would give them.
        let (destination, overwrites) = (destination.with_permissions_of(source, document), run.overwrite);
        let source = (source.clone(), targets);
        Ok(Output { shown, destination, existing, overwrites, source, resumes, has_taken_place, warnings })
    }
}

fn unreadable(error: StoreError) -> OperationError {
    OperationError::environment("DEST cannot be read").because(error)
}

/// Fails unless SOURCE and DEST are separate, neither inside the other, with all links resolved.
pub(crate) fn check_apart(target: &Node, other: &Node, shown: &str) -> Result<()> {
    let (message, help) = match target.relation(other).map_err(unreadable)? {
        Relation::Apart => return Ok(()),
        Relation::Same => (format!("`{shown}` is SOURCE itself"), "choose another path for DEST"),
        Relation::Nested => {
            let names = format!("`{}` and `{}`", other.name(), target.name());
            let help = "choose a DEST outside SOURCE that does not contain it";
            (format!("one of SOURCE and DEST is inside the other: {names}"), help)
        }
    };
    Err(OperationError::environment(message).with_help(help))
}

/// Fails if DEST exists, unless a run continues an unfinished one.
fn refuse_existing(existing: Existing, resumes: bool, shown: &str) -> Result<()> {
    let (message, help) = match (existing, resumes) {
        (Existing::Nothing, _) | (Existing::EmptyFolder | Existing::Unfinished | Existing::LeftNode, true) => {
            return Ok(());
        }
        (Existing::Node, true) => ("is complete: there is nothing to resume", "replace it with `--overwrite`"),
        (Existing::Unfinished, false) => {
            ("is an unfinished run", "continue it with `--resume`, or replace it with `--overwrite`")
        }
        (Existing::EmptyFolder | Existing::Node | Existing::LeftNode, false) => {
            ("exists already", "choose a new path, or replace it with `--overwrite`")
        }
        (Existing::Other, _) => ("exists already", "choose a new path"),
    };
    Err(OperationError::environment(format!("`{shown}` {message}")).with_help(help))
}

/// Fails unless DEST is a node, an unfinished run or an empty folder. Also fails if it cannot be replaced or SOURCE
/// needs it.
fn refuse_unreplaceable(existing: Existing, (target, source): (&Node, &Node), shown: &str) -> Result<()> {
    let refused = |message: String, help| Err(OperationError::environment(message).with_help(help));
    if existing == Existing::Nothing {
        return Ok(());
    }
    if existing == Existing::Other {
        let help = "`--overwrite` replaces only arrays, groups, unfinished runs and empty folders; choose another path";
        return refused(format!("`{shown}` is not a Zarr store and is not replaced"), help);
    }
    if target.is_mount_point() {
        return refused(format!("`{shown}` is a mount point and cannot be replaced"), "name a folder inside it");
    }
    if let Some(link) = target.link_from(source).map_err(unreadable)? {
        let message = format!("`{link}` of SOURCE is a link into `{shown}`, which would be removed");
        return refused(message, "copy the target of the link first");
    }
    Ok(())
}

/// Fails if the folder of the run exists, unless it is an unfinished run or empty.
fn refuse_others(run: &Node, shown: &str) -> Result<()> {
    let is_run = match run.kind().map_err(unreadable)? {
        None => true,
        Some(EntryKind::Folder) => {
            let journal = run.kind_of(JOURNAL.as_str()).map_err(unreadable)?;
            journal == Some(EntryKind::File) || run.is_empty().map_err(unreadable)?
        }
        Some(_) => false,
    };
    let message = format!("`{}` is in the way: `{shown}` is written there first", run.name());
    let help = "it is not an unfinished run: move it elsewhere";
    if is_run { Ok(()) } else { Err(OperationError::environment(message).with_help(help)) }
}

/// Returns the error of a store to which no hierarchy can be written.
fn no_destination(error: StoreError, shown: &str) -> OperationError {
    match error {
        StoreError::Io { source, .. } if source.kind() == std::io::ErrorKind::Unsupported => {
            OperationError::usage(format!("this build cannot write to DEST `{shown}`"))
                .with_help("write a local folder or a local .zip file, and copy that there")
        }
        error => OperationError::environment("DEST cannot be written").because(error),
    }
}

/// Fails if DEST is below something that is not a folder. Searches upwards from a node: DEST itself, or its parent if
/// DEST is known to be missing.
fn refuse_file_above(node: Option<&Node>, is_missing: bool, shown: &str) -> Result<()> {
    let Some(node) = node else { return Ok(()) };
    let (existing, missing) = match open::nearest_existing(node) {
        // An invalid zip file is at the path itself.
        Err(error) if error.is_data_fault() => return Ok(()),
        found => found.map_err(unreadable)?,
    };
    let what = match existing.kind_behind_links().map_err(unreadable)? {
        Some(EntryKind::Folder) | None => return Ok(()),
        Some(EntryKind::Other(what)) => what,
        Some(_) => "a file",
    };
    let message = format!("`{shown}` cannot be created: {} is {what}, not a folder", existing.name());
    let error = OperationError::environment(message).with_help("choose a path inside a folder");
    if missing.is_empty() && !is_missing { Ok(()) } else { Err(error) }
}

/// Returns warnings about the hierarchy that contains DEST. Fails inside an array, where readers find no nodes.
fn check_hierarchy_above(node: &Node, format: u64, shown: &str) -> Result<Vec<Diagnostic>> {
    let (mut warnings, mut between) = (Vec::new(), Vec::new());
    for folder in std::iter::successors(node.parent(), Node::parent) {
        let name = folder.name();
        let found = document::read_documents(&folder);
        let is_run = !matches!(found, Ok(Some(_))) && matches!(has_begun(&folder), Ok(true));
        // The folder before `..` does not contain it.
        if is_run && node.relation(&folder).map_err(unreadable)? == Relation::Nested {
            return Err(OperationError::environment(format!("`{shown}` would be inside the unfinished run `{name}`"))
                .with_help("complete that run first, or choose another path"));
        }
        let Ok(Some(found)) = found else {
            between.push(name);
            continue;
        };
        if node.relation(&folder).map_err(unreadable)? != Relation::Nested {
            continue;
        }
        if found.kind == NodeKind::Array {
            return Err(OperationError::environment(format!("`{shown}` would be inside the array `{name}`"))
                .with_help("choose a path inside a group, or outside of any store"));
        }
        for missing in between.drain(..) {
            let message = format!("`{missing}` is not a Zarr group: readers of `{name}` do not find its contents");
            let help = "make a group of it (zarr-python: `zarr.open_group`)";
            warnings.push(Diagnostic::new(code::GROUP_IMPLICIT, message).with_help(help));
        }
        if found.zarr_format != format {
            let is_said = warnings.iter().any(|known: &Diagnostic| known.is(code::FORMATS_MIXED));
            warnings.extend((!is_said).then(|| hierarchy::formats_mixed(format, found.zarr_format)));
            continue;
        }
        let has_copies = match found.zarr_format {
            2 => matches!(folder.kind_of(document::CONSOLIDATED_KEY), Ok(Some(_))),
            _ => found.document.get("consolidated_metadata").is_some_and(|copies| !copies.is_null()),
        };
        if has_copies {
            let message = format!("the consolidated metadata of `{name}` were made before this `{shown}`");
            warnings.push(Diagnostic::new(code::CONSOLIDATED_INCOMPLETE, message).with_help(hierarchy::RENEW_COPIES));
        }
    }
    Ok(warnings)
}

/// Returns what exists at the path of DEST.
fn existing(destination: &Destination) -> Result<Existing> {
    let node = &destination.target;
    match node.kind() {
        Ok(Some(EntryKind::Folder)) => {}
        Ok(Some(_)) => return Ok(Existing::Other),
        Ok(None) => return Ok(Existing::Nothing),
        Err(error) if error.is_data_fault() => return Ok(Existing::Other),
        Err(error) => return Err(unreadable(error)),
    }
    let is_left = destination.keeps_unfinished() && has_run_folder(node);
    for key in document::NODE_KEYS {
        let document = match node.read_document(key) {
            Ok(Some(document)) => document,
            Ok(None) => continue,
            Err(error) if error.is_data_fault() => return Ok(Existing::Other),
            Err(error) => return Err(unreadable(error)),
        };
        // A file of this name can belong to another program. `--overwrite` must not remove it.
        let is_node = document::parse_document(key, &document).is_ok_and(|(json, _)| json.get("zarr_format").is_some());
        // In an object store, a run that had not begun has left only a lock.
        let has_begun = || destination.run().below(&JOURNAL).exists();
        let is_left = is_left && (!node.capabilities().is_remote || has_begun().map_err(unreadable)?);
        let node = if is_left { Existing::LeftNode } else { Existing::Node };
        return Ok(if is_node { node } else { Existing::Other });
    }
    if is_left && has_begun(node).map_err(unreadable)? {
        return Ok(Existing::Unfinished);
    }
    // A folder of this name alone is no run: `--overwrite` would remove the files beside it.
    let mut has_others = false;
    let look = |entry: Entry<'_>| {
        has_others |= !(is_left && entry.name == RUN_FOLDER.as_str());
        if has_others { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    node.walk("", Depth::Folder, look).map_err(unreadable)?;
    Ok(match (has_others, is_left) {
        (true, _) => Existing::Other,
        (false, true) => Existing::Unfinished,
        (false, false) => Existing::EmptyFolder,
    })
}
