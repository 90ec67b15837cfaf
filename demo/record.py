#!/usr/bin/env python3
"""Records what a command prints in a terminal, and draws recordings as pictures that move.

    demo/record.py record demo.cast make demo
    demo/record.py draw demo.cast docs/pictures/demo.svg

A recording is an asciicast of version 2 (https://docs.asciinema.org/manual/asciicast/v2/), which asciinema and its players read, too. A
picture is an SVG without scripts: each line that is ever shown is drawn once, and a frame is a list of them. Drawing needs pyte.
"""

from __future__ import annotations

import argparse
import codecs
import fcntl
import html
import json
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from pathlib import Path

# Pixels of a character, and of the frame around the text.
WIDTH, HEIGHT, MARGIN = 8.4, 18, 12
# Seconds: the longest pause that is shown, the shortest frame, and how long the last one stays.
LONGEST, SHORTEST, LAST = 1.0, 0.1, 6.0
BACKGROUND, FOREGROUND = "#1b1f27", "#d8dee9"
COLOURS = {
    "black": "#4c566a", "red": "#e06c75", "green": "#98c379", "brown": "#e5c07b", "blue": "#61afef", "magenta": "#c678dd", "cyan": "#56b6c2",
    "white": "#d8dee9",
}


def record(file: Path, command: list[str], columns: int, rows: int) -> int:
    """Runs a command in a terminal of its own, shows what it prints, and writes the recording. Returns the command's status."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    begun = time.monotonic()
    header = {"version": 2, "width": columns, "height": rows, "timestamp": int(time.time()), "command": " ".join(command)}
    with file.open("w") as out:
        print(json.dumps(header), file=out)
        while True:
            select.select([terminal], [], [])
            try:
                data = os.read(terminal, 65536)
            except OSError:  # The command has closed the terminal.
                break
            if not data:
                break
            text = decoder.decode(data)
            sys.stdout.write(text)
            sys.stdout.flush()
            print(json.dumps([round(time.monotonic() - begun, 3), "o", text]), file=out)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def frames(file: Path) -> tuple[int, int, list[tuple[float, list[tuple]]]]:
    """The screens of a recording with the seconds for which each is shown. A line is a tuple of runs: column, text, colour, weight."""
    import pyte

    header, *events = [json.loads(line) for line in file.read_text().splitlines()]
    columns, rows = header["width"], header["height"]
    screen = pyte.Screen(columns, rows)
    stream = pyte.Stream(screen)
    shown: list[tuple[float, list[tuple]]] = []
    pending, before = 0.0, 0.0
    for at, kind, text in events:
        if kind != "o":
            continue
        pause = min(at - before, LONGEST)
        before = at
        pending += pause
        if pending >= SHORTEST:
            shown.append((pending, lines(screen)))
            pending = 0.0
        stream.feed(text)
    shown.append((pending + LAST, lines(screen)))
    return columns, rows, shown


def lines(screen) -> list[tuple]:
    """The lines on a screen."""
    all_lines = []
    for row in range(screen.lines):
        runs: list[list] = []
        cells = screen.buffer[row]
        for column in range(screen.columns):
            cell = cells[column]
            style = (colour(cell), cell.bold)
            if cell.data == " ":
                continue
            if runs and runs[-1][2:] == list(style) and runs[-1][0] + len(runs[-1][1]) == column:
                runs[-1][1] += cell.data
            else:
                runs.append([column, cell.data, *style])
        all_lines.append(tuple(tuple(run) for run in runs))
    return all_lines


def colour(cell) -> str:
    if len(cell.fg) == 6 and cell.fg not in COLOURS:
        return f"#{cell.fg}"
    return COLOURS.get(cell.fg.removeprefix("bright"), FOREGROUND)


def span(column: int, text: str, fill: str, bold: bool) -> str:
    """A run of characters of one style, as wide as it is in a terminal whatever the font."""
    style = f' fill="{fill}"' * (fill != FOREGROUND) + ' font-weight="bold"' * bold
    return f'<tspan x="{column * WIDTH:.1f}" textLength="{len(text) * WIDTH:.1f}"{style}>{html.escape(text)}</tspan>'


def draw(file: Path, picture: Path, title: str) -> None:
    """Draws a recording."""
    columns, rows, shown = frames(file)
    width, height = columns * WIDTH + 2 * MARGIN, rows * HEIGHT + 2 * MARGIN
    total = sum(seconds for seconds, _ in shown)
    known: dict[tuple, str] = {}
    defs, strip, steps = [], [], []
    time_so_far = 0.0
    for number, (seconds, screen) in enumerate(shown):
        for row, line in enumerate(screen):
            if not line:
                continue
            if line not in known:
                known[line] = f"l{len(known)}"
                runs = "".join(span(*run) for run in line)
                defs.append(f'<text id="{known[line]}">{runs}</text>')
            strip.append(f'<use href="#{known[line]}" y="{number * height + MARGIN + (row + 0.75) * HEIGHT:.0f}"/>')
        steps.append(f"{100 * time_so_far / total:.3f}%{{transform:translateY({-number * height:.0f}px)}}")
        time_so_far += seconds
    last = f"transform:translateY({-(len(shown) - 1) * height:.0f}px)"
    picture.write_text(f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" role="img">
<title>{html.escape(title)}</title>
<style>
text{{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:{FOREGROUND};white-space:pre}}
#film{{animation:play {total:.1f}s step-end infinite}}
@media (prefers-reduced-motion:reduce){{#film{{animation:none;{last}}}}}
@keyframes play{{{"".join(steps)}100%{{{last}}}}}
</style>
<defs>{"".join(defs)}</defs>
<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>
<g transform="translate({MARGIN} 0)"><g id="film">
{"".join(strip)}
</g></g>
</svg>
""")
    print(f"{picture}: {len(shown)} frames, {len(known)} lines, {total:.0f} s, {picture.stat().st_size // 1024} KiB")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="what", required=True)
    recording = commands.add_parser("record", help="run a command and record it")
    recording.add_argument("--columns", type=int, default=110)
    recording.add_argument("--rows", type=int, default=32)
    recording.add_argument("file", type=Path)
    recording.add_argument("command", nargs=argparse.REMAINDER)
    drawing = commands.add_parser("draw", help="draw a recording as SVG")
    drawing.add_argument("--title", default="A recording of a terminal")
    drawing.add_argument("file", type=Path)
    drawing.add_argument("picture", type=Path)
    args = parser.parse_args()
    if args.what == "record":
        return record(args.file, args.command, args.columns, args.rows)
    draw(args.file, args.picture, args.title)
    return 0


if __name__ == "__main__":
    sys.exit(main())
