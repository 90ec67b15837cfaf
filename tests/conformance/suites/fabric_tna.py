"""The PTF tests of ONF's fabric-tna, a leaf-spine fabric for Tofino with functions of a mobile core."""

import ast
import functools
import subprocess
import tempfile
from pathlib import Path

import ptf
from suite import Unavailable, one

TESTS = "ptf/tests/unary"
SERVER = ("127.0.0.1", 28000)
PORTS = [1, 2, 3, 4]
CPU_PORT = 320
# Of Makefile.profiles: what the profile `fabric` leaves out.
LEFT_OUT = {"upf", "int", "bng", "dth", "xconnect", "p4rt", "int-dod"}
SKIPPED = "that the suite always skips, as deprecated"
PROTOCOL = ptf.HERE.parents[1] / "crates/control/protobuf/proto"


def groups_in(file: Path) -> dict[str, set[str]]:
    """The groups that the decorator `group` puts test classes into, and SKIPPED for those that are always skipped."""
    found = {}
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.ClassDef):
            calls = [(ast.unparse(d.func).split(".")[-1], d.args) for d in node.decorator_list if isinstance(d, ast.Call)]
            groups = {argument.value for name, arguments in calls for argument in arguments if name == "group"}
            found[node.name] = groups | {SKIPPED for name, _ in calls if name == "skip"}
    return found


class FabricTna(ptf.PtfSuite):
    repository = "stratum/fabric-tna"

    def found_in(self, checkout):
        return (checkout / TESTS).is_dir() and (checkout / "p4src/tna/fabric_tna.p4").is_file()

    def tests(self, checkout):
        """(module, class, its groups) of each test."""
        for file in sorted((checkout / TESTS).glob("*.py")):
            groups = groups_in(file)
            for test in ptf.tests_in(file):
                yield file.stem, test, groups.get(test, set())

    def test_job(self, checkout, profile, test):
        return one(f"{profile}: {test}", lambda: self.run_test(checkout, profile, test))

    def run_test(self, checkout, profile, test):
        ptf.virtual_environment()
        macros = [f"-DWITH_{word.upper()}" for word in profile.split("-")[1:]]
        program = [checkout / "p4src/tna/fabric_tna.p4", "-I", checkout / "p4src", *macros]
        with tempfile.NamedTemporaryFile(suffix=".p4info.txt") as info:
            text = self.hopwright("p4info", *program).out
            # The tests name the selector as bf-p4c's P4Info does, by its action profile.
            Path(info.name).write_text(text.replace("hashed_selector", "hashed_profile"))
            switch = [self.hopwright.path, "run", *program, "--cpu-port", CPU_PORT, "--ports", "af_packet", "--p4runtime", f"{SERVER[0]}:{SERVER[1]}"]
            parameters = {"p4info": info.name, "grpcaddr": f"{SERVER[0]}:{SERVER[1]}", "device_id": "1", "cpu_port": str(CPU_PORT),
                          "generate_tv": "False", "loopback": "False", "profile": profile}
            path = [ptf.HERE / "stand_ins/fabric_tna", modules(), checkout / "ptf/tests/common"]
            return self.run_one(checkout / TESTS, test, switch, SERVER, PORTS, parameters, path)


class Basic(FabricTna):
    name = "fabric-tna-ptf"
    title = "fabric-tna: PTF"
    counts = """The tests of ptf/tests/unary that the profile fabric runs, with fabric_tna.p4 and P4Runtime; each test has a switch of its own, with ports 1 to 4.
        The tests ask gNMI for the numbers of ports only, and get them from the runner, as they get the size of the bridged metadata,
        which each compiler places as it likes."""

    def jobs(self, checkout):
        jobs, left_out = [], {}
        for module, test, groups in self.tests(checkout):
            if groups & (LEFT_OUT | {SKIPPED}):
                why = "that other profiles run" if groups & LEFT_OUT else SKIPPED
                left_out[why] = left_out.get(why, 0) + 1
            else:
                jobs.append(self.test_job(checkout, "fabric", f"{module}.{test}"))
        return jobs, left_out


class Mobile(FabricTna):
    name = "fabric-tna-ptf-upf-int"
    title = "fabric-tna: PTF of the mobile core and telemetry"
    counts = """The tests of ptf/tests/unary in the groups upf and int, with the smallest profile that has them."""

    def jobs(self, checkout):
        jobs, left_out = [], {}
        for module, test, groups in self.tests(checkout):
            wanted = [group for group in ("upf", "int") if group in groups]
            if wanted and SKIPPED in groups:
                left_out[SKIPPED] = left_out.get(SKIPPED, 0) + 1
            elif wanted:
                jobs.append(self.test_job(checkout, "-".join(["fabric", *wanted]), f"{module}.{test}"))
        return jobs, left_out


@functools.cache
def modules() -> Path:
    """A folder with P4Runtime's protocol, compiled."""
    made = Path(tempfile.mkdtemp(prefix="conformance-modules-"))
    rpc_types = next(Path(p) for p in (ptf.VENV.parent / "lib").glob("python*/site-packages"))
    files = sorted(str(p.relative_to(PROTOCOL)) for p in (PROTOCOL / "p4").rglob("*.proto"))
    done = subprocess.run([ptf.PYTHON, "-m", "grpc_tools.protoc", "-I", PROTOCOL, "-I", rpc_types, f"--python_out={made}", f"--grpc_python_out={made}",
                           *files], capture_output=True, text=True)
    if done.returncode:
        raise Unavailable(f"P4Runtime's protocol does not compile: {done.stderr}")
    return made


SUITES = [Basic, Mobile]
