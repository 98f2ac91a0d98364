//! DEST: what stands there, where it is written until it is whole, and how it takes its place.
//!
//! Without `--overwrite` objects are written where they will stay, and the metadata come last. With it all is written
//! to a folder beside DEST, which is then exchanged for DEST at once; the old tree is removed after that. Either
//! way the journal's folder goes last of all: as long as it stands, `--resume` knows what is left to do.

mod claim;
mod standing;

use std::sync::{Arc, Weak};
use std::time::Duration;

pub(super) use claim::Claim;
use claim::with_next_step;
use standing::{
    Standing, check_apart, no_site, refuse_file_above, refuse_half_exchanged, refuse_inside_zip, standing,
    unreadable,
};

use crate::array::interrupt::Clearing;
use crate::engine::journal::{Assignment, FOLDER, Fingerprint, Journal, JournalError};
use crate::operation::document::NODE_KEYS;
use crate::operation::error::OperationError;
use crate::operation::options::TranscodeOptions;
use crate::store::{EntryKind, Key, Node, Site as StoreSite, Spot, StoreError};

/// The plan of a job in parts, in the folder of a run.
const PLAN: &str = "plan.json";

/// A process that is to end waits no longer than this for its last notes.
const PATIENCE: Duration = Duration::from_secs(3);

/// Where DEST is, and what is done there.
#[derive(Debug)]
pub(super) struct Site {
    /// As the user named it.
    shown: String,
    /// The place in its store.
    spots: Box<dyn StoreSite>,
    /// Where it is written: at its place, or beside it.
    spot: Spot,
    /// The node there.
    pub work: Node,
    replaces: bool,
    start: Start,
}

/// How a run begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    /// Nothing is there.
    New,
    /// An empty folder is there.
    Empty,
    /// What an abandoned run left is removed first.
    Over,
    /// It goes on.
    Resume,
    /// All is written and published; what is left of the run is cleared away.
    Finish,
}

impl Start {
    /// How a run begins that writes where all will stay.
    fn in_place(
        standing: Standing,
        resumes: bool,
        site: &dyn StoreSite,
        shown: &str,
    ) -> Result<Self, OperationError> {
        match (standing, resumes) {
            (Standing::Nothing, _) => {
                if site.stages() {
                    refuse_half_exchanged(site, shown)?;
                }
                Ok(Start::New)
            }
            (Standing::EmptyFolder, true) => Ok(Start::Empty),
            (Standing::Unfinished, true) => Ok(Start::Resume),
            (Standing::HierarchyNode { is_left: true }, true) => Ok(Start::Finish),
            (Standing::HierarchyNode { is_left: false }, true) => {
                Err(OperationError::environment(format!("`{shown}` is complete: there is nothing to resume"))
                    .with_help("`--overwrite` replaces it"))
            }
            (Standing::Unfinished, false) => {
                Err(OperationError::environment(format!("`{shown}` is an unfinished run"))
                    .with_help("`--resume` goes on with it, `--overwrite` replaces it"))
            }
            (Standing::EmptyFolder | Standing::HierarchyNode { .. }, false) => {
                Err(OperationError::environment(format!("`{shown}` exists already"))
                    .with_help("name a place where nothing is; or `--overwrite` replaces it"))
            }
            (Standing::Other, _) => Err(OperationError::environment(format!("`{shown}` exists already"))
                .with_help("name a place where nothing is")),
        }
    }
}

impl Site {
    /// Finds out what a run would do. Nothing is touched.
    pub(super) fn find(source: &Node, options: &TranscodeOptions) -> Result<Self, OperationError> {
        let shown = options.destination.display().to_string();
        refuse_inside_zip(&options.destination)?;
        let destination = options.destination.node();
        // Behind a network each look takes its time, and no link takes a name.
        let is_remote = destination.abilities().is_remote;
        if !is_remote {
            refuse_file_above(Some(&destination), false, &shown)?;
        }
        let site = destination.site().map_err(|error| no_site(error, &shown))?;
        check_apart(site.relation(source).map_err(unreadable)?, &shown)?;
        let removes = options.run.overwrite;
        for target in removes.then(|| source.targets()).transpose().map_err(unreadable)?.into_iter().flatten()
        {
            check_apart(site.relation(&target).map_err(unreadable)?, &shown)?;
        }
        let place = site.node(Spot::Place);
        let keeps_unfinished = site.keeps_unfinished();
        let standing = match standing(&place)? {
            // A name may be taken by what is not to be found behind it.
            Standing::Nothing if is_remote => {
                refuse_file_above(destination.parent().as_ref(), true, &shown)?;
                Standing::Nothing
            }
            Standing::Nothing if destination.exists().map_err(unreadable)? => Standing::Other,
            Standing::Unfinished if !keeps_unfinished => Standing::Other,
            Standing::HierarchyNode { .. } if !keeps_unfinished => Standing::HierarchyNode { is_left: false },
            standing => standing,
        };
        if options.run.overwrite {
            let resumes = options.run.resume && keeps_unfinished;
            return Self::replacing(source, site, shown, standing, resumes);
        }
        let is_in_parts = || matches!(place.below(&FOLDER).kind_of(PLAN), Ok(Some(EntryKind::File)));
        if standing == Standing::Unfinished && options.run.partitions.is_none() && is_in_parts() {
            return Err(OperationError::environment(format!(
                "`{shown}` is a job in parts, and not finished"
            ))
            .with_help(
                "`--status` says what is missing of it, `--finish` publishes it; `--overwrite` replaces it",
            ));
        }
        if standing == Standing::Nothing && !keeps_unfinished {
            return Self::beside(site, shown, standing, (false, false));
        }
        if standing != Standing::Nothing && !site.stages() && Journal::replaces_at(&place) {
            return Err(OperationError::environment(format!(
                "`{shown}` was being replaced by a run that ended before it had removed the old one"
            ))
            .with_help(
                "the command of that run with `--overwrite --resume` goes on; `--overwrite` begins anew",
            ));
        }
        let standing = match standing {
            // The run had not begun, or has ended: only its lock is left.
            Standing::HierarchyNode { is_left: true } if !site.stages() && !Journal::is_begun_at(&place) => {
                Standing::HierarchyNode { is_left: false }
            }
            standing => standing,
        };
        let is_part = options.run.partitions.is_some();
        let standing = match standing {
            // Of a plan that was not sealed yet, or of parts that came late: nothing is there.
            Standing::Unfinished if is_part && !is_in_parts() && !Journal::is_begun_at(&place) => {
                Standing::EmptyFolder
            }
            standing => standing,
        };
        let resumes = options.run.resume || (is_part && standing == Standing::EmptyFolder);
        let start = Start::in_place(standing, resumes, &*site, &shown);
        let in_parts = |error: OperationError| {
            error.with_help("name a place where nothing is, or remove first what is there")
        };
        let start = if is_part { start.map_err(in_parts)? } else { start? };
        Ok(Site { shown, spots: site, spot: Spot::Place, work: place, replaces: false, start })
    }

    fn replacing(
        source: &Node,
        site: Box<dyn StoreSite>,
        shown: String,
        standing: Standing,
        resumes: bool,
    ) -> Result<Self, OperationError> {
        if standing == Standing::Other {
            return Err(OperationError::environment(format!("`{shown}` is not a Zarr node, and is not replaced"))
                .with_help(
                    "`--overwrite` replaces arrays, groups, unfinished runs and empty folders; name another place",
                ));
        }
        if standing != Standing::Nothing {
            if site.is_fixed() {
                return Err(OperationError::environment(format!(
                    "`{shown}` is a mount point, and cannot be replaced"
                ))
                .with_help("name a folder inside it"));
            }
            if let Some(link) = site.link_from(source).map_err(unreadable)? {
                return Err(OperationError::environment(format!(
                    "`{link}` of SOURCE is a link into `{shown}`, which would be removed"
                ))
                .with_help("copy what the link leads to first"));
            }
        }
        Self::beside(site, shown, standing, (true, resumes))
    }

    /// The site where all is written beside the place, which it is given at the end.
    fn beside(
        site: Box<dyn StoreSite>,
        shown: String,
        standing: Standing,
        (replaces, resumes): (bool, bool),
    ) -> Result<Self, OperationError> {
        if !site.stages() {
            // The old one goes once the plan is made, and nothing opens until the new one is complete.
            let work = site.node(Spot::Place);
            let start = match standing {
                Standing::Nothing => Start::New,
                Standing::Unfinished if resumes => Start::Resume,
                Standing::HierarchyNode { is_left: true } if resumes && Journal::replaces_at(&work) => {
                    Start::Resume
                }
                Standing::HierarchyNode { is_left: true } if resumes && Journal::is_begun_at(&work) => {
                    Start::Finish
                }
                _ => Start::Over,
            };
            return Ok(Site { shown, work, spots: site, spot: Spot::Place, replaces: false, start });
        }
        let (place, staging) = (site.node(Spot::Place), site.node(Spot::Staging));
        let start = match self::standing::standing(&staging)? {
            Standing::Nothing => match standing {
                Standing::HierarchyNode { is_left: true } if resumes && Journal::replaces_at(&place) => {
                    Start::Finish
                }
                _ => Start::New,
            },
            Standing::EmptyFolder => Start::Empty,
            // After an exchange the old tree stands there.
            _ if standing == Standing::HierarchyNode { is_left: true } && Journal::replaces_at(&place) => {
                if resumes {
                    Start::Finish
                } else {
                    Start::Over
                }
            }
            Standing::Unfinished | Standing::HierarchyNode { is_left: true } => {
                if resumes {
                    Start::Resume
                } else {
                    Start::Over
                }
            }
            Standing::HierarchyNode { is_left: false } | Standing::Other => {
                return Err(OperationError::environment(format!(
                    "`{}` stands where `{shown}` would be written before it has its place",
                    staging.name()
                ))
                .with_help("it is not an unfinished run: move it away"));
            }
        };
        let spot = if start == Start::Finish { Spot::Place } else { Spot::Staging };
        Ok(Site { shown, work: site.node(spot), spots: site, spot, replaces, start })
    }

    /// The node that is written, with the permissions that `cp` would give it.
    pub(super) fn with_permissions_of(mut self, source: &Node, document: &str) -> Self {
        self.work = self.work.with_permissions_of(source, document);
        self
    }

    /// As the user named it.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// Whether another run can go on with what this one has written.
    pub(super) fn keeps_unfinished(&self) -> bool {
        self.spots.keeps_unfinished()
    }

    /// What is left where the run is stopped at once, and what to do about it.
    pub(super) fn left_when_stopped(&self) -> String {
        let shown = &self.shown;
        if self.spots.keeps_unfinished() {
            return format!("`{shown}` is unfinished: the same command with `--resume` goes on with it");
        }
        format!("nothing of `{shown}` is kept; run the command again")
    }

    /// Where the process ends before the run does: notes what is done, and lets go of what nobody goes on with; where nothing
    /// of an unfinished run is kept, removes it.
    pub(super) fn clearing(&self, journal: Weak<Journal>) -> Clearing {
        let work = self.work.clone();
        // Where that fails, the next run does it.
        let keeps = self.spots.keeps_unfinished();
        Box::new(move || {
            if !keeps {
                return drop(work.remove_root());
            }
            if let Some(journal) = journal.upgrade() {
                journal.flush_in_time(PATIENCE);
            }
            work.let_go();
        })
    }

    /// Takes the place: what is written from now on is this run's.
    pub(super) fn claim(self, fingerprint: &Fingerprint) -> Result<Claim, OperationError> {
        let place = self.spots.node(Spot::Place);
        if self.spot != Spot::Place && Journal::is_at(&place) {
            // Nobody else writes what is to be replaced.
            Journal::check_free_at(&place).map_err(|error| self.refused(error))?;
        }
        let (mut journal, is_resumed) = match self.start {
            Start::Over if !self.spots.stages() => {
                let begun = Journal::begin(&self.work, fingerprint, true);
                (begun.map_err(|error| self.refused(error))?, false)
            }
            Start::New | Start::Empty | Start::Over => (self.begin(fingerprint)?, false),
            Start::Resume | Start::Finish => {
                let resumed = match Journal::resume(&self.work, fingerprint) {
                    // It had not begun to note anything.
                    Ok(None) => Journal::begin(&self.work, fingerprint, self.replaces),
                    Ok(Some(journal)) => Ok(journal),
                    Err(error) => Err(error),
                };
                (resumed.map_err(|error| self.refused(error))?, true)
            }
        };
        if journal.replaces() && !self.spots.stages() {
            self.clear_place(&mut journal)?;
        }
        let is_published = is_resumed && is_node(&self.work)?;
        Ok(Claim { site: self, journal: Arc::new(journal), is_resumed, is_published })
    }

    /// Makes the folder of a hierarchy that is to be written where it will stay.
    pub(super) fn make_root(&self) -> Result<(), OperationError> {
        if self.start == Start::New { self.work.create_root().map_err(cannot_write) } else { Ok(()) }
    }

    /// Takes a part of the work, whose log lies in a folder of its own. Others may write what is not `assigned`.
    pub(super) fn claim_part(
        self,
        folder: &str,
        fingerprint: &Fingerprint,
        assigned: Assignment,
    ) -> Result<Claim, OperationError> {
        let folder = Key::new(folder).map_err(cannot_write)?.into_owned();
        let is_resumed = matches!(self.work.below(&folder).kind(), Ok(Some(EntryKind::Folder)));
        let opened = Journal::open_part(&self.work, &folder, fingerprint, assigned);
        let journal = opened.map_err(|error| self.refused(error))?;
        Ok(Claim { site: self, journal: Arc::new(journal), is_resumed, is_published: false })
    }

    /// Removes what stands in the place, where nothing takes the place of another at once. The journal stays: it tells
    /// whoever comes after this run what it has begun.
    fn clear_place(&self, journal: &mut Journal) -> Result<(), OperationError> {
        let shown = &self.shown;
        let unfinished = |error: OperationError| {
            let next = format!(
                "of `{shown}` a part may be removed: `--overwrite --resume` goes on with it, `--overwrite` begins anew"
            );
            with_next_step(error, &next)
        };
        self.work.remove_others(&FOLDER).map_err(|error| unfinished(cannot_write(error)))?;
        journal.cleared().map_err(|error| unfinished(self.refused(error)))
    }

    fn begin(&self, fingerprint: &Fingerprint) -> Result<Journal, OperationError> {
        if self.start == Start::Over {
            Journal::check_free_at(&self.work).map_err(|error| self.refused(error))?;
            self.work.remove_root().map_err(cannot_write)?;
        }
        if self.start != Start::Empty {
            self.work.create_root().map_err(cannot_write)?;
        }
        Journal::begin(&self.work, fingerprint, self.replaces).map_err(|error| {
            // What another run has begun meanwhile is not this one's to remove.
            let is_others = matches!(error, JournalError::Locked | JournalError::Held(_));
            // Nothing is in it; where that fails, too, it is an empty folder that `--resume` takes.
            let _ = if self.start == Start::Empty || is_others { Ok(()) } else { self.work.remove_root() };
            self.refused(error)
        })
    }

    fn refused(&self, error: JournalError) -> OperationError {
        let shown = &self.shown;
        match error {
            JournalError::Store(error) => cannot_write(error),
            error @ JournalError::Lost => {
                OperationError::environment(format!("`{shown}` is not this run's any more"))
                    .because(error)
                    .with_help("see which runs write there, and run one of them again")
            }
            error @ (JournalError::Locked | JournalError::Held(_)) => {
                OperationError::environment(format!("`{shown}` is locked"))
                    .because(error)
                    .with_help("wait until the other run has ended, or name another place")
            }
            error @ JournalError::OtherPlan { .. } => {
                OperationError::environment(format!("`{shown}` is the unfinished run of another plan"))
                    .because(error)
                    .with_help("give the options of that run; or replace it with `--overwrite` alone")
            }
        }
    }
}

/// Whether a document makes a place a node.
pub(super) fn is_node(place: &Node) -> Result<bool, OperationError> {
    if place.abilities().is_remote {
        // All are asked for at once, by a request each. One that is not answered may be the one that is there.
        let sizes = place.sizes("", &NODE_KEYS).map_err(cannot_write)?;
        return Ok(sizes.iter().any(Option::is_some));
    }
    Ok(NODE_KEYS.iter().any(|key| matches!(place.kind_of(key), Ok(Some(EntryKind::File)))))
}

/// Removes the folder of a run, the plan of one in parts last: as long as that is there it is known what is left to do.
pub(super) fn clear_folder(place: &Node) -> Result<(), StoreError> {
    let folder = place.below(&FOLDER);
    let mut found = Vec::new();
    folder.each_entry("", |key, kind, _| found.push((key.to_owned(), kind)))?;
    if found.iter().any(|(key, _)| key == PLAN) {
        for (key, kind) in found.iter().filter(|(key, _)| key != PLAN) {
            match kind {
                EntryKind::Folder => folder.child(key)?.remove_root()?,
                _ => drop(folder.remove(key)?),
            }
        }
    }
    Journal::remove_folder(place)
}

pub(super) fn cannot_write(error: StoreError) -> OperationError {
    OperationError::environment("the destination cannot be written").because(error)
}
