"""Stands for the tests' own module of this name: over gNMI they only ask which numbers the driver gives to ports. Here they are the same."""

from types import SimpleNamespace

from ptf import config


def build_gnmi_get_req(path):
    return path


def do_get(_):
    def about(port):
        path = SimpleNamespace(elem=[None, SimpleNamespace(key={"name": str(port)})])
        return SimpleNamespace(update=[SimpleNamespace(path=path, val=SimpleNamespace(uint_val=port))])

    return SimpleNamespace(notification=[about(port) for _, port, _ in config["interfaces"]])
