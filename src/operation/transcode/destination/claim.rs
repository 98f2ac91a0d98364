//! A place that is a run's own: what is written there is made durable, published or given up.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Output, cannot_write};
use crate::array::interrupt::Clearing;
use crate::diagnostic::{Diagnostic, code};
use crate::engine::{Driver, Journal};
use crate::operation::{FaultClass, OperationError};
use crate::store::{Node, StoreError};

/// A place that is this run's alone.
#[derive(Debug)]
pub(crate) struct Claim {
    pub output: Output,
    pub journal: Arc<Journal>,
    /// Whether an earlier run began.
    pub is_resumed: bool,
    /// Whether the metadata stand in their place already.
    pub is_published: bool,
    /// The remains of a run that does not end, and the next step.
    pub left: String,
}

impl Claim {
    /// The clean-up for a process that ends before the run does.
    pub(crate) fn clearing(&self) -> Clearing {
        self.output.clearing(Arc::downgrade(&self.journal))
    }

    /// Makes what was written durable, and what is noted of it.
    pub(crate) fn checkpoint(&self) -> Result<(), OperationError> {
        self.journal
            .checkpoint()
            .map_err(|error| OperationError::environment("the destination cannot be made durable").because(error))?;
        self.journal.confirm().map_err(|error| self.output.refused(error))
    }

    /// Where it is written.
    pub(crate) fn data(&self) -> &Node {
        self.output.data()
    }

    /// The warning where no lock keeps runs on other machines out.
    pub(crate) fn unlocked_warning(&self) -> Option<Diagnostic> {
        if self.journal.is_locked() {
            return None;
        }
        let shown = &self.output.shown;
        let before = match self.journal.holder_before() {
            Some(holder) => format!("; {holder} has written there before, and is taken for ended"),
            None => String::new(),
        };
        let message =
            format!("what `{shown}` lies in has no locks: nothing keeps a run on another machine out{before}");
        let help = "see to it that no two machines write there at once";
        Some(Diagnostic::new(code::NOT_LOCKED, message).with_help(help))
    }

    /// Writes the documents, gives what is whole its place, and clears away what the run needed.
    pub(crate) fn publish(self, documents: &[(String, String)], driver: &Driver) -> Result<(), OperationError> {
        let Claim { output, journal, is_published, left, .. } = self;
        journal.confirm().map_err(|error| output.refused(error))?;
        let keeps = output.keeps_unfinished();
        if !is_published {
            output.write_documents(documents, driver).map_err(|error| {
                let error = cannot_write(error);
                if keeps { with_next_step(error, &left) } else { output.give_up(error, true) }
            })?;
            output.destination.take_place(output.overwrites).map_err(|error| {
                let done = if output.overwrites { "replaced" } else { "put into its place" };
                let message = format!("`{}` cannot be {done}", output.shown);
                let error = OperationError::environment(message).because(error);
                if keeps { error } else { output.give_up(error, true) }
            })?;
        }
        output.destination.clear().map_err(|error| {
            let message = format!("`{}` is complete, but what the run needed cannot be removed", output.shown);
            let help = if keeps {
                "the same command with `--resume` tries again".to_owned()
            } else {
                format!("remove `{}` by hand", output.destination.run().name())
            };
            OperationError::environment(message).because(error).with_help(help)
        })
    }

    /// Ends a run that failed. What it has done is kept for another, but where it wrote what it should not have (`is_for_good`);
    /// of a part it always is. Where that is nothing, DEST goes.
    pub(crate) fn fail(self, error: OperationError, is_for_good: bool) -> OperationError {
        let Claim { output, journal, is_published, left, .. } = self;
        let is_whole = journal.is_whole_run();
        if is_whole && is_for_good {
            return if is_published || journal.is_lost() { error } else { output.give_up(error, false) };
        }
        // What has no line yet is done again.
        let _ = journal.flush();
        if !is_whole {
            return with_next_step(error, &left);
        }
        if journal.is_lost() {
            return error;
        }
        if (journal.num_units() == 0 && !is_published) || !output.keeps_unfinished() {
            return output.give_up(error, true);
        }
        if error.class() == FaultClass::Interrupted {
            return error.with_help(left);
        }
        with_next_step(error, &left)
    }
}

impl Output {
    /// Writes the documents, the last of which makes a node of it.
    fn write_documents(&self, documents: &[(String, String)], driver: &Driver) -> Result<(), StoreError> {
        let Some(((key, document), others)) = documents.split_last() else { return Ok(()) };
        // Each below the root comes whole or not at all, and what holds others after them.
        for level in by_depth(others) {
            let written = driver.map_plain(&level, |(key, document)| self.data().replace(key, document.as_bytes()));
            written.into_iter().collect::<Result<(), _>>()?;
        }
        if !others.is_empty() {
            self.data().sync()?;
        }
        self.data().publish(key, document.as_bytes())
    }

    /// Removes what was written; whether another run could go on with it where that fails.
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

/// Documents by the depth of their nodes, the deepest first.
fn by_depth(documents: &[(String, String)]) -> Vec<Vec<&(String, String)>> {
    let mut levels: BTreeMap<usize, Vec<&(String, String)>> = BTreeMap::new();
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
