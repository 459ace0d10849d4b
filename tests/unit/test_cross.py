"""The cross-encoder's weights: missing, cut short, damaged, of another version, or answering nonsense."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from veridical.errors import ModelUnavailable
from veridical.models import cross
from veridical.models.cross_encoder import WEIGHTS, Code, CrossEncoder
from veridical.models.judge import LocalJudge
from veridical.models.pairs import Remembered, slices
from veridical.models.relevance import Relevance


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    shutil.copytree(WEIGHTS.parent / "minilm", tmp_path / "minilm", ignore=shutil.ignore_patterns("model.onnx"))
    shutil.copytree(WEIGHTS, tmp_path / "judge")
    return tmp_path / "judge"


def fails(weights: Path) -> str:
    with pytest.raises(ModelUnavailable) as caught:
        LocalJudge(CrossEncoder(weights)).entail_now([("Fish swim.", "Fish swim.")])
    assert "reinstall" in caught.value.fix
    return caught.value.message


def change_manifest(weights: Path, **entries: object) -> None:
    manifest = json.loads((weights / "manifest.json").read_text())
    (weights / "manifest.json").write_text(json.dumps({**manifest, **entries}))


def test_missing_weights_are_named(copied: Path) -> None:
    (copied / "model.onnx").unlink()
    assert "model.onnx is missing" in fails(copied)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    assert "manifest cannot be read" in fails(tmp_path / "gone")


def test_truncated_weights_are_refused(copied: Path) -> None:
    content = (copied / "model.onnx").read_bytes()
    (copied / "model.onnx").write_bytes(content[: len(content) // 2])
    assert "instead of" in fails(copied)


def test_one_flipped_bit_is_refused(copied: Path) -> None:
    content = bytearray((copied / "model.onnx").read_bytes())
    content[len(content) // 2] ^= 1
    (copied / "model.onnx").write_bytes(content)
    assert "damaged" in fails(copied)


def test_weights_that_are_no_model_are_refused(copied: Path) -> None:
    import hashlib

    content = b"\x07" * 1000
    (copied / "model.onnx").write_bytes(content)
    files = json.loads((copied / "manifest.json").read_text())["files"]
    files["model.onnx"] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    change_manifest(copied, files=files)
    assert "cannot be loaded" in fails(copied)


def test_a_damaged_tokenizer_is_refused(copied: Path) -> None:
    file = copied.parent / "minilm" / "tokenizer.json"
    file.write_bytes(b"{" * file.stat().st_size)
    assert "tokenizer.json is damaged" in fails(copied)


def test_another_version_is_refused(copied: Path) -> None:
    change_manifest(copied, format=99)
    assert "is of format 99" in fails(copied)


@pytest.mark.parametrize("content", ["{", "[]", "", "\x00"])
def test_a_manifest_that_is_no_object_is_refused(copied: Path, content: str) -> None:
    (copied / "manifest.json").write_text(content)
    fails(copied)


def test_a_manifest_without_a_threshold_is_refused(copied: Path) -> None:
    change_manifest(copied, judge={"temperature": 1.0, "window_tokens": 220})
    assert "lacks threshold" in fails(copied)
    with pytest.raises(ModelUnavailable):
        _ = LocalJudge(CrossEncoder(copied)).threshold


def test_scores_that_are_no_numbers_are_an_error() -> None:
    class Broken(CrossEncoder):
        def _run(self, codes: Sequence[Code]) -> np.ndarray:
            return np.full((len(codes), 4), np.nan, np.float32)

    with pytest.raises(ModelUnavailable, match="no number"):
        LocalJudge(Broken()).entail_now([("Fish swim.", "Fish swim.")])
    with pytest.raises(ModelUnavailable, match="no number"):
        Relevance(Broken()).score_now([("Do fish swim?", "Fish swim.")])


def test_the_weights_are_as_built() -> None:
    encoder = CrossEncoder()
    assert set(encoder.verify_weights()) == set(encoder.manifest["files"])
    assert encoder.fingerprint.startswith("cross-")
    assert 0.0 < LocalJudge(encoder).threshold < 1.0
    assert cross.LocalJudge is LocalJudge


def test_a_long_passage_is_relevant_when_any_part_is() -> None:
    class LastWord(CrossEncoder):
        def logits(self, codes: Sequence[Code]) -> np.ndarray:
            (word,) = self.tokenize(["quartz"])[0]
            return np.array([[0, 0, 0, 9 if word in code.ids[code.split :] else -9] for code in codes], np.float32)

    scores = Relevance(LastWord()).score_now([("What is hard?", "word " * 2000 + "quartz"), ("What is hard?", "word")])
    assert scores[0] > 0.9
    assert scores[1] < 0.1


# ── pairs on their way ───────────────────────────────────────────────────────────────────────────


def test_slices_hold_every_pair_in_order() -> None:
    pairs = [(str(n), "x" * (900_000 if n % 7 == 0 else 3)) for n in range(40)]
    parts = list(slices(pairs, 8))
    assert [pair for part in parts for pair in part] == pairs
    assert max(map(len, parts)) == 8
    assert all(sum(len(a) + len(b) for a, b in part) <= 2_000_000 for part in parts)
    assert [len(part) for part in slices([("a" * 3_000_000, "b")] * 3, 8)] == [1, 1, 1]
    assert list(slices([], 8)) == []


def test_the_least_recently_used_score_is_forgotten_first() -> None:
    remembered: Remembered[int] = Remembered(most=2)
    remembered.keep({("a", "b"): 1, ("c", "d"): 2})
    assert remembered.look_up([("a", "b"), ("ab", ""), ("a", "b")]) == ({("a", "b"): 1}, [("ab", "")])
    remembered.keep({("e", "f"): 3})
    assert remembered.look_up([("c", "d"), ("a", "b")]) == ({("a", "b"): 1}, [("c", "d")])


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        ("judge", "threshold", 0.0),
        ("judge", "threshold", float("nan")),
        ("judge", "threshold", "0.5"),
        ("judge", "temperature", 0.0),
        ("judge", "window_tokens", 0),
        ("relevance", "slope", float("inf")),
    ],
)
def test_a_manifest_with_numbers_that_cannot_be_is_refused(copied: Path, section: str, key: str, value: object) -> None:
    manifest = json.loads((copied / "manifest.json").read_text())
    manifest[section][key] = value
    (copied / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ModelUnavailable, match="numbers that cannot be"):
        _ = CrossEncoder(copied).manifest
