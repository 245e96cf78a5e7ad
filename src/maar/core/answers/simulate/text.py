"""Numbers of a report as people read them."""

from math import isfinite, log10

NOTHING = "-"
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0


def seconds_text(seconds: float) -> str:
    """A duration in its largest unit, to three digits: 45 s, 12.5 min, 3.1 h, 2 d."""
    if not isfinite(seconds):
        return NOTHING
    for unit, name in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if seconds >= 2 * unit:
            return f"{amount_text(seconds / unit)} {name}"
    return f"{amount_text(seconds)} s"


def percent(part: float) -> str:
    """A part of a whole, with one decimal."""
    return f"{100.0 * part:.1f}%" if isfinite(part) else NOTHING


def amount_text(value: float) -> str:
    """A number to three digits; larger ones are whole."""
    if not isfinite(value):
        return NOTHING
    if value == 0:
        return "0"
    digits = max(0, 2 - int(log10(abs(value)))) if abs(value) >= 1 else 2
    text = f"{value:,.{min(2, digits)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
