"""Protobuf's text format, without a schema: a message is a dictionary from names of fields to lists of values."""

import re

TOKEN = re.compile(r"""\s+|\#[^\n]* | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
                       | (?P<word>[\w.+\-/]+) | (?P<sign>[{}<>\[\]:;,])""", re.VERBOSE)
ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


def parse(text: str) -> dict[str, list]:
    """Reads a message. Strings become bytes, numbers integers, other words stay words."""
    tokens, at = [], 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if not match:
            raise ValueError(f"unexpected {text[at]!r} in line {text.count(chr(10), 0, at) + 1}")
        if match.lastgroup:
            tokens.append((match.lastgroup, match[0]))
        at = match.end()
    message, rest = fields(tokens, 0)
    if rest != len(tokens):
        raise ValueError(f"unexpected {tokens[rest][1]}")
    return message


def fields(tokens, at):
    message = {}
    while at < len(tokens) and tokens[at][1] not in ("}", ">"):
        name, at = tokens[at][1], at + 1
        if name == "[":  # the type of an Any
            name, at = tokens[at][1], at + 2
        if tokens[at][1] == ":":
            at += 1
        if tokens[at][1] == "[":
            at += 1
            while tokens[at][1] != "]":
                value, at = one(tokens, at)
                message.setdefault(name, []).append(value)
                if tokens[at][1] == ",":
                    at += 1
            at += 1
        else:
            value, at = one(tokens, at)
            message.setdefault(name, []).append(value)
        if at < len(tokens) and tokens[at][1] in (",", ";"):
            at += 1
    return message, at


def one(tokens, at):
    kind, word = tokens[at]
    if word in ("{", "<"):
        message, at = fields(tokens, at + 1)
        return message, at + 1
    if kind == "string":
        whole = b""
        while at < len(tokens) and tokens[at][0] == "string":
            whole += ESCAPE.sub(unescaped, tokens[at][1][1:-1].encode())
            at += 1
        return whole, at
    return int(word, 0) if re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+)", word) else word, at + 1


def unescaped(match):
    code = match[1]
    if code[:1] == b"x" and len(code) > 1:
        return bytes([int(code[1:], 16)])
    if code.isdigit():
        return bytes([int(code, 8) & 0xFF])
    return LETTERS.get(code, code)
