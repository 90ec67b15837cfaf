"""The same network twice, with a Linux kernel and with `hopwright ip` as its router: see `lab_test.py`."""
