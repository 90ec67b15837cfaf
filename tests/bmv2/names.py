"""Links with the names of BMv2 and p4c, as packages have them."""

import os
import pathlib
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
HOPWRIGHT = os.path.abspath(os.environ.get("HOPWRIGHT", TARGET / "release/hopwright"))
NAMES = ("simple_switch", "simple_switch_grpc", "psa_switch", "p4c", "p4c-bm2-ss", "p4c-bm2-psa")


class Links(tempfile.TemporaryDirectory):
    """A folder with a link for each name."""

    def __init__(self):
        super().__init__(prefix="bmv2-")
        self.folder = pathlib.Path(self.name)
        for name in NAMES:
            (self.folder / name).symlink_to(HOPWRIGHT)
