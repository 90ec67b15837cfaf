"""Controls Hopwright switches from Python, and describes them to Mininet, Kathará and containerlab.

`Switch` controls a running switch by the `hopwright` command; nothing else is needed. Modules `mininet`, `kathara` and
`containerlab` are imported when they are used.
"""

from .client import (AlreadyExists, CommandMissing, HopwrightError, InvalidArgument, NotFound, PermissionDenied, Refused, Switch,
                     Unreachable, command)

__all__ = ["AlreadyExists", "CommandMissing", "HopwrightError", "InvalidArgument", "NotFound", "PermissionDenied", "Refused",
           "Switch", "Unreachable", "command"]
