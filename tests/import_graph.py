"""Which module imports which: read from the source, nothing is run."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Import:
    """One import; `at_top` if it runs with the module, not when a function is called."""

    importer: str
    target: str
    at_top: bool
    line: int


@dataclass(frozen=True)
class ImportGraph:
    """All imports of a package. What only type checkers see is left out."""

    modules: frozenset[str]
    imports: tuple[Import, ...]

    @classmethod
    def of(cls, package: Path) -> "ImportGraph":
        files = {_name(path, package): path for path in sorted(package.rglob("*.py"))}
        modules = frozenset(files)
        found = [one for name, path in files.items() for one in _imports(name, path, modules)]
        return cls(modules, tuple(found))

    def inside(self) -> list[Import]:
        """Imports of one module of the package by another."""
        return [one for one in self.imports if one.target in self.modules]

    def chains_at_top(self, start: str) -> dict[str, list[str]]:
        """Everything that importing a module imports, and the chain that leads there."""
        chains = {start: [start]}
        waiting = [start]
        while waiting:
            module = waiting.pop()
            for target in self._at_top(module):
                if target not in chains:
                    chains[target] = [*chains[module], target]
                    waiting.append(target)
        return chains

    def _at_top(self, module: str) -> list[str]:
        parents = [parent for parent in _parents(module) if parent in self.modules]
        return parents + [
            one.target for one in self.imports if one.importer == module and one.at_top
        ]


def _name(path: Path, package: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _parents(module: str) -> list[str]:
    parts = module.split(".")
    return [".".join(parts[:i]) for i in range(1, len(parts))]


def _imports(name: str, path: Path, modules: frozenset[str]) -> Iterator[Import]:
    for node, at_top in _statements(ast.parse(path.read_text(encoding="utf-8")), at_top=True):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        else:
            assert node.level == 0, f"{path}:{node.lineno}: write imports in full"
            base = str(node.module)
            inner = [f"{base}.{alias.name}" for alias in node.names]
            targets = [base, *(one for one in inner if one in modules)]
            if base in modules and base.count(".") == 0:  # the package itself, or names of it
                targets = [one if one in modules else base for one in inner]
        for target in dict.fromkeys(targets):
            yield Import(name, target, at_top, node.lineno)


def _statements(tree: ast.AST, at_top: bool) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, at_top
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _statements(node, at_top=False)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for other in node.orelse:
                yield from _statements(ast.Module([other], []), at_top)
        else:
            yield from _statements(node, at_top)
