//! DEST: its existing content, the folder of an unfinished run, and the replacement of DEST.
//!
//! Without `--overwrite`, objects are written to their final paths, and the metadata last. With it, everything is
//! written next to DEST, in the folder of the run, and then exchanged for DEST at once. Zip files always are. An object
//! store cannot exchange, so the old content is removed first. The folder of the run is removed last: while it exists,
//! `--resume` knows what is left to do.

mod existing;

use std::cmp::Reverse;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::array::fault::CleanupFn;
use crate::diagnostic::{Diagnostic, code};
use crate::engine::{Assignment, Driver, Fingerprint, Journal, journal::JournalError};
use crate::operation::{FaultClass, OperationError, Result, document, error::help_of};
use crate::store::{Destination, EntryKind, Key, Node, RUN_FOLDER, StoreError, has_run_folder};
pub(super) use existing::{Existing, check_apart};

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
