//! A request to stop, from a signal or a program that uses the library; the driver heeds it before each unit.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::store::held;

/// A request to stop that all its clones share. By default nobody has made it.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    raised: AtomicBool,
    /// The work that would be left unfinished now, where there is any.
    unfinished: Mutex<Option<Left>>,
}

/// The state that is left where work is stopped at once.
struct Left {
    /// A sentence for the user, with the next step.
    what: String,
    clearing: Option<Clearing>,
}

/// Removes what unfinished work has made, whoever is still at it.
pub type Clearing = Box<dyn Fn() + Send>;

impl std::fmt::Debug for Left {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.what.fmt(f)
    }
}

/// The work was asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// While it lives, stopping at once would leave something unfinished.
#[derive(Debug)]
pub struct Unfinished {
    interrupt: Interrupt,
}

impl Interrupt {
    /// Asks the work to stop; what it would leave unfinished if it were stopped at once, which is worth waiting for.
    pub fn raise(&self) -> Option<String> {
        // Under the lock: whoever begins something from now on sees the request.
        let unfinished = held(&self.shared.unfinished);
        self.shared.raised.store(true, Ordering::SeqCst);
        unfinished.as_ref().map(|left| left.what.clone())
    }

    /// Removes what the work has made, where that is of no use unfinished: before the process ends without it.
    pub fn clear(&self) {
        let unfinished = held(&self.shared.unfinished);
        if let Some(clearing) = unfinished.as_ref().and_then(|left| left.clearing.as_ref()) {
            clearing();
        }
    }

    /// An error once the request has been made.
    pub fn check(&self) -> Result<(), Interrupted> {
        if self.shared.raised.load(Ordering::SeqCst) { Err(Interrupted) } else { Ok(()) }
    }

    /// Begins something that must be finished or cleared away; an error where the request came first. The sentence says
    /// what is left where it is not.
    pub fn begin(&self, what: impl Into<String>, clearing: Option<Clearing>) -> Result<Unfinished, Interrupted> {
        let mut unfinished = held(&self.shared.unfinished);
        self.check()?;
        *unfinished = Some(Left { what: what.into(), clearing });
        Ok(Unfinished { interrupt: self.clone() })
    }
}

impl Unfinished {
    /// From now on this is done where the work is stopped at once.
    pub fn cleared_by(&self, clearing: Clearing) {
        let mut unfinished = held(&self.interrupt.shared.unfinished);
        if let Some(left) = unfinished.as_mut() {
            left.clearing = Some(clearing);
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        *held(&self.interrupt.shared.unfinished) = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupt_tells_what_is_unfinished_and_lets_nothing_begin() {
        let interrupt = Interrupt::default();
        assert!(interrupt.check().is_ok());
        let begun = interrupt.begin("`a`", None).unwrap();
        assert_eq!(interrupt.clone().raise().as_deref(), Some("`a`"));
        assert_eq!(interrupt.check(), Err(Interrupted));
        drop(begun);
        assert_eq!(interrupt.raise(), None);
        assert!(interrupt.begin("`b`", None).is_err());
    }
}
