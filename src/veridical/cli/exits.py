"""What the exit code of a command says. Errors carry their own code (`veridical.errors`); the rest is here."""

from __future__ import annotations

OK = 0
PROBLEMS = 5
ALL_REFUSED = 11
NOT_USABLE = 12
ABSTAINED = 20
UNEXPECTED = 70
BROKEN_PIPE = 141
INTERRUPTED = 130

MEANINGS = {
    OK: "done; for `ask`: answered, at least in part",
    1: "`verify`: a claim fails, sources disagree (--fail-on-conflict), or lines of --pairs could not be read; "
    "else an error without a code of its own",
    2: "a flag, a setting, a question or a file cannot be used as it is",
    3: "there is no index yet",
    4: "another process is writing to the index",
    PROBLEMS: "the index contradicts itself; also `status --check` when it found problems",
    6: "the disk is full",
    7: "no model: weights missing, or its server is down",
    8: "a model answered with something unreadable",
    9: "a page could not be fetched",
    10: "the calls, tokens or seconds of a question are spent",
    ALL_REFUSED: "`add` and `sync`: every source was refused",
    NOT_USABLE: "`doctor`: something needed is missing",
    ABSTAINED: "`ask`: the documents hold no answer, or none of the draft could be verified",
    UNEXPECTED: "a bug in veridical; --debug shows where",
    INTERRUPTED: "stopped by Ctrl-C",
    BROKEN_PIPE: "the reader of the output went away (as in `| head`)",
}
