"""Counting the embedder's tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from veridical.errors import ConfigError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

CountTokens: TypeAlias = Callable[[Sequence[str]], list[int]]


def count_words(texts: Sequence[str]) -> list[int]:
    """White-space separated words: the counter when no tokenizer is configured."""
    return [len(text.split()) for text in texts]


class TokenizerCounter:
    """Counts with a `tokenizer.json`, special tokens left out.

    `additive` says that cutting a text at white space never changes the sum of the counts, which saves
    `chunk` from counting every finished passage again.
    """

    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer

        try:
            self._tokenizer: Tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # tokenizers raises nothing narrower
            raise ConfigError(
                f"The tokenizer {path} cannot be loaded: {error}", fix="Point at the embedder's tokenizer.json."
            ) from error
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.additive = "Bert" in type(self._tokenizer.pre_tokenizer).__name__

    def __call__(self, texts: Sequence[str]) -> list[int]:
        return [len(code) for code in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]


def open_counter(tokenizer: Path | None) -> CountTokens:
    return TokenizerCounter(tokenizer) if tokenizer else count_words
