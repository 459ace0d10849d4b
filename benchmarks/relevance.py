"""`relevance`: does the shipped scorer know which passages answer a question, and does its order help a search?"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from benchmarks import popqa, reranking
from benchmarks.datasets import Setup, data_folder
from benchmarks.report import AT_LEAST, Figure, Section, Table
from benchmarks.reranking import Found, Gain
from benchmarks.scored import Scored
from veridical.index.rerank import CANDIDATES, WEIGHT

_PAIRS, _QUICK_PAIRS = 1_500, 40
_PAPER = 84.3  # the T5-large evaluator of CRAG (Yan et al. 2024), of whole retrievals on PopQA
_NAMES = {
    "title": "the title is the subject's, or the passage is another question's (CRAG's training labels)",
    "answer": "the passage names the subject and holds an answer",
    "retrieval": "whole retrievals: any passage does",
}


def run(setup: Setup) -> Section:
    scorer = Scored(setup.scratch, "rerank")
    found = list(reranking.tested(setup))
    gains = [reranking.gain(one.collection.name, one.ndcg(), one.ndcg(scorer, CANDIDATES, WEIGHT)) for one in found]
    recalls = [
        reranking.gain(one.collection.name, one.recall(), one.recall(scorer, CANDIDATES, WEIGHT)) for one in found
    ]
    costs = {one.collection.name: reranking.cost_ms(one, CANDIDATES) for one in found}
    choosing = list(reranking.development(setup))
    pairs = popqa.measure(data_folder(), Scored(setup.scratch, "popqa"), _QUICK_PAIRS if setup.quick else _PAIRS)
    return Section(
        name="relevance",
        title="The relevance scorer",
        page="relevance",
        how=f"Reranking: hybrid search through the real index, its first {CANDIDATES} passages reordered, nDCG@10 over "
        f"documents. PopQA: questions whose subject was not in training, {_PAIRS:,} pairs or more, a fixed sample.",
        figures=_figures(gains, costs, pairs),
        tables=(_gain_table(gains, recalls, costs), _pair_table(pairs), *_choice_tables(choosing, scorer)),
        notes=_notes(gains),
    )


def _figures(
    gains: Sequence[Gain], costs: Mapping[str, tuple[float, float]], pairs: Mapping[str, popqa.Accuracy]
) -> tuple[Figure, ...]:
    worst = min(gains, key=lambda one: one.high)
    return (
        Figure("reranking gain in nDCG@10, mean of the sets", statistics.fmean(one.mean for one in gains)),
        Figure("the upper bound of the gain on the worst set", worst.high, "", AT_LEAST, 0.0, worst.name),
        Figure("CPU that reranking adds to a query, mean", statistics.fmean(cpu for cpu, _ in costs.values()), "ms"),
        *(Figure(f"PopQA, {_NAMES[name]}", 100 * one.at_half, "%", AT_LEAST, _PAPER) for name, one in pairs.items()),
    )


def _gain_table(gains: Sequence[Gain], recalls: Sequence[Gain], costs: Mapping[str, tuple[float, float]]) -> Table:
    columns = (
        "reranking", "queries", "nDCG@10, hybrid", "reranked", "gain (95 % interval)",
        "recall of 5 passages, hybrid", "reranked", "gain (95 % interval)", "CPU ms a query", "wall ms",
    )  # fmt: skip
    rows = [
        (one.name, f"{one.queries:,}", *one.row, *recall.row, *(f"{value:.0f}" for value in costs[one.name]))
        for one, recall in zip(gains, recalls, strict=True)
    ]
    return Table(columns, tuple(rows))


def _pair_table(pairs: Mapping[str, popqa.Accuracy]) -> Table:
    columns = ("PopQA, held out", "cases", "relevant", "accuracy at 0.5", "threshold", "accuracy there", "AUC", "ECE")
    rows = [
        (
            _NAMES[name], f"{one.cases:,}", f"{100 * one.relevant:.1f} %", f"{100 * one.at_half:.1f} %",
            f"{one.threshold:.2f}", f"{100 * one.at_threshold:.1f} %", f"{one.auc:.3f}", f"{one.ece:.3f}",
        )
        for name, one in pairs.items()
    ]  # fmt: skip
    return Table(columns, tuple(rows))


def _choice_tables(choosing: Sequence[Found], scorer: Scored) -> list[Table]:
    """Gains on the sets that are not tested, by weight; empty in a quick run."""
    tables = []
    for candidates in reranking.CANDIDATES if choosing else ():
        before = {one.collection.name: one.ndcg().mean() for one in choosing}
        rows = []
        for weight in reranking.WEIGHTS:
            gains = [one.ndcg(scorer, candidates, weight).mean() - before[one.collection.name] for one in choosing]
            rows.append((f"{weight:.1f}", *(f"{gain:+.4f}" for gain in (*gains, statistics.fmean(gains)))))
        names = [f"{one.collection.name} ({len(one.collection.queries)})" for one in choosing]
        tables.append(Table((f"weight, {candidates} candidates", *names, "mean"), tuple(rows)))
    return tables


def _notes(gains: Sequence[Gain]) -> tuple[str, ...]:
    chosen = (
        f"Intervals: paired bootstrap over queries, 10,000 samples. Weight {WEIGHT} and {CANDIDATES} candidates were "
        "chosen on the sets of the last tables (gain in nDCG@10, queries in brackets), which are not tested: training "
        "queries of SciFact, one SQuAD article that training never saw (the slope and offset of "
        "the probability were fitted on it), and the collections of fewer than 100 queries. SciFact's test queries had "
        "been seen at other weights before; the choice did not follow them."
    )
    beyond = [one.name for one in gains if one.low > 0]
    default = (
        f"`search.rerank` is 0 by default: the gain is beyond chance on {len(beyond)} of {len(gains)} sets "
        f"({', '.join(beyond) or 'none'}), and it costs many times what the search does. `--set search.rerank=10` "
        "turns it on for `search` and `ask`; `verify` never reranks."
    )
    seen = (
        "HotpotQA: other questions of the set are in the training rows, these are not. PopQA's other half of subjects "
        "is in them too, so the threshold chosen there is chosen on rows that the model has seen."
    )
    paper = (
        f"{_PAPER} % is the CRAG paper's figure for whole retrievals with its own retriever and labels: the nearest of "
        "the three rows is the last, and it is not the same set."
    )
    timing = "CPU and wall: 20 queries one after the other, median, on a machine that may have been busy."
    return chosen, default, seen, paper, timing
