"""How many processors and how much memory a process in a container may use, read from trees like those of Docker,
Kubernetes and systemd."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from lacli.models.registry import choice, limits, machine

GB = 10**9
V2 = "30 20 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
V1 = (
    "31 20 0:30 {shown} /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "32 20 0:31 {shown} /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
)


@pytest.fixture(autouse=True)
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """16 processors on 8 cores, 20 of 64 GB free, and no control groups yet."""
    monkeypatch.setattr(limits, "ROOT", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(16)), raising=False)
    monkeypatch.setattr(psutil, "cpu_count", lambda logical=True: 16 if logical else 8)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=20 * GB, total=64 * GB))
    return tmp_path


def tree(root: Path, group: str, mounts: str, **files: str) -> None:
    """Files are named by their path below sys/fs/cgroup, with __ for / and ___ for the dot in a file's name."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(group)
    (root / "proc/self/mountinfo").write_text(mounts)
    for name, text in files.items():
        path = root / "sys/fs/cgroup" / name.replace("___", ".").replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")


def measured() -> tuple[int, int, int, int]:
    return limits.processors(), limits.cores(), limits.free_memory(), limits.all_memory()


HOST = (16, 8, 20 * GB, 64 * GB)


def test_without_control_groups_the_machine_counts() -> None:
    assert measured() == HOST


@pytest.mark.parametrize(
    ("quota", "processors"),
    [("max 100000", 16), ("50000 100000", 1), ("150000 100000", 1), ("400000 100000", 4), ("9000000 100000", 16)],
)
def test_a_quota_of_version_2(host: Path, quota: str, processors: int) -> None:
    tree(host, "0::/\n", V2, cpu___max=quota)
    assert (limits.processors(), limits.cores()) == (processors, min(8, processors))


@pytest.mark.parametrize(("quota", "processors"), [("-1", 16), ("50000", 1), ("250000", 2)])
def test_a_quota_of_version_1(host: Path, quota: str, processors: int) -> None:
    files = {"cpu,cpuacct__cpu___cfs_quota_us": quota, "cpu,cpuacct__cpu___cfs_period_us": "100000"}
    tree(host, "4:cpu,cpuacct:/docker/ab\n3:memory:/docker/ab\n", V1.format(shown="/docker/ab"), **files)
    assert limits.processors() == processors


def test_memory_of_version_2_counts_page_cache_as_free(host: Path) -> None:
    stat = f"anon {GB}\ninactive_file {GB // 2}\nactive_file {GB // 2}"
    files = {"memory___max": f"{4 * GB}", "memory___current": f"{2 * GB}", "memory___stat": stat}
    tree(host, "0::/\n", V2, **files)
    assert measured() == (16, 8, 3 * GB, 4 * GB)


def test_memory_of_version_1(host: Path) -> None:
    files = {
        "memory__memory___limit_in_bytes": f"{4 * GB}",
        "memory__memory___usage_in_bytes": f"{3 * GB}",
        "memory__memory___stat": f"inactive_file 1\ntotal_inactive_file {GB}\ntotal_active_file 0",
    }
    tree(host, "3:memory:/\n", V1.format(shown="/"), **files)
    assert measured() == (16, 8, 2 * GB, 4 * GB)


def test_no_limit_of_version_1_is_a_number_beyond_all_memory(host: Path) -> None:
    files = {"memory__memory___limit_in_bytes": f"{2**63 - 4096}", "memory__memory___usage_in_bytes": f"{GB}"}
    tree(host, "3:memory:/\n", V1.format(shown="/"), **files)
    assert measured() == HOST


def test_the_tightest_of_a_group_and_those_above_it_holds(host: Path) -> None:
    tree(
        host,
        "0::/user slice/inner\n",
        V2,
        **{"cpu___max": "max 100000", "user slice__cpu___max": "200000 100000"},
        **{"user slice__inner__cpu___max": "600000 100000"},
        **{"user slice__memory___max": f"{GB}", "user slice__memory___current": f"{2 * GB}"},
    )
    assert measured() == (2, 2, 0, GB)


@pytest.mark.parametrize("group", ["0::/../other\n", "0::/elsewhere\n", "nonsense\n", "", "0::\n"])
def test_a_group_that_is_not_shown_here_is_looked_for_no_further_than_the_mount(host: Path, group: str) -> None:
    (host / "sys/fs/other").mkdir(parents=True)
    (host / "sys/fs/other/cpu.max").write_text("100000 100000")
    tree(host, group, V2.replace(" / /sys", " /mine /sys"), cpu___max="300000 100000")
    assert limits.processors() in (3, 16)


@pytest.mark.parametrize("text", ["", "rubbish", "100000", "100000 0", "-5 100000"])
def test_a_file_that_says_nothing_sensible_is_no_limit(host: Path, text: str) -> None:
    tree(host, "0::/\n", V2, cpu___max=text, memory___max=text, memory___current="")
    assert measured() == HOST


def test_what_chooses_and_what_fits_go_by_the_container(host: Path) -> None:
    tree(host, "0::/\n", V2, memory___max=f"{4 * GB}", memory___current=f"{GB}")
    assert choice.for_cpu(False, 4 * GB)[0] == "int4"
    assert choice.for_cpu(False, 2 * GB)[0] == "int8"
    assert machine.main_memory() == (3 * GB, 4 * GB)
