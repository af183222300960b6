"""Moto's S3 on a free port of the loopback, which it prints; scripts/s3_server.py runs it in an environment with moto.

Moto compares an ETag and stores the object in two steps, and another of its threads may store one in between. A fence
cannot work with such a server, so this one accepts one request at a time.
"""

import io
import logging
import threading

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server


class OneAtATime:
    def __init__(self, application):
        self._application = application
        self._lock = threading.Lock()

    def __call__(self, environ, start_response):
        # Before the lock: a client that was stopped in the middle of its request must not block the others.
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        with self._lock:
            return list(self._application(environ, start_response))


class Handler(MotoRequestHandler):
    disable_nagle_algorithm = True  # head and body are two sends

    def log_request(self, *_):
        pass


def main():
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    application = OneAtATime(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=Handler)
    print(server.port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
