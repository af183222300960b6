#!/usr/bin/env python3
"""Stands between one candidate and etcd, and writes down when which of its writes were made: what proves how long it led.

    store_log.py PORT_OF_ETCD

Prints the port on which it listens, then for each transaction with a put that etcd has carried out, as JSON: when the first
byte of the request was here and when the answer was about to be passed on, in ns of CLOCK_MONOTONIC. The candidate has sent the request
before, so it is valid for no longer than a lease after the first of these times, and knows of it not before the second.
`cut` on stdin lets no byte through from then on in either direction, and no connection ends; `heal` ends all connections
that were cut, and lets new ones through. It ends with stdin."""

import asyncio
import json
import os
import sys
import time

PUT = (b'"request_put"', b'"requestPut"')


class StoreLog:
    def __init__(self, port):
        self._port = port
        self._open = asyncio.Event()
        self._open.set()
        self._cut = set()  # connections that were there during a cut

    async def serve(self):
        server = await asyncio.start_server(self._client, "127.0.0.1", 0)
        print(server.sockets[0].getsockname()[1], flush=True)
        lines = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        while command := await lines.readline():
            if command == b"cut\n":
                self._open.clear()
            elif command == b"heal\n":
                for writer in self._cut:
                    writer.close()
                self._open.set()
        os._exit(0)  # without a word about the connections that there still are

    async def _client(self, reader, writer):
        await self._pass_or_mark(writer)
        try:
            from_store, to_store = await asyncio.open_connection("127.0.0.1", self._port)
        except OSError:
            writer.close()
            return
        asked = {}
        await asyncio.gather(self._pump(reader, to_store, lambda data: self._asks(asked, data)),
                             self._pump(from_store, writer, lambda data: self._answers(asked, data)))
        self._cut.discard(writer)

    async def _pass_or_mark(self, writer):
        if not self._open.is_set():
            self._cut.add(writer)
            await self._open.wait()

    async def _pump(self, reader, writer, look):
        try:
            while data := await reader.read(1 << 16):
                told = look(data)
                await self._pass_or_mark(writer)
                writer.write(data)
                if told:
                    told()
                await writer.drain()
        except OSError:
            pass
        writer.close()

    @staticmethod
    def _asks(asked, data):
        """A connection has one request at a time."""
        if data.startswith((b"POST ", b"GET ")):
            asked.update(at=time.monotonic_ns(), text=b"", answer=b"")
        asked["text"] = asked.get("text", b"") + data

    @staticmethod
    def _answers(asked, data):
        if not any(word in asked.get("text", b"") for word in PUT):
            return None
        asked["answer"] += data
        if b'"succeeded":true' not in asked["answer"].replace(b" ", b""):
            return None
        asked["text"] = b""
        # The second time is taken before the answer goes on: afterwards the candidate may be faster than this process.
        line = json.dumps([asked["at"], time.monotonic_ns()])
        return lambda: print(line, flush=True)


if __name__ == "__main__":
    asyncio.run(StoreLog(int(sys.argv[1])).serve())
