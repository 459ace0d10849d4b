"""The commands about models: list, pull, rm, test."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veridical.cli import exits
from veridical.cli.running import Run, add_command
from veridical.errors import ModelOutputInvalid, ModelUnavailable

if TYPE_CHECKING:
    from veridical.ports import Generator
    from veridical.types import Json, Usage

EMBEDDER = "minilm"
_QUESTION = "Write one short English sentence about the sea."


def register(app: typer.Typer) -> None:
    add_command(app, list_models, name="list", example="veridical model list")
    add_command(app, pull, example="veridical model pull smollm2")
    add_command(app, rm, example="veridical model rm smollm2")
    add_command(app, try_model, name="test", example="veridical model test smollm2")


def list_models(run: Run) -> int:
    """List the models: those that ship with the package, those that can be pulled."""
    from veridical.cli.render import size
    from veridical.models.catalog import CATALOG
    from veridical.models.embed import WEIGHTS
    from veridical.models.pull import installed

    here = installed(run.load().settings.home)
    shipped = sum(file.stat().st_size for file in WEIGHTS.glob("*") if file.is_file())
    rows: list[dict[str, Json]] = [
        _row(EMBEDDER, (shipped, "Apache-2.0"), str(WEIGHTS), "all-MiniLM-L6-v2, 8 bit: the embedder, in the package."),
        _row("quote", (0, ""), "", "No language model: answers by quoting the sentences that answer."),
    ]
    for name, weights in CATALOG.items():
        path = str(here[name]) if name in here else None
        rows.append(_row(name, (weights.size, weights.licence), path, weights.description))
    if run.view.as_json:
        run.view.json(rows)
        return exits.OK
    run.view.table(
        ("model", "size", "licence", "here", "note"),
        [
            (
                str(row["name"]),
                size(float(str(row["bytes"]))) if row["bytes"] else "–",
                str(row["licence"]) or "–",
                "yes" if row["installed"] else "no",
                str(row["note"]),
            )
            for row in rows
        ],
    )
    run.view.note("a server's model: --llm openai:MODEL; `veridical doctor` looks for one on this machine")
    return exits.OK


def _row(name: str, facts: tuple[int, str], path: str | None, note: str) -> dict[str, Json]:
    number, licence = facts
    return {
        "name": name,
        "bytes": number,
        "licence": licence,
        "installed": path is not None,
        "path": path,
        "note": note,
    }


def pull(
    run: Run,
    name: Annotated[str, typer.Argument(metavar="NAME", help="See `veridical model list`.")],
    source: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="Take the weights from a file; its hash is checked.")
    ] = None,
) -> int:
    """Fetch a model's weights and check their SHA-256; an interrupted pull continues where it stopped."""
    from veridical.cli.progress import downloading
    from veridical.models.pull import pull as fetch

    with downloading(run.view, name) as on_progress:
        path = fetch(name, source=source, home=run.load().settings.home, on_progress=on_progress)
    if run.view.as_json:
        run.view.json({"name": name, "path": str(path)})
    elif not run.view.quiet:
        run.view.line(f"{name} is here and its hash is right: {path}")
        run.view.note(f"use it: veridical ask 'your question' --llm {name}")
    return exits.OK


def rm(run: Run, name: Annotated[str, typer.Argument(metavar="NAME", help="A pulled model.")]) -> int:
    """Delete a pulled model."""
    from veridical.cli.render import size
    from veridical.models.pull import remove

    freed = remove(name, run.load().settings.home)
    if run.view.as_json:
        run.view.json({"name": name, "freed_bytes": freed})
    elif not run.view.quiet:
        run.view.line(f"removed {name}, {size(freed)} freed" if freed else f"{name} was not here")
    return exits.OK


def try_model(
    run: Run,
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="minilm, a pulled model, openai:MODEL; default: the setting llm."),
    ] = None,
) -> int:
    """Load a model, run it once and say how fast it is and whether its output makes sense."""
    loaded = run.load({"llm": name if name not in (None, EMBEDDER, "quote") else None})
    if name in (EMBEDDER, "quote") or (name is None and loaded.settings.llm == "quote"):
        result = _test_embedder()
    else:
        import asyncio

        from veridical.models.choose import choose_model
        from veridical.models.embed import MiniLm

        generator, _ = choose_model(loaded.settings, MiniLm())
        if generator is None:
            raise ModelUnavailable(
                f"{loaded.settings.llm} writes no text", fix="`veridical model list` names those that do"
            )
        result = asyncio.run(_test_generator(loaded.settings.llm, generator))
    if run.view.as_json:
        run.view.json(result)
    else:
        run.view.line(f"✓ {result['model']}: {result['found']}")
    return exits.OK


def _test_embedder() -> dict[str, Json]:
    from veridical.models.embed import MiniLm

    embedder = MiniLm()
    embedder.verify_weights()
    texts = ["The ferry leaves at nine.", "The boat departs at 9 o'clock.", "Interest rates rose again."]
    embedder.embed_now(texts)  # loading is not what is timed
    began = time.perf_counter()
    vectors = embedder.embed_now(texts * 20)
    rate = len(texts) * 20 / (time.perf_counter() - began)
    near, far = float(vectors[0] @ vectors[1]), float(vectors[0] @ vectors[2])
    if not near > far + 0.2:
        raise ModelOutputInvalid(
            f"the embedder finds two sentences of one meaning no nearer ({near:.2f}) than strangers ({far:.2f})",
            fix="reinstall the package: pip install --force-reinstall veridical",
        )
    found = f"its hashes are right; {rate:,.0f} short texts/s; like texts {near:.2f}, unlike {far:.2f}"
    return {"model": EMBEDDER, "found": found, "texts_per_s": round(rate, 1), "like": near, "unlike": far}


async def _test_generator(name: str, generator: Generator) -> dict[str, Json]:
    from veridical.cli.printable import one_line
    from veridical.types import Message, Prompt, Sampling

    prompt = Prompt("model_test@1", (Message("user", _QUESTION),))
    pieces: list[str] = []
    usage: Usage | None = None
    first = None
    began = time.perf_counter()
    async for chunk in generator.stream(prompt, Sampling(max_tokens=48)):
        if chunk.text:
            first = first or time.perf_counter()
            pieces.append(chunk.text)
        usage = chunk.usage or usage
    ended = time.perf_counter()
    text = one_line("".join(pieces))
    if sum(map(str.isalpha, text)) < 8:
        raise ModelOutputInvalid(
            f"{name} answered {text!r}", fix="this is no chat model, or its file is damaged: try another"
        )
    tokens = usage.completion_tokens if usage and usage.completion_tokens else len(pieces)
    rate = tokens / max(ended - (first or began), 1e-6)
    wait = (first or ended) - began
    found = f"loaded and first token after {wait:.1f} s, then {rate:.0f} tokens/s; it wrote: {text}"
    return {
        "model": name,
        "found": found,
        "tokens_per_s": round(rate, 1),
        "first_token_s": round(wait, 2),
        "text": text,
    }
