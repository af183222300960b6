"""Ports for programs that are told one."""

import contextlib
import random
import socket


def free_port():
    """Below those that the system gives to clients: a port of these would soon be somebody's."""
    while True:
        port = random.randrange(15000, 32000)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
