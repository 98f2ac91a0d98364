//! Shared helpers for the tests of the program: a temporary folder and a way to run `zarrcast` in it.

pub(crate) mod array;
#[cfg(unix)]
pub(crate) mod terminal;
pub(crate) mod zip;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use tempfile::TempDir;

/// A temporary folder in which the program runs.
pub(crate) struct CliTest {
    folder: TempDir,
}

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Run {
    /// The exit status, or 128 plus the number of the signal.
    pub(crate) status: i32,
    /// stdout, bytes.
    pub(crate) output: Vec<u8>,
    /// stderr, without the path of the temporary folder.
    pub(crate) error: String,
}

/// The free space that the tests need, in bytes.
const ROOM: u64 = 4 << 30;

/// Creates a temporary folder. It is in memory if there is enough, unless `TMPDIR` names a place.
///
/// Each command waits until its files are on the disk, and the tests run thousands of commands.
pub(crate) fn temporary_folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let free = rustix::fs::statvfs(memory).map_or(0, |memory| memory.f_bavail.saturating_mul(memory.f_frsize));
    let is_chosen = std::env::var_os("TMPDIR").is_some();
    if is_chosen || free < ROOM { tempfile::tempdir() } else { tempfile::tempdir_in(memory) }.unwrap()
}

impl CliTest {
    /// Creates an empty folder.
    pub(crate) fn new() -> Self {
        CliTest { folder: temporary_folder() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file and creates its parent folders.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        self
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// Returns the sorted names in the folder.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Returns the bytes of every file below a folder, by relative path.
    pub(crate) fn all_files(&self, name: &str) -> BTreeMap<String, Vec<u8>> {
        let top = self.path(name);
        let (mut files, mut folders) = (BTreeMap::new(), vec![top.clone()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(&top).unwrap().to_str().unwrap().to_owned();
                    files.insert(name, fs::read(path).unwrap());
                }
            }
        }
        files
    }

    /// Runs the program in the folder with nothing on stdin.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Run {
        self.run_with_input(arguments, b"")
    }

    /// Runs a command line, without the program's name, in the folder.
    pub(crate) fn zarrcast(&self, line: impl AsRef<str>) -> Run {
        self.run(shlex::split(line.as_ref()).unwrap())
    }

    /// Runs the program with these environment variables.
    pub(crate) fn run_with<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
        variables: &[(&str, &str)],
    ) -> Run {
        self.run_in(arguments, b"", variables)
    }

    /// Runs the program with these bytes on stdin.
    pub(crate) fn run_with_input<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>, input: &[u8]) -> Run {
        self.run_in(arguments, input, &[])
    }

    /// Runs the program with environment variables and stdin.
    pub(crate) fn run_in<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
        input: &[u8],
        variables: &[(&str, &str)],
    ) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_zarrcast"));
        command.args(arguments);
        self.run_command(command, input, variables)
    }

    /// Runs the program, and kills it once it has used this many seconds of processor time. Unlike the time of a clock,
    /// that does not depend on what else the machine does.
    pub(crate) fn run_within(&self, seconds: u32, arguments: &[&str]) -> Run {
        let mut command = after(&format!("ulimit -t {seconds}"));
        command.args(arguments);
        self.run_command(command, b"", &[])
    }

    fn run_command(&self, mut command: Command, input: &[u8], variables: &[(&str, &str)]) -> Run {
        let mut child = command
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR")
            .env_remove("CLICOLOR_FORCE")
            .envs(variables.iter().copied())
            .current_dir(self.folder.path())
            .env("RUST_BACKTRACE", "1")
            // Filling huge pages with zeros takes a fifth of the time of a short command.
            .env("MIMALLOC_ALLOW_THP", "0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The inputs of tests fit in a pipe. The write fails if the program does not read it.
        let _ = child.stdin.take().unwrap().write_all(input);
        let output = child.wait_with_output().unwrap();
        let folder = self.folder.path().to_string_lossy().into_owned();
        Run {
            status: exit_status(output.status),
            output: output.stdout,
            error: String::from_utf8(output.stderr).unwrap().replace(&folder, "[FOLDER]"),
        }
    }
}

fn exit_status(status: std::process::ExitStatus) -> i32 {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal = None;
    status.code().or(signal.map(|signal| 128 + signal)).unwrap()
}

impl Run {
    /// Returns stdout as text.
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.output).expect("stdout is text")
    }

    /// Returns stdout as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.output).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// Asserts status 0 and an empty stderr.
    #[track_caller]
    pub(crate) fn succeeds(self) -> Self {
        assert_eq!((self.status, self.error.as_str()), (0, ""), "{}", String::from_utf8_lossy(&self.output));
        self
    }

    /// Asserts an exit status, an error on stderr that contains each of `parts`, and an empty stdout.
    #[track_caller]
    pub(crate) fn fails(self, status: i32, parts: &[&str]) -> Self {
        assert_eq!(self.status, status, "{}", self.error);
        assert_eq!(self.output, b"");
        assert!(self.error.starts_with("error: "), "{}", self.error);
        for part in parts.iter().chain([&""]) {
            assert!(self.error.contains(part), "{part:?} is not in:\n{}", self.error);
        }
        assert!(!self.error.contains("panicked"), "{}", self.error);
        assert!(!self.error.contains("stack backtrace"), "{}", self.error);
        self
    }
}

/// Returns the program, started by a shell that first runs a command such as `ulimit`.
pub(crate) fn after(setting: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{setting} && exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_zarrcast")]);
    shell
}

/// Tests each item, some at a time: a test of commands mostly waits. Returns the results in any order.
pub(crate) fn side_by_side<T, R: Send>(
    threads: usize,
    items: impl Iterator<Item = T> + Send,
    test: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let items = Mutex::new(items);
    let next = || items.lock().unwrap().next();
    let tests = || std::iter::from_fn(next).map(&test).collect();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(tests)).collect();
        threads.into_iter().flat_map(|thread| -> Vec<R> { thread.join().unwrap() }).collect()
    })
}

/// Returns the path of a committed fixture.
pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/valid").join(name)
}

/// Encodes float32 elements, little endian.
pub(crate) fn float32(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Encodes a chunk of `vlen-utf8` or `vlen-bytes`.
pub(crate) fn vlen<S: AsRef<[u8]>>(elements: &[S]) -> Vec<u8> {
    let length = |length: usize| u32::try_from(length).unwrap().to_le_bytes();
    let mut bytes = length(elements.len()).to_vec();
    for element in elements {
        bytes.extend(length(element.as_ref().len()));
        bytes.extend(element.as_ref());
    }
    bytes
}
