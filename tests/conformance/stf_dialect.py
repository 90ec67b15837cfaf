"""4ward's packet tests as ours: its lines `member` and `group`, arguments by position, IPv4 addresses, `&&&`."""

import ipaddress
import re

import protobuf_text

CALL = re.compile(r"([\w.$]+)\(([^()]*)\)")


class Dialect:
    """Translates lines for one program, whose P4Info names the parameters of actions."""

    def __init__(self, p4info: str):
        self.parameters, self.keys = {}, {}
        info = protobuf_text.parse(p4info)
        for table in info.get("tables", []):
            names = [field["name"][0].decode() for field in table.get("match_fields", [])]
            # Keys that are expressions are written without blanks.
            self.keys.update({name.replace(" ", ""): name for name in names if " " in name})
        for action in info.get("actions", []):
            preamble = action["preamble"][0]
            names = [param["name"][0].decode() for param in action.get("params", [])]
            for name in (preamble["name"][0].decode(), preamble["alias"][0].decode()):
                self.parameters[name] = names

    def test(self, text: str) -> str:
        return "\n".join(self.line(line) for line in text.splitlines()) + "\n"

    def line(self, line: str) -> str:
        line = line.split("#")[0].rstrip()
        words = line.split()
        if not words:
            return ""
        if words[0] == "member":
            return f"member_add {words[1]} {words[2]} {self.call(words[3], words[4:])}"
        if words[0] == "group":
            return f"group_add {words[1]} {words[2]} {' '.join(words[3:])}"
        if words[0] not in ("add", "setdefault"):
            return line
        for written, name in self.keys.items():
            line = line.replace(f" {written}:", f' "{name}":')
        line = re.sub(r"\bgroup=(\d+)", r"-> group \1", line)
        line = CALL.sub(lambda call: self.call(call[1], re.split(r"[\s,]+", call[2].strip()) if call[2].strip() else []), line)
        line = re.sub(r"(:\S+?)&&&(\S+)", lambda m: ":" + ternary(number(m[1][1:]), number(m[2])), line)
        return re.sub(r"(?<=:)\d+\.\d+\.\d+\.\d+", lambda m: hex(number(m[0])), line)

    def call(self, name: str, arguments: list[str]) -> str:
        names = self.parameters.get(name, [])
        given = []
        for at, argument in enumerate(arguments):
            # Both `name=value` and `name:value` are written.
            key, sign, value = re.match(r"(?:(\w+)(=|:))?(.*)", argument).groups()
            given.append(f"{key if sign else names[at] if at < len(names) else f'argument{at}'}:{hex(number(value))}")
        return f"{name}({', '.join(given)})"


def number(text: str) -> int:
    return int(ipaddress.IPv4Address(text)) if text.count(".") == 3 else int(text, 0)


def ternary(value: int, mask: int) -> str:
    bits = max(value.bit_length(), mask.bit_length(), 1)
    return "0b" + "".join(str(value >> at & 1) if mask >> at & 1 else "*" for at in reversed(range(bits)))
