"""The public ALCE script, loaded without its models and asked one example at a time."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import io
import logging
import math
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from veridical.errors import ConfigError
from veridical.text.sentences import split_sentences

Split = Callable[[str], Sequence[str]]


class PublicScript:
    """`eval.py` of github.com/princeton-nlp/ALCE with `utils.py` beside it, its NLI function replaced.

    torch and transformers are stubs while it is imported. `nltk_split` is NLTK's splitter and `has_rouge` tells
    whether rouge-score is there; without them the script gets our splitter and its ROUGE is not measured.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file() or not path.with_name("utils.py").is_file():
            raise ConfigError(f"there is no {path} with a utils.py beside it", fix="give --public the path of eval.py")
        self.has_rouge = importlib.util.find_spec("rouge_score") is not None
        self.nltk_split = _nltk_split()
        self.identity = _identify(path, self.nltk_split is not None, self.has_rouge)
        self.script: Any = _load(path)
        self.script.tqdm = _through
        self.script.autoais_model = object()  # anything but None: it must not load its own
        self.script.logger.disabled = True

    def citations(self, item: Mapping[str, Any], phi: Callable[[str, str], int], split: Split) -> tuple[float, float]:
        """(recall, precision) of one example, 0..1; NaN where the script leaves the example out."""
        if not item["is_list"] and not split(item["output"]):
            return math.nan, math.nan
        self.script._run_nli_autoais, self.script.sent_tokenize = phi, split
        with contextlib.redirect_stdout(io.StringIO()):  # it prints a sentence of statistics
            found = self.script.compute_autoais([item], qampari=item["is_list"], at_most_citations=3)
        return found["citation_rec"] / 100, found["citation_prec"] / 100

    def without_marks(self, answer: str) -> str:
        """As its command hands answers to every metric but the citations'."""
        return str(self.script.remove_citations(answer))

    def claim_recall(self, answer: str, claims: Sequence[str], phi: Callable[[str, str], int]) -> float:
        self.script._run_nli_autoais = phi
        return float(self.script.compute_claims([{"output": answer, "claims": claims}])) / 100

    def rouge(self, answer: str, references: Sequence[str], split: Split) -> float:
        self.script.sent_tokenize = split
        pair = [{"long_answer": reference} for reference in references]
        return float(self.script.compute_rouge([{"output": answer, "annotations": pair}])) / 100


def _identify(path: Path, nltk: bool, rouge: bool) -> str:
    """Which script and which packages were compared with, in a sentence."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    splitter = f"nltk {version('nltk')}" if nltk else "no nltk with its sentence model (one splitter for all rows)"
    scorer = f"rouge-score {version('rouge_score')}" if rouge else "no rouge-score (ROUGE not compared)"
    return f"The public side: eval.py with SHA-256 {digest}…, {splitter}, {scorer}."


def _nltk_split() -> Split | None:
    try:
        from nltk import sent_tokenize

        sent_tokenize("Is it there? Yes.")
    except (ImportError, LookupError):  # the package, or its sentence model
        return None
    split: Split = sent_tokenize
    return split


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("alce_eval", path)
    assert spec
    assert spec.loader
    script = importlib.util.module_from_spec(spec)
    with _stubs(path.parent), _quiet_logging():
        spec.loader.exec_module(script)
    return script


@contextlib.contextmanager
def _stubs(folder: Path) -> Iterator[None]:
    """Stand-ins for what the script imports and never uses here; real packages go first, models excepted."""
    stubs: dict[str, dict[str, Any]] = {
        "torch": {"float16": None},
        "transformers": dict.fromkeys(("AutoModelForSeq2SeqLM", "AutoTokenizer", "pipeline")),
    }
    optional: dict[str, dict[str, Any]] = {
        "nltk": {"sent_tokenize": split_sentences},
        "rouge_score": {"rouge_scorer": None, "scoring": None},
        "tqdm": {"tqdm": _through},
    }
    stubs |= {name: parts for name, parts in optional.items() if importlib.util.find_spec(name) is None}
    before = {name: sys.modules.get(name) for name in (*stubs, "utils")}
    for name, parts in stubs.items():
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(parts)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module


@contextlib.contextmanager
def _quiet_logging() -> Iterator[None]:
    """The script configures the root logger on import; what it adds is taken away again."""
    handlers = list(logging.root.handlers)
    try:
        yield
    finally:
        logging.root.handlers[:] = handlers


def _through(items: Any) -> Any:
    return items
