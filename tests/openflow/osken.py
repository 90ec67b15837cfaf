"""Runs `osken-manager`. Its web server names a constant that newer versions of eventlet no longer have."""

import eventlet

eventlet.monkey_patch()

import eventlet.wsgi  # noqa: E402

eventlet.wsgi.ALREADY_HANDLED = []

from os_ken.cmd.manager import main  # noqa: E402

main()
