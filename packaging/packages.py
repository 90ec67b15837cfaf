#!/usr/bin/env python3
"""Makes packages of what `make dist` built: Debian, RPM, OCI image, Python wheel. Prints their paths.

The same checkout and the same command give the same bytes: files are sorted, have fixed owners, modes and SOURCE_DATE_EPOCH, or the
time of the last commit, as their time.
"""

import argparse
import sys
from pathlib import Path

from pack import debian, image, rpm, wheel
from pack.contents import Dist
from pack.project import Error, Project

FORMATS = {"deb": debian.build, "rpm": rpm.build, "image": image.build, "wheel": wheel.build}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help=f"{', '.join(FORMATS)}; all without it")
    parser.add_argument("--dist", type=Path, required=True, help="the folder that packaging/dist.sh filled")
    parser.add_argument("--out", type=Path, required=True, help="the folder to write to")
    parser.add_argument("--sysroot", type=Path, help="for images of another architecture: what packaging/sysroot.sh unpacked")
    args = parser.parse_args()
    if unknown := [f for f in args.formats if f not in FORMATS]:
        parser.error(f"no such format: {' '.join(unknown)}; there are {', '.join(FORMATS)}")
    try:
        project = Project.of_checkout()
        args.out.mkdir(parents=True, exist_ok=True)
        for name in args.formats or FORMATS:
            more = {"sysroot": args.sysroot} if name == "image" else {}
            for package in FORMATS[name](Dist(args.dist), project, args.out, **more):
                print(package, flush=True)
    except (Error, OSError) as error:
        print(f"packages.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
