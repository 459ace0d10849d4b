"""LlamaIndex's retrievers, set up as its documentation does; absent, the figure says how to install them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veridical.ports import Vectors

# The retriever pins a PyStemmer that has no wheel for every platform, so it is installed without its pins.
INSTALL = "pip install 'veridical[bench]' && pip install PyStemmer && pip install --no-deps llama-index-retrievers-bm25"
Search = Callable[[str], object]


def llama_index_bm25(texts: Sequence[str], k: int) -> Search | None:
    """LlamaIndex's BM25 retriever over the texts, or None when it is not installed."""
    try:
        from llama_index.core.schema import TextNode
        from llama_index.retrievers.bm25 import BM25Retriever
    except ImportError:
        return None
    nodes = [TextNode(text=text, id_=str(place)) for place, text in enumerate(texts)]
    retriever = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=k, language="en")
    found: Search = retriever.retrieve
    return found


def english_stopwords() -> frozenset[str]:
    """The words that LlamaIndex's retriever drops from passages and questions."""
    from bm25s.stopwords import STOPWORDS_EN

    return frozenset(STOPWORDS_EN)


def llama_index_vectors(vectors: Vectors, k: int) -> Callable[[Vectors], list[str]] | None:
    """LlamaIndex's default in-memory vector store, or None when it is not installed."""
    try:
        from llama_index.core.schema import TextNode
        from llama_index.core.vector_stores.simple import SimpleVectorStore
        from llama_index.core.vector_stores.types import VectorStoreQuery
    except ImportError:
        return None
    store = SimpleVectorStore()
    step = 5_000  # Python floats take 32 bytes each, so not all at once beside the copy that the store keeps
    for start in range(0, len(vectors), step):
        part = vectors[start : start + step].tolist()
        store.add([TextNode(text="", id_=str(start + n), embedding=vector) for n, vector in enumerate(part)])

    def search(query: Vectors) -> list[str]:
        found = store.query(VectorStoreQuery(query_embedding=query.tolist(), similarity_top_k=k))
        return list(found.ids or [])

    return search
