"""What a question may cost, and what it has cost so far."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from veridical.errors import BudgetExceeded
from veridical.types import Usage


@dataclass(frozen=True, slots=True)
class Budget:
    calls: int = 32
    tokens: int = 60_000
    seconds: float = 600.0


class Meter:
    """Counts one question's spending; a verb asks it before it spends."""

    def __init__(self, budget: Budget, clock: Callable[[], float] = time.monotonic) -> None:
        self.budget = budget
        self._clock = clock
        self._began = clock()
        self._calls = self._prompt_tokens = self._completion_tokens = 0

    @property
    def usage(self) -> Usage:
        return Usage(self._calls, self._prompt_tokens, self._completion_tokens, self._clock() - self._began)

    @property
    def seconds_left(self) -> float:
        return self.budget.seconds - (self._clock() - self._began)

    def begin_call(self) -> None:
        """Raises BudgetExceeded when the next call would go over."""
        spent = self.usage
        for what, used, allowed in (
            ("calls", spent.calls + 1, self.budget.calls),
            ("tokens", spent.prompt_tokens + spent.completion_tokens, self.budget.tokens),
            ("seconds", spent.seconds, self.budget.seconds),
        ):
            if used > allowed:
                raise BudgetExceeded(
                    f"the budget of {allowed:g} {what} for this question is spent",
                    fix=f"raise budget.{what} or choose a cheaper method",
                )
        self._calls += 1

    def add_tokens(self, prompt: int, completion: int) -> None:
        self._prompt_tokens += prompt
        self._completion_tokens += completion
