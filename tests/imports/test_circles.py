"""No circles of files: what a file imports can be read without knowing the file."""

from __future__ import annotations

import grimp


def circles(graph: grimp.ImportGraph) -> list[list[str]]:
    """Groups of modules each of which imports all others of its group, directly or not (Tarjan's algorithm)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    found: list[list[str]] = []
    for root in sorted(graph.modules):
        if root in order:
            continue
        stack = [(root, iter(sorted(graph.find_modules_directly_imported_by(root))))]
        order[root] = lowest[root] = len(order)
        path.append(root)
        while stack:
            module, imported = stack[-1]
            for each in imported:
                if each not in order:
                    order[each] = lowest[each] = len(order)
                    path.append(each)
                    stack.append((each, iter(sorted(graph.find_modules_directly_imported_by(each)))))
                    break
                if each in path:
                    lowest[module] = min(lowest[module], order[each])
            else:
                stack.pop()
                if stack:
                    lowest[stack[-1][0]] = min(lowest[stack[-1][0]], lowest[module])
                if lowest[module] == order[module]:
                    at = path.index(module)
                    found += [sorted(path[at:])] if len(path) - at > 1 else []
                    del path[at:]
    return found


def test_no_files_import_each_other_in_a_circle() -> None:
    graph = grimp.build_graph("lacli", "lacli_tui", cache_dir=None)
    assert not circles(graph)


def test_a_circle_would_be_found() -> None:
    graph = grimp.ImportGraph()
    for importer, imported in (("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("e", "a")):
        graph.add_module(importer)
        graph.add_module(imported)
        graph.add_import(importer=importer, imported=imported)
    assert circles(graph) == [["a", "b", "c"]]
