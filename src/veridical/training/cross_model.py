"""The cross-encoder in torch: BERT with one linear layer on the first token, and the loop that trains it.

Parameter names are those of the published files, so weights go in and out without a table. All tokens live on
the device; a batch is gathered there, which leaves the CPU nothing to do.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from veridical.training.judge_data import IRRELEVANT, NOT_ENTAILED, OUTPUTS, RELEVANT, UNKNOWN

# ── the model ────────────────────────────────────────────────────────────────────────────────────


class Attention(nn.Module):  # type: ignore[misc]
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.self = nn.ModuleDict({name: nn.Linear(width, width) for name in ("query", "key", "value")})
        self.output = nn.ModuleDict({"dense": nn.Linear(width, width), "LayerNorm": nn.LayerNorm(width, eps=1e-12)})

    def forward(self, x: Tensor, mask: Tensor, dropout: float) -> Tensor:
        rows, length, width = x.shape
        parts = [
            self.self[name](x).view(rows, length, self.heads, -1).transpose(1, 2) for name in ("query", "key", "value")
        ]
        mixed = functional.scaled_dot_product_attention(*parts, attn_mask=mask, dropout_p=dropout)
        mixed = self.output["dense"](mixed.transpose(1, 2).reshape(rows, length, width))
        out: Tensor = self.output["LayerNorm"](functional.dropout(mixed, dropout, dropout > 0) + x)
        return out


class Layer(nn.Module):  # type: ignore[misc]
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention = Attention(width, heads)
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(width, 4 * width)})
        self.output = nn.ModuleDict({"dense": nn.Linear(4 * width, width), "LayerNorm": nn.LayerNorm(width, eps=1e-12)})

    def forward(self, x: Tensor, mask: Tensor, dropout: float) -> Tensor:
        x = self.attention(x, mask, dropout)
        wide = functional.gelu(self.intermediate["dense"](x))
        narrow = functional.dropout(self.output["dense"](wide), dropout, dropout > 0)
        out: Tensor = self.output["LayerNorm"](narrow + x)
        return out


class Bert(nn.Module):  # type: ignore[misc]
    """(ids, types, mask) → one row of outputs a pair."""

    def __init__(self, layers: int = 6, width: int = 384, heads: int = 12, words: int = 30522) -> None:
        super().__init__()
        self.embeddings = nn.ModuleDict({
            "word_embeddings": nn.Embedding(words, width),
            "position_embeddings": nn.Embedding(512, width),
            "token_type_embeddings": nn.Embedding(2, width),
            "LayerNorm": nn.LayerNorm(width, eps=1e-12),
        })  # fmt: skip
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(Layer(width, heads) for _ in range(layers))})
        self.pooler = nn.ModuleDict({"dense": nn.Linear(width, width)})
        self.classifier = nn.Linear(width, len(OUTPUTS))
        self.dropout = 0.1

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor) -> Tensor:
        dropout = self.dropout if self.training else 0.0
        places = torch.arange(ids.shape[1], device=ids.device)
        x = (
            self.embeddings["word_embeddings"](ids)
            + self.embeddings["position_embeddings"](places)
            + self.embeddings["token_type_embeddings"](types)
        )
        x = functional.dropout(self.embeddings["LayerNorm"](x), dropout, dropout > 0)
        for layer in self.encoder["layer"]:
            x = layer(x, mask[:, None, None, :], dropout)
        first = torch.tanh(self.pooler["dense"](x[:, 0]))
        out: Tensor = self.classifier(functional.dropout(first, dropout, dropout > 0))
        return out


# ── tokens ───────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Tokens:
    """Pairs as token ids, one after the other on the device; `splits` says where the second text starts."""

    flat: Tensor
    starts: Tensor
    lengths: NDArray[np.int64]
    splits: Tensor

    @classmethod
    def pack(cls, codes: Sequence[tuple[Sequence[int], int]], device: str) -> Tokens:
        lengths = np.array([len(ids) for ids, _ in codes], np.int64)
        flat = np.fromiter((token for ids, _ in codes for token in ids), np.int32, int(lengths.sum()))
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        splits = np.array([split for _, split in codes], np.int64)
        on_device = [torch.from_numpy(array).to(device) for array in (flat, starts, splits)]
        return cls(on_device[0], on_device[1], lengths, on_device[2])

    def only(self, rows: NDArray[np.int64]) -> Tokens:
        picked = torch.from_numpy(rows).to(self.flat.device)
        return Tokens(self.flat, self.starts[picked], self.lengths[rows], self.splits[picked])

    def batch(self, rows: NDArray[np.int64]) -> tuple[Tensor, Tensor, Tensor]:
        device = self.flat.device
        picked = torch.from_numpy(rows).to(device)
        lengths = torch.from_numpy(self.lengths[rows]).to(device)
        most = int(math.ceil(self.lengths[rows].max() / 8) * 8)
        places = torch.arange(most, device=device)
        mask = places[None] < lengths[:, None]
        at = (self.starts[picked][:, None] + places[None]).clamp(max=len(self.flat) - 1)
        ids = torch.where(mask, self.flat[at], 0).long()
        types = ((places[None] >= self.splits[picked][:, None]) & mask).long()
        return ids, types, mask


def token_batches(lengths: NDArray[np.int64], budget: int, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Every row once, in batches of like length that hold about `budget` tokens, in random order."""
    order = rng.permutation(len(lengths))
    batches = []
    for some in np.array_split(order, max(1, len(order) // 20_000)):
        chunk = some[np.argsort(lengths[some], kind="stable")]
        sizes = np.cumsum(np.ceil(lengths[chunk] / 8) * 8)
        cuts = np.flatnonzero(np.diff(sizes // budget)) + 1
        batches += np.split(chunk, cuts)
    for number in rng.permutation(len(batches)):
        if len(batches[number]):
            yield batches[number]


# ── training ─────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Plan:
    epochs: float
    rate: float
    batch_tokens: int = 32_768
    seconds: float = 1e9  # training ends in time, its rate lowered to match
    taught: float = 0.7  # how much of the loss follows the teacher, where there is one
    averaged: float = 0.0  # the share of the running average of the weights that a step keeps; 0: no average
    seed: int = 0


def hard_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Per row: cross-entropy, or for `not entailed` the log of everything but entailment, or that of relevance.

    A row without a label weighs nothing.
    """
    log = torch.log_softmax(logits[:, :3], -1)
    known = -log.gather(1, labels.clamp(max=2)[:, None])[:, 0]
    negative = -torch.logsumexp(log[:, 1:], -1)
    relevance = functional.binary_cross_entropy_with_logits(
        logits[:, 3], (labels == RELEVANT).float(), reduction="none"
    )
    judged = torch.where(labels < NOT_ENTAILED, known, negative)
    return torch.where(labels >= IRRELEVANT, relevance, judged).where(labels != UNKNOWN, 0.0)


def soft_loss(logits: Tensor, wanted: Tensor, labels: Tensor) -> Tensor:
    """Per row: cross-entropy with the teacher's probabilities (three of the judge, one of relevance)."""
    judged = -(wanted[:, :3] * torch.log_softmax(logits[:, :3], -1)).sum(-1)
    scored = functional.binary_cross_entropy_with_logits(logits[:, 3], wanted[:, 3], reduction="none")
    return torch.where((labels == IRRELEVANT) | (labels == RELEVANT), scored, judged)


def train(
    model: nn.Module, tokens: Tokens, labels: Tensor, plan: Plan, taught: Tensor | None, log: Callable[[str], None]
) -> None:
    rng = np.random.default_rng(plan.seed)
    torch.manual_seed(plan.seed)
    steps = math.ceil(sum(1 for _ in token_batches(tokens.lengths, plan.batch_tokens, rng)) * plan.epochs)
    decayed = [p for p in model.parameters() if p.requires_grad and p.ndim > 1]
    others = [p for p in model.parameters() if p.requires_grad and p.ndim <= 1]
    groups = [{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=plan.rate, fused=tokens.flat.is_cuda)
    model.train()
    trained = [p for p in model.parameters() if p.requires_grad]
    average = [p.detach().clone() for p in trained] if plan.averaged else []
    began, step = time.monotonic(), 0
    batches: Iterator[NDArray[np.int64]] = iter(())
    while True:
        progress = max(step / steps, (time.monotonic() - began) / plan.seconds)
        if progress >= 1:
            break
        rows = next(batches, None)
        if rows is None:
            batches = token_batches(tokens.lengths, plan.batch_tokens, rng)
            continue
        for group in optimiser.param_groups:
            group["lr"] = plan.rate * min(1.0, step / (0.05 * steps + 1)) * (1 - progress)
        y = labels[torch.from_numpy(rows).to(labels.device)]
        with torch.autocast(tokens.flat.device.type, torch.bfloat16, enabled=tokens.flat.is_cuda):
            logits = model(*tokens.batch(rows))
        losses = hard_loss(logits.float(), y)
        if taught is not None:
            wanted = taught[torch.from_numpy(rows).to(labels.device)]
            losses = (1 - plan.taught) * losses + plan.taught * soft_loss(logits.float(), wanted, y)
        losses.mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()
        step += 1
        if average:
            torch._foreach_lerp_(average, trained, 1 - min(plan.averaged, step / (step + 10)))
        if step % 200 == 0:
            log(f"step {step}/{steps} loss {losses.mean().item():.3f} {time.monotonic() - began:.0f} s")
    with torch.no_grad():
        for parameter, mean in zip(trained if average else [], average, strict=True):
            parameter.copy_(mean)
    log(f"trained {step} of {steps} steps in {time.monotonic() - began:.0f} s")


@torch.no_grad()  # type: ignore[untyped-decorator]
def predict(model: nn.Module, tokens: Tokens, batch_tokens: int = 131_072, *, exact: bool = False) -> Tensor:
    """Logits, one row a pair; `exact` computes in float32."""
    model.eval()
    out = torch.empty(len(tokens.lengths), len(OUTPUTS), device=tokens.flat.device)
    order = np.argsort(tokens.lengths, kind="stable")
    sizes = np.cumsum(np.ceil(tokens.lengths[order] / 8) * 8)
    for rows in np.split(order, np.flatnonzero(np.diff(sizes // batch_tokens)) + 1):
        if len(rows):
            with torch.autocast(tokens.flat.device.type, torch.bfloat16, enabled=tokens.flat.is_cuda and not exact):
                out[torch.from_numpy(rows).to(out.device)] = model(*tokens.batch(rows)).float()
    return out


def probabilities(logits: Tensor) -> Tensor:
    """The teacher's opinion: three probabilities that sum to one, then that of relevance."""
    return torch.cat([torch.softmax(logits[:, :3], -1), torch.sigmoid(logits[:, 3:])], -1)
