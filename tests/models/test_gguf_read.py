"""Damaged, foreign and odd GGUF files are named for what they are before anything is decoded."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import gguf
import numpy as np
import pytest
from tiny_models import write_gguf

from lacli.errors import ModelUnavailable
from lacli.models.gguf.read import load_tensor, read_gguf


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf")


def refusal(path: Path) -> ModelUnavailable:
    with pytest.raises(ModelUnavailable) as caught:
        read_gguf(path)
    assert caught.value.hint
    return caught.value


class TestTruncated:
    @pytest.mark.parametrize("share", [4, 8, 24, 200, 0.3, 0.7, -1])
    def test_says_incomplete_download_and_how_many_bytes_are_there(
        self, whole: Path, tmp_path: Path, share: float
    ) -> None:
        data = whole.read_bytes()
        cut = data[: int(share * len(data)) if 0 < share < 1 else int(share)]
        path = tmp_path / "t.gguf"
        path.write_bytes(cut)
        message = refusal(path).message
        assert "incomplete download" in message
        assert f"{len(cut):,} bytes" in message

    def test_a_cut_in_the_weights_names_the_length_asked_for(self, whole: Path, tmp_path: Path) -> None:
        path = tmp_path / "t.gguf"
        path.write_bytes(whole.read_bytes()[:-5])
        asked = max(tensor.offset + tensor.nbytes for tensor in read_gguf(whole).tensors.values())
        assert f"its header asks for {asked:,}" in refusal(path).message

    def test_an_empty_file_is_said_to_be_empty(self, tmp_path: Path) -> None:
        path = tmp_path / "t.gguf"
        path.touch()
        assert "is empty" in refusal(path).message

    def test_every_cut_within_the_header_is_refused_with_one_line(self, whole: Path, tmp_path: Path) -> None:
        data = whole.read_bytes()
        path = tmp_path / "t.gguf"
        for length in range(1, 3000, 97):
            path.write_bytes(data[:length])
            assert "\n" not in refusal(path).message


class TestForeignFiles:
    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (b"<!DOCTYPE html><html>log in</html>", "web page"),
            (b"\n  <html><body>no</body></html>", "web page"),
            (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "Git LFS pointer"),
            (b"tjgg" + bytes(60), "GGML format"),
            (b"PK\x03\x04" + bytes(60), "not a GGUF file"),
        ],
    )
    def test_are_named(self, tmp_path: Path, content: bytes, words: str) -> None:
        path = tmp_path / "x.gguf"
        path.write_bytes(content)
        assert words in refusal(path).message

    def test_big_endian_files_are_named(self, whole: Path, tmp_path: Path) -> None:
        data = bytearray(whole.read_bytes())
        data[4:8] = struct.pack(">I", 3)
        path = tmp_path / "x.gguf"
        path.write_bytes(data)
        assert "big-endian" in refusal(path).message

    def test_an_unknown_version_is_named(self, whole: Path, tmp_path: Path) -> None:
        data = bytearray(whole.read_bytes())
        data[4:8] = struct.pack("<I", 9)
        path = tmp_path / "x.gguf"
        path.write_bytes(data)
        assert "version 9" in refusal(path).message

    def test_folders_are_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "x.gguf"
        path.mkdir()
        assert "is a folder" in refusal(path).message

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
    def test_named_pipes_are_refused_without_waiting_for_a_writer(self, tmp_path: Path) -> None:
        path = tmp_path / "x.gguf"
        os.mkfifo(path)
        assert "not a regular file" in refusal(path).message

    def test_random_damage_of_the_header_never_escapes_as_another_error(self, whole: Path, tmp_path: Path) -> None:
        data = whole.read_bytes()
        random = np.random.default_rng(3)
        path = tmp_path / "x.gguf"
        for _ in range(150):
            damaged = bytearray(data)
            for place in random.integers(8, 6000, size=4):
                damaged[place] = int(random.integers(0, 256))
            path.write_bytes(damaged)
            try:
                read_gguf(path)
            except ModelUnavailable as error:
                assert "\n" not in error.message  # noqa: PT017 - most damage is refused, some cannot be seen


class TestWrongKinds:
    @pytest.mark.parametrize(
        ("architecture", "words"), [("clip", "image projector"), ("bert", "embedding model"), ("t5encoder", "encoder")]
    )
    def test_models_that_write_no_text_are_named(self, tmp_path: Path, architecture: str, words: str) -> None:
        message = refusal(write_gguf(tmp_path / "x.gguf", declared=architecture)).message
        assert words in message
        assert architecture in message

    def test_adapters_name_their_base_model_and_the_remedy(self, tmp_path: Path) -> None:
        fields = {"general.type": "adapter", "general.base_model.0.name": "Tiny 1B"}
        error = refusal(write_gguf(tmp_path / "x.gguf", fields=fields))
        assert "adapter" in error.message
        assert "merge" in error.hint
        assert "Tiny 1B" in error.hint


class TestTensorTypes:
    @pytest.mark.parametrize("kind", ["F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"])
    def test_are_decoded_as_the_library_does(self, tmp_path: Path, kind: str) -> None:
        path = write_gguf(tmp_path / "x.gguf", stored_as=lambda name: kind)
        for reference in gguf.GGUFReader(path).tensors:
            mine = load_tensor(read_gguf(path).tensors[reference.name])
            theirs = gguf.dequantize(reference.data, reference.tensor_type)
            assert np.array_equal(mine, theirs.reshape(mine.shape))

    @pytest.mark.parametrize("kind", ["IQ4_NL", "IQ3_S", "MXFP4", "Q6_K", "IQ4_XS"])
    def test_block_formats_the_library_cannot_write_are_read_like_its_decoder(self, tmp_path: Path, kind: str) -> None:
        """The file's name does not matter: each tensor says how it is stored."""
        quant = gguf.GGMLQuantizationType[kind]
        block, size = gguf.GGML_QUANT_SIZES[quant]
        raw = np.random.default_rng(1).integers(0, 120, size=(4, 2 * size), dtype=np.uint8)
        writer = gguf.GGUFWriter(tmp_path / "q4_0.gguf", "llama")
        writer.add_tensor("odd.weight", raw, raw_dtype=quant)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        tensor = read_gguf(tmp_path / "q4_0.gguf").tensors["odd.weight"]
        assert tensor.shape == (4, 2 * block)
        expected = gguf.dequantize(raw, quant).astype(np.float32)
        assert np.array_equal(load_tensor(tensor), expected, equal_nan=True)

    def test_formats_nobody_here_can_decode_are_named_with_their_tensor(self, tmp_path: Path) -> None:
        writer = gguf.GGUFWriter(tmp_path / "x.gguf", "llama")
        writer.add_tensor("blk.0.odd.weight", np.zeros((4, 64), dtype=np.int8))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        message = refusal(tmp_path / "x.gguf").message
        assert "blk.0.odd.weight" in message
        assert "I8" in message

    def test_type_numbers_from_the_future_are_named_with_their_tensor(self, whole: Path, tmp_path: Path) -> None:
        data = bytearray(whole.read_bytes())
        place = data.index(b"token_embd.weight") + len(b"token_embd.weight") + 4 + 16
        assert struct.unpack_from("<I", data, place)[0] == 0
        data[place : place + 4] = struct.pack("<I", 977)
        path = tmp_path / "x.gguf"
        path.write_bytes(data)
        message = refusal(path).message
        assert "token_embd.weight" in message
        assert "977" in message


class TestSplitModels:
    @pytest.fixture
    def parts(self, tmp_path: Path) -> list[Path]:
        """The tiny model in three files, as llama-gguf-split writes them."""
        whole = gguf.GGUFReader(write_gguf(tmp_path / "whole.gguf"))
        writer = gguf.GGUFWriter(tmp_path / "tiny.gguf", "llama", split_max_tensors=8)
        for key, entry in whole.fields.items():
            if not key.startswith("GGUF.") and key != "general.architecture":
                inner = entry.types[-1] if entry.types[0] == gguf.GGUFValueType.ARRAY else None
                writer.add_key_value(key, entry.contents(), entry.types[0], inner)
        for tensor in whole.tensors:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return sorted(tmp_path.glob("tiny-*.gguf"))

    def test_are_read_as_one(self, parts: list[Path], tmp_path: Path) -> None:
        assert len(parts) == 3
        joined, whole = read_gguf(parts[0]), read_gguf(tmp_path / "whole.gguf")
        assert joined.tensors.keys() == whole.tensors.keys()
        for name, tensor in joined.tensors.items():
            assert np.array_equal(load_tensor(tensor), load_tensor(whole.tensors[name]))

    def test_may_be_named_by_any_part(self, parts: list[Path]) -> None:
        assert read_gguf(parts[2]).paths == tuple(parts)

    def test_absent_parts_are_listed(self, parts: list[Path]) -> None:
        parts[1].unlink()
        assert parts[1].name in refusal(parts[0]).message


def test_the_suffix_may_be_in_capitals(tmp_path: Path) -> None:
    from lacli.models.registry.registry import spec_of_path

    path = write_gguf(tmp_path / "TINY.GGUF")
    assert spec_of_path(path).kind == "gguf"
    assert read_gguf(path).architecture == "llama"
