"""The local judge beyond its contract: long texts, several sentences, what is remembered, broken weights."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from veridical.errors import ModelUnavailable
from veridical.models.cross import WEIGHTS, Code, CrossEncoder, LocalJudge, Relevance, combine
from veridical.types import Entailment


class CountingEncoder(CrossEncoder):
    """Supports a claim when its first word is in the window: what is asked of it can be counted."""

    def __init__(self) -> None:
        super().__init__(threads=1)
        self.asked: list[Code] = []

    def logits(self, codes: Sequence[Code]) -> np.ndarray:
        self.asked += codes
        held = [code.ids[code.split] in code.ids[: code.split] for code in codes]
        return np.array([[9, 0, 0, 9] if yes else [0, 9, 0, -9] for yes in held], np.float32)


@pytest.fixture
def counting() -> CountingEncoder:
    return CountingEncoder()


def entail(encoder: CrossEncoder, premise: str, claim: str) -> Entailment:
    return LocalJudge(encoder).entail_now([(premise, claim)])[0]


def test_a_long_passage_is_read_in_windows_and_the_best_counts(counting: CountingEncoder) -> None:
    filler = " ".join(f"The weather of day {n} was mild and the road was dry." for n in range(200))
    assert entail(counting, f"{filler} Quartz is hard. {filler}", "Quartz is a mineral.").entailment > 0.9
    assert len(counting.asked) > 5
    assert max(len(code.ids) for code in counting.asked) <= counting.max_tokens


def test_a_claim_is_as_good_as_its_worst_sentence(counting: CountingEncoder) -> None:
    assert entail(counting, "Quartz is hard. Iron rusts.", "Quartz is hard. Iron rusts.").entailment > 0.9
    assert entail(counting, "Quartz is hard. Iron rusts.", "Quartz is hard. Copper shines.").entailment < 0.1


def test_a_question_and_its_answer_are_one_claim(counting: CountingEncoder) -> None:
    entail(counting, "Quartz is hard.", "Is quartz hard? Yes, quartz is hard.")
    assert len(counting.asked) == 1


def test_a_sentence_of_5000_words_is_judged_in_parts(counting: CountingEncoder) -> None:
    assert entail(counting, "Quartz is hard.", "quartz " + "word " * 5000).entailment < 0.1
    assert max(len(code.ids) for code in counting.asked) <= counting.max_tokens


def test_a_pair_is_computed_once(counting: CountingEncoder) -> None:
    judge = LocalJudge(counting)
    pairs = [("Quartz is hard.", "Quartz is hard."), ("Quartz is hard.", "Iron rusts.")] * 3
    first = judge.entail_now(pairs)
    assert len(counting.asked) == 2
    assert judge.entail_now(pairs) == first
    assert len(counting.asked) == 2


def test_ten_thousand_claims_keep_their_order(counting: CountingEncoder) -> None:
    judge = LocalJudge(counting)
    pairs = [("Quartz is hard.", f"{'Quartz' if n % 3 else 'Iron'} {n}") for n in range(1000)]
    found = asyncio.run(judge.entail(pairs))
    assert [e.entailment > 0.5 for e in found] == [bool(n % 3) for n in range(1000)]


def test_support_and_contradiction_never_exceed_one() -> None:
    probabilities = np.array([[0.7, 0.1, 0.2], [0.1, 0.0, 0.9]])
    found = combine(probabilities, [[0, 1]])
    assert found.entailment == pytest.approx(0.7)
    assert sum(found) == pytest.approx(1.0)
    assert combine(probabilities, []) == Entailment(0.0, 1.0, 0.0)


def test_a_long_passage_is_relevant_when_any_part_is(counting: CountingEncoder) -> None:
    class LastWord(CountingEncoder):
        def logits(self, codes: Sequence[Code]) -> np.ndarray:
            ids = self.tokenize(["quartz"])[0]
            return np.array([[0, 0, 0, 9 if ids[0] in code.ids[code.split :] else -9] for code in codes], np.float32)

    scores = Relevance(LastWord()).score_now([("What is hard?", "word " * 2000 + "quartz"), ("What is hard?", "word")])
    assert scores[0] > 0.9
    assert scores[1] < 0.1


# ── broken weights ───────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    shutil.copytree(WEIGHTS.parent / "minilm", tmp_path / "minilm", ignore=shutil.ignore_patterns("model.onnx"))
    shutil.copytree(WEIGHTS, tmp_path / "judge")
    return tmp_path / "judge"


def fails(weights: Path) -> str:
    with pytest.raises(ModelUnavailable) as caught:
        LocalJudge(CrossEncoder(weights=weights)).entail_now([("Fish swim.", "Fish swim.")])
    assert "reinstall" in caught.value.fix
    return caught.value.message


def test_missing_weights_are_named(copied: Path) -> None:
    (copied / "model.onnx").unlink()
    assert "0 bytes" in fails(copied)


def test_truncated_weights_are_refused(copied: Path) -> None:
    content = (copied / "model.onnx").read_bytes()
    (copied / "model.onnx").write_bytes(content[: len(content) // 2])
    assert "instead of" in fails(copied)


def test_weights_of_the_right_size_that_are_no_model_are_refused(copied: Path) -> None:
    size = (copied / "model.onnx").stat().st_size
    (copied / "model.onnx").write_bytes(b"\x07" * size)
    assert "cannot be loaded" in fails(copied)


def test_another_version_is_refused(copied: Path) -> None:
    manifest = json.loads((copied / "manifest.json").read_text())
    (copied / "manifest.json").write_text(json.dumps({**manifest, "format": 2}))
    assert "format 2" in fails(copied)


def test_a_manifest_that_is_no_json_is_refused(copied: Path) -> None:
    (copied / "manifest.json").write_text("{")
    assert "manifest" in fails(copied)


def test_scores_that_are_no_numbers_are_an_error() -> None:
    class Broken(CrossEncoder):
        def _run(self, codes: Sequence[Code]) -> np.ndarray:
            return np.full((len(codes), 4), np.nan, np.float32)

    with pytest.raises(ModelUnavailable):
        LocalJudge(Broken()).entail_now([("Fish swim.", "Fish swim.")])


def test_the_weights_are_as_built() -> None:
    encoder = CrossEncoder()
    assert set(encoder.verify_weights()) == set(encoder.manifest["files"])
    assert encoder.fingerprint.startswith("cross-")
    assert 0.0 < LocalJudge(encoder).threshold < 1.0
