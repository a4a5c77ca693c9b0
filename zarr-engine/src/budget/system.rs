//! The amount of memory that this process may use.

use std::fs;
use std::path::{Path, PathBuf};

/// Assumed memory in bytes if the system does not report it.
const UNKNOWN: u64 = 4 << 30;

/// Returns the number of bytes that this process may use: the smallest of physical memory, the limit of its address
/// space, and the limits of its control groups. Only Linux reports these; on other systems it is 4 GiB.
pub(crate) fn usable_memory() -> u64 {
    usable_below(Path::new("/")).unwrap_or(UNKNOWN)
}

/// Like [`usable_memory`], for a system whose files are below `root`; `None` if it reports nothing.
fn usable_below(root: &Path) -> Option<u64> {
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let physical = physical_memory(&read("proc/meminfo"));
    let address_space = address_space(&read("proc/self/limits"));
    let groups = control_groups(&read("proc/self/cgroup"), &read("proc/self/mountinfo"));
    let limits = groups.iter().filter_map(|group| group.limit(root));
    limits.chain(physical).chain(address_space).min()
}

/// Returns `MemTotal` of `/proc/meminfo` in bytes.
fn physical_memory(text: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let number: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
    number.checked_mul(1024)
}

/// Returns the soft limit of the address space in `/proc/self/limits`; `None` if it is unlimited.
fn address_space(text: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// A control group that limits memory. The groups above it limit it, too.
#[derive(Debug, PartialEq, Eq)]
struct ControlGroup {
    mount: PathBuf,
    folder: PathBuf,
    file: &'static str,
}

impl ControlGroup {
    fn limit(&self, root: &Path) -> Option<u64> {
        let mount = root.join(self.mount.strip_prefix("/").unwrap_or(&self.mount));
        let folders = self.folder.ancestors().map(|folder| mount.join(folder).join(self.file));
        // Without a limit, the file contains `max` in version 2, and a number larger than any memory in version 1.
        folders.filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok()).min()
    }
}

/// Returns the groups of this process, from `/proc/self/cgroup` and `/proc/self/mountinfo`.
fn control_groups(groups: &str, mounts: &str) -> Vec<ControlGroup> {
    let mut found = Vec::new();
    for line in groups.lines() {
        // The format is hierarchy-ID:controllers:path: see cgroups(7).
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let (file, option) = match controllers {
            "" => ("memory.max", None),
            _ if controllers.split(',').any(|one| one == "memory") => {
                ("memory.limit_in_bytes", Some("memory"))
            }
            _ => continue,
        };
        if let Some(mount) = mounts.lines().filter_map(Mount::parse).find(|mount| mount.is_of(option)) {
            // In a container, the root of the mount may be a group of the host that `path` does not contain. Then the
            // mount itself is the group.
            let folder = Path::new(path).strip_prefix(&mount.root).unwrap_or(Path::new(""));
            found.push(ControlGroup { mount: mount.place, folder: folder.to_owned(), file });
        }
    }
    found
}

/// A line of `/proc/self/mountinfo`: see proc(5).
struct Mount<'m> {
    root: PathBuf,
    place: PathBuf,
    kind: &'m str,
    options: &'m str,
}

impl<'m> Mount<'m> {
    fn parse(line: &'m str) -> Option<Self> {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(3);
        let root = PathBuf::from(before.next()?);
        let place = PathBuf::from(before.next()?);
        let mut after = after.split(' ');
        let kind = after.next()?;
        Some(Self { root, place, kind, options: after.nth(1)? })
    }

    /// Returns whether this is a mount of control groups: of version 2 if `controller` is `None`, otherwise of this
    /// controller in version 1.
    fn is_of(&self, controller: Option<&str>) -> bool {
        match controller {
            None => self.kind == "cgroup2",
            Some(controller) => {
                self.kind == "cgroup" && self.options.split(',').any(|option| option == controller)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
        35 31 0:32 /docker/1f /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:4 - cgroup2 cgroup2 rw\n";

    /// Returns a folder that looks like the root of a system.
    fn system(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn physical_memory_is_in_kibibytes() {
        let text = "MemTotal:       24684512 kB\nMemFree:        20660000 kB\n";
        assert_eq!(physical_memory(text), Some(24_684_512 * 1024));
        assert_eq!(physical_memory("MemFree: 1 kB\n"), None);
    }

    #[test]
    fn reads_the_soft_limit_of_the_address_space() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max address space         134217728            unlimited            bytes     \n";
        assert_eq!(address_space(text), Some(128 << 20));
        assert_eq!(address_space(&text.replace("134217728", "unlimited")), None);
    }

    #[test]
    fn finds_the_smallest_limit_of_a_group_and_the_groups_above_it() {
        let root = system(&[
            ("proc/meminfo", "MemTotal: 1000000 kB\n"),
            ("proc/self/cgroup", "0::/user/job\n"),
            ("proc/self/mountinfo", MOUNTS),
            ("sys/fs/cgroup/unified/user/job/memory.max", "max\n"),
            ("sys/fs/cgroup/unified/user/memory.max", "5000\n"),
            ("sys/fs/cgroup/unified/memory.max", "7000\n"),
        ]);
        assert_eq!(usable_below(root.path()), Some(5000));
    }

    #[test]
    fn finds_the_group_of_a_container_in_version_1() {
        let root = system(&[
            ("proc/self/cgroup", "5:memory:/docker/1f/inner\n3:cpuset:/\n"),
            ("proc/self/mountinfo", MOUNTS),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9000\n"),
            ("sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "9223372036854771712\n"),
        ]);
        assert_eq!(usable_below(root.path()), Some(9000));
    }

    #[test]
    fn a_system_without_these_files_has_no_known_limit() {
        assert_eq!(usable_below(system(&[("proc/self/cgroup", "nonsense\n::\n")]).path()), None);
        assert!(usable_memory() > 0);
    }
}
