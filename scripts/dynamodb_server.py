"""Amazon's DynamoDB Local as a child process. It is fetched once with Maven, and ends with the process that started it.

scripts/dynamodb_local is this module as a command; tests/servers/launcher.py shares one server among the tests of a
ctest run. Both make the same environment for what they run: see environment().
"""

import contextlib
import ctypes
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time

import fetching

POM = fetching.ROOT / "tests" / "dynamodb" / "pom.xml"
CACHE = fetching.CACHE / "dynamodb-local"
SUMS = POM.with_suffix(".sha256")
MAIN_CLASS = "com.amazonaws.services.dynamodbv2.local.main.ServerRunner"
ENDPOINT = "TENURE_TEST_DYNAMODB"
HIDDEN = ("AWS_",)  # settings of the user, which must have no effect on a test
INSTEAD = f"set {ENDPOINT} to a DynamoDB that runs already"
START_PATIENCE_S = 60
HEAP_MIB = 512


Trouble = fetching.Trouble


def environment(endpoint, base=None):
    """The environment for a command that uses this server: the endpoint, and made-up credentials. Profiles, proxies and
    instance credentials of the user must have no effect on a test."""
    made = dict(os.environ if base is None else base)
    for name in [n for n in made if n.startswith(HIDDEN)]:
        del made[name]
    made.update({
        ENDPOINT: endpoint,
        # DynamoDB Local accepts letters and digits only.
        "AWS_ACCESS_KEY_ID": "tenuretest",
        "AWS_SECRET_ACCESS_KEY": "tenuretestsecret",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    })
    for name in ("NO_PROXY", "no_proxy"):
        made[name] = ",".join(filter(None, (made.get(name), "127.0.0.1,localhost")))
    return made


def store_section(_):
    """For candidates in this environment. The table is their own, so that demos on one server do not meet."""
    return (f"{{ type: dynamodb, table: tenure-demo-{os.getpid()}, region: us-east-1, "
            f"endpoint: {os.environ[ENDPOINT]} }}")


def prepare():
    """The folder with the jars and native libraries."""

    def build(fresh):
        fetching.run_maven(["-f", str(POM), "dependency:copy-dependencies", "-DincludeScope=runtime",
                            f"-DoutputDirectory={fresh}"], "Fetching DynamoDB Local", INSTEAD)
        fetching.check_sums(fresh, SUMS)

    fetching.cached(CACHE, [POM, SUMS], build)
    return CACHE


# -- running ------------------------------------------------------------------------------------------------------------


def die_with_parent():
    """Runs in a new child: the kernel ends the child when the thread that started it ends, for whatever reason."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None, use_errno=True).prctl(pr_set_pdeathsig, signal.SIGKILL)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def listens(pid, port):
    """Whether this very process listens on the port: another process may have taken the port in the meantime."""
    inodes = set()
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/net/{table}", encoding="ascii") as file:
            for fields in map(str.split, list(file)[1:]):
                if fields[3] == "0A" and int(fields[1].rsplit(":", 1)[1], 16) == port:
                    inodes.add(f"socket:[{fields[9]}]")
    with contextlib.suppress(OSError), os.scandir(f"/proc/{pid}/fd") as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if os.readlink(entry.path) in inodes:
                    return True
    return False


def call(endpoint, operation, body, timeout=10):
    """One unchecked call to a local server: (status, reply). The server needs a signature but does not verify it."""
    host, port = endpoint.removeprefix("http://").rstrip("/").rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=timeout)
    with contextlib.closing(connection):
        connection.request("POST", "/", json.dumps(body), {
            "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": f"DynamoDB_20120810.{operation}",
            "X-Amz-Date": "20260101T000000Z",
            "Authorization": "AWS4-HMAC-SHA256 Credential=tenuretest/20260101/us-east-1/dynamodb/aws4_request, "
                             "SignedHeaders=host, Signature=0"})
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read() or b"{}")


def answers(endpoint):
    try:
        call(endpoint, "ListTables", {}, timeout=1)
    except ConnectionRefusedError:
        return False
    except OSError:
        pass
    return True


class Server:
    """A running DynamoDB Local, empty at first. Its data are in memory (`durable`: in files) and end with the server."""

    def __init__(self, jars, heap_mib=HEAP_MIB, durable=False):
        self._directory = tempfile.TemporaryDirectory(prefix="tenure-dynamodb.")
        self.log = pathlib.Path(self._directory.name) / "log"
        self.process = None
        try:
            for attempt in range(3):
                self.port = free_port()
                if self._start(jars, heap_mib, durable):
                    return
                if "Address already in use" not in self.output() or attempt == 2:
                    raise Trouble(f"DynamoDB Local did not start:\n{self.output().strip()}")
        except BaseException:
            self.stop()
            raise

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.port}"

    def output(self):
        return self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""

    def _start(self, jars, heap_mib, durable):
        """True once the server answers, False if it ended instead."""
        # A test's server does not run long enough to make up for the time that the optimising compiler takes.
        compiler = [] if durable else ["-XX:TieredStopAtLevel=1"]
        place = ["-dbPath", self._directory.name] if durable else ["-inMemory"]
        command = ["java", f"-Xmx{heap_mib}m", "-Xms64m", "-XX:+UseSerialGC", *compiler,
                   "-XX:MaxMetaspaceSize=192m", "-Djava.net.preferIPv4Stack=true", f"-Djava.library.path={jars}",
                   "-cp", f"{jars}/*", MAIN_CLASS, *place, "-sharedDb", "-disableTelemetry", "-port", str(self.port)]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, cwd=self._directory.name, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, preexec_fn=die_with_parent, start_new_session=True)
        deadline = time.monotonic() + START_PATIENCE_S
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                return False
            if listens(self.process.pid, self.port):
                with contextlib.suppress(OSError, http.client.HTTPException):
                    if call(self.endpoint, "ListTables", {})[0] == 200:
                        return True
            time.sleep(0.05)
        raise Trouble(f"DynamoDB Local has not answered for {START_PATIENCE_S} s:\n{self.output().strip()}")

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.kill()  # none of its data are kept, so it need not end in order
            self.process.wait()
        self._directory.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
