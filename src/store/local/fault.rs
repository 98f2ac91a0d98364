//! Where tests make the store fail: each call to the operating system passes here first. In the program itself
//! nothing ever fails here, and nothing is left of it.

/// A call to the operating system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Call {
    /// A file is opened to be read.
    Open,
    /// Bytes are read, or a folder is listed.
    Read,
    /// A file or a folder is created.
    Create,
    /// Bytes are written.
    Write,
    /// A file is locked.
    Lock,
    /// Something is made durable.
    Sync,
    /// A file or a folder gets another name.
    Rename,
    /// Two folders exchange their names.
    Exchange,
    /// A file or a folder is removed.
    Remove,
}

#[cfg(not(test))]
mod none {
    use super::Call;
    use std::io;
    use std::path::Path;

    /// Whether the call may be made.
    #[inline]
    #[expect(clippy::unnecessary_wraps, reason = "in tests it fails")]
    pub(in crate::store) fn before(_: Call, _: &Path) -> io::Result<()> {
        Ok(())
    }

    /// How many of some bytes may be written.
    #[inline]
    #[expect(clippy::unnecessary_wraps, reason = "in tests it fails")]
    pub(in crate::store) fn before_write(_: &Path, length: usize) -> io::Result<usize> {
        Ok(length)
    }
}

#[cfg(not(test))]
pub(in crate::store) use none::{before, before_write};

#[cfg(test)]
pub(in crate::store) use injection::{before, before_write};

#[cfg(test)]
pub(crate) mod injection {
    //! Failures by their number, counted over the calls below a folder.

    use super::Call;
    use std::io;
    use std::path::{Path, PathBuf};
    use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

    /// What happens at the call.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Failure {
        /// The process dies: a write is cut short, and no call after it is made.
        Kill,
        /// It alone fails with this error of the operating system.
        Error(rustix::io::Errno),
        /// Half of the bytes are written, then it fails as if there were no space; other calls fail so at once.
        ShortWrite,
    }

    /// While it lives, calls below its folder are counted, and one may fail.
    #[derive(Debug)]
    pub(crate) struct Injection {
        state: Arc<State>,
    }

    #[derive(Debug)]
    struct State {
        folder: PathBuf,
        failures: Vec<(usize, Failure)>,
        /// A kind of call that always fails.
        kind: Option<(Call, rustix::io::Errno)>,
        calls: Mutex<Vec<Call>>,
    }

    static ACTIVE: Mutex<Vec<Arc<State>>> = Mutex::new(Vec::new());

    fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    impl Injection {
        /// Counts the calls below `folder`; those of these numbers (from 0) fail.
        pub(crate) fn new(folder: &Path, failures: impl Into<Vec<(usize, Failure)>>) -> Self {
            Self::with(folder, failures.into(), None)
        }

        /// Every call of this kind below `folder` fails.
        pub(crate) fn of_kind(folder: &Path, call: Call, errno: rustix::io::Errno) -> Self {
            Self::with(folder, Vec::new(), Some((call, errno)))
        }

        fn with(
            folder: &Path,
            failures: Vec<(usize, Failure)>,
            kind: Option<(Call, rustix::io::Errno)>,
        ) -> Self {
            let folder = folder.to_path_buf();
            let state = Arc::new(State { folder, failures, kind, calls: Mutex::default() });
            lock(&ACTIVE).push(state.clone());
            Injection { state }
        }

        /// The calls so far.
        pub(crate) fn calls(&self) -> Vec<Call> {
            lock(&self.state.calls).clone()
        }
    }

    impl Drop for Injection {
        fn drop(&mut self) {
            lock(&ACTIVE).retain(|state| !Arc::ptr_eq(state, &self.state));
        }
    }

    /// The failure that is due.
    fn due(call: Call, path: &Path) -> Option<(Failure, bool)> {
        let state = lock(&ACTIVE).iter().find(|state| path.starts_with(&state.folder)).cloned()?;
        let mut calls = lock(&state.calls);
        let number = calls.len();
        calls.push(call);
        if let Some((_, errno)) = state.kind.filter(|(kind, _)| *kind == call) {
            return Some((Failure::Error(errno), true));
        }
        state.failures.iter().find_map(|(at, failure)| match failure {
            Failure::Kill if number > *at => Some((*failure, false)),
            _ if number == *at => Some((*failure, true)),
            _ => None,
        })
    }

    fn error(failure: Failure) -> io::Error {
        match failure {
            Failure::Kill => io::Error::other("the process is dead"),
            Failure::Error(errno) => errno.into(),
            Failure::ShortWrite => rustix::io::Errno::NOSPC.into(),
        }
    }

    pub(in crate::store) fn before(call: Call, path: &Path) -> io::Result<()> {
        due(call, path).map_or(Ok(()), |(failure, _)| Err(error(failure)))
    }

    pub(in crate::store) fn before_write(path: &Path, length: usize) -> io::Result<usize> {
        match due(Call::Write, path) {
            None => Ok(length),
            Some((Failure::Kill | Failure::ShortWrite, true)) => Ok(length / 2),
            Some((failure, _)) => Err(error(failure)),
        }
    }
}
