"""Prints where an address is, from the kernel's own notifications:

    address_recorder.py ADDRESS SWITCH LINK HOST=NAMESPACE...

One line for each event: `time new|old HOST`, as the address comes to a host or leaves it, and `time arp HARDWARE` for an
announcement of it that reaches the link of the switch. One process and one clock for all hosts, and in the real-time class,
so that the order of two events is not that in which a busy machine let it look.
"""

import contextlib
import os
import pathlib
import select
import socket
import struct
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from namespaces import enter

ADDRESSES = 0x10  # RTMGRP_IPV4_IFADDR
KINDS = {20: "new", 21: "old"}  # RTM_NEWADDR, RTM_DELADDR
LOCAL_ADDRESS = 2  # IFA_LOCAL
ARP = 0x0806


def changes(data, address):
    """new or old, for each notification of this address."""
    while len(data) >= 16:
        length, kind = struct.unpack_from("=IH", data)
        at = 24
        while kind in KINDS and at + 4 <= length:
            size, what = struct.unpack_from("=HH", data, at)
            if what == LOCAL_ADDRESS and data[at + 4:at + 8] == address:
                yield KINDS[kind]
            at += max(4, (size + 3) & ~3)
        data = data[(length + 3) & ~3:]


def watch(namespace):
    enter(namespace)
    made = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    made.bind((0, ADDRESSES))
    return made


def listen(namespace, link):
    enter(namespace)
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ARP))
    made.bind((link, ARP))
    return made


def main(address, switch, link, *hosts):
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    address = socket.inet_aton(address)
    watched = {watch(place): host for host, place in (each.split("=", 1) for each in hosts)}
    neighbour = listen(switch, link)
    print("ready", flush=True)
    while True:
        ready, _, _ = select.select([*watched, neighbour], [], [])
        now = time.monotonic()
        for one in ready:
            data = one.recv(65536)
            if one is not neighbour:
                for what in changes(data, address):
                    print(now, what, watched[one], flush=True)
            elif data[28:32] == address == data[38:42]:  # sender and target are the same: an announcement
                print(now, "arp", data[22:28].hex(":"), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
