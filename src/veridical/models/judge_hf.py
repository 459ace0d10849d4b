"""Any sequence-classification model of the transformers library as the judge: NLI cross-encoders, MiniCheck and kin.

Needs the extra `hf`. Nothing is fetched from the network unless `download` says so, and code that comes with a model
is never run.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from veridical.errors import ModelUnavailable
from veridical.models.judge import combine
from veridical.models.pairs import Pair, Remembered, readable, slices
from veridical.types import Entailment

_SLICE_PAIRS = 64
_BATCH = 8
_MOST_TOKENS = 512
_SPECIAL_TOKENS = 8  # more than any model puts around a pair
_OVERLAP = 32  # tokens that a premise's pieces share
# Whole names only: "counterfactual", "factually wrong" and "unsupported" hold the word, and mean the opposite.
_SUPPORT = re.compile(
    r"entail(?:ment|ed)|support(?:s|ed)?|consistent|factual|faithful|attributable|grounded|correct", re.IGNORECASE
)
_OPPOSE = re.compile(r"contradict(?:ion|ed|s)|refute[sd]?", re.IGNORECASE)
_ANOTHER = "choose a model whose config names its labels entailment, neutral and contradiction"
_COLUMN = re.compile(r"(.+)#(\d{1,3})")


class _Columns(NamedTuple):
    """Where the model's outputs say support and contradiction; the rest is neutral."""

    support: int
    against: int | None


class HfJudge:
    """A model by its name on the hub (already in the local cache) or by its folder. Loads on first use.

    Where a model's labels say nothing (LABEL_0, LABEL_1), `NAME#1` says which output means support, counted from 0.
    A premise longer than the model reads is cut into overlapping pieces, and the best piece counts; a claim longer
    than half of that is as good as its worst piece. Raises ModelUnavailable when the extra or the model is missing,
    its labels cannot be understood, it reads too few tokens, or its scores are no numbers.
    """

    threshold = 0.5

    def __init__(self, name: str, download: bool = False) -> None:
        asked = None if Path(name).expanduser().is_dir() else _COLUMN.fullmatch(name)  # a folder may be called a#1
        self.name = asked[1] if asked else name
        self.column = int(asked[2]) if asked else None
        self.download = download
        self._remembered: Remembered[Entailment] = Remembered()

    def declines(self, text: str) -> str:  # noqa: ARG002 - which languages the model reads is not known
        return ""

    async def entail(self, pairs: Sequence[Pair]) -> Sequence[Entailment]:
        """One distribution a (premise, claim), in order."""
        loop = asyncio.get_running_loop()
        found: list[Entailment] = []
        for part in slices(pairs, _SLICE_PAIRS):
            found += await loop.run_in_executor(self._worker, self._remember, part)
        return found

    # ── inside ───────────────────────────────────────────────────────────────────────────────────

    def _remember(self, pairs: Sequence[Pair]) -> list[Entailment]:
        known, missing = self._remembered.look_up(pairs)
        new = dict(zip(missing, self._entail(missing), strict=True))
        self._remembered.keep(new)
        known |= new
        return [known[pair] for pair in pairs]

    def _entail(self, pairs: Sequence[Pair]) -> list[Entailment]:
        inputs: dict[Pair, int] = {}
        plan: list[list[list[int]]] = []
        for premise, claim in ((readable(first), readable(second)) for first, second in pairs):
            rows = []
            if premise.strip() and claim.strip():
                longest = self._most // 2
                parts = self._pieces(claim, longest, 0)
                room = self._most - _SPECIAL_TOKENS - min(longest, len(self._tokens(claim)))
                pieces = self._pieces(premise, room, _OVERLAP)
                rows = [[inputs.setdefault((piece, part), len(inputs)) for piece in pieces] for part in parts]
            plan.append(rows)
        import numpy as np

        probabilities = np.array(list(self._probabilities(list(inputs))), np.float64) if inputs else None
        return [combine(probabilities, rows) for rows in plan]

    def _pieces(self, text: str, most: int, overlap: int) -> list[str]:
        """`text` whole, or in runs of `most` tokens."""
        ids = self._tokens(text)
        if len(ids) <= most:
            return [text]
        starts = range(0, len(ids) - overlap, most - overlap)
        return [self._tokenizer.decode(ids[start : start + most]) for start in starts]

    def _tokens(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        return ids

    def _probabilities(self, inputs: Sequence[Pair]) -> Iterator[tuple[float, float, float]]:
        """Support, neutral and contradiction of each input, in order."""
        import torch

        columns = self._columns
        for start in range(0, len(inputs), _BATCH):
            premises, claims = zip(*inputs[start : start + _BATCH], strict=True)
            batch = self._tokenizer(
                list(premises), list(claims), truncation="only_first", max_length=self._most, padding=True,
                return_tensors="pt",
            )  # fmt: skip
            with torch.inference_mode():
                rows = torch.softmax(self._model(**batch).logits.float(), dim=-1)
            if not bool(torch.isfinite(rows).all()):
                raise self._unusable("answered with something that is no number", _ANOTHER)
            for row in rows.tolist():
                against = row[columns.against] if columns.against is not None else 0.0
                yield row[columns.support], max(0.0, 1.0 - row[columns.support] - against), against

    @cached_property
    def _most(self) -> int:
        limits = (self._tokenizer.model_max_length, getattr(self._model.config, "max_position_embeddings", None))
        # Positions of the RoBERTa family begin behind the padding's, so two of them are never free.
        most = min(_MOST_TOKENS, *(int(limit) - 2 for limit in limits if limit and limit > 0))
        if most - most // 2 - _SPECIAL_TOKENS <= _OVERLAP:  # beside a long claim no piece of a premise would fit
            raise self._unusable(f"reads {most} tokens at a time, too few for a claim and a passage", _ANOTHER)
        return most

    @cached_property
    def _columns(self) -> _Columns:
        labels = {int(number): str(label) for number, label in self._model.config.id2label.items()}
        columns = find_columns(labels, self.column)
        if columns is None:
            asked = "none says support" if self.column is None else f"output {self.column} cannot mean support"
            raise self._unusable(
                f"has the labels {', '.join(labels.values())}: {asked}",
                f"say which of two or more outputs means support, counted from 0: hf:{self.name}#1; or {_ANOTHER}",
            )
        return columns

    @cached_property
    def _tokenizer(self) -> Any:
        return self._load("AutoTokenizer")

    @cached_property
    def _model(self) -> Any:
        return self._load("AutoModelForSequenceClassification").eval()

    @cached_property
    def _worker(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(1, thread_name_prefix="judge-hf")

    def _load(self, kind: str) -> Any:
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        try:
            import torch  # noqa: F401 - without it transformers imports, and fails later and less clearly
            import transformers
        except ImportError as error:
            raise self._unusable(f"needs the hf extra ({error})", "pip install 'veridical[hf]'") from error
        folder = Path(self.name).expanduser()
        source = str(folder) if folder.is_dir() else self.name
        fix = "give the folder of a model, or allow it to be fetched: verify.download = true"
        try:
            return getattr(transformers, kind).from_pretrained(
                source, local_files_only=not self.download, trust_remote_code=False
            )
        except Exception as error:  # a stranger's files make the library raise anything
            raise self._unusable(f"cannot be loaded: {error}", fix) from error

    def _unusable(self, problem: str, fix: str) -> ModelUnavailable:
        return ModelUnavailable(f"the judge hf:{self.name} {problem}", fix=fix)


def find_columns(labels: Mapping[int, str], asked: int | None = None) -> _Columns | None:
    """Which output means support, which contradiction; None when the labels do not say.

    Names may come in any order and case. `asked` is the output that the user says means support, whatever its name.
    A single output is a reranker's, and says nothing about support.
    """
    names = {number: label.strip() for number, label in labels.items()}
    support = [number for number, name in names.items() if _SUPPORT.fullmatch(name)] if asked is None else [asked]
    against = [number for number, name in names.items() if _OPPOSE.fullmatch(name)]
    if len(names) < 2 or len(support) != 1 or support[0] not in names or len(against) > 1 or support == against:
        return None
    return _Columns(support[0], against[0] if against else None)
