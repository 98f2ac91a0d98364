//! DEST: its existing content, the folder of an unfinished run, and the replacement of DEST.
//!
//! Without `--overwrite`, objects are written to their final paths, and the metadata last. With it, everything is
//! written next to DEST, in the folder of the run, and then exchanged for DEST at once. Zip files always are. An object
//! store cannot exchange, so the old content is removed first. The folder of the run is removed last: while it exists,
//! `--resume` knows what is left to do.

mod claim;

use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::array::fault::Clearing;
use crate::diagnostic::Diagnostic;
use crate::engine::journal::JournalError;
use crate::engine::{Assignment, Fingerprint, Journal};
use crate::operation::{OperationError, Result, TranscodeOptions, document};
use crate::store::{Destination, EntryKind, JOURNAL, Key, Node, PLAN, RUN_FOLDER, StoreError, has_run_folder};
pub(super) use claim::LockedDestination;
use claim::with_next_step;
use claim::{
    Existing, check_apart, check_hierarchy_above, existing, no_destination, refuse_existing, refuse_file_above,
    refuse_inside_zip, refuse_others, refuse_unreplaceable, unreadable,
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
    /// Whether it continues an unfinished run.
    resumes: bool,
    /// Whether an earlier run has replaced DEST already, and only cleaning up is left.
    has_taken_place: bool,
    /// Warnings about the hierarchy that contains DEST.
    pub warnings: Vec<Diagnostic>,
}

impl Output {
    /// Finds out what a run would do with a node of SOURCE that has this document. Nothing is touched.
    pub(super) fn find(source: &Node, document: &str, options: &TranscodeOptions) -> Result<Self> {
        let (shown, run) = (options.destination.display().to_string(), &options.run);
        refuse_inside_zip(&options.destination)?;
        let node = options.destination.node();
        // In a remote store each check costs a request, and no link can have the name.
        let is_remote = node.capabilities().is_remote;
        if !is_remote {
            refuse_file_above(Some(&node), false, &shown)?;
        }
        let destination = node.destination(run.overwrite).map_err(|error| no_destination(error, &shown))?;
        let targets = if run.overwrite { source.targets().map_err(unreadable)? } else { Vec::new() };
        for other in std::iter::once(source).chain(&targets) {
            check_apart(destination.place(), other, &shown)?;
        }
        let warnings = if is_remote { Vec::new() } else { check_hierarchy_above(&node, &shown)? };
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
            refuse_unreplaceable(existing, (destination.place(), source), &shown)?;
        } else if run.partitions.is_some() {
            let folder = destination.run();
            let has = |key| matches!(folder.kind_of(key), Ok(Some(_)));
            if existing == Existing::Unfinished && !has(PLAN) && !has(JOURNAL.as_str()) {
                // There is only the folder of a plan that was not sealed, or of late parts: it counts as empty.
                existing = Existing::EmptyFolder;
            }
            resumes |= existing == Existing::EmptyFolder;
            refuse_existing(existing, resumes, &shown)
                .map_err(|error| error.with_help("choose a new path, or remove it first"))?;
        } else {
            let plan = || destination.place().below(&RUN_FOLDER).kind_of(PLAN);
            if existing == Existing::Unfinished && matches!(plan(), Ok(Some(EntryKind::File))) {
                let help = "`--status` shows what is missing, `--finish` publishes it, `--overwrite` replaces it";
                let message = format!("`{shown}` is an unfinished job in parts");
                return Err(OperationError::environment(message).with_help(help));
            }
            refuse_existing(existing, run.resume, &shown)?;
        }
        if let Destination::Beside { run, .. } = &destination {
            refuse_others(run, &shown)?;
        }
        let has_taken_place = resumes && destination.has_taken_place().map_err(unreadable)?;
        let destination = if has_taken_place { destination.in_its_place() } else { destination };
        // Files and folders get the permissions that `cp` would give them.
        let (destination, overwrites) = (destination.with_permissions_of(source, document), run.overwrite);
        Ok(Output { shown, destination, existing, overwrites, resumes, has_taken_place, warnings })
    }

    /// Returns the node to which the run writes.
    pub(super) fn data(&self) -> &Node {
        self.destination.data()
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
        let overwrite = if self.overwrites { "--overwrite " } else { "" };
        format!("`{}` is unfinished: run the same command with `{overwrite}--resume` to continue", self.shown)
    }

    /// Returns the clean-up for a process that exits before the run ends. It writes the journal entries, and releases
    /// unfinished uploads and locks. If an unfinished run is not kept, it is removed.
    pub(super) fn clearing(&self, journal: Weak<Journal>) -> Clearing {
        let destination = self.destination.clone();
        Box::new(move || {
            if !destination.keeps_unfinished() {
                // If this fails, the next run does it.
                return drop(destination.remove());
            }
            if let Some(journal) = journal.upgrade() {
                journal.flush_in_time(PATIENCE);
            }
            destination.data().release_on_exit();
        })
    }

    /// Claims DEST: everything that is written from now on belongs to this run.
    pub(super) fn claim(self, fingerprint: &Fingerprint) -> Result<LockedDestination> {
        let is_made = self.make_folder().map_err(cannot_write)?;
        let failed = |error: JournalError| {
            // A folder that another run has begun meanwhile must not be removed.
            let is_others = matches!(error, JournalError::Locked | JournalError::Held(_));
            // The folder is empty. If this fails, too, `--resume` accepts an empty folder.
            let _ = if is_made && !is_others { self.destination.remove() } else { Ok(()) };
            self.refused(error)
        };
        let journal = self.open(fingerprint).map_err(failed)?;
        let is_begun = journal.is_begun();
        if matches!(self.destination, Destination::Beside { .. }) {
            self.begin_beside(&journal).map_err(failed)?;
            let is_published = self.has_taken_place;
            return Ok(self.claimed(journal, is_begun, is_published));
        }
        if journal.is_noted() && !is_begun && !self.overwrites && self.data().capabilities().is_remote {
            let message = "was being replaced by a run that ended before it had removed the old one";
            return Err(OperationError::environment(format!("`{}` {message}", self.shown))
                .with_help("continue that command with `--overwrite --resume`, or start again with `--overwrite`"));
        }
        let clears = self.overwrites && !is_begun && self.existing != Existing::Nothing;
        journal.begin(!clears).map_err(failed)?;
        if clears {
            self.clear_place(&journal)?;
        }
        let is_left = matches!(self.existing, Existing::Unfinished | Existing::Node { .. });
        let is_resumed = self.resumes && is_left && !clears;
        let is_published = is_resumed && is_node(self.data()).map_err(cannot_write)?;
        Ok(self.claimed(journal, is_resumed, is_published))
    }

    fn claimed(self, journal: Journal, is_resumed: bool, is_published: bool) -> LockedDestination {
        let left = self.next_to_resume();
        LockedDestination { output: self, journal: Arc::new(journal), is_resumed, is_published, left }
    }

    /// Makes the folder of the journal. Returns false if it exists.
    fn make_folder(&self) -> Result<bool, StoreError> {
        let folder = match &self.destination {
            Destination::InPlace(place) => (self.existing == Existing::Nothing).then_some(place),
            Destination::Beside { run, .. } => (!run.exists()?).then_some(run),
        };
        folder.map(Node::create_root).transpose().map(|made| made.is_some())
    }

    fn open(&self, fingerprint: &Fingerprint) -> Result<Journal, JournalError> {
        if let Destination::Beside { place, .. } = &self.destination
            && self.keeps_unfinished()
            && has_run_folder(place)
        {
            // Nobody else may write what is to be replaced.
            Journal::check_free(&place.below(&RUN_FOLDER))?;
        }
        Journal::open((&self.destination.run(), self.data()), fingerprint, self.resumes)
    }

    fn begin_beside(&self, journal: &Journal) -> Result<(), JournalError> {
        if self.has_taken_place && !journal.is_begun() {
            return Err(JournalError::Lost);
        }
        self.destination.restore()?;
        if !journal.is_begun() {
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
            JournalError::Locked | JournalError::Held(_) => {
                (format!("`{shown}` is locked"), "wait until the other run has ended, or choose another DEST")
            }
            JournalError::OtherPlan { .. } => {
                let help = "give the options of that run, or replace it with `--overwrite` alone";
                (format!("`{shown}` is an unfinished run with another plan"), help)
            }
        };
        OperationError::environment(message).because(error).with_help(help)
    }
}

/// Returns whether a document makes a location a node.
pub(super) fn is_node(place: &Node) -> Result<bool, StoreError> {
    if place.capabilities().is_remote {
        // All are requested at once, with one request each. A failed request may be for the one that exists.
        let sizes = place.sizes("", &document::NODE_KEYS)?;
        return Ok(sizes.iter().any(Option::is_some));
    }
    Ok(document::NODE_KEYS.iter().any(|key| matches!(place.kind_of(key), Ok(Some(EntryKind::File)))))
}

pub(super) fn cannot_write(error: StoreError) -> OperationError {
    OperationError::environment("the destination cannot be written").because(error)
}
