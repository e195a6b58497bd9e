"""GGUF files: header, metadata and tensors, all checked against the file's real length before anything is trusted.

Lives here: the byte format and the plain sentences for files that are not what their name says. May not: know what a
tensor means (`config` does) or write anything. The `gguf` library is used only to decode blocks, as its own reader
fails on damaged files in obscure ways and takes seconds for a large vocabulary.
"""

from __future__ import annotations

import math
import mmap
import re
import stat
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lacli.errors import ModelUnavailable
from lacli.models.gguf.magic import MAGIC

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_VERSIONS = (2, 3)
_MOST_TEXT, _MOST_VALUES = 1 << 24, 1 << 23
"""Of the metadata, in which models have a million at most: a damaged length must not have weights taken for values."""
_MOST_COUNTED = 1_000_000
"""Parts or tensors."""
_SHOWN = 80
"""Characters of a name that a message has."""
_AGAIN = "fetch the file again"
_WRONG_KINDS = {
    "clip": "an image projector (mmproj)",
    "mtmd": "an image projector (mmproj)",
    "bert": "an embedding model",
    "nomic-bert": "an embedding model",
    "nomic-bert-moe": "an embedding model",
    "jina-bert-v2": "an embedding model",
    "jina-bert-v3": "an embedding model",
    "modern-bert": "an embedding model",
    "neo-bert": "an embedding model",
    "eurobert": "an embedding model",
    "gemma-embedding": "an embedding model",
    "t5encoder": "a text encoder",
    "wavtokenizer-dec": "an audio decoder",
    "whisper": "a speech recogniser",
    "sd1": "an image generator",
    "sdxl": "an image generator",
    "sd3": "an image generator",
    "flux": "an image generator",
}
_WRONG_TYPES = {
    "adapter": "a LoRA adapter, not a whole model",
    "mmproj": "an image projector (mmproj), not a language model",
    "imatrix": "an importance matrix for quantising, not a model",
    "vocab": "a vocabulary without weights",
}
_PART = re.compile(r"-(\d{5})-of-(\d{5})(\.gguf)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class GgufTensor:
    """Where one tensor lies and how it is stored."""

    name: str
    type_name: str
    """Block format by the gguf library's name, for instance Q4_1."""
    shape: tuple[int, ...]
    """In torch's order: rows first."""
    path: Path
    """The file that holds it (split models have several)."""
    offset: int
    """First byte in that file."""
    nbytes: int


@dataclass(frozen=True, slots=True)
class GgufFile:
    """A checked GGUF file, or all parts of a split one."""

    paths: tuple[Path, ...]
    fields: Mapping[str, Any]
    """Metadata as plain Python values; arrays are lists."""
    tensors: Mapping[str, GgufTensor]

    @property
    def architecture(self) -> str:
        """`general.architecture`, for instance llama."""
        return str(self.fields["general.architecture"])

    @property
    def parameters(self) -> int:
        """Weights of all tensors together."""
        return sum(math.prod(tensor.shape) for tensor in self.tensors.values())


class _Short(Exception):
    """The header goes on past the end of the file."""


class _Cursor:
    """Reads values one after the other; never past the end."""

    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self.at = 0
        self._values = 0
        """In all lists so far."""

    def take(self, count: int) -> int:
        """Move on by `count` bytes and return where they begin."""
        begin = self.at
        if count > len(self.data) - begin:
            raise _Short
        self.at = begin + count
        return begin

    def scalar(self, code: str) -> Any:
        return struct.unpack_from("<" + code, self.data, self.take(struct.calcsize("<" + code)))[0]

    def text(self) -> str:
        count = self.scalar("Q")
        if count > len(self.data) - self.at:
            raise _Short
        if count > _MOST_TEXT:
            raise ValueError(f"a text of {count:,} bytes")
        begin = self.take(count)
        return self.data[begin : begin + count].decode("utf-8", errors="replace")

    def value(self, kind: int, depth: int = 0) -> Any:
        if kind == _STRING:
            return self.text()
        if kind in _SCALARS:
            return self.scalar(_SCALARS[kind])
        if kind != _ARRAY or depth > 4:
            raise ValueError(f"value type {kind}")
        inner, count = self.scalar("I"), self.scalar("Q")
        if count > len(self.data):
            raise _Short
        self._values += count
        if self._values > _MOST_VALUES:
            raise ValueError(f"{self._values:,} values")
        if inner in _SCALARS:
            form = f"<{count}{_SCALARS[inner]}"
            return list(struct.unpack_from(form, self.data, self.take(struct.calcsize(form))))
        if count * 8 > len(self.data) - self.at:  # a string or an inner array takes eight bytes at least
            raise _Short
        return [self.value(inner, depth + 1) for _ in range(count)]


def read_gguf(path: Path) -> GgufFile:
    """Read and check header and tensor table of `path` and, for split models, of all other parts."""
    first = _first_part(path)
    fields, tensors = _read_one(first)
    paths = [first]
    count = _count(first, fields, "split.count", 0)
    if count > 1:
        for part in _other_parts(first, count):
            tensors |= _read_one(part)[1]
            paths.append(part)
        wanted = _count(first, fields, "split.tensors.count", len(tensors))
        if wanted != len(tensors):
            raise ModelUnavailable(
                f"the {count} parts of {first.name} hold {len(tensors)} tensors, the first asks for {wanted}", _AGAIN
            )
    _refuse_wrong_kind(first, fields, tensors)
    return GgufFile(tuple(paths), fields, tensors)


def load_tensor(tensor: GgufTensor) -> NDArray[np.float32]:
    """Decode one tensor to float32; the result is the caller's own memory."""
    import numpy as np

    raw = np.memmap(tensor.path, dtype=np.uint8, mode="r", offset=tensor.offset, shape=(tensor.nbytes,))
    return decode(raw.reshape(math.prod(tensor.shape[:-1]), -1), tensor.type_name).reshape(tensor.shape)


def load_rows(tensor: GgufTensor, rows: NDArray[np.intp]) -> NDArray[np.float32]:
    """Decode these rows of a matrix to float32."""
    import numpy as np

    raw = np.memmap(tensor.path, dtype=np.uint8, mode="r", offset=tensor.offset, shape=(tensor.nbytes,))
    return decode(np.asarray(raw).reshape(tensor.shape[0], -1)[rows], tensor.type_name)


def decode(raw: NDArray[np.uint8], type_name: str) -> NDArray[np.float32]:
    """Rows of bytes in a block format to rows of float32."""
    import numpy as np
    from gguf import GGMLQuantizationType
    from gguf.quants import dequantize

    with np.errstate(invalid="ignore", over="ignore"):  # what is no number in a damaged file is found later
        return np.array(dequantize(raw, GGMLQuantizationType[type_name]), dtype=np.float32)


def _first_part(path: Path) -> Path:
    match = _PART.search(path.name)
    if match is None or match[1] == "00001":
        return path
    return path.with_name(f"{path.name[: match.start()]}-00001-of-{match[2]}{match[3]}")


def _count(path: Path, fields: Mapping[str, Any], key: str, default: int) -> int:
    value = fields.get(key, default)
    if not isinstance(value, int) or not 0 <= value <= _MOST_COUNTED:
        raise ModelUnavailable(f"{path.name} has a damaged header ({key} = {value!r:.40})", _AGAIN)
    return value


def _other_parts(first: Path, count: int) -> list[Path]:
    match = _PART.search(first.name)
    if match is None or count > 99_999:
        raise ModelUnavailable(
            f"{first.name} is part 1 of {count} of a split model, but is not called …-00001-of-{count:05d}.gguf",
            "give the parts their original names, or merge them with llama-gguf-split --merge",
        )
    stem = first.name[: match.start()]
    parts = [first.with_name(f"{stem}-{number:05d}-of-{count:05d}{match[3]}") for number in range(2, count + 1)]
    absent = [part.name for part in parts if not part.is_file()]
    if absent:
        raise ModelUnavailable(
            f"{first.name} is one of {count} parts and {_some(absent)} missing", "put all parts into one folder"
        )
    return parts


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    return f"{shown} {'are' if len(names) > 1 else 'is'}"


def _read_one(path: Path) -> tuple[dict[str, Any], dict[str, GgufTensor]]:
    try:
        found = path.stat()
    except OSError as error:
        raise ModelUnavailable(f"cannot read {path}: {error.strerror}", "check the path") from error
    if stat.S_ISDIR(found.st_mode):
        raise ModelUnavailable(f"{path} is a folder, not a GGUF file", "name the .gguf file in it")
    if not stat.S_ISREG(found.st_mode):
        raise ModelUnavailable(f"{path} is not a regular file", "copy the model to a file first")
    if found.st_size == 0:
        raise ModelUnavailable(f"{path.name} is empty: incomplete download", _AGAIN)
    try:
        with path.open("rb") as handle, mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _parse(path, data)
    except OSError as error:
        raise ModelUnavailable(f"cannot read {path}: {error.strerror}", "check its permissions") from error
    except _Short:
        raise ModelUnavailable(
            f"{path.name} has {found.st_size:,} bytes and its header alone asks for more: incomplete download", _AGAIN
        ) from None
    except ValueError as error:
        raise ModelUnavailable(f"{path.name} has a damaged header ({error})", _AGAIN) from error


def _parse(path: Path, data: mmap.mmap) -> tuple[dict[str, Any], dict[str, GgufTensor]]:
    _check_magic(path, data)
    cursor = _Cursor(data)
    cursor.take(8)
    tensor_count, field_count = cursor.scalar("Q"), cursor.scalar("Q")
    if tensor_count * 24 > len(data) or field_count * 13 > len(data):  # the fewest bytes an entry can take
        raise _Short
    fields: dict[str, Any] = {}
    for _ in range(field_count):
        key = cursor.text()
        fields[key] = cursor.value(cursor.scalar("I"))
    table: list[tuple[str, tuple[int, ...], int, int]] = []
    for _ in range(tensor_count):
        name, rank = cursor.text(), cursor.scalar("I")
        if rank > 8:
            raise ValueError(f"tensor {name[:_SHOWN]!r} with {rank} dimensions")
        shape = tuple(cursor.scalar("Q") for _ in range(rank))[::-1]
        table.append((name, shape, cursor.scalar("I"), cursor.scalar("Q")))
    alignment = fields.get("general.alignment", 32)
    if not isinstance(alignment, int) or alignment <= 0 or alignment & (alignment - 1):
        raise ValueError(f"general.alignment = {alignment!r:.40}")
    base = -(-cursor.at // alignment) * alignment
    tensors = {name: _tensor(path, name, shape, kind, base + offset) for name, shape, kind, offset in table}
    needed = max((tensor.offset + tensor.nbytes for tensor in tensors.values()), default=cursor.at)
    if needed > len(data):
        raise ModelUnavailable(
            f"{path.name} has {len(data):,} bytes, its header asks for {needed:,}: incomplete download", _AGAIN
        )
    return fields, tensors


def _check_magic(path: Path, data: mmap.mmap) -> None:
    head = bytes(data[:512])
    if not head.startswith(MAGIC[: len(head)]):
        start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
        if start.startswith(b"version https://git-lfs"):
            raise ModelUnavailable(
                f"{path.name} is a Git LFS pointer, not the model", "run `git lfs pull`, or download the file itself"
            )
        if start.startswith((b"<!doctype", b"<html", b"<?xml", b"<head")):
            raise ModelUnavailable(
                f"{path.name} is a web page, not a GGUF file",
                "download the file itself; the site may want a login first",
            )
        if head[:4] in (b"lmgg", b"tjgg", b"fmgg", b"algg"):
            raise ModelUnavailable(f"{path.name} is in the GGML format of 2023", "get the same model as GGUF")
        raise ModelUnavailable(f"{path.name} is not a GGUF file (it begins with {head[:4]!r})", _AGAIN)
    if len(head) < 24:
        raise _Short
    version = struct.unpack_from("<I", head, 4)[0]
    if version in _VERSIONS:
        return
    if version & 0xFFFF == 0:
        raise ModelUnavailable(
            f"{path.name} was written for big-endian machines", "get the little-endian file of the model"
        )
    known = " and ".join(str(one) for one in _VERSIONS)
    raise ModelUnavailable(
        f"{path.name} has GGUF version {version}, lacli reads {known}", "get a file made with a current llama.cpp"
    )


def _tensor(path: Path, name: str, shape: tuple[int, ...], kind: int, offset: int) -> GgufTensor:
    import gguf

    try:
        quant = gguf.GGMLQuantizationType(kind)
    except ValueError:
        raise ModelUnavailable(
            f"{path.name} stores {name[:_SHOWN]!r} as type {kind}, which is unknown here",
            "get another quantisation of the model",
        ) from None
    block, block_bytes = gguf.GGML_QUANT_SIZES[quant]
    count = 1
    for size in shape:
        count *= size
    if not shape or shape[-1] % block:
        raise ValueError(
            f"{name[:_SHOWN]!r} has rows of {shape[-1] if shape else 0} values, {quant.name} needs multiples of {block}"
        )
    if not count:
        raise ValueError(f"{name[:_SHOWN]!r} has no values")
    return GgufTensor(name, quant.name, shape, path, offset, count // block * block_bytes)


def _refuse_wrong_kind(path: Path, fields: Mapping[str, Any], tensors: Mapping[str, GgufTensor]) -> None:
    remedy = "get the GGUF of a text model, for instance of Qwen2.5-Coder-Instruct"
    kind = str(fields.get("general.type", "model"))
    if kind in _WRONG_TYPES:
        base = str(fields.get("general.base_model.0.name") or "")[:_SHOWN]
        if kind == "adapter":
            remedy = f"merge it into its base model{f' ({base})' if base else ''} first, or get the merged model"
        raise ModelUnavailable(f"{path.name} is {_WRONG_TYPES[kind]}", remedy)
    architecture = fields.get("general.architecture")
    if not isinstance(architecture, str):
        raise ModelUnavailable(f"{path.name} names no architecture (general.architecture)", remedy)
    if architecture in _WRONG_KINDS:
        raise ModelUnavailable(
            f"{path.name} is {_WRONG_KINDS[architecture]} (architecture {architecture}), not a language model", remedy
        )
    if not tensors:
        raise ModelUnavailable(f"{path.name} holds no tensors", remedy)
    _refuse_undecodable(path, tensors)


def _refuse_undecodable(path: Path, tensors: Mapping[str, GgufTensor]) -> None:
    """One block of zeros per format tells whether the library can decode it."""
    import gguf
    import numpy as np

    seen: dict[str, str] = {}
    for tensor in tensors.values():
        seen.setdefault(tensor.type_name, tensor.name)
    for type_name, example in seen.items():
        kind = gguf.GGMLQuantizationType[type_name]
        try:
            gguf.quants.dequantize(np.zeros((1, gguf.GGML_QUANT_SIZES[kind][1]), dtype=np.uint8), kind)
        except NotImplementedError:
            raise ModelUnavailable(
                f"{path.name} stores {example[:_SHOWN]!r} as {type_name}, which the gguf library cannot decode",
                "get another quantisation of the model",
            ) from None
