"""Stands for the tests' own module of this name: the bytes of bridged metadata, whose members each compiler places as it likes. Ours puts one
behind the other, without room between them."""

from ptf import testutils

BMD_BYTES = {"fabric": 22, "fabric-int": 28, "fabric-upf": 30, "fabric-upf-int": 35}[testutils.test_param_get("profile")]
