"""Events made of a plain dictionary, for tests."""

from terrafl.runs.events import Decision


def an_event(plain):
    details = {key: value for key, value in plain.items() if key not in ("event", "round")}
    return Decision(name=plain["event"], round=plain["round"], details=details)
