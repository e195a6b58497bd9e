"""Copies models.toml into the wheel as lacli/models.toml; everything else about the package is in pyproject.toml.

The file stays at the top of the repository, where an editable install reads it.
"""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithRegistry(build_py):
    """build_py, and models.toml beside the package's modules."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            self.copy_file("models.toml", str(Path(self.build_lib) / "lacli" / "models.toml"))

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        copied = [] if self.editable_mode else [str(Path(self.build_lib) / "lacli" / "models.toml")]
        return super().get_outputs(include_bytecode) + copied


setup(cmdclass={"build_py": BuildWithRegistry})
