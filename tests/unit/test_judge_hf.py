"""Models of the transformers library as the judge, against a stand-in for that library."""

from __future__ import annotations

import asyncio
import sys
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from veridical.errors import ModelUnavailable
from veridical.models.judge_hf import HfJudge, find_columns
from veridical.types import Entailment

NLI = ("entailment", "neutral", "contradiction")


class Numbers(np.ndarray):
    def float(self) -> Numbers:
        return self


class Tokenizer:
    """A word is a token; a batch keeps its texts, so that the model can look at them."""

    model_max_length = 130

    def __init__(self) -> None:
        self.words: list[str] = []

    def __call__(self, text: Any, second: Any = None, **options: Any) -> dict[str, Any]:
        if second is None:
            self.words += text.split()
            return {"input_ids": list(range(len(self.words) - len(text.split()), len(self.words)))}
        assert options["truncation"] == "only_first"
        assert all(len(f"{a} {b}".split()) <= options["max_length"] for a, b in zip(text, second, strict=True))
        return {"pairs": list(zip(text, second, strict=True))}

    def decode(self, ids: list[int]) -> str:
        return " ".join(self.words[number] for number in ids)


class Model:
    """Entailed when the premise holds every word of the claim, contradicted when it says so."""

    def __init__(self, labels: tuple[str, ...], broken: bool = False) -> None:
        self.config = SimpleNamespace(id2label={str(n): label for n, label in enumerate(labels)})
        self.labels, self.broken, self.batches = labels, broken, []

    def eval(self) -> Model:
        return self

    def __call__(self, pairs: list[tuple[str, str]]) -> SimpleNamespace:
        self.batches.append(len(pairs))
        return SimpleNamespace(logits=np.array([self.row(*pair) for pair in pairs]).view(Numbers))

    def row(self, premise: str, claim: str) -> list[float]:
        if self.broken:
            return [float("nan")] * len(self.labels)
        held = set(claim.split()) <= set(premise.split())
        wanted = "entail" if held else "contradict" if premise.startswith("No") else "neutral"
        if len(self.labels) == 2:
            return [0.0, 8.0] if held else [8.0, 0.0]
        return [8.0 if label.lower().startswith(wanted) else 0.0 for label in self.labels]


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The modules torch and transformers as far as the judge uses them; what it loads with is recorded."""
    seen: dict[str, Any] = {"model": Model(NLI), "options": []}

    def load(kind: str) -> Any:
        def from_pretrained(name: str, **options: Any) -> Any:
            seen["options"].append({"name": name, **options})
            if name == "missing":
                raise OSError("missing is not a local folder")
            return seen[kind]

        return SimpleNamespace(from_pretrained=from_pretrained)

    def softmax(logits: np.ndarray, dim: int) -> np.ndarray:
        odds = np.exp(logits)
        return np.asarray(odds / odds.sum(axis=dim, keepdims=True))

    seen["tokenizer"] = Tokenizer()
    torch, transformers = ModuleType("torch"), ModuleType("transformers")
    vars(torch).update(inference_mode=nullcontext, softmax=softmax, isfinite=np.isfinite)
    vars(transformers).update(AutoTokenizer=load("tokenizer"), AutoModelForSequenceClassification=load("model"))
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "transformers", transformers)
    return seen


def ask(judge: HfJudge, *pairs: tuple[str, str]) -> list[Entailment]:
    return list(asyncio.run(judge.entail(pairs)))


PAIRS = (("Fish swim fast", "Fish swim"), ("No fish here", "Fish swim"), ("Bread needs salt", "Fish swim"))


@pytest.mark.parametrize(
    "labels", [NLI, ("CONTRADICTION", "ENTAILMENT", "NEUTRAL"), ("contradiction", "neutral", "entailment")]
)
def test_labels_are_found_in_any_order(library: dict[str, Any], labels: tuple[str, ...]) -> None:
    library["model"] = Model(labels)
    yes, against, neither = ask(HfJudge("some/model"), *PAIRS)
    assert yes.entailment > 0.9
    assert against.contradiction > 0.9
    assert neither.neutral > 0.9
    assert all(sum(found) == pytest.approx(1.0) for found in (yes, against, neither))


@pytest.mark.parametrize(("name", "supported"), [("some/minicheck#1", 0), ("some/other#0", 1)])
def test_of_nameless_labels_the_user_says_which_means_support(
    library: dict[str, Any], name: str, supported: int
) -> None:
    library["model"] = Model(("LABEL_0", "LABEL_1"))
    found = ask(HfJudge(name), *PAIRS)
    assert found[supported].entailment > 0.9
    assert found[1 - supported] == pytest.approx((1 - found[supported].entailment, found[supported].entailment, 0.0))
    assert {options["name"] for options in library["options"]} == {name[:-2]}


def test_nameless_labels_are_refused_and_the_error_says_how_to_name_the_column(library: dict[str, Any]) -> None:
    library["model"] = Model(("LABEL_0", "LABEL_1"))
    with pytest.raises(ModelUnavailable, match="none says support") as caught:
        ask(HfJudge("some/minicheck"), *PAIRS)
    assert "hf:some/minicheck#1" in caught.value.fix
    with pytest.raises(ModelUnavailable, match="output 7"):
        ask(HfJudge("some/minicheck#7"), *PAIRS)


def test_a_folder_may_have_a_hash_in_its_name(library: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "nli#1").mkdir()
    judge = HfJudge(str(tmp_path / "nli#1"))
    assert (judge.name, judge.column) == (str(tmp_path / "nli#1"), None)
    assert HfJudge(f"{judge.name}#2").column == 2


def test_a_model_that_reads_too_few_tokens_is_refused(library: dict[str, Any]) -> None:
    library["tokenizer"].model_max_length = 66
    with pytest.raises(ModelUnavailable, match="reads 64 tokens"):
        ask(HfJudge("some/model"), ("Fish swim " * 40, "Fish swim"))


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        (("not_entailment", "entailment"), (1, None)),
        (("entailment", "not_entailment"), (0, None)),
        (("Unsupported", "Supported"), (1, None)),
        (("hallucinated", "consistent"), (1, None)),
        (("inconsistent", "consistent"), (1, None)),
        (("ok", "factual inconsistency"), None),
        (("grounded", "counterfactual"), (0, None)),
        (("correct", "factually wrong"), (0, None)),
        (("Not Supported", "unfaithful"), None),
        (("supported", "correct"), None),
        (("0", "1"), None),
        (("LABEL_0", "LABEL_1"), None),
        (("SUPPORTS", "REFUTES", "NOT ENOUGH INFO"), (0, 1)),
        (("LABEL_0",), None),
        (("LABEL_0", "LABEL_1", "LABEL_2"), None),
        (("positive", "negative"), None),
        (("relevance",), None),
    ],
)
def test_what_the_labels_mean(labels: tuple[str, ...], found: tuple[int, int | None] | None) -> None:
    assert find_columns(dict(enumerate(labels))) == found


@pytest.mark.parametrize(
    ("labels", "asked", "found"),
    [
        (("LABEL_0", "LABEL_1"), 1, (1, None)),
        (("contradiction", "ok", "neutral"), 1, (1, 0)),
        (("contradiction", "ok"), 0, None),
        (("LABEL_0",), 0, None),
        (("LABEL_0", "LABEL_1"), 2, None),
    ],
)
def test_what_an_asked_column_means(labels: tuple[str, ...], asked: int, found: tuple[int, int | None] | None) -> None:
    assert find_columns(dict(enumerate(labels)), asked) == found


def test_labels_that_say_nothing_are_refused(library: dict[str, Any]) -> None:
    library["model"] = Model(("joy", "anger", "fear"))
    with pytest.raises(ModelUnavailable, match="joy, anger, fear"):
        ask(HfJudge("some/model"), *PAIRS)


def test_nothing_is_fetched_unless_allowed(library: dict[str, Any]) -> None:
    ask(HfJudge("some/model"), *PAIRS)
    assert all(options["local_files_only"] and not options["trust_remote_code"] for options in library["options"])
    library["options"].clear()
    ask(HfJudge("some/model", download=True), *PAIRS)
    assert not any(options["local_files_only"] or options["trust_remote_code"] for options in library["options"])


def test_a_model_that_is_not_there_says_how_to_get_it(library: dict[str, Any]) -> None:
    with pytest.raises(ModelUnavailable, match="cannot be loaded") as caught:
        ask(HfJudge("missing"), *PAIRS)
    assert "verify.download" in caught.value.fix


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModelUnavailable) as caught:
        ask(HfJudge("some/model"), *PAIRS)
    assert "pip install 'veridical[hf]'" in caught.value.fix


def test_scores_that_are_no_numbers_are_an_error(library: dict[str, Any]) -> None:
    library["model"] = Model(NLI, broken=True)
    with pytest.raises(ModelUnavailable, match="no number"):
        ask(HfJudge("some/model"), *PAIRS)


def test_a_long_premise_is_read_in_pieces_and_the_best_counts(library: dict[str, Any]) -> None:
    filler = " ".join(f"word{n}" for n in range(400))
    premise = f"{filler} Fish swim {filler}"
    assert ask(HfJudge("some/model"), (premise, "Fish swim"))[0].entailment > 0.9
    assert sum(library["model"].batches) > 5


def test_a_long_claim_is_as_good_as_its_worst_piece(library: dict[str, Any]) -> None:
    claim = "Fish swim " * 200 + "backwards"
    assert ask(HfJudge("some/model"), ("Fish swim", claim))[0].entailment < 0.1
    assert ask(HfJudge("some/model"), ("Fish swim backwards", claim))[0].entailment > 0.9


def test_empty_texts_are_neutral_and_nothing_is_computed_twice(library: dict[str, Any]) -> None:
    judge = HfJudge("some/model")
    assert ask(judge, ("", "Fish"), ("Fish", " ")) == [Entailment(0.0, 1.0, 0.0)] * 2
    assert ask(judge, *PAIRS, *PAIRS) == [*ask(judge, *PAIRS), *ask(judge, *PAIRS)]
    assert library["model"].batches == [3]
    assert judge.declines("Die Brücke ist lang.") == ""
