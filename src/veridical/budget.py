"""What a question may cost, and what it has cost so far."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

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
        if spent.calls >= self.budget.calls:
            raise self.spent("calls")
        self.check_tokens()
        if spent.seconds > self.budget.seconds:
            raise self.spent("seconds")
        self._calls += 1

    def check_tokens(self, arriving: int = 0) -> None:
        """Raises BudgetExceeded when the tokens so far, and those of a reply that still arrives, are too many."""
        if self._prompt_tokens + self._completion_tokens + arriving > self.budget.tokens:
            raise self.spent("tokens")

    def spent(self, what: Literal["calls", "tokens", "seconds"]) -> BudgetExceeded:
        allowed = getattr(self.budget, what)
        return BudgetExceeded(
            f"the budget of {allowed:g} {what} for this question is spent",
            fix=f"raise budget.{what} or choose a cheaper method",
        )

    def add_tokens(self, prompt: int, completion: int) -> None:
        self._prompt_tokens += prompt
        self._completion_tokens += completion
