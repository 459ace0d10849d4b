"""`verify --calibrate`: labelled pairs in, a file out that turns an accepted risk into a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from veridical.checks.weight import lower
from veridical.cli import exits
from veridical.cli.running import Run
from veridical.cli.verify_lines import Pair, name_lines, opened_lines, read_pairs, shown_name, slices
from veridical.cli.verify_pairs import judge_pairs, opened_judge
from veridical.errors import InputRefused
from veridical.types import Json

if TYPE_CHECKING:
    from veridical.ports import Judge
    from veridical.settings import Settings
    from veridical.types import Entailment
    from veridical.verification.calibration import Calibration, Scored

_RIGHT = frozenset({"supported", "entailment", "entailed", "true", "yes", "1"})
_WRONG = frozenset(
    {"contradicted", "unverified", "unsupported", "not_supported", "neutral", "contradiction", "refuted"}
)
_WRONG_TOO = frozenset({"false", "no", "0"})
_LINE = '{"premise": "…", "hypothesis": "…", "supported": true}'
USUAL_RISKS = (0.01, 0.02, 0.05, 0.1, 0.2)


def calibrate(run: Run, settings: Settings, file: str, out: Path, risk: float | None) -> int:
    """Scores the labelled pairs, fits the calibration, saves it, and says what it promises."""
    from veridical.verification.calibration import fit

    scored, judge = _score(settings, file)
    calibration = fit(scored, judge)
    try:
        calibration.save(out)
    except OSError as error:
        raise InputRefused(f"{out} cannot be written: {error.strerror}", fix="name a file you may write") from None
    if run.view.as_json:
        run.view.json(_as_json(calibration, scored, out))
    else:
        _show(run, calibration, scored)
        _what_to_write(run, calibration, out, risk)
    return exits.OK


def _score(settings: Settings, file: str) -> tuple[list[Scored], str]:
    """The score that `--pairs` gives each pair, with its label; and which judge gave it."""
    from veridical.engine import name_judge

    scored: list[Scored] = []
    wrong: list[int] = []
    # The risk in the settings is that of another calibration, which may be of another judge.
    own = settings.model_copy(update={"verify": settings.verify.model_copy(update={"risk": None})})
    with opened_judge(own) as (runner, judge, _), opened_lines(file) as stream:
        name = name_judge(settings, judge)
        for portion in slices(read_pairs(stream)):
            labels = [_label(pair) for pair in portion]
            wrong += [pair.number for pair, label in zip(portion, labels, strict=True) if label is None]
            asked = [pair for pair in portion if _is_read(judge, pair)]
            found = dict(zip((pair.number for pair in asked), runner.run(judge_pairs(judge, asked)), strict=True))
            for pair, label in zip(portion, labels, strict=True):
                scored.append((_weigh(pair, found.get(pair.number, "")), bool(label)))
    if wrong:
        lines = f"malformed line{'s' if len(wrong) > 1 else ''} {name_lines(wrong, len(wrong))}"
        raise InputRefused(f"{shown_name(file)}: {lines}", fix=f"a line is {_LINE}")
    if not scored:
        raise InputRefused(f"{shown_name(file)} holds no labelled pairs", fix=f"one a line: {_LINE}")
    return scored, name


def _is_read(judge: Judge, pair: Pair) -> bool:
    texts = (pair.hypothesis, pair.premise)
    return not pair.error and all(text.strip() and not judge.declines(text) for text in texts)


def _weigh(pair: Pair, found: Entailment | str) -> float:
    """The judge's score after the checks; what was not judged scores nothing, as it would in use."""
    from veridical.checks import find_findings

    if isinstance(found, str):
        return 0.0
    return lower(float(found.entailment), find_findings(pair.hypothesis, pair.premise))


def _label(pair: Pair) -> bool | None:
    """Whether a person found the hypothesis supported; None when the line does not say so."""
    value: Json = pair.row.get("supported", pair.row.get("label"))
    if pair.error or not isinstance(value, (bool, int, str)):
        return None
    said = str(value).strip().lower()
    if said in _RIGHT:
        return True
    return False if said in _WRONG | _WRONG_TOO else None


def find_auc(scored: Sequence[Scored]) -> float | None:
    """The probability that a supported claim scores above another one, ties counting half; None without both."""
    right = sum(label for _, label in scored)
    wrong = len(scored) - right
    if not right or not wrong:
        return None
    ranked = sorted(scored, key=lambda pair: pair[0])
    wins, below, start = 0.0, 0, 0
    while start < len(ranked):
        end = start
        while end < len(ranked) and ranked[end][0] == ranked[start][0]:
            end += 1
        tied_right = sum(label for _, label in ranked[start:end])
        tied_wrong = end - start - tied_right
        wins += tied_right * (below + tied_wrong / 2)
        below += tied_wrong
        start = end
    return wins / (right * wrong)


def _show(run: Run, calibration: Calibration, scored: Sequence[Scored]) -> None:
    from veridical.cli.render import count

    auc = find_auc(scored)
    right = sum(label for _, label in scored)
    run.view.line(
        f"{count(calibration.claims, 'labelled claim')}, {right:,} of them supported; judge {calibration.judge}"
    )
    said = f"AUC {auc:.3f}, " if auc is not None else ""
    run.view.line(f"{said}ECE {calibration.ece:.3f}, area under the risk–coverage curve {calibration.aurc:.3f}")
    run.view.line()
    run.view.table(
        ("coverage", "accuracy", "risk", "risk at most", "threshold"),
        [
            (
                f"{point.coverage:.0%}",
                f"{point.accuracy:.1%}" if point.accuracy is not None else "–",
                f"{point.risk:.1%}" if point.risk is not None else "–",
                f"{point.bound:.1%}",
                f"{point.threshold:.3f}",
            )
            for point in calibration.curve
        ],
    )


def _what_to_write(run: Run, calibration: Calibration, out: Path, risk: float | None) -> None:
    from veridical.errors import ConfigError
    from veridical.verification.calibration import CONFIDENCE

    if risk is not None:
        calibration.threshold_for(risk)  # asked for outright, so an error when it cannot be kept
    else:
        for usual in USUAL_RISKS:
            try:
                calibration.threshold_for(usual)
            except ConfigError:
                continue
            risk = usual
            break
    run.view.line()
    if risk is None:
        run.view.line("No usual risk can be promised from so few claims: label more of them.", "yellow")
        return
    point = next(p for p in calibration.curve if p.threshold == calibration.threshold_for(risk))
    run.view.line(
        f"Of pairs like these, at most {risk:.0%} of what is called supported is wrong (at {CONFIDENCE:.0%} "
        f"confidence), and {point.coverage:.0%} of them are called so, with"
    )
    run.view.line(f'[verify]\ncalibration = "{out}"\nrisk = {risk:g}')
    run.view.note(
        f"in veridical.toml, or once: veridical verify answer.md --set verify.calibration={out} --risk {risk:g}"
    )


def _as_json(calibration: Calibration, scored: Sequence[Scored], out: Path) -> dict[str, object]:
    return {
        "file": str(out),
        "claims": calibration.claims,
        "judge": calibration.judge,
        "auc": find_auc(scored),
        "ece": calibration.ece,
        "aurc": calibration.aurc,
        "curve": [
            {
                "threshold": point.threshold,
                "coverage": point.coverage,
                "accuracy": point.accuracy,
                "risk": point.risk,
                "bound": point.bound,
            }
            for point in calibration.curve
        ],
    }
