"""`alce`: our citation and answer metrics beside the public ALCE script, on the same texts and the same φ."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.alce_public import PublicScript, Split
from benchmarks.alce_texts import (
    Example,
    asqa,
    asqa_drawn,
    eli5,
    expertqa,
    list_answers,
    qampari_drawn,
    string_pairs,
)
from benchmarks.datasets import Setup
from benchmarks.report import AT_LEAST, Figure, Section, Table
from veridical.errors import ConfigError
from veridical.metrics.answers import em_recall, exact_match, token_f1
from veridical.metrics.citations import CitationScores, Cited, average_citations, needed_pairs, score_citations
from veridical.metrics.lists import score_list
from veridical.metrics.nli import Pair
from veridical.metrics.rouge import rouge_l_sum
from veridical.metrics.statements import ALCE, OURS
from veridical.metrics.support import claim_pairs, claim_recall
from veridical.models.cross import WEIGHTS, CrossEncoder, LocalJudge
from veridical.text.sentences import split_sentences
from veridical.types import Span

_BATCH = 256  # pairs between two savings
_NEAR = 1e-9  # both sides divide the same whole numbers
_AGREEMENT = "examples whose recall and precision both agree"
_NOTES = (
    "*φ the judge*: the local judge at its threshold; the level of the figures is this judge's.",
    "*φ a coin*: a hash of the pair decides, sense or not, so that every branch is taken.",
    "*Marks drawn*: zero to five seeded marks a sentence or item, some repeated, one in forty out of range.",
    "*Pairs*: distinct pairs that the public script asked for; our planner had named each, unless the row says not.",
    "*Ours* in the second table: our splitter, `[1, 2]` and `[1-3]` read whole, marks once, wordless lines left out.",
    "Claim recall and ROUGE: both sides get the text that the script's command would, without any `]` or ` |`.",
    "ROUGE is compared one example at a time: over a set, the script reports the median of a bootstrap.",
)
_COLUMNS = ("answers", "split", "n", "statements", "marks", "pairs", "recall", "public", "precision", "public", "agree")


@dataclass(slots=True)
class Phi:
    """One φ for both sides; `foreign` counts pairs that the public script asked for and our planner did not."""

    compute: Callable[[Sequence[Pair]], Sequence[bool]]
    known: dict[Pair, bool] = field(default_factory=dict)
    asked: set[Pair] = field(default_factory=set)
    foreign: int = 0

    def learn(self, pairs: Iterable[Pair]) -> None:
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self.known]
        self.known.update(zip(new, self.compute(new), strict=True))

    def score(self, answers: Sequence[Cited]) -> list[CitationScores]:
        while pairs := [pair for one in answers for pair in needed_pairs(one, self.known)]:
            self.learn(pairs)
        return [score_citations(one, self.known) for one in answers]

    def __call__(self, premise: str, hypothesis: str) -> int:
        if (premise, hypothesis) not in self.known:
            self.foreign += 1
            self.learn([(premise, hypothesis)])
        self.asked.add((premise, hypothesis))
        return int(self.known[premise, hypothesis])


def run(setup: Setup) -> Section:
    if setup.public is None:
        raise ConfigError(
            "this benchmark compares with the public ALCE script, and none is named",
            fix="give --public the path of eval.py from github.com/princeton-nlp/ALCE, with its utils.py beside it",
        )
    public = PublicScript(setup.public)
    size = 40 if setup.quick else 500
    expert, drawn, lists = ([*itertools.islice(made(), size)] for made in (expertqa, asqa_drawn, qampari_drawn))
    judge = _by_judge(setup.scratch)
    plan = [
        ("ExpertQA, the systems' marks; φ the judge", expert, judge),
        ("ExpertQA, the systems' marks; φ a coin", expert, _by_coin),
        ("ASQA, marks drawn; φ a coin", drawn, _by_coin),
        ("QAMPARI, marks drawn; φ a coin", lists, _by_coin),
    ]
    splits: dict[str, Split] = {"ours": split_sentences}
    splits |= {"NLTK": public.nltk_split} if public.nltk_split else {}
    rows, agreeing, total = [], 0, 0
    for name, examples, compute in plan:
        for label, split in splits.items() if not examples[0].is_list else [("commas", split_sentences)]:
            row, agree = _compare(public, examples, Phi(compute), split)
            rows.append((name, label, *row))
            agreeing, total = agreeing + agree, total + len(examples)
    figures = (Figure(_AGREEMENT, 100 * agreeing / total, "%", AT_LEAST, 100, f"{agreeing:,} of {total:,}"),)
    tables = (Table(_COLUMNS, tuple(rows)), _as_used(public, expert, judge), _others(public, judge, size))
    return _section(public, figures, tables)


def _section(public: PublicScript, figures: tuple[Figure, ...], tables: tuple[Table, ...]) -> Section:
    return Section(
        name="alce",
        title="Agreement with the public ALCE script",
        page="metrics",
        how="Both sides get the same answers, passages and sentences and ask the same φ; an example agrees when recall "
        f"and precision are equal within {_NEAR:g}. The script's own models are not loaded.",
        figures=figures,
        tables=tables,
        notes=(*_NOTES, public.identity),
    )


# ── citations ────────────────────────────────────────────────────────────────────────────────────


def _compare(public: PublicScript, examples: Sequence[Example], phi: Phi, split: Split) -> tuple[tuple[str, ...], int]:
    reading = replace(ALCE, split=lambda text: _spans(text, split(text)))
    ours = phi.score([example.cited(reading) for example in examples])
    theirs = [public.citations(example.item, phi, split) for example in examples]
    agree = sum(map(_same, ours, theirs))
    means, scored = average_citations(ours), [one for one in theirs if not math.isnan(one[0])]
    outcomes = [outcome for one in ours for outcome in one.outcomes]
    row = (
        f"{len(examples)}",
        f"{len(outcomes):,}",
        f"{sum(len(outcome.marks) for outcome in outcomes):,}",
        f"{len(phi.asked):,}" + (f" ({phi.foreign} not ours)" if phi.foreign else ""),
        f"{100 * means.recall:.3f}",
        f"{100 * sum(one[0] for one in scored) / len(scored):.3f}",
        f"{100 * means.precision:.3f}",
        f"{100 * sum(one[1] for one in scored) / len(scored):.3f}",
        f"{agree} of {len(examples)}",
    )
    return row, agree


def _same(ours: CitationScores, theirs: tuple[float, float]) -> bool:
    if math.isnan(theirs[0]):
        return not ours.outcomes
    return abs(ours.recall - theirs[0]) < _NEAR and abs(ours.precision - theirs[1]) < _NEAR


def _as_used(public: PublicScript, examples: Sequence[Example], compute: Callable[..., Sequence[bool]]) -> Table:
    """Our reading of an answer against the script's own, and what sets them apart."""
    phi, split = Phi(compute), public.nltk_split or split_sentences
    read = [example.cited(OURS) for example in examples]
    ours = phi.score(read)
    theirs = [public.citations(example.item, phi, split) for example in examples]
    apart = [n for n in range(len(examples)) if not _same(ours[n], theirs[n])]
    alike = replace(ALCE, split=lambda text: _spans(text, split(text)))
    counts = [len(examples[n].cited(alike).statements) != len(read[n].statements) for n in apart]
    means, scored = average_citations(ours), [one for one in theirs if not math.isnan(one[0])]
    cells = (
        ("agree", f"{len(examples) - len(apart)} of {len(examples)}"),
        ("differ, and in the number of sentences", str(sum(counts))),
        ("differ, with as many sentences (borders, repeated marks, stripping)", str(len(counts) - sum(counts))),
        ("recall, ours / public", f"{100 * means.recall:.2f} / {100 * sum(a for a, _ in scored) / len(scored):.2f}"),
        (
            "precision, ours / public",
            f"{100 * means.precision:.2f} / {100 * sum(b for _, b in scored) / len(scored):.2f}",
        ),
    )
    return Table(("ExpertQA, each side with its own reading; φ the judge", ""), cells)


def _spans(text: str, sentences: Sequence[str]) -> list[Span]:
    spans, cursor = [], 0
    for sentence in sentences:
        start = text.index(sentence, cursor)
        cursor = start + len(sentence)
        spans.append(Span(start, cursor))
    return spans


# ── the other metrics ────────────────────────────────────────────────────────────────────────────


def _others(public: PublicScript, compute: Callable[..., Sequence[bool]], size: int) -> Table:
    found = [
        ("EM recall", "ASQA, both long answers", _em_pairs(public, size)),
        ("claim recall; φ the judge", "ELI5, the reference answer", _claim_pairs(public, Phi(compute), size)),
        *((f"QAMPARI {name}", "gold lists and spoilt ones", pairs) for name, pairs in _lists(public).items()),
        ("exact match", "ASQA's short answers, odd strings", _string(public.script.compute_exact, exact_match)),
        ("token F1", "ASQA's short answers, odd strings", _string(public.script.compute_f1, token_f1)),
    ]
    if public.has_rouge:
        found.append(("rougeLsum", "ASQA, annotators' knowledge against both long answers", _rouge(public, size)))
    rows = (
        (name, texts, f"{len(pairs):,}", *(f"{100 * sum(side) / len(pairs):.3f}" for side in zip(*pairs, strict=True)),
         f"{sum(abs(ours - theirs) < _NEAR for ours, theirs in pairs):,}")
        for name, texts, pairs in found
    )  # fmt: skip
    return Table(("metric", "texts", "n", "ours", "public", "agree"), tuple(rows))


def _em_pairs(public: PublicScript, size: int) -> list[tuple[float, float]]:
    pairs = []
    for row in itertools.islice(asqa(), size):
        golds = [pair["short_answers"] for pair in row["qa_pairs"]]
        for answer in row["long_answers"]:
            theirs = public.script.compute_str_em([{"qa_pairs": row["qa_pairs"], "output": answer}])[0] / 100
            pairs.append((em_recall(answer, golds), float(theirs)))
    return pairs


def _claim_pairs(public: PublicScript, phi: Phi, size: int) -> list[tuple[float, float]]:
    rows = [(public.without_marks(row["answer"]), row["claims"]) for row in itertools.islice(eli5(), size)]
    phi.learn(pair for answer, claims in rows for pair in claim_pairs(answer, claims))
    return [
        (claim_recall(answer, claims, phi.known), public.claim_recall(answer, claims, phi)) for answer, claims in rows
    ]


def _lists(public: PublicScript) -> dict[str, list[tuple[float, float]]]:
    names = {"precision": "prec", "recall": "rec", "recall_5": "rec_top5", "f1": "f1", "f1_5": "f1_top5"}
    pairs: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for answer, golds in list_answers():
        ours = score_list(answer, golds)
        theirs = public.script.compute_qampari_f1([{"output": answer, "answers": golds}])
        for name, key in names.items():
            pairs[name].append((getattr(ours, name), float(theirs[f"qampari_{key}"]) / 100))
    return pairs


def _string(
    theirs: Callable[[str, str], float], ours: Callable[[str, Sequence[str]], float]
) -> list[tuple[float, float]]:
    return [(ours(answer, [gold]), float(theirs(gold, answer))) for answer, gold in string_pairs()]


def _rouge(public: PublicScript, size: int) -> list[tuple[float, float]]:
    pairs = []
    for row in itertools.islice(asqa(), size):
        answer = public.without_marks(" ".join(part["content"] or "" for part in row["knowledge"])[:2000])
        references = row["long_answers"][:2]
        if answer and len(references) == 2:
            ours = rouge_l_sum(answer, references)
            pairs.append((ours, public.rouge(answer, references, split_sentences)))
    return pairs


# ── φ ────────────────────────────────────────────────────────────────────────────────────────────


def _by_judge(scratch: Path) -> Callable[[Sequence[Pair]], Sequence[bool]]:
    """The local judge at its threshold. Its scores are kept in `scratch`, for it has minutes of work."""
    judge = LocalJudge(CrossEncoder(WEIGHTS))
    file = scratch / f"alce-{judge.encoder.fingerprint}.json"
    scores: dict[str, float] = json.loads(file.read_text()) if file.exists() else {}

    def compute(pairs: Sequence[Pair]) -> Sequence[bool]:
        new = {_digest(pair): pair for pair in pairs}
        new = {key: pair for key, pair in new.items() if key not in scores}
        waiting = list(new)
        while waiting:
            keys, waiting = waiting[:_BATCH], waiting[_BATCH:]
            found = judge.entail_now([new[key] for key in keys])
            scores.update((key, one.entailment) for key, one in zip(keys, found, strict=True))
            file.write_text(json.dumps(scores))
        return [scores[_digest(pair)] >= judge.threshold for pair in pairs]

    return compute


def _digest(pair: Pair) -> str:
    return hashlib.blake2b("\0".join(pair).encode("utf-8", "replace"), digest_size=16).hexdigest()


def _by_coin(pairs: Sequence[Pair]) -> Sequence[bool]:
    return [int(_digest(pair)[0], 16) % 2 == 0 for pair in pairs]
