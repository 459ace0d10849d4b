"""Writes a trained cross-encoder as an ONNX graph, node by node, with the parts of the embedder's export."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from veridical.training.export_embedder import CONTRIB, HEADS, LAYERS, Floats, Graph, encode_layer, quantise


def embed_pairs(graph: Graph, tensors: Mapping[str, Floats], max_tokens: int) -> str:
    from onnx import TensorProto

    words = tensors["embeddings.word_embeddings.weight"]
    if graph.float32:
        x = graph.node("Gather", [graph.constant("words", words), "input_ids"])[0]
    else:
        scales, whole = quantise(words)
        rows = graph.node("Gather", [graph.constant("words", whole.astype(np.int8)), "input_ids"])[0]
        steps = graph.node("Gather", [graph.constant("words.scale", scales[:, None]), "input_ids"])[0]
        x = graph.node("Mul", [graph.node("Cast", [rows], to=TensorProto.FLOAT)[0], steps])[0]
    types = graph.constant("types", tensors["embeddings.token_type_embeddings.weight"])
    kind = graph.node("Gather", [types, "token_type_ids"])[0]
    places = graph.constant("places", tensors["embeddings.position_embeddings.weight"][:max_tokens])
    length = graph.node("Shape", ["input_ids"], start=1, end=2)[0]
    place = graph.node("Slice", [places, graph.constant("first", np.array([0], np.int64)), length])[0]
    return graph.skip_norm(x, graph.node("Add", [kind, place])[0], "embeddings.LayerNorm", tensors)


def encode_first_token(graph: Graph, x: str, prefix: str, tensors: Mapping[str, Floats]) -> str:
    """The last layer for the first token alone: every token is a key and a value, but only one asks and is read."""

    def linear(x: str, name: str, *parts: str) -> str:
        weight = np.concatenate([tensors[f"{prefix}.{part}.weight"].T for part in parts], axis=1)
        bias = np.concatenate([tensors[f"{prefix}.{part}.bias"] for part in parts])
        return graph.linear(x, f"{prefix}.{name}", weight, bias)

    first = graph.node("Gather", [x, graph.constant("first_token", np.array([0], np.int64))], axis=1)[0]
    query = linear(first, "q", "attention.self.query")
    both = linear(x, "kv", "attention.self.key", "attention.self.value")
    key, value = graph.node("Split", [both], outputs=2, axis=-1, num_outputs=2)
    mixed = graph.node("MultiHeadAttention", [query, key, value], domain=CONTRIB, num_heads=HEADS)[0]
    mixed = linear(mixed, "mixed", "attention.output.dense")
    x = graph.skip_norm(mixed, first, f"{prefix}.attention.output.LayerNorm", tensors)
    wide = linear(x, "wide", "intermediate.dense")
    wide = graph.node("Gelu" if graph.float32 else "FastGelu", [wide], domain=CONTRIB)[0]
    return graph.skip_norm(linear(wide, "narrow", "output.dense"), x, f"{prefix}.output.LayerNorm", tensors)


def build_cross(tensors: Mapping[str, Floats], max_tokens: int, *, float32: bool = False) -> bytes:
    """A model from `input_ids` and `token_type_ids` (pairs, tokens) int32 to `logits` (pairs, outputs)."""
    from onnx import TensorProto, helper

    graph = Graph(float32)
    x = embed_pairs(graph, tensors, max_tokens)
    for layer in range(LAYERS - 1):
        x = encode_layer(graph, x, f"encoder.layer.{layer}", tensors)
    first = encode_first_token(graph, x, f"encoder.layer.{LAYERS - 1}", tensors)
    first = graph.node("Squeeze", [first, graph.constant("tokens_axis", np.array([1], np.int64))])[0]
    # The two small layers on top stay in float32: they cost nothing and carry the whole decision.
    for name, activation in (("pooler.dense", "Tanh"), ("classifier", None)):
        weight = graph.constant(f"{name}.weight", tensors[f"{name}.weight"].T)
        first = graph.node("MatMul", [first, weight])[0]
        first = graph.node("Add", [first, graph.constant(f"{name}.bias", tensors[f"{name}.bias"])])[0]
        if activation:
            first = graph.node(activation, [first])[0]
    graph.nodes[-1].output[0] = "logits"
    shape = ["pairs", "tokens"]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT32, shape) for name in ("input_ids", "token_type_ids")]
    outputs = tensors["classifier.bias"].shape[0]
    out = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["pairs", outputs])
    built = helper.make_graph(graph.nodes, "cross", inputs, [out], list(graph.constants.values()))
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(CONTRIB, 1)]
    content: bytes = helper.make_model(
        built, opset_imports=opsets, ir_version=9, producer_name="veridical"
    ).SerializeToString()
    return content
