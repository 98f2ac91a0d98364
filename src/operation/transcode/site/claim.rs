//! A place that is a run's own: what is written there is made durable, published or given up.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Site, cannot_write, clear_folder};
use crate::array::interrupt::Clearing;
use crate::diagnostic::{Diagnostic, code};
use crate::engine::driver::Driver;
use crate::engine::journal::Journal;
use crate::operation::error::{FaultClass, OperationError};
use crate::store::{Node, Spot, StoreError};

/// A place that is this run's alone.
#[derive(Debug)]
pub(in crate::operation::transcode) struct Claim {
    pub site: Site,
    /// What is done.
    pub journal: Arc<Journal>,
    /// Whether an earlier run began.
    pub is_resumed: bool,
    /// Whether the metadata stand in their place already.
    pub is_published: bool,
}

impl Claim {
    /// What is done where the process ends before the run does.
    pub(in crate::operation::transcode) fn clearing(&self) -> Clearing {
        self.site.clearing(Arc::downgrade(&self.journal))
    }

    /// Makes what was written durable, and what is noted of it.
    pub(in crate::operation::transcode) fn checkpoint(&self) -> Result<(), OperationError> {
        self.journal.checkpoint().map_err(|error| {
            OperationError::environment("the destination cannot be made durable").because(error)
        })?;
        self.journal.confirm().map_err(|error| self.site.refused(error))
    }

    /// Where it is written.
    pub(in crate::operation::transcode) fn place(&self) -> &Node {
        &self.site.work
    }

    /// What to tell where nothing keeps runs on other machines out.
    pub(in crate::operation::transcode) fn unlocked_warning(&self) -> Option<Diagnostic> {
        if self.journal.is_locked() {
            return None;
        }
        let shown = &self.site.shown;
        let before = match self.journal.holder_before() {
            Some(holder) => format!("; {holder} has written there before, and is taken for ended"),
            None => String::new(),
        };
        let message = format!(
            "what `{shown}` lies in has no locks: nothing keeps a run on another machine out{before}"
        );
        let help = "see to it that no two machines write there at once";
        Some(Diagnostic::new(code::NOT_LOCKED, message).with_help(help))
    }

    /// Writes the documents into their places, of which the last makes DEST complete, and clears away what the run
    /// needed.
    pub(in crate::operation::transcode) fn publish(
        self,
        documents: &[(String, Vec<u8>)],
        driver: &Driver,
    ) -> Result<(), OperationError> {
        let Claim { site, journal, is_published, .. } = self;
        journal.confirm().map_err(|error| site.refused(error))?;
        if !is_published {
            site.write_documents(documents, driver).map_err(|error| {
                let error = cannot_write(error);
                let keeps = site.spots.keeps_unfinished() && journal.is_whole_run();
                if keeps { with_next_step(error, &site.next_to_resume()) } else { error }
            })?;
        }
        if site.spot != Spot::Place
            && let Err(error) = site.exchange()
        {
            let done = if site.replaces { "replaced" } else { "put into its place" };
            let error =
                OperationError::environment(format!("`{}` cannot be {done}", site.shown)).because(error);
            return Err(if site.spots.keeps_unfinished() { error } else { site.give_up(error, true) });
        }
        let cleared = site.clear(journal);
        cleared.map_err(|error| {
            OperationError::environment(format!(
                "`{}` is complete, but what the run needed cannot be removed",
                site.shown
            ))
            .because(error)
            .with_help(if site.spots.keeps_unfinished() {
                "the same command with `--resume` tries again".to_owned()
            } else {
                format!("remove `{}` by hand", site.work.name())
            })
        })
    }

    /// Ends a run that failed. What it has done is kept for `--resume`; where that is nothing, DEST goes.
    pub(in crate::operation::transcode) fn abandon(self, error: OperationError) -> OperationError {
        let Claim { site, journal, is_published, .. } = self;
        // What has no line yet is done again.
        let _ = journal.flush();
        if journal.is_lost() {
            return error;
        }
        if (journal.num_units() == 0 && !is_published) || !site.spots.keeps_unfinished() {
            return site.give_up(error, true);
        }
        let next = site.next_to_resume();
        if error.class() == FaultClass::Interrupted {
            return error.with_help(next);
        }
        with_next_step(error, &next)
    }

    /// Ends a part that failed: what it has done is kept.
    pub(in crate::operation::transcode) fn leave(self, error: OperationError, next: &str) -> OperationError {
        // What has no line yet is done again.
        let _ = self.journal.flush();
        with_next_step(error, next)
    }

    /// Ends a run that wrote what it should not have: nothing of it is kept.
    pub(in crate::operation::transcode) fn discard(self, error: OperationError) -> OperationError {
        if self.is_published || self.journal.is_lost() { error } else { self.site.give_up(error, false) }
    }
}

impl Site {
    /// Writes the documents, the last of which makes DEST complete.
    fn write_documents(&self, documents: &[(String, Vec<u8>)], driver: &Driver) -> Result<(), StoreError> {
        let Some(((key, document), others)) = documents.split_last() else { return Ok(()) };
        // Each below the root comes whole or not at all, and what holds others after them.
        for level in by_depth(others) {
            let written = driver.map_plain(&level, |(key, document)| self.work.replace(key, document));
            written.into_iter().collect::<Result<(), _>>()?;
        }
        if !others.is_empty() {
            self.work.sync()?;
        }
        self.work.publish(key, document)
    }

    fn next_to_resume(&self) -> String {
        let overwrite = if self.replaces { "--overwrite " } else { "" };
        format!("`{}` is unfinished: the same command with `{overwrite}--resume` goes on with it", self.shown)
    }

    /// Removes what was written; whether another run could go on with it where that fails.
    fn give_up(&self, error: OperationError, is_sound: bool) -> OperationError {
        match self.work.remove_root() {
            Ok(()) => error,
            Err(_) if is_sound && self.spots.keeps_unfinished() => {
                with_next_step(error, &self.next_to_resume())
            }
            Err(_) => with_next_step(
                error,
                &format!("`{}` is left without metadata: remove it by hand", self.work.name()),
            ),
        }
    }

    /// The written tree takes DEST's place, and the old one the written tree's.
    fn exchange(&self) -> Result<(), StoreError> {
        let site = &*self.spots;
        // What came to stand there meanwhile is nobody's to replace.
        if !self.replaces || !site.node(Spot::Place).exists()? {
            site.rename(Spot::Staging, Spot::Place)?;
        } else if !site.exchange(Spot::Staging, Spot::Place)? {
            site.node(Spot::Aside).remove_root()?;
            site.rename(Spot::Place, Spot::Aside)?;
            if let Err(error) = site.rename(Spot::Staging, Spot::Place) {
                site.rename(Spot::Aside, Spot::Place)?;
                return Err(error);
            }
        }
        site.settle_spots()
    }

    /// Removes the old tree, if DEST was replaced, and then the journal.
    fn clear(&self, journal: Arc<Journal>) -> Result<(), StoreError> {
        if !self.spots.keeps_unfinished() {
            self.spots.node(Spot::Staging).remove_root()?;
        } else if self.replaces {
            self.spots.node(Spot::Staging).remove_root()?;
            self.spots.node(Spot::Aside).remove_root()?;
        }
        clear_folder(&self.spots.node(Spot::Place))?;
        drop(journal);
        self.spots.settle_names()
    }
}

/// Documents by the depth of their nodes, the deepest first.
fn by_depth(documents: &[(String, Vec<u8>)]) -> Vec<Vec<&(String, Vec<u8>)>> {
    let mut levels: BTreeMap<usize, Vec<&(String, Vec<u8>)>> = BTreeMap::new();
    for document in documents {
        levels.entry(document.0.matches('/').count()).or_default().push(document);
    }
    levels.into_values().rev().collect()
}

/// An error with a further next step.
pub(super) fn with_next_step(error: OperationError, next: &str) -> OperationError {
    let help = match error.help() {
        Some(help) => format!("{help}; {next}"),
        None => next.to_owned(),
    };
    error.with_help(help)
}
