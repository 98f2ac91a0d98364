//! What a codec is for one data type, made once.

use std::sync::{Arc, PoisonError, RwLock};

use zarrs::array::{CodecError, DataType};

/// A codec's bindings, by data type: an array has one or two.
#[derive(Debug)]
pub(super) struct Bindings<T> {
    made: RwLock<Vec<(DataType, Made<T>)>>,
}

/// A binding, or why there is none.
type Made<T> = Result<Arc<T>, String>;

impl<T> Default for Bindings<T> {
    fn default() -> Self {
        Bindings { made: RwLock::default() }
    }
}

impl<T> Bindings<T> {
    /// The binding to a data type, made by `bind` where it is new.
    pub(super) fn get(
        &self,
        data_type: &DataType,
        bind: impl FnOnce() -> Result<T, String>,
    ) -> Result<Arc<T>, CodecError> {
        // A panic while the lock is held leaves the list whole: entries are only ever appended.
        let known = self.made.read().unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().find(|entry| entry.0 == *data_type).map(|entry| entry.1.clone());
        drop(known);
        let made = found.unwrap_or_else(|| {
            let made = bind().map(Arc::new);
            let mut known = self.made.write().unwrap_or_else(PoisonError::into_inner);
            known.push((data_type.clone(), made.clone()));
            made
        });
        made.map_err(CodecError::Other)
    }
}
