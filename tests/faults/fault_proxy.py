#!/usr/bin/env python3
"""A proxy that does to HTTP calls what networks, servers and overloaded tables do: see rules.py for the faults.

    tests/faults/fault_proxy.py --upstream http://127.0.0.1:PORT [--port N] [--control N] [--seed N]

Prints one line of JSON, {"endpoint": URL, "control": URL}, and runs until SIGTERM, or until its stdin closes with
--stdin. Times are CLOCK_MONOTONIC in seconds. The control interface, JSON in and out:

    GET    /rules                the rules in order, with how often each matched and was applied
    PUT    /rules [rule...]      these instead; POST /rules rule: one more at the end; DELETE /rules: none
    GET    /log?since=N          what was seen from number N on, in order of arrival; DELETE /log forgets it
    GET    /counters             requests, connections, replies, ... and requests by operation
    POST   /close_idle           closes the clients' connections on which no request is under way
    POST   /listen true|false    false: connections are refused, and those that exist reset; true: as before
    PUT    /bodies true|false    whether the log holds the requests' bodies

A rule is an object such as {"action": "drop_after", "operation": "UpdateItem", "probability": 0.5}. client.py is the same
for Python. One thread and asyncio: it is good for some 2,000 calls a second.
"""

import argparse
import asyncio
import collections
import contextlib
import gc
import itertools
import json
import os
import random
import signal
import socket
import struct
import sys
import time
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import http1
import rules as faults

LOG_LENGTH = 200_000
HOP_BY_HOP = ("connection", "keep-alive", "proxy-connection")


def operation_of(request):
    """UpdateItem of DynamoDB, AssumeRole of STS; for anything else the method and the path."""
    target = request.get("x-amz-target")
    if target:
        return target.rsplit(".", 1)[-1]
    if request.body.startswith(b"Action="):
        return urllib.parse.parse_qs(request.body.decode("latin-1"))["Action"][0]
    return " ".join(request.start.split(" ")[:2])


class Entry:
    """One line of the log."""

    def __init__(self, number, connection, operation, request, with_body):
        self.fields = {"number": number, "at": time.monotonic(), "connection": connection, "operation": operation,
                       "agent": request.get("user-agent"), "rules": [], "forwarded": [], "status": None, "answered": None}
        if operation == "TransactWriteItems":
            with contextlib.suppress(ValueError, AttributeError, TypeError):
                self.fields["parts"] = [next(iter(part)) for part in json.loads(request.body)["TransactItems"]]
        if with_body:
            self.fields["body"] = request.body.decode("utf-8", "replace")


class Upstream:
    """Kept-alive connections to the server. The proxy never sends a request again by itself: the server may have
    carried it out. So a connection that was idle for long is not used any more: the server may be closing it."""

    IDLE_S = 5

    def __init__(self, host, port):
        self._address = (host, port)
        self._idle = []

    async def call(self, request):
        connection = await self._take()
        reader, writer = connection
        try:
            writer.write(request)
            answer = await http1.read_reply(reader)
        except BaseException:
            writer.close()
            raise
        if answer.keeps_open:
            self._idle.append((time.monotonic(), connection))
        else:
            writer.close()
        return answer

    async def _take(self):
        while self._idle:
            since, (reader, writer) = self._idle.pop()
            if not reader.at_eof() and not writer.is_closing() and time.monotonic() - since < self.IDLE_S:
                return reader, writer
            writer.close()
        try:
            return await asyncio.open_connection(*self._address, limit=http1.MAX_HEAD)
        except OSError as fault:
            raise http1.Gone(f"the server cannot be reached: {fault}") from fault


class Client:
    """One accepted connection."""

    def __init__(self, number, reader, writer):
        self.number = number
        self.reader = reader
        self.writer = writer
        self.busy = False

    @property
    def is_gone(self):
        return self.reader.at_eof() or self.writer.is_closing()

    def close(self, reset=False):
        if reset:
            raw = self.writer.get_extra_info("socket")
            if raw:
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.writer.transport.abort()
        else:
            self.writer.close()


class Closed(Exception):
    """A fault ended the client's connection."""


class Proxy:
    def __init__(self, upstream, seed):
        self.upstream = upstream
        self.seed = seed
        self.rules = []
        self.log = collections.deque(maxlen=LOG_LENGTH)
        self.with_bodies = False
        self.counters = collections.Counter()
        self.operations = collections.Counter()
        self.clients = set()
        self._numbers = itertools.count(1)
        self._entries = itertools.count(1)
        self._rule_numbers = itertools.count(1)
        self._background = set()

    # -- one connection ---------------------------------------------------------------------------------------------

    async def serve(self, reader, writer):
        client = Client(next(self._numbers), reader, writer)
        self.clients.add(client)
        self.counters["connections"] += 1
        try:
            while True:
                client.busy = False
                request = await http1.read_request(reader, writer)
                client.busy = True
                await self._handle(client, request)
                await writer.drain()
                if not request.keeps_open:
                    break
        except (http1.Gone, Closed, ConnectionError):
            pass
        except asyncio.CancelledError:  # the proxy ends; asyncio would print a cancelled task
            client.close(reset=True)
        finally:
            self.clients.discard(client)
            writer.close()

    async def _handle(self, client, request):
        operation = operation_of(request)
        entry = Entry(next(self._entries), client.number, operation, request, self.with_bodies).fields
        self.log.append(entry)
        self.counters["requests"] += 1
        self.operations[operation] += 1
        delays, rule = faults.choose(self.rules, operation, request.body)
        entry["rules"] = [r.number for r in (*delays, *([rule] if rule else []))]
        wire = request.without(*HOP_BY_HOP).bytes()
        for delay in delays:
            if delay["when"] == "before":
                await asyncio.sleep(delay["seconds"])
                if client.is_gone:
                    raise Closed
        answer = await self._act(rule, client, entry, wire) if rule else await self._forward(entry, wire)
        for delay in delays:
            if delay["when"] == "after":
                await asyncio.sleep(delay["seconds"])
        self._answer(client, entry, answer)
        if rule and rule["action"] == "close_after":
            await client.writer.drain()
            raise Closed

    def _answer(self, client, entry, answer):
        entry["answered"] = time.monotonic()
        self.counters["replies"] += 1
        client.writer.write(answer.bytes())

    async def _forward(self, entry, wire):
        entry["forwarded"].append(time.monotonic())
        self.counters["forwarded"] += 1
        answer = (await self.upstream.call(wire)).without(*HOP_BY_HOP)
        entry["status"] = answer.status
        return answer

    # -- the faults: each returns the answer, or raises Closed ---------------------------------------------------------

    async def _act(self, rule, client, entry, wire):
        act = getattr(self, "_" + rule["action"])
        return await act(rule, client, entry, wire)

    async def _silence(self, rule, client):
        if rule["close"]:
            client.close(rule["reset"])
        else:
            while not client.is_gone:  # from now on its input is read and dropped
                await client.reader.read(65536)
        raise Closed

    async def _drop_before(self, rule, client, entry, wire):
        return await self._silence(rule, client)

    async def _drop_after(self, rule, client, entry, wire):
        await self._forward(entry, wire)
        return await self._silence(rule, client)

    async def _duplicate(self, rule, client, entry, wire):
        first = await self._forward(entry, wire)
        if rule["answer"] == "second":
            await asyncio.sleep(rule["seconds"])
            return await self._forward(entry, wire)
        self._later(rule["seconds"], entry, wire)
        return first

    async def _hold(self, rule, client, entry, wire):
        later = self._later(rule["seconds"], entry, wire)
        if rule["close"]:
            client.close()
            raise Closed
        answer = await later
        if answer is None:
            raise Closed
        return answer

    def _later(self, seconds, entry, wire):
        async def deliver():
            await asyncio.sleep(seconds)
            with contextlib.suppress(http1.Gone, ConnectionError):
                return await self._forward(entry, wire)

        task = asyncio.ensure_future(deliver())
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    async def _partial(self, rule, client, entry, wire):
        """Sends the head and the first part of the body; the rest is returned."""
        answer = await self._forward(entry, wire)
        length = len(answer.body) // 2 if rule["bytes"] is None else rule["bytes"]
        client.writer.write(answer.head() + answer.body[:length])
        await client.writer.drain()
        return answer.body[length:]

    async def _cut(self, rule, client, entry, wire):
        await self._partial(rule, client, entry, wire)
        client.close(rule["reset"])
        raise Closed

    async def _stall(self, rule, client, entry, wire):
        rest = await self._partial(rule, client, entry, wire)
        await asyncio.sleep(rule["seconds"])
        if not client.is_gone:
            client.writer.write(rest)
            await client.writer.drain()
        client.close()
        raise Closed

    async def _error(self, rule, client, entry, wire):
        if rule["apply"]:
            await self._forward(entry, wire)
        return self._made_error(rule["name"], rule["status"], rule["message"])

    async def _throttle(self, rule, client, entry, wire):
        return self._made_error(rule["name"], 0, rule["message"])

    async def _lie(self, rule, client, entry, wire):
        if rule["apply"]:
            await self._forward(entry, wire)
        return self._made_reply(200, rule["body"])

    def _made_error(self, name, status, message):
        status = status or faults.STATUS.get(name.rsplit("#", 1)[-1], 400)
        return self._made_reply(status, {"__type": faults.error_type(name), "message": message})

    @staticmethod
    def _made_reply(status, told):
        body = json.dumps(told).encode()
        date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime())
        return http1.reply(status, body, "application/x-amz-json-1.0",
                           headers=[("x-amzn-RequestId", f"FAULT{random.getrandbits(64):016X}"), ("Date", date)])

    async def _close_after(self, rule, client, entry, wire):
        return await self._forward(entry, wire)

    # -- control -------------------------------------------------------------------------------------------------------

    def add_rules(self, given):
        self.rules += [faults.Rule(next(self._rule_numbers), rule, self.seed) for rule in given]

    def close_clients(self, idle_only):
        closed = [c for c in self.clients if not (idle_only and c.busy)]
        for client in closed:
            client.close(reset=not idle_only)
        return len(closed)

    def count(self):
        return {**{k: self.counters[k] for k in ("requests", "connections", "forwarded", "replies")},
                "open": len(self.clients), "operations": dict(self.operations)}


class Listener:
    """The proxy's port, which can refuse connections and accept them again."""

    def __init__(self, proxy, port):
        self._proxy = proxy
        self._server = None
        # It keeps the port while connections are refused: the system would give it to any other process.
        self._kept = socket.socket()
        self._kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._kept.bind(("127.0.0.1", port))
        self.port = self._kept.getsockname()[1]

    async def open(self):
        if not self._server:
            self._server = await asyncio.start_server(self._proxy.serve, "127.0.0.1", self.port, limit=http1.MAX_HEAD,
                                                      backlog=1024)

    def close(self):
        if self._server:
            self._server.close()
            self._server = None
        self._proxy.close_clients(idle_only=False)


class Control:
    def __init__(self, proxy, listener):
        self._proxy = proxy
        self._listener = listener

    async def serve(self, reader, writer):
        with contextlib.suppress(http1.Gone, ConnectionError):
            while True:
                request = await http1.read_request(reader, writer)
                try:
                    status, body = 200, await self._answer(request)
                except (ValueError, TypeError, AttributeError) as fault:
                    status, body = 400, {"error": str(fault)}
                except KeyError as fault:
                    status, body = 404, {"error": f"no such request: {fault}"}
                writer.write(http1.reply(status, json.dumps(body).encode()).bytes())
                await writer.drain()
        writer.close()

    async def _answer(self, request):
        method, target = request.start.split(" ")[:2]
        path, _, query = target.partition("?")
        proxy, given = self._proxy, json.loads(request.body) if request.body else None
        match (method, path):
            case ("GET", "/rules"):
                pass
            case ("PUT", "/rules"):
                before, proxy.rules = proxy.rules, []
                try:
                    proxy.add_rules(given)
                except Exception:
                    proxy.rules = before
                    raise
            case ("POST", "/rules"):
                proxy.add_rules([given])
            case ("DELETE", "/rules"):
                proxy.rules = []
            case ("GET", "/log"):
                since = int(urllib.parse.parse_qs(query).get("since", ["0"])[0])
                return [entry for entry in proxy.log if entry["number"] >= since]
            case ("DELETE", "/log"):
                proxy.log.clear()
                return {}
            case ("GET", "/counters"):
                return proxy.count()
            case ("POST", "/close_idle"):
                return {"closed": proxy.close_clients(idle_only=True)}
            case ("POST", "/listen"):
                if given:
                    await self._listener.open()
                else:
                    self._listener.close()
                return {"listening": bool(given)}
            case ("PUT", "/bodies"):
                proxy.with_bodies = bool(given)
                return {"bodies": proxy.with_bodies}
            case _:
                raise KeyError(f"{method} {path}")
        return [rule.view() for rule in proxy.rules]


async def run(options):
    parts = urllib.parse.urlsplit(options.upstream)
    if parts.scheme != "http" or not parts.hostname:
        raise SystemExit(f"fault_proxy: --upstream takes http://HOST:PORT, not {options.upstream!r}")
    proxy = Proxy(Upstream(parts.hostname, parts.port or 80), options.seed)
    listener = Listener(proxy, options.port)
    await listener.open()
    control = await asyncio.start_server(Control(proxy, listener).serve, "127.0.0.1", options.control)
    print(json.dumps({"endpoint": f"http://127.0.0.1:{listener.port}",
                      "control": f"http://127.0.0.1:{control.sockets[0].getsockname()[1]}"}), flush=True)
    gc.freeze()
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    if options.stdin:
        loop.add_reader(0, lambda: os.read(0, 4096) or ended.set())
    await ended.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--upstream", required=True, metavar="URL")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--control", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stdin", action="store_true", help="end when stdin closes")
    options = parser.parse_args()
    # Requests that are under way are given up: nobody waits for them any more.
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(run(options))


if __name__ == "__main__":
    main()
