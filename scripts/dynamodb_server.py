"""A DynamoDB as a child process on this machine, which ends with the process that started it.

Tests run on ministack's, which is fetched once with pip. Dynoxide is the second judge: it answers five times as fast, and can
keep its data in a file. No package has its program, so cargo builds it once, and only scripts/dynamodb_local --build does so.

scripts/dynamodb_local is this module as a command; tests/servers/launcher.py shares one server among the tests of a
ctest run. Both make the same environment for what they run: see environment().
"""

import contextlib
import ctypes
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

import fetching

sys.path.append(str(fetching.ROOT / "tests" / "support"))
from ports import free_port

HERE = fetching.ROOT / "tests" / "dynamodb"
REQUIREMENTS = HERE / "requirements.txt"
MINISTACK = fetching.CACHE / "dynamodb-server"
CRATE = HERE / "dynoxide.sha256"
DYNOXIDE = fetching.CACHE / "dynoxide"
CARGO = (1, 88)
ENDPOINT = "TENURE_TEST_DYNAMODB"
HIDDEN = ("AWS_",)  # settings of the user, which must have no effect on a test
INSTEAD = f"set {ENDPOINT} to a DynamoDB that runs already"
START_PATIENCE_S = 60

ToolError = fetching.ToolError


class Missing(ToolError):
    """Dynoxide is not there, or cargo, which builds it."""


def environment(endpoint, base=None):
    """The environment for a command that uses this server: the endpoint, and made-up credentials. Profiles, proxies and
    instance credentials of the user must have no effect on a test."""
    made = dict(os.environ if base is None else base)
    for name in [n for n in made if n.startswith(HIDDEN)]:
        del made[name]
    made.update({
        ENDPOINT: endpoint,
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
    """The command that starts ministack's DynamoDB; --host and --port follow."""
    fetching.cached(MINISTACK, [REQUIREMENTS], lambda fresh: fetching.make_python(fresh, REQUIREMENTS, INSTEAD))
    return [str(MINISTACK / "bin" / "python"), "-B", str(HERE / "ministack_server.py")]


def dynoxide(durable=False):
    """The same of dynoxide. `durable`: each write is in a file before its answer."""
    if not fetching.is_made_from(DYNOXIDE, [CRATE]):
        raise Missing("dynoxide is not there; scripts/dynamodb_local --build makes it with cargo, as scripts/test --all does")
    place = ["--db-path", "data"] if durable else []
    return [str(DYNOXIDE / "bin" / "dynoxide"), "--log", "quiet", *place]


# -- building -----------------------------------------------------------------------------------------------------------


def build_dynoxide():
    """Some four minutes of a processor, once."""
    fetching.cached(DYNOXIDE, [CRATE], _build)


def _build(fresh):
    cargo = _cargo()
    name = CRATE.read_text(encoding="ascii").split()[1]
    crate, version = name.removesuffix(".crate").rsplit("-", 1)
    cure = ("If https://index.crates.io cannot be reached from here, name a mirror in ~/.cargo/config.toml, or copy build/.cache "
            "from a machine that has it.")
    # The first command fetches the crate. What it fetched is compared before anything of it runs. The crate's Cargo.lock has the
    # hashes of all others.
    fetching.run([cargo, "info", "-q", f"{crate}@{version}"], (f"Fetching {name}", cure))
    home = pathlib.Path(os.environ.get("CARGO_HOME", pathlib.Path.home() / ".cargo"))
    fetched = fresh / "fetched"
    fetched.mkdir()
    for path in (home / "registry" / "cache").glob(f"*/{name}"):
        shutil.copy(path, fetched)
    fetching.check_sums(fetched, CRATE)
    with tarfile.open(fetched / name) as packed:
        packed.extractall(fetched, filter="data")
    # Not optimised as far as its own profile says, in two thirds of the time.
    quick = {f"CARGO_PROFILE_RELEASE_{key}": value for key, value in (("LTO", "off"), ("CODEGEN_UNITS", "16"), ("OPT_LEVEL", "1"))}
    print(f"Building {name} with cargo, once; it lies in {DYNOXIDE} afterwards", file=sys.stderr, flush=True)
    fetching.run(["nice", "-n", "10", cargo, "install", "--locked", "--no-default-features", "--features",
                  "native-sqlite,http-server,cli", "--path", fetched / f"{crate}-{version}", "--root", fresh, "--no-track",
                  "--target-dir", fetched / "target"], (f"Building {name}", cure), env=dict(os.environ, **quick))
    shutil.rmtree(fetched)


def _cargo():
    cargo = shutil.which("cargo")
    told = cargo and subprocess.run([cargo, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.match(r"cargo (\d+)\.(\d+)", told or "")
    if not version or tuple(map(int, version.groups())) < CARGO:
        raise Missing(f"cargo {CARGO[0]}.{CARGO[1]} or later is not there, which builds dynoxide")
    return cargo


# -- running ------------------------------------------------------------------------------------------------------------


def die_with_parent():
    """Runs in a new child: the kernel ends the child when the thread that started it ends, for whatever reason."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None, use_errno=True).prctl(pr_set_pdeathsig, signal.SIGKILL)


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


def call(endpoint, operation, body, timeout=60, region="us-east-1"):
    """One unchecked call to a local server: (status, reply). The server needs a signature but does not verify it."""
    host, port = endpoint.removeprefix("http://").rstrip("/").rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=timeout)
    with contextlib.closing(connection):
        connection.request("POST", "/", json.dumps(body), {
            "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": f"DynamoDB_20120810.{operation}",
            "X-Amz-Date": "20260101T000000Z",
            "Authorization": f"AWS4-HMAC-SHA256 Credential=tenuretest/20260101/{region}/dynamodb/aws4_request, "
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
    """A running DynamoDB, empty at first. Its data end with it."""

    def __init__(self, command, host="127.0.0.1"):
        """`command`: what prepare() or dynoxide() said."""
        self.host = host
        self._directory = tempfile.TemporaryDirectory(prefix="tenure-dynamodb.")
        self.log = pathlib.Path(self._directory.name) / "log"
        self.process = None
        try:
            for attempt in range(3):
                self.port = free_port(host)
                if self._start(command):
                    return
                if "address already in use" not in self.output().lower() or attempt == 2:
                    raise ToolError(f"The DynamoDB of this machine did not start:\n{self.output().strip()}")
        except BaseException:
            self.stop()
            raise

    @property
    def endpoint(self):
        return f"http://{self.host}:{self.port}"

    def output(self):
        return self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""

    def _start(self, command):
        """True once the server answers, False if it ended instead."""
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([*command, "--host", self.host, "--port", str(self.port)],
                                            cwd=self._directory.name, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env={"PATH": os.defpath, "TMPDIR": self._directory.name},
                                            preexec_fn=die_with_parent, start_new_session=True)
        deadline = time.monotonic() + START_PATIENCE_S
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                return False
            if listens(self.process.pid, self.port):
                with contextlib.suppress(OSError, http.client.HTTPException):
                    if call(self.endpoint, "ListTables", {})[0] == 200:
                        return True
            time.sleep(0.02)
        raise ToolError(f"The DynamoDB of this machine has not answered for {START_PATIENCE_S} s:\n{self.output().strip()}")

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.kill()  # none of its data are kept, so it need not end in order
            self.process.wait()
        self._directory.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
