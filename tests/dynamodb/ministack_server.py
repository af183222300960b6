"""ministack's DynamoDB alone, on a port of the loopback; scripts/dynamodb_server.py runs it in an environment with ministack.

ministack's own program also offers sixty other services, looks for containers and listens for MQTT. Here a request goes to its
DynamoDB at once, in a fifth of the time. One thread answers one request at a time, so that each is atomic.
"""

import argparse
import asyncio

from hypercorn.asyncio import serve
from hypercorn.config import Config
from ministack.core.responses import set_request_region
from ministack.core.router import extract_region
from ministack.services import dynamodb


async def _body_of(receive):
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if not message.get("more_body"):
            return body


async def application(scope, receive, send):
    if scope["type"] != "http":
        return
    body = await _body_of(receive)
    if body is None:  # a request that was cut has no effect
        return
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
    set_request_region(extract_region(headers))
    status, headers, body = await dynamodb.handle_request(scope["method"], scope["path"], headers, body, {})
    body = body if isinstance(body, bytes) else body.encode()
    head = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status,
                "headers": [*head, (b"content-length", str(len(body)).encode())]})
    await send({"type": "http.response.body", "body": body})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--certificate", metavar="FILE", help="with TLS, by this certificate and its key")
    parser.add_argument("--key", metavar="FILE")
    options = parser.parse_args()
    config = Config()
    config.bind = [f"{options.host}:{options.port}"]
    config.certfile, config.keyfile = options.certificate, options.key
    config.backlog = 1024
    config.keep_alive_timeout = 3600  # a connection of AWS's own stays open for longer than any test
    config.keep_alive_max_requests = 1 << 60
    config.loglevel = "ERROR"
    asyncio.run(serve(application, config))


if __name__ == "__main__":
    main()
