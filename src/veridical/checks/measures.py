"""The units the checks know, by dimension, with what each is worth."""

from __future__ import annotations

from types import MappingProxyType
from typing import NamedTuple


class Measure(NamedTuple):
    """`factor` and `offset` lead to the dimension's base unit; factor 0 means that nothing converts (currencies)."""

    dimension: str
    factor: float
    offset: float = 0.0


def _length() -> dict[str, Measure]:
    metres = {"mm": 1e-3, "cm": 1e-2, "m": 1.0, "km": 1e3, "inch": 0.0254, "foot": 0.3048, "yard": 0.9144}
    metres |= {"mile": 1609.344, "nautical mile": 1852.0, "light-year": 9.4607e15, "µm": 1e-6, "nm": 1e-9}
    return {name: Measure("length", factor) for name, factor in metres.items()}


def _mass() -> dict[str, Measure]:
    grams = {"mg": 1e-3, "g": 1.0, "kg": 1e3, "tonne": 1e6, "short ton": 907184.74, "long ton": 1016046.9, "µg": 1e-6}
    grams |= {"pound": 453.59237, "ounce": 28.349523}
    return {name: Measure("mass", factor) for name, factor in grams.items()}


def _space() -> dict[str, Measure]:
    square = {"m²": 1.0, "km²": 1e6, "ft²": 0.09290304, "mi²": 2589988.1, "acre": 4046.8564, "hectare": 1e4}
    litres = {"ml": 1e-3, "litre": 1.0, "US gallon": 3.7854118, "imperial gallon": 4.54609, "m³": 1e3, "ft³": 28.316847}
    litres |= {"US pint": 0.47317647, "imperial pint": 0.56826125}
    areas = {name: Measure("area", factor) for name, factor in square.items()}
    return areas | {name: Measure("volume", factor) for name, factor in litres.items()}


def _time() -> dict[str, Measure]:
    seconds = {"ms": 1e-3, "second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0, "week": 604800.0}
    seconds |= {"month": 2629746.0, "year": 31556952.0, "decade": 315569520.0, "century": 3155695200.0}
    speeds = {"km/h": 1 / 3.6, "mph": 0.44704, "m/s": 1.0, "knot": 0.51444444, "ft/s": 0.3048}
    times = {name: Measure("time", factor) for name, factor in seconds.items()}
    return times | {name: Measure("speed", factor) for name, factor in speeds.items()}


def _other() -> dict[str, Measure]:
    measures = {"°C": Measure("temperature", 1.0), "°F": Measure("temperature", 5 / 9, -160 / 9)}
    measures |= {"K": Measure("temperature", 1.0, -273.15)}
    measures |= {name: Measure("bytes", 1e3**power) for power, name in enumerate(["B", "KB", "MB", "GB", "TB", "PB"])}
    measures |= {name: Measure("power", 1e3**power) for power, name in enumerate(["W", "kW", "MW", "GW", "TW"])}
    measures |= {name: Measure("rate", 1e3**power) for power, name in enumerate(["Hz", "kHz", "MHz", "GHz"])}
    measures |= {name: Measure("money", 0.0) for name in ("$", "€", "£", "¥", "₹", "yuan", "franc", "won", "rouble")}
    return measures | {name: Measure("share", 0.0) for name in ("%", "percentage points")}


MEASURES = MappingProxyType(_length() | _mass() | _space() | _time() | _other())

# Tokens as they stand in a text, in lower case, with one space between; a word that means two things lists both.
_SPELLINGS = {
    "mm": "millimetre millimetres millimeter millimeters mm",
    "cm": "centimetre centimetres centimeter centimeters cm",
    "m": "metre metres meter meters m",
    "km": "kilometre kilometres kilometer kilometers km kms",
    "inch": "inch inches",
    "foot": "foot feet ft",
    "yard": "yard yards yd yds",
    "mile": "mile miles mi",
    "nautical mile": "nautical_mile nautical_miles nmi",
    "light-year": "light_year light_years light-year light-years light_-_year light_-_years",
    "µm": "micrometre micrometres micrometer micrometers micron microns µm μm",
    "nm": "nanometre nanometres nanometer nanometers nm",
    "mg": "milligram milligrams mg",
    "µg": "microgram micrograms mcg µg μg",
    "g": "gram grams gramme grammes g",
    "kg": "kilogram kilograms kilo kilos kg kgs",
    "tonne": "tonne tonnes metric_ton metric_tons ton tons t",
    "short ton": "ton tons short_ton short_tons",
    "long ton": "ton tons long_ton long_tons",
    "pound": "pound pounds lb lbs",
    "ounce": "ounce ounces oz",
    "m²": "square_metre square_metres square_meter square_meters sq_m m² m2 sqm",
    "km²": "square_kilometre square_kilometres square_kilometer square_kilometers sq_km square_km km² km2 sqkm",
    "ft²": "square_foot square_feet sq_ft square_ft ft² ft2 sqft",
    "mi²": "square_mile square_miles sq_mi sq_mile sq_miles mi²",
    "acre": "acre acres",
    "hectare": "hectare hectares ha",
    "ml": "millilitre millilitres milliliter milliliters ml",
    "litre": "litre litres liter liters l",
    "US gallon": "gallon gallons gal",
    "imperial gallon": "gallon gallons gal",
    "US pint": "pint pints",
    "imperial pint": "pint pints",
    "m³": "cubic_metre cubic_metres cubic_meter cubic_meters m³ m3",
    "ft³": "cubic_foot cubic_feet ft³",
    "ms": "millisecond milliseconds ms",
    "second": "second seconds sec secs",
    "minute": "minute minutes min mins",
    "hour": "hour hours hr hrs h",
    "day": "day days",
    "week": "week weeks",
    "month": "month months",
    "year": "year years yr yrs",
    "decade": "decade decades",
    "century": "centuries",  # "19th century" is a date, not a length of time
    "km/h": "km_/_h km_/_hr kmh kph kilometres_per_hour kilometers_per_hour kilometre_per_hour km_per_hour",
    "mph": "mph miles_per_hour mile_per_hour miles_an_hour mi_/_h",
    "m/s": "m_/_s metres_per_second meters_per_second",
    "ft/s": "feet_per_second ft_/_s",
    "knot": "knot knots",
    "°C": "°_c ℃ degrees_celsius degrees_centigrade degree_celsius celsius centigrade degrees_c degrees degree °",
    "°F": "°_f ℉ degrees_fahrenheit degree_fahrenheit fahrenheit degrees_f degrees degree °",
    "K": "kelvin kelvins",
    "B": "byte bytes",
    "KB": "kb kilobyte kilobytes",
    "MB": "mb megabyte megabytes",
    "GB": "gb gigabyte gigabytes",
    "TB": "tb terabyte terabytes",
    "PB": "pb petabyte petabytes",
    "W": "watt watts w",
    "kW": "kw kilowatt kilowatts",
    "MW": "mw megawatt megawatts",
    "GW": "gw gigawatt gigawatts",
    "TW": "tw terawatt terawatts",
    "Hz": "hz hertz",
    "kHz": "khz kilohertz",
    "MHz": "mhz megahertz",
    "GHz": "ghz gigahertz",
    "$": "dollar dollars buck bucks usd $ us_dollar us_dollars us_$",
    "€": "euro euros eur €",
    "£": "pound pounds sterling pounds_sterling gbp £ quid",
    "¥": "yen jpy ¥",
    "₹": "rupee rupees inr ₹ rs",
    "yuan": "yuan renminbi rmb cny ¥",
    "franc": "franc francs chf",
    "won": "krw",
    "rouble": "rouble roubles ruble rubles rub",
    "%": "% percent per_cent pct",
    "percentage points": "percentage_point percentage_points percent_points",
}


def _read_spellings() -> dict[str, tuple[str, ...]]:
    units: dict[str, tuple[str, ...]] = {}
    for unit, spellings in _SPELLINGS.items():
        for spelling in spellings.split():
            key = spelling.replace("_", " ")
            units[key] = (*units.get(key, ()), unit)
    return units


SPELLINGS = MappingProxyType(_read_spellings())
# Letters and short words that are other words unless they touch their number.
GLUED_ONLY = frozenset({"w", "b", "mi", "°"})


def convert(value: float, unit: str, into: str) -> float | None:
    """`value` of `unit` in the unit `into`, or None where the two do not convert."""
    one, other = MEASURES[unit], MEASURES[into]
    if one.dimension != other.dimension or not (one.factor and other.factor):
        return None
    return (value * one.factor + one.offset - other.offset) / other.factor
