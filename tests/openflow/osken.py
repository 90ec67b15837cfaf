"""Runs `osken-manager`. Its web server names a constant that newer versions of eventlet no longer have."""

import eventlet

eventlet.monkey_patch()

import eventlet.wsgi  # noqa: E402

eventlet.wsgi.ALREADY_HANDLED = []

from os_ken.cmd.manager import main  # noqa: E402
from os_ken.lib import ofctl_utils  # noqa: E402

# Seconds that its web server waits for a switch, which may be on a busy machine: after that it answers as if there were nothing.
ofctl_utils.DEFAULT_TIMEOUT = 60

main()
