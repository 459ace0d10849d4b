"""What every embedder promises, asked of the fake and of the one that ships."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from veridical.models.embed import MiniLm
from veridical.models.fake import FakeEmbedder
from veridical.ports import Embedder

TEXTS = ["The lighthouse was built in 1874.", "How tall is the lighthouse?", "", "Bread needs flour, water and salt."]


@pytest.fixture(scope="module", params=["fake", "minilm"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    return FakeEmbedder(dimensions=32) if request.param == "fake" else MiniLm()


def test_one_unit_vector_a_text(embedder: Embedder) -> None:
    vectors = asyncio.run(embedder.embed(TEXTS))
    assert vectors.shape == (len(TEXTS), embedder.dimensions)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def test_no_texts_give_no_vectors(embedder: Embedder) -> None:
    assert asyncio.run(embedder.embed([])).shape == (0, embedder.dimensions)


def test_a_vector_does_not_depend_on_its_neighbours(embedder: Embedder) -> None:
    together = asyncio.run(embedder.embed(TEXTS))
    alone = np.concatenate([asyncio.run(embedder.embed([text])) for text in TEXTS])
    np.testing.assert_allclose(together, alone, atol=5e-3)


def test_order_follows_the_texts(embedder: Embedder) -> None:
    forward = asyncio.run(embedder.embed(TEXTS))
    backward = asyncio.run(embedder.embed(TEXTS[::-1]))
    np.testing.assert_allclose(forward, backward[::-1], atol=5e-3)


def test_texts_on_one_matter_are_nearer_than_others(embedder: Embedder) -> None:
    vectors = asyncio.run(embedder.embed(TEXTS))
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[3]


def test_whatever_a_document_holds_gets_a_finite_vector(embedder: Embedder) -> None:
    odd = ["\x00\x01\x7f", "\ud800 lone surrogate", " \n\t ", "🜚" * 300, "word " * 5000, "x" * 20_000, "日本語の文"]
    vectors = asyncio.run(embedder.embed(odd))
    assert np.isfinite(vectors).all()
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def test_calls_at_once_each_get_their_own(embedder: Embedder) -> None:
    async def ask_all() -> list[np.ndarray]:
        return list(await asyncio.gather(*(embedder.embed([text]) for text in TEXTS)))

    together = np.concatenate(asyncio.run(ask_all()))
    np.testing.assert_allclose(together, asyncio.run(embedder.embed(TEXTS)), atol=5e-3)


def test_the_fingerprint_is_stable(embedder: Embedder) -> None:
    again = FakeEmbedder(dimensions=32) if isinstance(embedder, FakeEmbedder) else MiniLm()
    assert embedder.fingerprint
    assert again.fingerprint == embedder.fingerprint
