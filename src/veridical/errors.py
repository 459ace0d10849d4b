"""Every error the library raises on purpose, drawn as a tree.

    VeridicalError
    ├── ConfigError          a setting, flag or prompt file is wrong
    ├── InputRefused         a document or a question cannot be used as it is
    ├── IndexMissing         there is no index where one was expected
    ├── IndexBusy            another process is writing to the index
    ├── CorruptIndex         the index contradicts itself or cannot be read
    ├── StorageFull          the disk took no more bytes
    ├── ModelUnavailable     no model, its weights are missing, or its server is down
    ├── ModelOutputInvalid   a model answered with something unreadable
    ├── WebUnavailable       a page could not be fetched
    └── BudgetExceeded       the calls, tokens or seconds of a question are spent

An unsupported claim is not an error: it is a value (`types.Verdict`).
"""

from __future__ import annotations


class VeridicalError(Exception):
    """What went wrong, and in `fix` what the reader should do next."""

    exit_code = 1

    def __init__(self, message: str, *, fix: str) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.message}\n  → {self.fix}"

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross process borders (parsing runs in worker processes).
        return (_rebuild, (type(self), self.message, self.fix))


def _rebuild(kind: type[VeridicalError], message: str, fix: str) -> VeridicalError:
    return kind(message, fix=fix)


class ConfigError(VeridicalError):
    exit_code = 2


class InputRefused(VeridicalError):
    exit_code = 2


class IndexMissing(VeridicalError):
    exit_code = 3


class IndexBusy(VeridicalError):
    exit_code = 4


class CorruptIndex(VeridicalError):
    exit_code = 5


class StorageFull(VeridicalError):
    exit_code = 6


class ModelUnavailable(VeridicalError):
    exit_code = 7


class ModelOutputInvalid(VeridicalError):
    exit_code = 8


class WebUnavailable(VeridicalError):
    exit_code = 9


class BudgetExceeded(VeridicalError):
    exit_code = 10
