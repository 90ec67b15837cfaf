"""Links with the names of BMv2 and p4c, as packages have them."""

import pathlib
import tempfile

from lab.command import HOPWRIGHT

NAMES = ("simple_switch", "simple_switch_grpc", "psa_switch", "p4c", "p4c-bm2-ss", "p4c-bm2-psa")


class Links(tempfile.TemporaryDirectory):
    """A folder with a link for each name."""

    def __init__(self):
        super().__init__(prefix="bmv2-")
        self.folder = pathlib.Path(self.name)
        for name in NAMES:
            (self.folder / name).symlink_to(HOPWRIGHT)
