"""What goes into the shipped weights: the right source, read rightly, rounded by no more than half a step."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from veridical.errors import ConfigError
from veridical.training.export_embedder import parse_safetensors, plain_tokenizer, quantise, read_source


def test_a_source_with_another_hash_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"something else")
    with pytest.raises(ConfigError, match="not the published file"):
        read_source(tmp_path, "model.safetensors")


def test_a_wheel_without_the_file_is_refused(tmp_path: Path) -> None:
    wheel = tmp_path / "some.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("some/readme.txt", "nothing here")
    with pytest.raises(ConfigError, match=r"holds no model\.safetensors"):
        read_source(wheel, "model.safetensors")


def test_safetensors_are_read_by_their_offsets() -> None:
    one, two = np.arange(6, dtype=np.float32), np.array([-1.5], np.float32)
    header = json.dumps(
        {
            "__metadata__": {"format": "pt"},
            "one": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
            "two": {"dtype": "F32", "shape": [1], "data_offsets": [24, 28]},
        }
    ).encode()
    tensors = parse_safetensors(len(header).to_bytes(8, "little") + header + one.tobytes() + two.tobytes())
    np.testing.assert_array_equal(tensors["one"], one.reshape(2, 3))
    np.testing.assert_array_equal(tensors["two"], two)


def test_rounding_errs_by_at_most_half_a_step() -> None:
    weights = np.random.default_rng(0).normal(size=(4, 3, 128)).astype(np.float32)
    weights[0, 0] = 0
    scales, whole = quantise(weights)
    assert np.abs(whole).max() == 127
    assert (np.abs(whole * scales[..., None] - weights) <= scales[..., None] * 0.5001).all()


def test_the_shipped_tokenizer_neither_pads_nor_cuts() -> None:
    published = json.dumps({"truncation": {"max_length": 128}, "padding": {"strategy": {"Fixed": 128}}, "model": {}})
    assert json.loads(plain_tokenizer(published.encode())) == {"truncation": None, "padding": None, "model": {}}
