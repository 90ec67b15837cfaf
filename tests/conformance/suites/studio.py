"""The PTF tests of Intel's SDE as it was published, with its unmodified BfRuntime client."""

import atexit
import functools
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

import ptf
from suite import Unavailable, one

PROGRAMS = "pkgsrc/p4-examples/p4_16_programs"
UTILITIES = "pkgsrc/ptf-modules/ptf-utils"
CONFIGURATIONS = "pkgsrc/p4-examples/tofino"
CLIENT = "pkgsrc/bf-drivers/src/bf_rt"
SERVER = ("127.0.0.1", 50052)
# As run_p4_tests.sh has it for Tofino: ports 0 to 8 and the CPU's, if a test has no ports.json.
PORTS = [*range(9), 64]
# The bits of a port's number within its pipe.
PIPE = 7
# The fewest ports of a pipe that tests of it can do with.
FEW = 4
PARAMETERS = {
    "arch": "tofino", "target": "asic-model", "use_pi": "False", "traffic_gen": "None", "config_file": "filename", "drivers_test_info": "None",
    "test_seed": "1", "num_pipes": "1", "pkt_size": "100", "port_mode": "100g", "counter_byte_adjust": "0", "setup": False, "cleanup": False,
    "thrift_server": "localhost", "grpc_server": SERVER[0], "bfrt_grpc_port": str(SERVER[1]), "reboot": "None"}

# What these test is only there with four pipes.
OF_FOUR_PIPES = {"tna_exact_match.ExactMatchEntryTgtTest"}
# These do something only where they are not told that there is a model, which has no links.
OF_PORTS = {"tna_ports.PortsTest", "tna_ports.PortsWithProgramTest"}
# These choose a hundred ports of the pipes there are, and one pipe has 64 of those.
MANY_PORTS = {"tna_port_metadata.PortMetadataGetTest", "tna_port_metadata.PortMetadataIteratorGetTest"}


class Tests(ptf.PtfSuite):
    name = "open-p4studio-ptf"
    title = "open-p4studio: PTF"
    repository = "p4lang/open-p4studio"
    counts = """All tests of pkgsrc/p4-examples/p4_16_programs/tna_*: their programs, PTF of PyPI with Scapy, and the SDE's BfRuntime client, each test with a
        switch of its own that has the ports of the test's ports.json, or 0 to 8 and 64. The tests of programs with one pipeline are run for a
        device of one pipe and its ports, which is what such a program has here; those that need four pipes fail, also where they would skip
        themselves. Tests with a configuration of their own are run by bf_switchd with it, and with their options of the model."""
    # Some wait for entries to become idle.
    timeout = 240

    def found_in(self, checkout):
        return (checkout / PROGRAMS).is_dir()

    def jobs(self, checkout):
        jobs, left_out = [], {}
        why = "of the SDE's own services (bri_*, p4rt_utests, selector_resize) or of other programs"
        for file in sorted((checkout / PROGRAMS).rglob("test.py")):
            folder = file.parent
            program = folder / f"{folder.name}.p4"
            for test in ptf.tests_in(file):
                if folder.name.startswith("tna_"):
                    jobs.append(one(f"{folder.name}.{test}", lambda f=folder, p=program, t=test: self.run_test(checkout, f, p, t)))
                else:
                    left_out[why] = left_out.get(why, 0) + 1
        return jobs, left_out

    def run_test(self, checkout, folder, program, test):
        ptf.virtual_environment()
        if f"{folder.name}.{test}" in OF_FOUR_PIPES:
            return "skips itself on a device of one pipe"
        # What needs a configuration and options of the model has four pipes.
        configured = (folder / "custom_conf_file").exists()
        pipes = 4 if configured else 1
        numbers, said = ports(folder, pipes)
        numbered = 4 if f"{folder.name}.{test}" in MANY_PORTS else pipes
        parameters = PARAMETERS | {"p4_name": folder.name, "num_pipes": str(numbered)}
        if f"{folder.name}.{test}" in OF_PORTS:
            parameters["target"] = "hw"
        if configured:
            switch = daemon(checkout, folder, self.hopwright.path, tuple(numbers))
        else:
            switch = [self.hopwright.path, "run", program, "-I", checkout / PROGRAMS, "--cpu-port", "320", "--ports", "af_packet",
                      "--p4runtime", f"{SERVER[0]}:{SERVER[1]}"]
        return self.run_one(folder, f"test.{test}", switch, SERVER, numbers, parameters, modules(checkout), attach=not configured,
                            names=devices(numbers), said=said)


@functools.cache
def daemon(checkout: Path, folder: Path, hopwright: Path, numbers: tuple) -> list:
    """The command of bf_switchd with the configuration of a test, its programs compiled, its ports, and the options of the model."""
    made = Path(tempfile.mkdtemp(prefix="conformance-install-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    conf = checkout / CONFIGURATIONS / f"{(folder / 'custom_conf_file').read_text().strip()}.in"
    for program in json.loads(conf.read_text())["p4_devices"][0]["p4_programs"]:
        name = program["program-name"]
        done = subprocess.run([hopwright, "as", "bf-p4c", "--target", "tofino", "--arch", "tna", "-I", checkout / PROGRAMS,
                               "-o", made / "share/tofinopd" / name, next(folder.rglob(f"{name}.p4"))], capture_output=True, text=True)
        if done.returncode:
            raise Unavailable(f"{name} does not compile: {done.stderr}")
    leads = [{"device_port": number, "if": own} for number, (own, _) in zip(numbers, devices(numbers))]
    (made / "ports.json").write_text(json.dumps({"PortToIf": leads}))
    options = (folder / "custom_model_options").read_text().split()
    return [hopwright, "as", "bf_switchd", "--install-dir", made, "--conf-file", conf, "--ports", made / "ports.json", *options]


def devices(numbers) -> list[tuple[str, str]]:
    """The names of the devices of ports, the switch's and PTF's, by which the SDE's utilities find one from the other."""
    return [(f"veth{2 * at}", f"veth{2 * at + 1}") for at in range(len(numbers))]


def ports(folder: Path, pipes: int) -> tuple[list[int], list[str]]:
    """The ports of a test's switch: those of its ports.json in the pipes there are, unless these are too few. With what PTF is given
    about each besides."""
    file = folder / "ports.json"
    listed = json.loads(file.read_text())["PortToVeth"] if file.exists() else []
    within = [port for port in listed if port["device_port"] >> PIPE < pipes]
    if len(within) < FEW:
        return PORTS, [""] * len(PORTS)
    more = ["".join(f";{key}={value}" for key, value in port.items()) if "conn_id" in port else "" for port in within]
    return [port["device_port"] for port in within], more


@functools.cache
def modules(checkout: Path) -> list[Path]:
    """Folders with what the tests import: the SDE's utilities and client under the names they are installed as, its protocol
    definition compiled, and stand-ins for its Thrift services."""
    made = Path(tempfile.mkdtemp(prefix="conformance-modules-"))
    utilities = made / "p4testutils"
    shutil.copytree(checkout / UTILITIES, utilities)
    (utilities / "__init__.py").touch()
    client = made / "bfrt_grpc"
    shutil.copytree(checkout / CLIENT / "bfruntime_grpc_client/python", client)
    (client / "__init__.py").touch()
    rpc_types = next(Path(p) for p in (ptf.VENV.parent / "lib").glob("python*/site-packages"))
    done = subprocess.run([ptf.PYTHON, "-m", "grpc_tools.protoc", "-I", checkout / CLIENT / "proto", "-I", rpc_types, f"--python_out={client}",
                           f"--grpc_python_out={client}", "bfruntime.proto"], capture_output=True, text=True)
    if done.returncode:
        raise Unavailable(f"bfruntime.proto does not compile: {done.stderr}")
    stub = client / "bfruntime_pb2_grpc.py"
    stub.write_text(stub.read_text().replace("import bfruntime_pb2 as", "from bfrt_grpc import bfruntime_pb2 as"))
    return [ptf.HERE / "stand_ins/open_p4studio", made, utilities]


SUITES = [Tests]
