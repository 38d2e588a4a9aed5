"""Numbers as a reader wants them: three significant digits, real minus signs and powers of ten."""

import math

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
UNKNOWN = "–"


def power(mantissa: str, exponent: int) -> str:
    """`2 × 10⁻⁴`; a mantissa of 1 is left out."""
    tail = "10" + str(exponent).translate(_SUPERSCRIPT)
    return tail if mantissa == "1" else f"{mantissa} × {tail}"


def times_power(exponent: int) -> str:
    """What an axis's name says of the power of ten its labels leave out; nothing for 0."""
    return f" (× {power('1', exponent)})" if exponent else ""


def number(value: float | None) -> str:
    """Three significant digits; powers of ten outside 0.001 to 99 999."""
    if value is None:
        return UNKNOWN
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "infinite" if value > 0 else "−infinite"
    if value == 0:
        return "0"
    sign, size = ("−" if value < 0 else ""), abs(value)
    mantissa, exponent = f"{size:.2e}".split("e")
    if not 1e-3 <= size < 1e5:
        return sign + power(mantissa, int(exponent))
    return sign + f"{size:,.{max(0, 2 - int(exponent))}f}"


def shown(value: float) -> str:
    """An error; infinity is what a run that diverged has."""
    return "diverged" if value == math.inf else number(value)


def percent(fraction: float) -> str:
    """A fraction as a percentage, with a decimal only below 10 %."""
    value = 100 * fraction
    if not math.isfinite(value):
        return UNKNOWN
    return f"{value:.0f}%" if value == round(value) or value >= 10 else f"{value:.1f}%"


def duration(seconds: float) -> str:
    """Seconds, with minutes and hours when there are any; milliseconds below a tenth."""
    if not math.isfinite(seconds):
        return UNKNOWN
    if 0 < seconds < 0.1:
        return f"{1000 * seconds:.3g} ms"
    if seconds < 60:
        return f"{seconds:.2f} s" if 0.1 <= seconds < 10 or not seconds else f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes < 10 else f"{minutes} min"


def size(amount: int) -> str:
    """Bytes: `999 B`, `1.20 MB`; powers of 1000."""
    steps = min(4, (len(str(abs(amount))) - 1) // 3)
    unit = ("B", "kB", "MB", "GB", "TB")[steps]
    return f"{amount} B" if not steps else f"{number(amount / 1000**steps)} {unit}"


def capitalised(words: str) -> str:
    """The words with a capital at the beginning; the others stay as they are."""
    return words[:1].upper() + words[1:]


def count(amount: int, one: str, many: str | None = None) -> str:
    """`1 client`, `2,000 clients`."""
    return f"{amount:,} {one if amount == 1 else many or one + 's'}"


def script_number(value: float | None) -> str:
    """A number in full for the page's script to sort by; nothing for what is not known."""
    if value is None or math.isnan(value):
        return ""
    return repr(value) if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"
