"""How strict a verdict is, and what a verification found."""

from __future__ import annotations

from dataclasses import dataclass

from veridical.errors import ConfigError
from veridical.types import Claim, Conflict, Label


@dataclass(frozen=True, slots=True)
class Policy:
    """Where support and contradiction begin. Raises ConfigError for a number that is no share."""

    threshold: float | None = None  # probability from which a claim is supported; None: the judge's own
    contradiction: float = 0.5  # small models call unrelated text contradicted, so only a strong word counts
    doubt: float = 0.2  # the most entailment a contradiction may leave
    overlap: float = 0.4  # share of the claim's content words that a contradicting sentence must hold
    kinship: float = 0.2  # the share that a passage must hold to be read for a claim that cites others
    penalty: float = 0.05  # what each soft finding takes off the score, at most two of them

    def __post_init__(self) -> None:
        for name in ("threshold", "contradiction", "doubt", "overlap", "kinship", "penalty"):
            value = getattr(self, name)
            above_zero = name in ("threshold", "contradiction")  # at zero everything would be supported
            if value is not None and not (value >= 0.0 and value <= 1.0 and (value > 0.0 or not above_zero)):
                raise ConfigError(f"the policy's {name} is {value}", fix=f"give {name} a share above 0, at most 1")


@dataclass(frozen=True, slots=True)
class Verification:
    """The claims with their verdicts, in order, and where the sources disagree about one."""

    claims: tuple[Claim, ...] = ()
    conflicts: tuple[Conflict, ...] = ()

    @property
    def verified(self) -> bool:
        """Whether every claim is supported; no claims at all are not verified."""
        return bool(self.claims) and all(claim.verdict.label is Label.SUPPORTED for claim in self.claims)
