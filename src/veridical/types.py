"""The values that travel through the engine: frozen, comparable, and without behaviour beyond themselves.

Offsets are Python string indices (code points), half-open. A `Passage` and a `Citation` point into the
extracted text of their document, a `Claim` points into the text of its answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import NamedTuple, TypeAlias, Union

Json: TypeAlias = Union[bool, int, float, str, list["Json"], dict[str, "Json"], None]  # noqa: UP007 - recursive


class Span(NamedTuple):
    """A half-open range of characters."""

    start: int
    end: int

    def of(self, text: str) -> str:
        return text[self.start : self.end]

    def shift(self, by: int) -> Span:
        return Span(self.start + by, self.end + by)


# ── what is read ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading path in force from `start` until the next heading's start."""

    start: int
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """The extracted text of one file, page or record.

    `pages[i]` is the offset where page i+1 begins (empty: the format has no pages).
    `headings` are in order of `start`. `offset` is where this text begins in its source when a very long
    source was read as several documents.
    """

    id: str
    uri: str
    title: str
    text: str
    media_type: str = "text/plain"
    pages: tuple[int, ...] = ()
    headings: tuple[Heading, ...] = ()
    date: date | None = None
    tags: tuple[str, ...] = ()
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document that search can return. `text` is exactly the document's text at `span`."""

    id: str
    document_id: str
    text: str
    span: Span
    title: str = ""
    uri: str = ""
    heading: tuple[str, ...] = ()
    page: int | None = None
    score: float = 0.0
    also_in: tuple[str, ...] = ()  # ids of near-duplicate passages that were left out for this one


@dataclass(frozen=True, slots=True)
class Filter:
    """Restricts a search to documents for which every given condition holds."""

    path: str | None = None  # a glob over the document's path or URL; a plain folder name means all below it
    types: tuple[str, ...] = ()  # media types or file suffixes without the dot; any of them
    after: date | None = None  # inclusive
    before: date | None = None  # inclusive
    tags: tuple[str, ...] = ()  # all of them

    def __bool__(self) -> bool:
        return any((self.path, self.types, self.after, self.before, self.tags))


# ── what is answered ─────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a mark such as [1] leads: a passage and its exact place in the source document."""

    mark: int
    passage_id: str
    document_id: str
    title: str
    uri: str
    span: Span
    page: int | None = None
    heading: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """The sentence a verdict rests on. `source.span` covers just that sentence in the source document."""

    text: str
    source: Citation


class Label(StrEnum):
    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNVERIFIED = "unverified"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a claim says that its evidence does not hold, found without a model: a number, a name, a quote…"""

    kind: (
        str  # number | date | unit | quote | negation | opposite | order | frame; softer: name, polarity, report, count
    )
    text: str  # as the claim has it
    reason: str  # "1987 is not in the cited passage"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What checking a claim found. `score` says how sure support is, 0..1, or None when nothing could check it."""

    label: Label = Label.UNVERIFIED
    score: float | None = None
    evidence: Evidence | None = None
    reason: str = ""
    cited: bool = False  # whether the passages that the claim cites carry it
    repair: tuple[Citation, ...] = ()  # uncited passages that carry it, best first, when the cited ones do not
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of an answer, without its citation marks. `span` covers sentence and marks in the answer."""

    text: str
    span: Span
    citations: tuple[Citation, ...] = ()
    verdict: Verdict = Verdict()


@dataclass(frozen=True, slots=True)
class Draft:
    """A cited text, not yet an answer: mark [n] means passages[n-1]."""

    text: str
    passages: tuple[Passage, ...] = ()
    abstained: str = ""  # why the writer wrote no answer; empty when it did


@dataclass(frozen=True, slots=True)
class Review:
    """Named scores of a draft, 0..1, and what is wrong with it in words."""

    scores: Mapping[str, float] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two sources that disagree about one claim."""

    claim: str
    one: Evidence
    other: Evidence


class Status(StrEnum):
    ANSWERED = "answered"
    PARTIAL = "partial"
    ABSTAINED = "abstained"


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer cost. Tokens are zero when no language model ran."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer whose every sentence knows its sources and its verdict."""

    question: str
    text: str
    status: Status
    claims: tuple[Claim, ...] = ()
    sources: tuple[Citation, ...] = ()  # every passage the answer was given, numbered as its marks
    reason: str = ""  # why it is partial or abstained
    scores: Mapping[str, float] = field(default_factory=dict)
    conflicts: tuple[Conflict, ...] = ()
    invalid_marks: int = 0  # marks removed because they named no passage
    usage: Usage = Usage()
    method: str = ""
    trace_id: str = ""

    def __str__(self) -> str:
        """The text; in an answer that holds only in part, what is not supported is struck: `~~…~~`."""
        if self.status is not Status.PARTIAL:
            return self.text
        pieces, at = [], 0
        for claim in self.claims:
            if claim.verdict.label is not Label.SUPPORTED and claim.span.start >= at:
                pieces += [self.text[at : claim.span.start], f"~~{claim.span.of(self.text)}~~"]
                at = claim.span.end
        return "".join((*pieces, self.text[at:]))


# ── talking to models ────────────────────────────────────────────────────────────────────────────


class Message(NamedTuple):
    role: str  # system | user | assistant
    content: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """A rendered prompt. `name` is `file@version`, `digest` of its file; `schema` asks for JSON of that shape."""

    name: str
    messages: tuple[Message, ...]
    schema: Mapping[str, Json] | None = None
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Sampling:
    temperature: float = 0.0
    max_tokens: int = 512
    top_p: float = 1.0
    seed: int | None = None
    stop: tuple[str, ...] = ()
    logprobs: int = 0  # how many alternatives a token to report, where the model offers it


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    text: str
    logprob: float
    alternatives: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a model's output. The last one carries the usage and why it ended."""

    text: str = ""
    logprobs: tuple[TokenLogprob, ...] = ()
    finish: str = ""  # "" while running, then stop | length | …
    usage: Usage | None = None


class Entailment(NamedTuple):
    """Probabilities that sum to one."""

    entailment: float
    neutral: float
    contradiction: float
