"""What lies where documents were added from: found, vanished, or out of reach."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from veridical.corpus import Refused, Source, url_source, walk
from veridical.errors import InputRefused
from veridical.ingest.roots import Root, as_root, is_url


@dataclass(slots=True)
class Seen:
    """A survey of roots. `lost` are those below which nothing is left; `gone` are single sources that vanished."""

    found: list[Source | Refused] = field(default_factory=list)
    corpora: list[Source] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


def find(paths: Sequence[str | Path], index: Path) -> list[Source | Refused]:
    """The sources that paths and URLs mean; the index itself is left out."""
    urls = [str(path) for path in paths if is_url(str(path))]
    files = [Path(path) for path in paths if not is_url(str(path))]
    return [*walk(files, skip=[index]), *(url_source(url) for url in urls)]


def survey(roots: Sequence[Root], known: Sequence[str], index: Path) -> Seen:
    """What lies below the roots now, beside what the index knows of them."""
    seen = Seen()
    for root in roots:
        below = [uri for uri in known if root.holds(uri)]
        if root.beir and Path(root.name).is_file():
            seen.corpora.append(beir_source(Path(root.name)))
        elif root.is_url:
            seen.found.append(url_source(root.name))
        elif Path(root.name).exists() or not below:
            found = find([root.name], index)
            closed = [as_root(item.uri) for item in found if isinstance(item, Refused)]
            present = {item.uri for item in found}
            gone = [uri for uri in below if uri not in present and not any(one.holds(uri) for one in closed)]
            seen.found += found
            seen.lost += [root.name] if below and not found else []
            seen.gone += gone if found else []
        elif below == [root.name]:
            seen.gone.append(root.name)
        else:  # a single file that vanished is gone; a folder that did is more likely unplugged
            seen.lost.append(root.name)
    return seen


def worth_a_look(roots: Iterable[Root], known: Sequence[str]) -> list[Root]:
    """The roots that exist or of which the index holds something."""
    return [root for root in roots if root.is_url or Path(root.name).exists() or any(root.holds(uri) for uri in known)]


def beir_source(corpus: Path) -> Source:
    if not corpus.is_file():
        raise InputRefused(f"there is no file {corpus}", fix="point --beir at a corpus.jsonl or corpus.jsonl.gz")
    facts = corpus.stat()
    return Source(corpus.absolute().as_posix(), corpus, facts.st_size, facts.st_mtime)
