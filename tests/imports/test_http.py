"""HTTP is one folder's: no command that serves nothing pays for importing it."""

from __future__ import annotations

import grimp


def test_the_doors_alone_import_what_serves_http() -> None:
    graph = grimp.build_graph("lacli", "lacli_tui", include_external_packages=True, cache_dir=None)
    served = ("starlette", "uvicorn")
    importers = {importer for each in served for importer in graph.find_modules_that_directly_import(each)}
    assert importers
    assert all(importer.startswith("lacli.server.http.") for importer in importers)
