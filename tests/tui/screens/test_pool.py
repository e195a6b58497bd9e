"""The pools: by project, pruned and cleared, as `lacli pool` does it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lacli import paths
from lacli.events import Counts
from lacli.pool.inventory import all_projects
from lacli.pool.store import open_pool
from lacli.pool.update import PoolUpdate
from lacli.project.root import pool_key
from lacli_tui.screens.pool import PoolScreen, learned
from tests.tui.screens.conftest import NOTHING, Open

COUNTS = Counts(1, 200, 90, 199, 150, 109, {"project": 150}, {"project": 80, "prompt": 29}, 400, 1.0, 9.0, 4_000.0)


def teach(root: Path, tokens: int = 50) -> None:
    """Have something learned in a project."""
    root.mkdir(parents=True, exist_ok=True)
    pool = open_pool(pool_key(root, "f" * 64), paths.pools_dir(), "learn", 1000, "smollm2")
    assert pool.learn(PoolUpdate(tuple(n % 997 for n in range(tokens)), totals=COUNTS.totals()))


@pytest.fixture
def taught(sandbox: Path) -> Path:
    """Three projects, of which one is gone and one, that is returned, the one we are in."""
    for name in ("[b] other", "gone", "here"):
        teach(sandbox / "src" / name)
    shutil.rmtree(sandbox / "src" / "gone")
    return sandbox / "src" / "here"


def test_this_project_comes_first_also_before_anything_was_learned_in_it(taught: Path) -> None:
    (taught.parent / "new").mkdir()
    found = learned(taught.parent / "new")
    assert [each.root.name for each in found if each.root] == ["new", "here", "gone", "[b] other"]
    assert [each.is_here for each in found] == [True, False, False, False]
    assert [each.is_gone for each in found] == [False, False, True, False]
    assert found[1].share == 0.4


async def test_what_was_learned_is_told_and_cleared_and_pruned_once_the_user_is_sure(
    opened: Open, taught: Path
) -> None:
    async with opened(PoolScreen(taught), (120, 30)) as it:
        seen = await it.until("[b] other", "gone ones", "50 tokens in 1 reply", "saved", "109 steps, 4.0 s")
        assert "40% of text from it" in seen
        assert "2.21 tokens a step" in seen
        assert "project 40% · prompt 14%" in seen
        await it.press("c")
        await it.until("Delete the 50 tokens learned in", "here?")
        await it.press("enter")
        await it.it.until(lambda: it.it.app.screen is it.screen)
        assert len(all_projects(paths.pools_dir())) == 3
        await it.press("c")
        await it.until("Delete the 50")
        await it.press("y")
        await it.until("deleted", "nothing yet: the first reply")
        assert len(all_projects(paths.pools_dir())) == 2
        await it.press("g")
        await it.until("no longer be", "gone")
        await it.press("y")
        await it.until("1 deleted (its project is gone)")
        await it.it.until(lambda: "gone ones" not in it.it.text())
        await it.press("p")
        await it.until("Bring every pool below 64.0 MB, and all below 1.0 GB?")
        await it.press("y")
        await it.until("nothing to do: all pools are below their caps")
        await it.press("enter", "g")
        assert it.result is NOTHING
        assert [each.root.name for each in all_projects(paths.pools_dir()) if each.root] == ["[b] other"]


async def test_a_pool_that_is_being_written_is_one_line(
    opened: Open, taught: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def held(folder: Path) -> int:
        raise TimeoutError

    monkeypatch.setattr("lacli.pool.inventory.clear", held)
    async with opened(PoolScreen(taught)) as it:
        await it.until("here")
        await it.press("c")
        await it.until("Delete the 50")
        await it.press("y")
        await it.until("another lacli is writing this pool; try again in a moment")
