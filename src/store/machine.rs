//! Resources and names of the machine and its processes.

#![expect(clippy::disallowed_methods, reason = "this module owns the file system")]

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// Returns the number of bytes of memory that the process can still use, or `None` if the system does not report it.
/// Limits of control groups and of the address space (`ulimit -v`) count as well as the available memory of the
/// machine.
pub fn available_memory() -> Option<u64> {
    let text = |file: &str| std::fs::read_to_string(Path::new("/proc").join(file)).ok();
    let machine = text("meminfo").and_then(|text| bytes_of(&text, "MemAvailable:")).or_else(free_memory);
    let groups = text("self/cgroup").map(|text| group_folders(&text)).unwrap_or_default();
    let read = |path: PathBuf| std::fs::read_to_string(path).ok();
    let limits = groups.iter().filter_map(|folder| group_available(|file| read(folder.join(file))));
    let addresses = text("self/limits").zip(text("self/status"));
    let addresses = addresses.and_then(|(limits, status)| addresses_available(&limits, &status));
    limits.chain(machine).chain(addresses).min()
}

/// Returns the number of free bytes by the kernel's count. It is less than what is available, as caches are in use. A
/// root folder without `/proc` has no better source.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn free_memory() -> Option<u64> {
    let machine = rustix::system::sysinfo();
    machine.freeram.checked_add(machine.bufferram)?.checked_mul(u64::from(machine.mem_unit))
}

/// Other systems have no such call.
#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
fn free_memory() -> Option<u64> {
    None
}

/// Gives this process no huge pages from now on. The whole of such a page, often 2 MiB, is in memory as soon as one byte
/// of it is used. If the system refuses that, the process only needs more memory.
#[cfg(target_os = "linux")]
pub fn disable_huge_pages() {
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

/// Other systems have no such call.
#[cfg(not(target_os = "linux"))]
pub fn disable_huge_pages() {}

/// Returns the columns and lines of a terminal, 0 where they are unknown. `None` if the stream is not a terminal.
pub fn terminal_size(stream: impl AsFd) -> Option<(u16, u16)> {
    rustix::termios::tcgetwinsize(stream).ok().map(|size| (size.ws_col, size.ws_row))
}

/// Returns an identifier of the current boot, or `None` if the system has none.
pub fn boot_id() -> Option<String> {
    Some(std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned())
}

/// Returns the network name of the machine.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Returns a name that no other call in any process returns.
pub fn unique_name() -> String {
    use std::hash::{BuildHasher, RandomState};
    let now = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH);
    let now = now.unwrap_or_default().as_nanos();
    // Containers may have equal process ids and clocks. The system seeds `RandomState` at random in each process.
    format!("{:016x}{now:x}", RandomState::new().hash_one(std::process::id()))
}

/// Returns true if the end of the terminal ends this process. It is false if its parent made it ignore SIGHUP (signal
/// 1), or if the system does not report it.
pub fn heeds_hang_up() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 0)
}

/// Returns the name of the namespace of process ids, or `None` if the system does not report it.
pub fn process_namespace() -> Option<String> {
    Some(std::fs::read_link("/proc/self/ns/pid").ok()?.to_string_lossy().into_owned())
}

/// Returns true if a process exists and has not ended.
pub fn is_running(process: u32) -> bool {
    let Some(id) = i32::try_from(process).ok().and_then(rustix::process::Pid::from_raw) else { return false };
    // An ended process whose parent has not waited for it has the state Z or X.
    let has_ended = process_fields(process).is_some_and(|fields| fields.starts_with(['Z', 'X']));
    // PERM means that the process exists, but belongs to another user.
    !has_ended && matches!(rustix::process::test_kill_process(id), Ok(()) | Err(rustix::io::Errno::PERM))
}

/// Returns the start time of a process in ticks since the boot. `None` means that the system does not report it.
pub fn process_begun(process: u32) -> Option<u64> {
    // It is field 22, and the two fields before the state are missing here.
    process_fields(process)?.split_whitespace().nth(19)?.parse().ok()
}

/// Returns the fields of `/proc/PROCESS/stat` from the state on. The name before may contain spaces and parentheses.
fn process_fields(process: u32) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    text.rsplit_once(") ").map(|(_, fields)| fields.to_owned())
}

/// Returns the bytes between `VmSize` of `/proc/self/status` and the soft address limit of `/proc/self/limits`.
fn addresses_available(limits: &str, status: &str) -> Option<u64> {
    let limit = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    // `unlimited` is not a number.
    let limit: u64 = limit.split_whitespace().next()?.parse().ok()?;
    Some(limit.saturating_sub(bytes_of(status, "VmSize:")?))
}

/// Parses a line such as `VmSize:  100 kB`. Returns bytes.
fn bytes_of(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns the folders of the process's memory groups and their parents, for both versions of control groups.
fn group_folders(text: &str) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for line in text.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else { continue };
        let root = match controllers {
            "" => Path::new("/sys/fs/cgroup"),
            names if names.split(',').any(|name| name == "memory") => Path::new("/sys/fs/cgroup/memory"),
            _ => continue,
        };
        let inside = Path::new(group.trim_start_matches('/'));
        // In a container the mount's root is the group itself, whatever the path is.
        folders.extend(inside.ancestors().map(|ancestor| root.join(ancestor)));
    }
    folders
}

/// Returns the bytes that a group's limit leaves. The file cache does not count as used, as it can be freed.
fn group_available(read: impl Fn(&str) -> Option<String>) -> Option<u64> {
    let number = |file: &str| read(file)?.trim().parse::<u64>().ok();
    // Without a limit `memory.max` is the word `max`, which is not a number.
    let (limit, used, cache) = match number("memory.max") {
        Some(limit) => (limit, number("memory.current")?, "inactive_file "),
        None => (number("memory.limit_in_bytes")?, number("memory.usage_in_bytes")?, "total_inactive_file "),
    };
    let statistics = read("memory.stat").unwrap_or_default();
    let cached = statistics.lines().find_map(|line| line.strip_prefix(cache)?.trim().parse::<u64>().ok());
    // The files are read one after the other, and a limit may be below the usage, so either difference may be negative.
    Some(limit.saturating_sub(used.saturating_sub(cached.unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    fn kernel_tells_of_free_memory_without_proc() {
        let free = free_memory().unwrap();
        // More than nothing and less than any machine has, which checks the unit.
        assert!((1 << 20..1 << 50).contains(&free), "{free}");
    }

    #[test]
    fn meminfo_gives_available_memory_in_bytes() {
        let text = "MemTotal:       16384 kB\nMemFree:  1 kB\nMemAvailable:    8192 kB\n";
        assert_eq!(bytes_of(text, "MemAvailable:"), Some(8 << 20));
        assert_eq!(bytes_of("MemTotal: 1 kB", "MemAvailable:"), None);
    }

    #[test]
    fn limit_on_addresses_leaves_what_is_not_used() {
        let status = "Name:\tx\nVmSize:\t  100 kB\n";
        let line = |soft: &str| format!("Max cpu time  1 1 seconds\nMax address space {soft} unlimited bytes\n");
        assert_eq!(addresses_available(&line("204800"), status), Some(102_400));
        assert_eq!(addresses_available(&line("1"), status), Some(0));
        assert_eq!(addresses_available(&line("unlimited"), status), None);
    }

    #[test]
    fn groups_are_followed_to_their_root() {
        let folders = group_folders("12:cpu:/x\n5:memory:/a/b\n0::/c\n");
        let expected = ["/sys/fs/cgroup/memory/a/b", "/sys/fs/cgroup/memory/a", "/sys/fs/cgroup/memory/"];
        let expected = expected.into_iter().chain(["/sys/fs/cgroup/c", "/sys/fs/cgroup/"]);
        assert_eq!(folders, expected.map(PathBuf::from).collect::<Vec<_>>());
    }

    #[test]
    fn group_leaves_its_limit_less_what_does_not_give_way() {
        let unlimited = |file: &str| (file == "memory.max").then(|| "max\n".to_owned());
        assert_eq!(group_available(unlimited), None);
        let limited = |file: &str| match file {
            "memory.max" => Some("1000\n".to_owned()),
            "memory.current" => Some("700\n".to_owned()),
            "memory.stat" => Some("anon 1\ninactive_file 200\n".to_owned()),
            _ => None,
        };
        assert_eq!(group_available(limited), Some(500));
        let old = |file: &str| match file {
            "memory.limit_in_bytes" => Some("1000".to_owned()),
            "memory.usage_in_bytes" => Some("2000".to_owned()),
            _ => None,
        };
        assert_eq!(group_available(old), Some(0));
    }
}
