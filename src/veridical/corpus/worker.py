"""The inside of a parsing process: sources come on stdin, answers go out on stdout, until stdin ends."""

from __future__ import annotations

import os
import pickle
import signal
import sys

from veridical.corpus.parse import parse_source
from veridical.corpus.source import ReadOptions, Source
from veridical.corpus.tokens import CountTokens, open_counter
from veridical.errors import ConfigError


def serve() -> None:
    """Answers every source with its `Parsed`, or a `Refused` at the end. Ends when its parent does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent to handle, which then ends us
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not get between the answers
    tasks = sys.stdin.buffer
    options: ReadOptions = pickle.load(tasks)  # noqa: S301 (from our own parent)
    count: CountTokens | None = None
    while True:
        try:
            source: Source = pickle.load(tasks)  # noqa: S301
        except EOFError:
            return
        try:
            count = count or open_counter(options.tokenizer)
            for answer in parse_source(source, options, count):
                pickle.dump(answer, answers, pickle.HIGHEST_PROTOCOL)
                answers.flush()
        except ConfigError as error:  # as wrong for the next file as for this one
            pickle.dump(error, answers)
            answers.flush()
        except BrokenPipeError:  # the parent has gone
            return
