//! State that a thread keeps from one chunk to the next.

use std::any::Any;

/// Compressor contexts of a thread, and a buffer for a codec that needs one more. There is at most one of each type,
/// made when a codec first needs it.
#[derive(Debug, Default)]
pub struct Contexts {
    kept: Vec<Box<dyn Any + Send>>,
}

impl Contexts {
    /// Runs `work` with the context of this type. If `work` panics, the context is lost, since its state is unknown.
    pub(super) fn with<T: Any + Send + Default, R>(&mut self, work: impl FnOnce(&mut T) -> R) -> R {
        let place = self.kept.iter().position(|context| context.is::<T>());
        let context = place.and_then(|place| self.kept.swap_remove(place).downcast::<T>().ok());
        let mut context = context.unwrap_or_default();
        let result = work(&mut context);
        self.kept.push(context);
        result
    }
}
