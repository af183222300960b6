"""A proxy on loopback as companies have them: it opens tunnels for CONNECT, and forwards plain requests whose target is absolute.

Only it knows where the names of a test lead, so that what comes from there went through it.
"""

import contextlib
import socket
import threading

END = b"\r\n\r\n"


def carry(source, target):
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


class ConnectProxy:
    """`names`: from "host:port" to an address of this machine. Each first line that arrives is in `seen`."""

    def __init__(self, names):
        self.names = names
        self.seen = []
        self.headers = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.serve, args=(self.listener.accept()[0],), daemon=True).start()

    def serve(self, client):
        with client, contextlib.suppress(OSError):
            head = b""
            while END not in head:
                if not (more := client.recv(65536)):
                    return
                head += more
            line, rest = head.split(b"\r\n", 1)
            self.seen.append(line.decode())
            self.headers.append(rest.split(END)[0].decode().lower())
            method, target, version = line.decode().split(" ")
            tunnels = method == "CONNECT"
            name, _, path = target.removeprefix("http://").partition("/")
            address = self.names.get(name)
            if address is None:
                client.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
                return
            with socket.create_connection(address) as server:
                if tunnels:
                    client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                else:  # one request a connection
                    rest = rest.replace(b"Connection: keep-alive", b"Connection: close", 1)
                    server.sendall(f"{method} /{path} {version}\r\n".encode() + rest)
                threading.Thread(target=carry, args=(client, server), daemon=True).start()
                carry(server, client)

    def close(self):
        self.listener.close()
