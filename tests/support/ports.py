"""Ports for servers that must be told theirs before they start."""

import errno
import random
import socket


def free_port(host="127.0.0.1"):
    """Below those that the system gives to whoever asks for any: one of these might be somebody's before the server has it."""
    while True:
        with socket.socket() as probe:
            try:
                probe.bind((host, random.randrange(15000, 32000)))
                return probe.getsockname()[1]
            except OSError as fault:
                if fault.errno != errno.EADDRINUSE:
                    raise
