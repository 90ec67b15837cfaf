"""Time limits of controller libraries, which a busy machine does not meet, made long enough for one."""

PATIENCE = 60


def finsy():
    """Calls of finsy end after ten seconds otherwise."""
    from finsy import p4client

    p4client._DEFAULT_RPC_TIMEOUT = PATIENCE


def shell():
    """p4runtime-shell waits two seconds for the answer to its arbitration otherwise, and then ends the process."""
    from p4runtime_sh.p4runtime import P4RuntimeClient

    received = P4RuntimeClient.get_stream_packet
    P4RuntimeClient.get_stream_packet = lambda client, kind, timeout=1: received(client, kind, PATIENCE if kind == "arbitration" else timeout)
