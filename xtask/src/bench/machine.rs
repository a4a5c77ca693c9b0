//! The measured machine.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Returns the model of the processor and the release of the kernel, as the system reports them.
pub(crate) fn description() -> String {
    let processor = fs::read_to_string("/proc/cpuinfo").ok();
    let processor = processor.as_deref().and_then(model).unwrap_or("processor of unknown model");
    let system = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let system = system.trim();
    let name = std::env::consts::OS;
    let architecture = std::env::consts::ARCH;
    format!("{processor}, {architecture}, {name} {system}").trim_end().to_owned()
}

fn model(processors: &str) -> Option<&str> {
    let line = processors.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim())
}

/// Returns the first `count` processors that this process may use, in the format of `taskset`. Returns `None` if there are
/// fewer processors or `taskset` is not installed.
pub(crate) fn processors(count: usize) -> Option<String> {
    let mut taskset = Command::new("taskset");
    taskset.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    if !taskset.status().is_ok_and(|status| status.success()) {
        return None;
    }
    first_of(&fs::read_to_string("/proc/self/status").ok()?, count)
}

fn first_of(status: &str, count: usize) -> Option<String> {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let mut found = Vec::new();
    for range in list.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        found.extend(first.parse::<usize>().ok()?..=last.parse().ok()?);
    }
    let found = found.get(..count)?;
    Some(found.iter().map(usize::to_string).collect::<Vec<_>>().join(","))
}

/// Returns the peak memory of a process in bytes, or `None` if it has ended.
pub(crate) fn peak_of(process: u32) -> Option<u64> {
    peak(&fs::read_to_string(format!("/proc/{process}/status")).ok()?)
}

fn peak(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// Returns the free space at `folder` in bytes, as reported by `df`.
pub(crate) fn free_bytes(folder: &Path) -> Option<u64> {
    let output = Command::new("df").args(["--block-size=1", "--output=avail"]).arg(folder).output().ok()?;
    String::from_utf8_lossy(&output.stdout).lines().last()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_permitted_processors_are_used() {
        let status = "Name:\tx\nCpus_allowed_list:\t2,4-6,9\n";
        assert_eq!(first_of(status, 3).unwrap(), "2,4,5");
        assert_eq!(first_of(status, 6), None);
    }

    #[test]
    fn the_peak_is_read_from_the_status_file() {
        assert_eq!(peak("VmPeak:\t  99 kB\nVmHWM:\t    1968 kB\n"), Some(1968 * 1024));
        assert_eq!(peak("Name:\tgone\n"), None);
        assert!(peak_of(std::process::id()).is_some_and(|bytes| bytes > 0));
    }

    #[test]
    fn the_model_is_the_name_in_cpuinfo() {
        assert_eq!(model("processor\t: 0\nmodel name\t: Some Processor\n"), Some("Some Processor"));
    }
}
