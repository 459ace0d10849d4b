"""What a person sees while something runs: a bar for many files, steps and streaming text for one question."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from veridical.cli.printable import one_line, printable
from veridical.cli.render import MARKS, STYLES, count
from veridical.events import Decided, Ended, Event, Pending, Started, Token

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.spinner import Spinner

    from veridical.cli.view import View
    from veridical.ingest import Progress
    from veridical.types import Label

_LINES_EVERY_S = 5.0  # seconds between two plain lines of a long run
_TAIL = 10  # lines of a streaming draft that stay in sight
_SENTENCES = 6  # of those that are checked

_WRITING = "writing"

Report = Callable[["Progress"], None]


@contextmanager
def ingest_progress(view: View) -> Iterator[Report]:
    """A function to report progress to: a bar with rate and time left, or a plain line now and then."""
    if view.quiet or view.as_json:
        yield lambda _: None
    elif view.fancy:
        with _bar(view) as report:
            yield report
    else:
        yield _plain_lines(view)


def _plain_lines(view: View) -> Report:
    last = [0.0]

    def report(progress: Progress) -> None:
        if progress.seconds - last[0] >= _LINES_EVERY_S:
            last[0] = progress.seconds
            done = f"{progress.done:,} of {progress.total:,}" if progress.total else f"{progress.done:,}"
            view.note(f"{progress.stage}: {done} sources, {count(progress.passages, 'passage')}, {_rate(progress)}")

    return report


def _rate(progress: Progress) -> str:
    going = progress.passages and progress.seconds > 0
    return f"{progress.passages / progress.seconds:,.0f} passages/s" if going else ""


@contextmanager
def _bar(view: View) -> Iterator[Report]:
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[sources]}", markup=False),
        TextColumn("{task.fields[rate]}", style="dim", markup=False),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[current]}", style="dim", markup=False),
    )
    with Bar(*columns, console=view.out, transient=True) as bar:
        task = bar.add_task("reading", total=None, rate="", current="", sources="")

        def report(progress: Progress) -> None:
            current = one_line(progress.current).rpartition("/")[2][:24]
            bar.update(
                task,
                description=one_line(progress.stage),
                completed=progress.share,
                total=1.0 if progress.share else None,
                sources=f"{progress.done:,}/{progress.total:,}" if progress.total else "",
                rate=_rate(progress),
                current=current,
            )

        yield report


@contextmanager
def counted(view: View, what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar for plain counting; the yielded function takes how many are done. Nothing unless on a terminal."""
    if not view.fancy or view.quiet:
        yield lambda _: None
        return
    from rich.progress import Progress as Bar

    with Bar(console=view.out, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)


# ── one question ─────────────────────────────────────────────────────────────────────────────────


def finished_step(event: Event) -> str:
    """What a finished span achieved, in words; empty for those that are nobody's concern."""
    if not isinstance(event, Ended):
        return ""
    if event.name == "search":
        passages = _strings(event.detail.get("passages"))
        documents = {passage.rpartition(":")[0] for passage in passages}
        return f"found {count(len(passages), 'passage')} in {count(len(documents), 'document')}"
    if event.name == "write":
        return "found no answer in them" if event.detail.get("abstained") else "wrote an answer"
    if event.name == "verify":
        verdicts = _strings(event.detail.get("verdicts"))
        return f"checked {count(len(verdicts), 'sentence')}"
    return ""


def begun_step(event: Event) -> str:
    """What a span that just began is doing, in words."""
    if not isinstance(event, Started):
        return ""
    if event.name == "ask":
        return "rephrasing the follow-up" if str(event.detail.get("prompt")).startswith("condense") else ""
    return {"search": "searching", "write": _WRITING, "verify": "checking"}.get(event.name, "")


def _strings(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


class Steps:
    """A sink that gathers the steps of one question, its checked sentences, and the draft that still streams."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.now = ""
        self.draft = ""  # what was written since the last complete sentence
        self.sentences: dict[int, str] = {}
        self.verdicts: dict[int, Label] = {}
        self._spinner: Spinner | None = None

    def __call__(self, event: Event) -> None:
        if isinstance(event, Token):
            self.draft += event.text
        elif isinstance(event, Pending):
            self.sentences[event.number] = event.text
            self.draft = self.draft.partition(event.text)[2]
        elif isinstance(event, Decided):
            self.verdicts[event.number] = event.claim.verdict.label
        else:
            self._step(event)

    def _step(self, event: Event) -> None:
        if begun := begun_step(event):
            self.now, self.draft = begun, ""
            if begun == _WRITING:  # a second draft has sentences of its own
                self.sentences, self.verdicts = {}, {}
        if finished := finished_step(event):
            self.done.append(finished)
            self.now = ""

    def __rich__(self) -> RenderableType:
        from rich.console import Group
        from rich.spinner import Spinner
        from rich.text import Text

        parts: list[Any] = [Text(f"  {step}", style="dim") for step in self.done]
        if self.now:
            self._spinner = self._spinner or Spinner("dots")  # one for all frames, or it would never turn
            self._spinner.update(text=Text(self.now, style="dim"))
            parts.append(self._spinner)
        if self.sentences:
            parts.append(self._checked())
        if unfinished := printable(self.draft).strip():
            parts.append(Text("\n".join(unfinished.splitlines()[-_TAIL:]), style="dim"))
        return Group(*parts)

    def _checked(self) -> RenderableType:
        """The last sentences, each dim until its verdict stands in the gutter."""
        from rich.table import Table
        from rich.text import Text

        grid = Table.grid(padding=(0, 1, 0, 0))
        for number in sorted(self.sentences)[-_SENTENCES:]:
            label = self.verdicts.get(number)
            mark = Text(MARKS[label], style=STYLES[label]) if label else Text("…", style="dim")
            grid.add_row(mark, Text(one_line(self.sentences[number]), style="" if label else "dim"))
        return grid


@contextmanager
def question_steps(view: View) -> Iterator[Steps]:
    """The sink to ask with: live on a terminal and gone afterwards but for one line; plain lines on stderr else."""
    steps = Steps()
    if view.quiet or view.as_json:
        yield steps
    elif view.fancy:
        from rich.live import Live

        with Live(steps, console=view.out, transient=True, refresh_per_second=12):
            yield steps
        view.line(" · ".join(steps.done), "dim")
    else:
        yield _Told(view)


class _Told(Steps):
    """Steps that are told one by one, for a log."""

    def __init__(self, view: View) -> None:
        super().__init__()
        self._view = view

    def __call__(self, event: Event) -> None:
        super().__call__(event)
        if finished := finished_step(event):
            self._view.note(finished)


@contextmanager
def downloading(view: View, name: str) -> Iterator[Callable[[int, int], None]]:
    """A bar in bytes with speed and time left; the yielded function takes bytes done and in all."""
    if not view.fancy or view.quiet:
        view.note(f"pulling {name} …")
        yield lambda _done, _total: None
        return
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=24), DownloadColumn())
    with Bar(*columns, TransferSpeedColumn(), TimeRemainingColumn(), console=view.out, transient=True) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
