"""P4Info of a program against the P4Info that another compiler wrote, by meaning."""

from pathlib import Path

import phrases
import protobuf_text


def has_objects(text: str) -> bool:
    """Whether a P4Info describes anything but the package and types."""
    return bool(set(protobuf_text.parse(text)) - {"pkg_info", "type_info"})


def difference(hopwright, program: Path, expected: str, *options, newer: tuple[str, ...] = ()) -> str | None:
    """The fields in which the P4Info of a program differs, or why there is none; None if it does not differ. Fields in `newer` are not
    compared if the expected file has none of them: the compiler that wrote it did not know them."""
    ran = hopwright("p4info", program, *options)
    if ran.code != 0:
        return phrases.reason(ran)
    places, ours = [], protobuf_text.parse(ran.out)
    for field in newer:
        if field not in expected:
            leave_out(field, ours)
    compare(canonical(protobuf_text.parse(expected)), canonical(ours), "", places)
    return f"differs in {', '.join(sorted(set(places)))}" if places else None


def leave_out(field: str, message):
    """Removes a field from a message and those in it."""
    message.pop(field, None)
    for values in message.values():
        for value in values:
            if isinstance(value, dict):
                leave_out(field, value)


def canonical(message):
    """A P4Info in which what has no order is sorted."""
    sorted_message = {}
    for name, values in message.items():
        if name == "type_info":
            values = [canonical_types(v) for v in values if v]
        elif name != "pkg_info":
            values = sorted(values, key=lambda v: v["preamble"][0].get("id", [0])[0])
            for value in values:
                if "table_ids" in value:
                    value["table_ids"].sort()
        if values:
            sorted_message[name] = values
    return sorted_message


def canonical_types(types):
    """Type descriptions are maps: their entries are sorted."""
    return {name: sorted(values, key=lambda v: str(v.get("key")) if isinstance(v, dict) else str(v)) for name, values in types.items()}


def compare(expected, ours, at: str, places: list[str]):
    """Adds the names of the fields that differ to `places`."""
    if isinstance(expected, dict) and isinstance(ours, dict):
        for name in sorted(set(expected) | set(ours)):
            compare(expected.get(name), ours.get(name), f"{at}.{name}".lstrip("."), places)
    elif isinstance(expected, list) and isinstance(ours, list) and len(expected) == len(ours):
        for a, b in zip(expected, ours):
            compare(a, b, at, places)
    elif expected != ours:
        places.append(at)
