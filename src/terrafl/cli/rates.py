"""Format amounts, rates and times for progress displays."""

from typing import Literal

from rich.filesize import decimal

Unit = Literal["round", "image", "byte", "example", "file", "problem"]


def amount(done: int, total: int | None, unit: Unit) -> str:
    """Return the amount done as text.

    Examples
    --------
    >>> amount(3, 20, "round"), amount(500, 1000, "image")
    ('round 3 of 20', '500 of 1,000 images')
    >>> amount(1_500_000, None, "byte")
    '1.5 MB'
    """
    if unit == "byte":
        return decimal(done) if total is None else f"{decimal(done)} of {decimal(total)}"
    if unit == "round":
        return "" if total is None else f"round {done} of {total}"
    return f"{done:,} {unit}s" if total is None else f"{done:,} of {total:,} {unit}s"


def rate(speed: float | None, unit: Unit) -> str:
    """Return the speed as text: units per second, or seconds per unit below one per second.

    Examples
    --------
    >>> rate(2.5, "round"), rate(0.25, "round"), rate(1e6, "byte")
    ('2.5 rounds/s', '4.0 s/round', '1.0 MB/s')
    """
    if not speed:
        return ""
    if unit == "byte":
        return f"{decimal(int(speed))}/s"
    if speed < 1:
        return f"{1 / speed:.1f} s/{unit}"
    return f"{speed:,.1f} {unit}s/s"


def time_left(done: int, total: int | None, speed: float | None) -> str:
    """Return the remaining time as text, or an empty string if it is unknown.

    Examples
    --------
    >>> time_left(10, 100, 1.5), time_left(10, 10, 1.5)
    ('1:00 left', '')
    """
    if not speed or total is None or done >= total:
        return ""
    minutes, seconds = divmod(round((total - done) / speed), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02} left" if hours else f"{minutes}:{seconds:02} left"
