#!/usr/bin/env python3
"""Prepares the release of the version in Cargo.toml: prints the notes, and tags the commit if --push is given.

Refuses if the working tree has changes, if the tag is there, or if CHANGELOG.md has no section for the version.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from pack.project import ROOT, Error, Project, git, notes


def release(root: Path, push: bool) -> str:
    """The notes of the release; with `push` its annotated tag is made and pushed."""
    version = Project.of_checkout().version
    text = notes((root / "CHANGELOG.md").read_text(), version)
    tag = f"v{version}"
    if git("tag", "--list", tag):
        raise Error(f"tag {tag} is there: a version is released once; Cargo.toml has the next one")
    if git("status", "--porcelain"):
        raise Error("the working tree has changes: commit them first")
    if push:
        git("tag", "--annotate", "--cleanup=verbatim", "--message", f"Hopwright {version}\n\n{text}", tag)
        if "origin" in git("remote").split():
            git("push", "origin", tag)
    return f"# Hopwright {version} ({tag})\n\n{text}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--push", action="store_true", help="make the tag, and push it to origin if there is one")
    args = parser.parse_args()
    try:
        print(release(ROOT, args.push), end="")
    except Error as error:
        print(f"release.py: {error}", file=sys.stderr)
        return 1
    if not args.push:
        print("\nThis was a rehearsal: make release PUSH=1 makes the tag.", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
