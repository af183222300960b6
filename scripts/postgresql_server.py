"""A PostgreSQL as a child process, with a cluster of its own in a temporary directory. It ends with its parent process.

Debian's own cluster is neither used nor started. The server listens on a socket in that directory only, so that it
needs no port, and nobody but this user (and root) can reach it. PostgreSQL refuses to run as root: for root it runs as
`postgres` or `nobody`.

scripts/postgresql_local is this module as a command; tests/servers/launcher.py shares one server among the tests of
a ctest run.
"""

import ctypes
import glob
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
import urllib.parse
import zipfile

import fetching

ENDPOINT = "TENURE_TEST_POSTGRESQL"
HIDDEN = ("PG",)  # settings of the user, which must have no effect on a test
START_PATIENCE_S = 60
OLDEST = 14
# For tests beside the newest release: binaries of the PostgreSQL project's sources that the registry of Maven has.
POM = fetching.ROOT / "tests" / "postgresql" / "pom.xml"
SUMS = POM.with_suffix(".sha256")
NEWEST = fetching.CACHE / "postgresql"
# Tests kill processes, not machines, so these are off. They are turned on for measurements.
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


ToolError = fetching.ToolError


def environment(endpoint, base=None):
    """The environment for a command that uses this server. Settings of the user must have no effect on a test."""
    made = dict(os.environ if base is None else base)
    for name in [n for n in made if n.startswith(HIDDEN)]:
        del made[name]
    made[ENDPOINT] = endpoint
    return made


def store_section(directory):
    """For candidates in this environment. The table is their own; the liveness files lie in the directory."""
    live = os.path.join(directory, "live")
    os.makedirs(live, exist_ok=True)
    return (f"{{ type: postgresql, connection: \"{os.environ[ENDPOINT]}\", "
            f"table: tenure_demo_{os.getpid()}, liveness_dir: {live} }}")


def prepare():
    """The folder with the server's programs."""
    found = []
    for folder in glob.glob("/usr/lib/postgresql/*/bin") + glob.glob("/usr/pgsql-*/bin"):
        version = folder.split("/")[-2].removeprefix("pgsql-")
        if version.isdigit() and int(version) >= OLDEST and os.access(f"{folder}/postgres", os.X_OK):
            found.append((int(version), folder))
    if found:
        return max(found)[1]
    initdb = shutil.which("initdb")
    if initdb:
        return os.path.dirname(os.path.realpath(initdb))
    raise ToolError("PostgreSQL's server programs (initdb, postgres) are not there. On Debian: scripts/setup, or: apt-get "
                  f"install postgresql-15. Or set {ENDPOINT} to the URL of a database that tests may fill with schemas")


def fetch_newest():
    """The folder with the server's programs of the newest release that tests know. It has no psql."""

    def build(fresh):
        fetching.run_maven(["-f", str(POM), "dependency:copy-dependencies", "-DincludeScope=runtime",
                            f"-DoutputDirectory={fresh}"], "Fetching PostgreSQL's newest release",
                           f"set {ENDPOINT} to the URL of such a server that runs already")
        fetching.check_sums(fresh, SUMS)
        (jar,) = fresh.iterdir()
        with zipfile.ZipFile(jar) as packed, packed.open("postgres-linux-x86_64.txz") as inner, \
                tarfile.open(fileobj=inner, mode="r|xz") as tar:
            tar.extractall(fresh, filter="data")
        jar.unlink()

    fetching.cached(NEWEST, [POM, SUMS], build)
    return str(NEWEST / "bin")


def answers(endpoint):
    """Whether a server runs: its socket is removed when it ends."""
    host = urllib.parse.unquote(urllib.parse.urlsplit(endpoint).netloc.rpartition("@")[2])
    return bool(glob.glob(f"{host}/.s.PGSQL.*[0-9]"))


def user():
    """(uid, gid) to run as if this is root, else None."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return entry.pw_uid, entry.pw_gid
    raise ToolError("PostgreSQL refuses to run as root, and there is neither a user postgres nor nobody to run it as")


def die_with_parent():
    """Runs in a new child: the kernel sends the child SIGQUIT (PostgreSQL's immediate shutdown) when its parent's thread
    ends."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None, use_errno=True).prctl(pr_set_pdeathsig, signal.SIGQUIT)


def is_ready(data):
    """Whether the server with this data directory takes connections: it says so in the last line of a file there."""
    try:
        lines = pathlib.Path(data, "postmaster.pid").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return False
    return len(lines) > 7 and lines[7].strip() in ("ready", "standby")


class Server:
    """A running PostgreSQL with an empty database."""

    def __init__(self, binaries, settings=None):
        self._binaries = binaries
        self._directory = tempfile.TemporaryDirectory(prefix="tenure-postgresql.")
        self._root = pathlib.Path(self._directory.name)
        self._as = {}
        self.process = None
        other = user()
        if other:
            os.chown(self._root, *other)
            self._as = {"user": other[0], "group": other[1], "extra_groups": []}
        try:
            self._make()
            self._start(FAST if settings is None else settings)
        except BaseException:
            self.stop()
            raise

    @property
    def endpoint(self):
        return f"postgresql://tenure@{urllib.parse.quote(str(self._root), safe='')}/postgres"

    @property
    def log(self):
        return self._root / "log"

    def output(self):
        return self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""

    def _make(self):
        done = subprocess.run(
            [f"{self._binaries}/initdb", "-D", str(self._root / "data"), "-U", "tenure", "-A", "trust", "-E", "UTF8",
             "--locale=C", "--no-sync", "--no-instructions"],
            cwd=self._root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=environment("", {"PATH": os.defpath}), check=False, **self._as)
        if done.returncode:
            raise ToolError(f"initdb failed:\n{done.stdout.strip()}")

    def _start(self, settings):
        wanted = {"listen_addresses": "", "unix_socket_directories": str(self._root), "max_connections": "100",
                  "shared_buffers": "32MB", "logging_collector": "off", "autovacuum": "on", "timezone": "UTC", **settings}
        options = [word for name, value in wanted.items() for word in ("-c", f"{name}={value}")]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [f"{self._binaries}/postgres", "-D", str(self._root / "data"), *options], cwd=self._root,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment("", {"PATH": os.defpath}),
                preexec_fn=die_with_parent, start_new_session=True, **self._as)
        deadline = time.monotonic() + START_PATIENCE_S
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise ToolError(f"PostgreSQL did not start:\n{self.output().strip()}")
            if is_ready(self._root / "data"):
                return
            time.sleep(0.02)
        raise ToolError(f"PostgreSQL has not answered for {START_PATIENCE_S} s:\n{self.output().strip()}")

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)  # none of its data are kept, so it need not end in order
            self.process.wait()
        self._directory.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
