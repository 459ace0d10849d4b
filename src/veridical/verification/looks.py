"""What is asked about one claim, in at most three rounds, and only where the answer can still change the verdict.

First the passages that the claim cites (all of them, where it cites none). Where a cited one carries the claim, the
second round looks for the sentence that does, and reads those other passages that could contradict it; else it
reads all other passages, and the cited ones together. The third round looks for what is still to be found: two
sentences or more that carry the claim together, and the place that says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from veridical.types import Entailment
from veridical.verification.conflicts import is_strong
from veridical.verification.decide import Found, Objection, Support
from veridical.verification.evidence import Places, Window, speaks_against, strongest
from veridical.verification.inquiry import Inquiry, ask, both, together
from veridical.verification.readings import TOGETHER, Case, Reading, Terms, read, weigh

_UNRELATED = Entailment(0.0, 1.0, 0.0)  # said of a passage that shares no word with the claim, without asking
_NARROWED = 2  # passages a claim in which the place of support is looked for
_OPPOSED = 4  # passages a claim in which a contradiction is looked for
_JOINED = 3  # cited passages that are read together


def look_into(case: Case, terms: Terms) -> Inquiry[Found]:
    """All that `decide` needs to know about one claim."""
    cited = [mark for mark in case.asked if mark in case.cited]
    readings = yield from _read(case, cited or case.asked, terms)
    best = _best(reading for reading in readings if reading.mark in case.cited)
    if best:
        return (yield from _confirm(case, readings, best, terms))
    more, joint = yield from both(
        _read(case, _unread(case, readings), terms), _read_jointly(case, cited[:_JOINED], terms)
    )
    return (yield from _search(case, _complete(case, [*readings, *more], terms), joint, terms))


def _confirm(case: Case, cited: Sequence[Reading], best: Sequence[Reading], terms: Terms) -> Inquiry[Found]:
    """The claim is carried by a passage it cites: by which sentence, and does another passage object?

    No other passage is looked at for support: there is nothing to repair.
    """
    others = _unread(case, cited) if is_strong(best[0].score, terms) else []
    supports, objections = yield from both(
        _find_supports(case, best, terms), _find_objections(case, cited, others, terms)
    )
    return Found(tuple(cited), tuple(supports), objections)


def _find_supports(case: Case, best: Sequence[Reading], terms: Terms) -> Inquiry[list[Support]]:
    """Of the first alone where one of its sentences carries the claim, else of all."""
    said = yield from _ask(Places(case, best[0].mark, terms.sources).sentences, case)
    first = _find_support(case, best[0], terms, said)
    if max(said) >= terms.threshold:
        return [(yield from first)]
    return (yield from together([first, *(_find_support(case, reading, terms) for reading in best[1:])]))


def _search(case: Case, readings: tuple[Reading, ...], joint: Reading | None, terms: Terms) -> Inquiry[Found]:
    """No cited passage alone carries the claim: do they together, does another, does any say otherwise?"""
    best = _best(readings)
    # Every passage may object to a claim that another supports; else only those it cites matter, or all without marks.
    scope = readings if best or not case.cited else [r for r in readings if r.mark in case.cited]
    if joint is not None and joint.carries:
        best = []  # no repair is needed
    supports, objections = yield from both(
        together([_find_support(case, reading, terms) for reading in best]), _find_objections(case, scope, (), terms)
    )
    return Found(readings, tuple(supports), objections, joint)


# ── reading passages ─────────────────────────────────────────────────────────────────────────────


def _read(case: Case, marks: Sequence[int], terms: Terms) -> Inquiry[list[Reading]]:
    said = yield from ask([terms.sources.premise(mark) for mark in marks], case.claim.text)
    return [read(case, mark, found, terms) for mark, found in zip(marks, said, strict=True)]


def _read_jointly(case: Case, marks: Sequence[int], terms: Terms) -> Inquiry[Reading | None]:
    """The passages as one, and what they hold on the subject as one: the weaker of the two counts."""
    gists = [gist for mark in marks if (gist := terms.sources.gist(mark, case.words))]
    if len(marks) < 2 or not gists:
        return None
    premise = "\n\n".join(map(terms.sources.premise, marks))
    said = yield from ask([premise, "\n\n".join(gists)], case.claim.text)
    weakest = min(said, key=lambda one: one.entailment)
    return weigh(case.claim.text, Reading(TOGETHER, weakest, weakest.entailment), premise, terms)


def _unread(case: Case, readings: Iterable[Reading]) -> list[int]:
    known = {reading.mark for reading in readings}
    return [mark for mark in case.asked if mark not in known]


def _complete(case: Case, readings: Iterable[Reading], terms: Terms) -> tuple[Reading, ...]:
    """In order of the marks, and with those that need no asking."""
    known = {reading.mark: reading for reading in readings}
    return tuple(known.get(mark) or read(case, mark, _UNRELATED, terms) for mark in case.marks)


def _best(readings: Iterable[Reading]) -> list[Reading]:
    return sorted((r for r in readings if r.carries), key=lambda reading: -reading.score)[:_NARROWED]


# ── finding the place ────────────────────────────────────────────────────────────────────────────


def _ask(windows: Sequence[Window], case: Case) -> Inquiry[list[float]]:
    said = yield from ask([window.premise for window in windows], case.claim.text)
    return [one.entailment for one in said]


def _find_support(case: Case, reading: Reading, terms: Terms, said: Sequence[float] = ()) -> Inquiry[Support]:
    """The place in a passage that carries the claim; no evidence when only text about something else does.

    `said` is what is known already about its sentences.
    """
    places = Places(case, reading.mark, terms.sources)
    if not case.cited:  # one round was enough so far, so there is time to ask in two
        said = yield from _ask(places.sentences, case)
    one = strongest(places.sentences, said, terms.threshold) if said else None
    if one is not None:
        return Support(reading, places.quote(one), max(said))
    asked = [*places.sentences, *places.twos][len(said) :]
    more, gist = yield from both(_ask(asked, case), _weigh_gist(case, reading, terms))
    said, singles = [*said, *more], len(places.sentences)
    place = strongest(places.sentences, said[:singles], terms.threshold)
    place = place or strongest(places.twos, said[singles:], terms.threshold)
    if place is not None:
        return Support(reading, places.quote(place), max(said))
    whole = terms.sources.evidence(reading.mark) if gist >= terms.threshold else None
    return Support(reading, whole, max([*said, gist]))


def _weigh_gist(case: Case, reading: Reading, terms: Terms) -> Inquiry[float]:
    """How far what the passage holds on the subject carries the claim; known already where that is all of it."""
    gist = terms.sources.gist(reading.mark, case.words)
    if gist == terms.sources.premise(reading.mark):
        return reading.found.entailment
    said = yield from ask([gist], case.claim.text)
    return said[0].entailment


def _find_objections(
    case: Case, readings: Sequence[Reading], unread: Sequence[int], terms: Terms
) -> Inquiry[tuple[Objection, ...]]:
    """The places that say otherwise, one a passage, the strongest passage first.

    Only passages with a place that holds words enough are asked about, those that the claim cites and those that hold
    most of its words first.
    """
    known: dict[int, Reading | None] = {**dict.fromkeys(unread), **{reading.mark: reading for reading in readings}}
    able = [places for mark in sorted(known) if (places := Places(case, mark, terms.sources)).can_object(terms.policy)]
    able.sort(key=lambda places: (places.mark not in case.cited, -places.share))
    found = yield from together([_find_objection(places, known[places.mark], terms) for places in able[:_OPPOSED]])
    strongest_first = sorted((one for one in found if one), key=lambda one: -one[0])
    return tuple(objection for _, objection in strongest_first)


def _find_objection(places: Places, reading: Reading | None, terms: Terms) -> Inquiry[tuple[float, Objection] | None]:
    """The place that says otherwise, and how strongly its passage does; only then is a passage read that was not."""
    least = terms.policy.contradiction
    if reading is not None and reading.found.contradiction < least:
        return None
    ones, twos = places.objecting(terms.policy)
    said = yield from ask([window.premise for window in (*ones, *twos)], places.case.claim.text)
    strengths = [one.contradiction if speaks_against(one, terms.policy) else 0.0 for one in said]
    place = strongest(ones, strengths[: len(ones)], least)
    place = place or strongest(twos, strengths[len(ones) :], least)
    if place is None:
        return None
    if reading is None:
        (reading,) = yield from _read(places.case, [places.mark], terms)
    if reading.found.contradiction < least:
        return None
    return reading.found.contradiction, Objection(places.mark, places.quote(place))
