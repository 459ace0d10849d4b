"""`verify`: how long an answer takes to check, how many claims a CPU second checks, and what that costs in memory."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.datasets import Setup
from benchmarks.report import AT_LEAST, AT_MOST, Figure, Section, Table, unmeasured
from benchmarks.timing import compare, peak_memory_mb, run_process
from veridical.models.cross_encoder import CrossEncoder
from veridical.models.judge import LocalJudge
from veridical.sample import corpus_folder
from veridical.text.claims import cite, find_claims
from veridical.text.sentences import split_sentences
from veridical.types import Claim, Draft, Label, Passage, Span
from veridical.verification import Verification, verify

FILES = (
    "lighthouse/farrow-light-history.md",
    "town/tide-gauge.md",
    "lighthouse/gannow-light.md",
    "lighthouse/edmund-varley-biography.md",
    "town/gut-bridge-registry.md",
)
# Four sentences that their passages carry (two of them in two sentences), a wrong mark, and one that nothing carries.
ANSWER = (
    "Farrow Light was first lit on 14 November 1862 [1]. "
    "Its granite came from the Upper Garth quarry, and masons could land on only about 70 days a year [1]. "
    "Edmund Varley became principal keeper of Farrow Light in 1969 and held the post for nineteen years [4][1]. "
    "The tide gauge at Kellin Haven was set up in 1889 by Adela Quill, the daughter of the man who built the "
    "lighthouse [2]. "
    "The smaller Gannow Light is a cast iron tower 11 metres tall [1]. "
    "Visitors may spend the night in the keepers' rooms of Farrow Light during the summer [3]."
)
_PASSAGE_WORDS, _WINDOW_WORDS = 180, 50
_TRIES = 7
_WEIGHTS = "judge/weights.npz"  # in the scratch folder: the trained weights, as the recipe leaves them
_MEMORY_MB = 25  # what the judge remembers of 10,000 claims takes some 5 of them


def run(setup: Setup) -> Section:
    figures = [*_start(), *_answer(), *_memory(setup)]
    pairs = sample_pairs(60 if setup.quick else 300)
    speed, tables = _rate(setup, pairs)
    return Section(
        name="verify_speed",
        title="The speed of verification",
        page="verify_speed",
        how="An answer of six sentences is checked against five passages of some 170 words each of the bundled sample "
        "by the shipped judge, the median of seven; nothing is remembered from one try to the next. Then pairs of a "
        "sentence and a passage that fits one window, each pair once, in slices of 30.",
        figures=(*figures, *speed),
        tables=tables,
        notes=(
            "Wall clock depends on what else runs (see load); CPU time hardly does.",
            "In torch: `sentence_transformers.CrossEncoder`, the same weights in float32, batches of 32, taking turns.",
        ),
    )


# ── one answer ───────────────────────────────────────────────────────────────────────────────────


def answer_passages() -> tuple[Passage, ...]:
    """The beginnings of five documents, cut at the end of a sentence."""
    found = []
    for number, file in enumerate(FILES, 1):
        text = (corpus_folder() / file).read_text("utf-8")
        title = text.splitlines()[0].strip("# ")
        kept = _first_sentences(text, _PASSAGE_WORDS)
        found.append(Passage(f"p{number}", f"d{number}", kept, Span(0, len(kept)), title, file))
    return tuple(found)


def _first_sentences(text: str, most_words: int) -> str:
    end = 0
    for sentence in split_sentences(text):
        stop = text.index(sentence, end) + len(sentence)
        if len(text[:stop].split()) > most_words:
            break
        end = stop
    return text[:end]


def _answer() -> list[Figure]:
    passages, encoder = answer_passages(), CrossEncoder()
    claims = find_claims(Draft(ANSWER, passages))
    LocalJudge(encoder).entail_now([("A warm model.", "A warm model.")])
    times = []
    for _ in range(_TRIES):
        wall, cpu = time.perf_counter(), time.process_time()
        found = asyncio.run(verify(LocalJudge(encoder), claims, passages))
        times.append((time.perf_counter() - wall, time.process_time() - cpu))
    wall_s, cpu_s = (statistics.median(column) for column in zip(*times, strict=True))
    words = statistics.fmean(len(passage.text.split()) for passage in passages)
    return [
        Figure("an answer of 6 sentences, 5 passages", wall_s, "s wall", AT_MOST, 1.0, _told(found)),
        Figure("the same, CPU time", cpu_s, "s CPU", note=f"{words:.0f} words a passage, {encoder.threads} threads"),
    ]


def _told(found: Verification) -> str:
    verdicts = [claim.verdict for claim in found.claims]
    carried = sum(verdict.cited for verdict in verdicts)
    repaired = sum(verdict.label is Label.SUPPORTED and not verdict.cited for verdict in verdicts)
    return (
        f"{carried} carried by what they cite, {repaired} repaired, {len(verdicts) - carried - repaired} not supported"
    )


# ── a cold start, and many claims ────────────────────────────────────────────────────────────────

_COLD = """
import time
wall, cpu = time.perf_counter(), time.process_time()
from veridical.models.judge import LocalJudge
LocalJudge().entail_now([("Fish swim.", "Fish swim.")])
print(time.perf_counter() - wall, time.process_time() - cpu)
"""


def _start() -> list[Figure]:
    run_process([sys.executable, "-c", _COLD])  # fills disk caches
    runs = [run_process([sys.executable, "-c", _COLD]).output.split() for _ in range(5)]
    wall_s, cpu_s = (statistics.median(map(float, column)) for column in zip(*runs, strict=True))
    return [Figure("a cold start and one pair", cpu_s, "s CPU", note=f"{wall_s:.2f} s wall; not in the figures below")]


def _memory(setup: Setup) -> list[Figure]:
    few, many = (200, 2_000) if setup.quick else (1_000, 10_000)
    out = run_process([sys.executable, "-m", "benchmarks.verify_speed", str(few), str(many)]).output
    told = json.loads(out)
    note = (
        f"peak {told['few_mb']:.0f} MB, then {told['many_mb']:.0f} MB; {many / told['cpu_s']:,.0f} claims a CPU second"
    )
    grown = told["many_mb"] - told["few_mb"]
    return [Figure(f"memory grows from {few:,} claims to {many:,}", grown, "MB", AT_MOST, _MEMORY_MB, note)]


def _stream(few: int, many: int) -> dict[str, float]:
    """Peaks of this process after `few` and after `many` distinct claims, and the CPU time of all; none is kept."""
    text = "Boat 7 of the harbour carries 40 crates."
    passage = Passage("p", "d", text, Span(0, len(text)))
    judge = LocalJudge()
    peaks = []
    for first in range(0, many, few):
        numbers = range(first, first + few)
        claims = [Claim(f"Boat {n} carries {n % 97} crates.", Span(0, 1), (cite(1, passage),)) for n in numbers]
        asyncio.run(verify(judge, claims, [passage]))
        peaks.append(peak_memory_mb())
    return {"few_mb": peaks[0], "many_mb": peaks[-1], "cpu_s": time.process_time()}


# ── pairs a second ───────────────────────────────────────────────────────────────────────────────


def sample_pairs(count: int) -> list[tuple[str, str]]:
    """Distinct (passage, claim) of the bundled sample: every passage fits one window, every claim is a sentence."""
    passages: list[str] = []
    claims: list[str] = []
    for file in sorted(corpus_folder().rglob("*.md")):
        sentences = [one for one in split_sentences(file.read_text("utf-8")) if len(one.split()) > 5 and "|" not in one]
        passages.append(_first_sentences(" ".join(sentences), _WINDOW_WORDS))
        claims += sentences[:4]
    order = sorted(product(range(len(passages)), range(len(claims))), key=lambda at: (at[0] * 7 + at[1] * 11) % 1009)
    return [(passages[one], claims[other]) for one, other in order[:count]]


def _rate(setup: Setup, pairs: Sequence[tuple[str, str]]) -> tuple[list[Figure], tuple[Table, ...]]:
    slices = [pairs[start : start + 30] for start in range(0, len(pairs), 30)]
    torch = _torch_contestant(setup)
    figures: list[Figure] = []
    rows = []
    for threads in dict.fromkeys((1, os.cpu_count() or 1)):
        encoder = CrossEncoder(threads=threads)
        contestants = {"int8": lambda some, encoder=encoder: LocalJudge(encoder).entail_now(some)}
        if callable(torch):
            contestants["torch"] = lambda some, threads=threads: torch(some, threads)
        times = compare(contestants, slices, rounds=1)
        for name, found in times.items():
            cpu_s, wall_s = sum(found.cpu_ms) / 1000, sum(found.wall_ms) / 1000
            rows.append((name, str(threads), f"{len(pairs) / cpu_s:.1f}", f"{len(pairs) / wall_s:.1f}"))
        if threads == 1:
            figures += _rate_figures({name: found.mean * len(slices) / 1000 for name, found in times.items()}, pairs)
    if callable(torch):
        figures.append(_agreement(pairs[:60], torch))
    else:
        figures.append(unmeasured("times as fast as a CrossEncoder in torch", torch))
    return figures, (Table(("model", "threads", "pairs a CPU second", "pairs a second"), tuple(rows)),)


def _rate_figures(cpu_s: dict[str, float], pairs: Sequence[tuple[str, str]]) -> list[Figure]:
    encoder = LocalJudge()
    tokens = statistics.fmean(len(code.ids) for code in encoder.plan(pairs)[0])
    note = f"{len(pairs)} pairs of {tokens:.0f} tokens on average, one thread"
    figures = [Figure("claim–passage pairs a CPU second", len(pairs) / cpu_s["int8"], note=note)]
    if "torch" in cpu_s:
        gain = cpu_s["torch"] / cpu_s["int8"]
        figures.append(Figure("times as fast as a CrossEncoder in torch", gain, "×", AT_LEAST, 2.0, "CPU, one thread"))
    return figures


def _agreement(
    pairs: Sequence[tuple[str, str]], torch: Callable[[Sequence[tuple[str, str]], int], np.ndarray]
) -> Figure:
    """That it is the same model: the most by which a probability of support differs."""
    judge = LocalJudge()
    ours, theirs = [one.entailment for one in judge.entail_now(pairs)], judge.probabilities(torch(pairs, 1))[:, 0]
    gap = np.abs(np.array(ours) - theirs)
    return Figure("mean difference in probability to torch", float(gap.mean()), note=f"most {gap.max():.3f}")


def _torch_contestant(setup: Setup) -> Callable[[Sequence[tuple[str, str]], int], np.ndarray] | str:
    """(pairs, threads) → logits; or why there is none."""
    lacking = [name for name in ("torch", "sentence_transformers") if importlib.util.find_spec(name) is None]
    if lacking:
        return f"pip install {' '.join(lacking)} into a copy of this environment"
    file = setup.scratch / _WEIGHTS
    if not file.is_file():
        return (
            f"there is no {_WEIGHTS} in the scratch folder; the recipe `python -m veridical.training.judge` leaves one"
        )
    import torch
    from sentence_transformers import CrossEncoder as TorchEncoder

    model = TorchEncoder(str(_hub_folder(file)), device="cpu", max_length=512)

    def score(pairs: Sequence[tuple[str, str]], threads: int) -> np.ndarray:
        torch.set_num_threads(threads)
        found: np.ndarray = model.predict(
            [list(pair) for pair in pairs], activation_fn=torch.nn.Identity(), show_progress_bar=False
        )
        return found

    return score


def _hub_folder(weights: Path) -> Path:
    """The weights as a folder that transformers reads, beside their file."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    folder = weights.with_suffix("")
    outputs = CrossEncoder().manifest["outputs"]
    config = BertConfig(
        hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536, num_labels=len(outputs)
    )
    model = BertForSequenceClassification(config)
    tensors = {name: torch.from_numpy(value.astype(np.float32)) for name, value in np.load(weights).items()}
    named = {name if name.startswith("classifier") else f"bert.{name}": tensor for name, tensor in tensors.items()}
    model.load_state_dict(named)
    model.save_pretrained(folder)
    tokenizer = CrossEncoder().weights / CrossEncoder().manifest["tokenizer"]
    BertTokenizerFast(tokenizer_file=str(tokenizer)).save_pretrained(folder)
    return folder


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_stream(*map(int, sys.argv[1:]))))
