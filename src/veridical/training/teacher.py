"""The teacher: a language model whose last token is read by one linear layer. It learns the rows, then judges them.

It sees a row as text ("Passage: … Claim: … Supported?"), so any causal model that transformers can load will do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from veridical.training.cross_model import Plan, Tokens, predict, probabilities, train
from veridical.training.judge_data import IRRELEVANT, OUTPUTS, RELEVANT, UNKNOWN, Row

_PASSAGE_TOKENS, _CLAIM_TOKENS = 288, 112
_BATCH_TOKENS = 32_768
_RATE = 4e-5


class Causal(nn.Module):  # type: ignore[misc]
    """(ids, types, mask) → one row of outputs a text."""

    def __init__(self, body: Any) -> None:
        super().__init__()
        self.body = body
        self.classifier = nn.Linear(body.config.hidden_size, len(OUTPUTS))

    def forward(self, ids: Tensor, _types: Tensor, mask: Tensor) -> Tensor:
        # Padding stands at the end, where a causal model cannot see it: no mask, and the fast attention kernel.
        hidden = self.body(input_ids=ids, use_cache=False).last_hidden_state
        out: Tensor = self.classifier(hidden[torch.arange(len(ids), device=ids.device), mask.sum(1) - 1])
        return out


def load_teacher(gguf: Path) -> tuple[Causal, Any]:
    """The model with a new head, its embeddings frozen, and its tokenizer."""
    from transformers import AutoModel, AutoTokenizer

    body = AutoModel.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name).backend_tokenizer
    body.get_input_embeddings().weight.requires_grad_(False)
    return Causal(body), tokenizer


def teacher_codes(rows: Sequence[tuple[str, str, bool]], tokenizer: Any) -> list[tuple[list[int], int]]:
    """(first, second, judged) as the teacher reads it; a text that is too long is cut at its end."""

    def ids(texts: list[str]) -> list[list[int]]:
        return [code.ids for code in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]

    passages = ids([f"Passage: {first if judged else second}" for first, second, judged in rows])
    asked = ids([f" {second if judged else first}" for first, second, judged in rows])
    (claim,), (question,) = ids(["\nClaim:"]), ids(["\nQuestion:"])
    (supported,), (answered,) = ids(["\nSupported?"]), ids(["\nAnswered?"])
    return [
        (
            [
                *passage[:_PASSAGE_TOKENS],
                *(claim if judged else question),
                *text[:_CLAIM_TOKENS],
                *(supported if judged else answered),
            ],
            0,
        )
        for passage, text, (_, _, judged) in zip(passages, asked, rows, strict=True)
    ]


def teach(rows: Sequence[Row], gguf: Path, work: Path, seconds: float, device: str, log: Callable[[str], None]) -> None:
    """Trains the teacher on the labelled rows, once at most, and writes what it thinks of every row to `taught.npy`."""
    model, tokenizer = load_teacher(gguf)
    log("teacher loaded")
    judged = [row.label not in (IRRELEVANT, RELEVANT) for row in rows]
    tokens = Tokens.pack(
        teacher_codes([(row.first, row.second, j) for row, j in zip(rows, judged, strict=True)], tokenizer), device
    )
    labels = torch.tensor([row.label for row in rows], device=device)
    known = np.flatnonzero(labels.cpu().numpy() != UNKNOWN)
    log(f"teacher: {len(rows)} rows ({len(known)} labelled), {tokens.lengths.mean():.0f} tokens each")
    torch.manual_seed(0)
    model.to(device)
    train(model, tokens.only(known), labels[torch.from_numpy(known).to(device)],
          Plan(1, _RATE, _BATCH_TOKENS, seconds), None, log)  # fmt: skip
    torch.save({n: p.bfloat16() for n, p in model.state_dict().items()}, work / "teacher.pt")
    np.save(work / "taught.npy", probabilities(predict(model, tokens)).cpu().numpy().astype(np.float16))
    log("teacher has answered")
