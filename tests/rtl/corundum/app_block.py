"""The interface of Corundum's application block: parameters with their defaults, and ports with directions and widths.

`app_block.py FILE` says whether the block in a file has that of the commit for which ours is written.
"""

import hashlib
import pathlib
import re
import sys

COMMIT = "1ca0151b97af85aa5dd306d74b6bcec65904d2ce"
# Of what `interface` makes of fpga/app/template/rtl/mqnic_app_block.v of that commit.
SHA256 = "8910d747ad5384159dba7893bcaf75e23d2ddc897b955637b01925974a943886"


def interface(file):
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", pathlib.Path(file).read_text(), flags=re.S)
    head = text[text.index("module mqnic_app_block"):]
    head = head[:head.index(");")]

    def plain(words):
        return re.sub(r"\s+", "", words)

    parameters = {name: plain(value) for name, value in re.findall(r"parameter\s+(\w+)\s*=\s*([^\n]*?),?\n", head)}
    ports = {name: f"{direction} {plain(width)}" for direction, width, name in
             re.findall(r"(input|output)\s+wire\s+(\[[^\n]*\])?\s*(\w+)\s*,?\n", head)}
    return parameters | ports


def is_that_of_the_commit(file):
    return hashlib.sha256(repr(sorted(interface(file).items())).encode()).hexdigest() == SHA256


def differences(ours, theirs):
    """A line for each parameter or port that differs."""
    ours, theirs = interface(ours), interface(theirs)
    return [f"{name}: {ours.get(name)} here, {theirs.get(name)} there" for name in sorted(ours.keys() | theirs.keys())
            if ours.get(name) != theirs.get(name)]


if __name__ == "__main__":
    sys.exit(not is_that_of_the_commit(sys.argv[1]))
