"""Numbers as they are written: digits with any grouping, and words."""

from __future__ import annotations

import re
from types import MappingProxyType

from veridical.checks.words import listed

ONES = MappingProxyType(
    {
        word: float(value)
        for value, word in enumerate(
            listed(
                "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
                "seventeen eighteen nineteen"
            )
        )
    }
)
TENS = MappingProxyType(
    {
        word: float(10 * value)
        for value, word in enumerate(listed("twenty thirty forty fifty sixty seventy eighty ninety"), start=2)
    }
)
ORDINALS = MappingProxyType(
    {
        word: float(value)
        for value, word in enumerate(
            listed(
                "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
                "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
            ),
            start=1,
        )
    }
    | {
        word: float(10 * value)
        for value, word in enumerate(
            listed("thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth hundredth"), start=3
        )
    }
)
SCALES = MappingProxyType(
    {
        "hundred": 1e2,
        "thousand": 1e3,
        "lakh": 1e5,
        "million": 1e6,
        "crore": 1e7,
        "billion": 1e9,
        "trillion": 1e12,
    }
)
SHORT_SCALES = MappingProxyType(
    {"k": "thousand", "m": "million", "mn": "million", "mm": "million", "bn": "billion", "b": "billion"}
    | {"tn": "trillion", "mil": "million"}
)
# Words that put a number into a text without naming it. Read in the evidence alone: a claim that says "half" or
# "both" is never wrong for a number.
IMPLIED = MappingProxyType(
    {
        "half": (0.5, 50.0),
        "halves": (0.5, 50.0),
        "halved": (0.5, 50.0, 2.0),
        "third": (1 / 3, 33.0, 33.3),
        "thirds": (2 / 3, 1 / 3, 66.0, 67.0, 66.7, 66.6),
        "quarter": (0.25, 25.0, 4.0, 15.0),
        "quarters": (0.75, 75.0, 4.0),
        "fifth": (0.2, 20.0),
        "fifths": (0.4, 0.6, 0.8, 40.0, 60.0, 80.0),
        "tenth": (0.1, 10.0),
        "double": (2.0, 100.0, 200.0),
        "doubled": (2.0, 100.0, 200.0),
        "doubling": (2.0, 100.0, 200.0),
        "twofold": (2.0,),
        "twice": (2.0,),
        "both": (2.0,),
        "pair": (2.0,),
        "pairs": (2.0,),
        "couple": (2.0,),
        "duo": (2.0,),
        "twin": (2.0,),
        "twins": (2.0,),
        "triple": (3.0,),
        "tripled": (3.0,),
        "thrice": (3.0,),
        "trio": (3.0,),
        "trilogy": (3.0,),
        "quadruple": (4.0,),
        "quartet": (4.0,),
        "quintet": (5.0,),
        "dozen": (12.0,),
        "dozens": (12.0, 24.0),
        "score": (20.0,),
        "decade": (10.0,),
        "decades": (10.0, 20.0),
        "century": (100.0,),
        "centuries": (100.0, 200.0),
        "fortnight": (14.0, 2.0),
        "hundred": (100.0,),
        "hundreds": (100.0,),
        "thousand": (1e3,),
        "thousands": (1e3,),
        "million": (1e6,),
        "millions": (1e6,),
        "billion": (1e9,),
        "billions": (1e9,),
        "once": (1.0,),
        "single": (1.0,),
        "none": (0.0,),
        "noon": (12.0,),
        "midnight": (12.0, 0.0),
    }
)
ROMANS = MappingProxyType(
    {
        word: float(value)
        for value, word in enumerate(
            listed("II III IV V VI VII VIII IX X XI XII XIII XIV XV XVI XVII XVIII XIX XX XXI"), start=2
        )
    }
)

_GROUPED = re.compile(r"\d{1,3}(?:,\d{2,3})*,\d{3}(?:\.\d+)?")
_POINTED = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?")
_DECIMAL = re.compile(r"\d+(?:\.\d+)?")
_COMMA = re.compile(r"\d+,\d+")
_LONGEST = 15  # digits that a float holds exactly; longer runs are codes, not amounts


def read_digits(text: str) -> tuple[float, ...]:
    """What digits with points and commas can mean, likeliest first; empty for what is no number (3.10.2)."""
    if len(text) > _LONGEST + 5:
        return ()
    readings: list[float] = []
    groups = text.split()  # "10 000"
    if len(groups) > 1:
        readings = [float("".join(groups)), *map(float, groups)]
    elif _GROUPED.fullmatch(text):
        readings.append(float(text.replace(",", "")))
    elif _DECIMAL.fullmatch(text):
        readings.append(float(text))
    if _POINTED.fullmatch(text):  # 1.200 is twelve hundred in half of Europe
        readings.append(float(text.replace(".", "").replace(",", ".")))
    if _COMMA.fullmatch(text) and not readings:  # 3,5 is a decimal, or two numbers written together
        readings.append(float(text.replace(",", ".")))
        readings.extend(float(part) for part in text.split(","))
    return tuple(readings)


def significant_digits(value: float) -> int:
    """How many digits a value needs: 1,200 needs two, 3.47 three."""
    digits = f"{value:.12g}".split("e", 1)[0].replace(".", "").lstrip("-0")
    return max(len(digits.rstrip("0")), 1)
