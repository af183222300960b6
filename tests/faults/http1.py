"""HTTP/1.1 messages over asyncio streams: only what the fault proxy needs, and only complete messages."""

import asyncio

MAX_HEAD = 64 * 1024
MAX_BODY = 64 * 1024 * 1024


class Gone(Exception):
    """The other side closed the connection, or sent something that is not HTTP/1.1."""


class Message:
    """A request or a reply. Headers keep their order and spelling; lookups ignore case."""

    def __init__(self, start, headers, body):
        self.start = start  # "POST / HTTP/1.1" or "HTTP/1.1 200 OK"
        self.headers = headers
        self.body = body

    def get(self, name, otherwise=""):
        name = name.lower()
        return next((value for key, value in self.headers if key.lower() == name), otherwise)

    def without(self, *names):
        return Message(self.start, [h for h in self.headers if h[0].lower() not in names], self.body)

    @property
    def keeps_open(self):
        asked = self.get("connection").lower()
        return asked == "keep-alive" if "HTTP/1.0" in self.start else asked != "close"

    @property
    def status(self):
        return int(self.start.split(" ", 2)[1])

    def head(self):
        lines = [self.start, *(f"{name}: {value}" for name, value in self.headers), "", ""]
        return "\r\n".join(lines).encode("latin-1")

    def bytes(self):
        return self.head() + self.body


def reply(status, body, content_type="application/json", reason="", headers=()):
    return Message(f"HTTP/1.1 {status} {reason or 'Answer'}",
                   [("Content-Type", content_type), ("Content-Length", str(len(body))), *headers], body)


async def read_head(reader):
    """The first line and the headers, or Gone if the stream ends before the first byte or within."""
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError) as fault:
        raise Gone(str(fault)) from fault
    lines = raw[:-4].decode("latin-1").split("\r\n")
    headers = []
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon:
            raise Gone(f"no header: {line!r}")
        headers.append((name, value.strip()))
    return Message(lines[0], headers, b"")


async def read_body(reader, message, until_end):
    """Reads what the headers announce into message.body and makes Content-Length say how much that is."""
    try:
        if "chunked" in message.get("transfer-encoding").lower():
            message.body = await read_chunks(reader)
        elif message.get("content-length"):
            length = int(message.get("content-length"))
            if not 0 <= length <= MAX_BODY:
                raise Gone(f"a body of {length} bytes")
            message.body = await reader.readexactly(length)
        elif until_end:
            message.body = await reader.read(MAX_BODY)
        else:
            return message
    except (asyncio.IncompleteReadError, ConnectionError, ValueError) as fault:
        raise Gone(str(fault)) from fault
    message.headers = message.without("transfer-encoding", "content-length").headers
    message.headers.append(("Content-Length", str(len(message.body))))
    return message


async def read_chunks(reader):
    parts = []
    while True:
        size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
        if size == 0:
            break
        parts.append(await reader.readexactly(size))
        await reader.readexactly(2)
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass  # trailers
    return b"".join(parts)


async def read_request(reader, writer):
    message = await read_head(reader)
    if message.get("expect").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        message = message.without("expect")
    return await read_body(reader, message, until_end=False)


async def read_reply(reader):
    message = await read_head(reader)
    while message.status == 100:
        message = await read_head(reader)
    if message.status in (204, 304):
        return message
    return await read_body(reader, message, until_end=True)
