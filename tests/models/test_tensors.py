"""Reading safetensors where they lie: every dtype, files that lie about themselves, packed matrices."""

from __future__ import annotations

import errno
import json
import mmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from lacli.errors import ModelUnavailable, OutOfMemory
from lacli.kernels import packing
from lacli.models.runners.tensors import Tensors


def write(path: Path, header: Any, data: bytes = b"\0" * 64) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def entry(dtype: str = "F32", shape: Any = (4, 4), begin: Any = 0, end: Any = 64) -> dict[str, Any]:
    return {"x": {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}}


class TestReading:
    @pytest.mark.parametrize(
        "dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.uint8, torch.int8, torch.int64]
    )
    def test_tensors_are_what_was_written(self, dtype: torch.dtype, tmp_path: Path) -> None:
        one, two = (torch.randn(3, 5) * 10).abs().to(dtype), torch.ones(7).to(dtype)
        save_file({"one": one, "two": two}, tmp_path / "a.safetensors")
        save_file({"three": two}, tmp_path / "b.safetensors")
        tensors = Tensors([tmp_path / "a.safetensors", tmp_path / "b.safetensors"])
        assert sorted(tensors) == ["one", "three", "two"]
        assert tensors.torch("one").dtype == dtype
        assert torch.equal(tensors.torch("one"), one)
        assert torch.equal(tensors.torch("three"), two)
        if dtype.is_floating_point:
            assert torch.equal(torch.from_numpy(tensors.floats("one").copy()), one.to(torch.float32))
        else:
            with pytest.raises(ModelUnavailable, match="one is stored as"):
                tensors.floats("one")

    def test_they_lie_in_the_file_and_cannot_be_written(self, tmp_path: Path) -> None:
        save_file({"one": torch.ones(64, 64)}, tmp_path / "a.safetensors")
        _, array = Tensors([tmp_path / "a.safetensors"]).array("one")
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
        base: Any = array
        while isinstance(base, np.ndarray):
            base = base.base
        assert isinstance(memoryview(base).obj, mmap.mmap)

    def test_an_odd_place_in_the_file_is_none_to_numbers(self, tmp_path: Path) -> None:
        text = json.dumps(entry()).encode()
        file = write(tmp_path / "x", text + b" " * ((2 - len(text)) % 4 + 1), np.arange(16, dtype=np.float32).tobytes())
        assert Tensors([file]).floats("x").reshape(-1).tolist() == list(range(16))

    def test_a_name_that_no_file_has_is_refused(self, tmp_path: Path) -> None:
        tensors = Tensors([write(tmp_path / "x", entry())])
        assert "x" in tensors
        assert "y" not in tensors
        with pytest.raises(ModelUnavailable, match="lack the tensor y"):
            tensors.array("y")


class TestDamage:
    @pytest.mark.parametrize(
        "header",
        [
            b"",
            b"{",
            b"\xff\xfe",
            b"[1, 2]",
            b"[" * 100_000,
            {"x": 3},
            {"x": {"dtype": "F32"}},
            entry(dtype="Q7"),
            entry(shape=(4, 5)),
            entry(shape=(-4, -4)),
            entry(shape="44"),
            entry(shape=4),
            entry(begin=-64, end=0),
            entry(begin=64, end=128),
            entry(begin="0"),
            entry(shape=(1 << 62, 4), end=1 << 64),
        ],
    )
    def test_a_file_that_lies_is_called_damaged(self, header: Any, tmp_path: Path) -> None:
        with pytest.raises(ModelUnavailable, match="damaged"):
            Tensors([write(tmp_path / "x", header)])

    @pytest.mark.parametrize("data", [b"", b"\1\0\0\0", b"\xff" * 100])
    def test_so_is_one_without_a_header(self, data: bytes, tmp_path: Path) -> None:
        (tmp_path / "x").write_bytes(data)
        with pytest.raises(ModelUnavailable, match="damaged"):
            Tensors([tmp_path / "x"])

    def test_so_is_one_cut_short(self, tmp_path: Path) -> None:
        save_file({"one": torch.ones(64, 64)}, tmp_path / "x")
        whole = (tmp_path / "x").read_bytes()
        (tmp_path / "x").write_bytes(whole[:-1])
        with pytest.raises(ModelUnavailable, match="one does not lie in it"):
            Tensors([tmp_path / "x"])

    def test_one_that_is_gone_is_called_so(self, tmp_path: Path) -> None:
        with pytest.raises(ModelUnavailable, match="cannot be read: No such file"):
            Tensors([tmp_path / "x"])

    def test_one_that_no_memory_is_left_to_map_is_not_called_damaged(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*args: Any, **more: Any) -> None:
            raise OSError(errno.ENOMEM, "Cannot allocate memory")

        monkeypatch.setattr(mmap, "mmap", refuse)
        with pytest.raises(OutOfMemory, match="no memory to map"):
            Tensors([write(tmp_path / "x", entry())])


class TestPacked:
    @pytest.mark.parametrize("bits", [4, 8])
    @pytest.mark.parametrize("rows", [1, 16, 40, 16 * 256, 16 * 256 + 5])
    def test_a_matrix_is_unpacked_in_parts(self, bits: Any, rows: int, tmp_path: Path) -> None:
        weight = np.random.default_rng(0).standard_normal((rows, 40), dtype=np.float32)
        blocks = packing.quantise(weight, bits)
        save_file({f"a.{blocks.kind}": torch.from_numpy(packing.pack(blocks))}, tmp_path / "x")
        tensors = Tensors([tmp_path / "x"])
        assert tensors.is_packed("a")
        assert not tensors.is_packed("b")
        assert tensors.packed("a", rows, 40)[0] == blocks.kind
        whole = torch.from_numpy(np.concatenate(list(tensors.unpacked("a", rows, 40))))
        assert np.array_equal(whole.numpy(), packing.dequantise(blocks))

    @pytest.mark.parametrize("shape", [(24, 40), (40, 90)])
    def test_one_of_another_size_is_refused(self, shape: tuple[int, int], tmp_path: Path) -> None:
        packed = packing.pack(packing.quantise(np.ones((40, 40), dtype=np.float32), 8))
        save_file({"a.q8": torch.from_numpy(packed)}, tmp_path / "x")
        with pytest.raises(ModelUnavailable, match=r"a\.q8 is \[3, .* where config\.json asks for"):
            Tensors([tmp_path / "x"]).packed("a", *shape)
