//! The memory that the process may use.

#![expect(clippy::disallowed_methods, reason = "this module asks the operating system by its files")]

use std::fs;
use std::path::Path;

/// Bytes that are there for the process without swapping, container limits counted; `None` where nobody says.
pub fn available_memory() -> Option<u64> {
    let system = fs::read_to_string("/proc/meminfo").ok().as_deref().and_then(available_of);
    match (system, group_limit()) {
        (Some(system), Some(limit)) => Some(system.min(limit)),
        (one, other) => one.or(other),
    }
}

/// `MemAvailable` of `/proc/meminfo`.
fn available_of(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The least limit of the control groups that the process is in, less what they use.
fn group_limit() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let root = Path::new("/sys/fs/cgroup");
    let number = |path: &Path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let mut folder = root.join(own.trim_start_matches('/'));
    let mut least: Option<u64> = None;
    loop {
        if let Some(limit) = number(&folder.join("memory.max")) {
            let left = limit.saturating_sub(number(&folder.join("memory.current")).unwrap_or(0));
            least = Some(least.map_or(left, |least| least.min(left)));
        }
        if folder == root || !folder.pop() || !folder.starts_with(root) {
            return least;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_read_in_bytes() {
        assert_eq!(available_of("MemTotal:  5 kB\nMemAvailable:   12 kB\n"), Some(12 << 10));
        assert_eq!(available_of("MemTotal:  5 kB\n"), None);
    }
}
