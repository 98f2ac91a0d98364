//! What the machine gives the process.

#![expect(clippy::disallowed_methods, reason = "this row owns the file system")]

use std::fs;
use std::path::Path;

/// Bytes of memory that the process can still get: of the machine, and of the control groups it runs in. `None` where
/// neither tells.
pub fn available_memory() -> Option<u64> {
    let read = |path: &Path| fs::read_to_string(path).ok();
    let machine = read(Path::new("/proc/meminfo")).and_then(|text| of_machine(&text));
    let groups = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let root = Path::new("/sys/fs/cgroup");
    let path = groups.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    // A limit of any group above counts, too; the path may be one that only the host sees.
    let folders = root
        .join(path)
        .ancestors()
        .take_while(|folder| folder.starts_with(root))
        .map(Path::to_path_buf)
        .collect::<Vec<_>>();
    let of_groups = folders.iter().filter_map(|folder| {
        let number = |name: &str| read(&folder.join(name))?.trim().parse::<u64>().ok();
        Some(number("memory.max")?.saturating_sub(number("memory.current")?))
    });
    of_groups.chain(machine).min()
}

/// `MemAvailable` of `/proc/meminfo`, in bytes.
fn of_machine(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_read_from_the_machines_table() {
        assert_eq!(of_machine("MemTotal: 9 kB\nMemAvailable:   20 kB\n"), Some(20 << 10));
        assert_eq!(of_machine("MemTotal: 9 kB\n"), None);
    }
}
