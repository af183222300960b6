"""A port of the loopback whose connections lead to a server of the test's choice: a virtual address that fails over, or
the link between two servers. Bytes are passed on as they are."""

import contextlib
import random
import socket
import struct
import threading
import time

CHUNK = 65536
RESET = struct.pack("ii", 1, 0)


class Switch:
    """A context manager. Its threads end with it."""

    def __init__(self, target_port, seed=1):
        self._target = target_port
        self._dice = random.Random(seed)
        self._loses = self._delay_s = 0.0
        self._lock = threading.Lock()
        self._links, self._cuts = set(), 0
        self._flow = threading.Event()
        self._flow.set()
        self._refuses = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    # -- what a test does with it ---------------------------------------------------------------------------------

    def point_at(self, port):
        """For new connections. Those that are there stay as they are."""
        with self._lock:
            self._target = port

    def cut(self):
        """Both ends of all connections see a reset."""
        with self._lock:
            links, self._links = self._links, set()
            self._cuts += 1
        for link in links:
            for end in link:
                with contextlib.suppress(OSError):
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                    end.shutdown(socket.SHUT_RDWR)
                end.close()

    def refuse(self, refuses=True):
        """New connections are closed at once."""
        self._refuses = refuses

    def silence(self):
        """From now on nothing gets through, and nobody is told: connections are taken and stay open."""
        self._flow.clear()

    def speak(self):
        """Undoes silence(). What was sent meanwhile arrives."""
        self._flow.set()

    def lose_replies(self, probability):
        """From now on what a server sends is lost with this probability, and its connection is cut. 0: no more."""
        self._loses = probability

    def delay_replies(self, seconds):
        """Up to this long, each."""
        self._delay_s = seconds

    def connections(self):
        with self._lock:
            return len(self._links)

    def close(self):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._flow.set()
        self.cut()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # -- its threads ----------------------------------------------------------------------------------------------

    def _accept(self):
        while True:
            try:
                inside, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(inside,), daemon=True).start()

    def _serve(self, inside):
        self._flow.wait()
        cuts = self._cuts
        try:
            if self._refuses:
                raise ConnectionRefusedError
            outside = socket.create_connection(("127.0.0.1", self._target), timeout=5)
        except OSError:
            inside.close()
            return
        outside.settimeout(None)
        for end in (inside, outside):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link = (inside, outside)
        with self._lock:
            self._links.add(link)
            late = self._cuts != cuts  # it was being made during a cut
        if late:
            with contextlib.suppress(OSError):
                outside.shutdown(socket.SHUT_RDWR)
        back = threading.Thread(target=self._pass_on, args=(outside, inside, True), daemon=True)
        back.start()
        self._pass_on(inside, outside, False)
        back.join()
        with self._lock:
            self._links.discard(link)
        inside.close()
        outside.close()

    def _pass_on(self, source, target, replies):
        with contextlib.suppress(OSError):
            while data := source.recv(CHUNK):
                self._flow.wait()
                if replies and self._dice.random() < self._loses:
                    break
                if replies and self._delay_s:
                    time.sleep(self._dice.uniform(0, self._delay_s))
                target.sendall(data)
        # Neither direction goes on without the other.
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
