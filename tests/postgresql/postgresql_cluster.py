"""PostgreSQL servers that a test ends, freezes, promotes and cuts off: a primary, standbys, a pooler before them.

Each server is a Node with its own data directory and port, on the loopback. They know nothing of each other but what the
test tells them. Links between them, and those of clients, may go through a Switch (switch.py), which a test can cut.
"""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "scripts"), str(HERE.parent / "support")]
import dynamodb_server
import postgresql_server
from postgresql_server import ToolError
import proc
from server_process import ServerProcess
from waiting import PATIENCE_S, wait_until

# They are killed, but the machine is not: what a server has written is there when it starts again.
SETTINGS = {"fsync": "off", "max_connections": "50", "shared_buffers": "16MB", "max_wal_senders": "8", "timezone": "UTC",
            "wal_keep_size": "64MB", "wal_sender_timeout": "3s", "wal_receiver_timeout": "3s", "wal_retrieve_retry_interval":
            "100ms", "checkpoint_timeout": "1h", "hot_standby": "on", "logging_collector": "off", "listen_addresses":
            "127.0.0.1", "log_line_prefix": "%m [%p] %q%a "}


class Directory:
    """A temporary directory that servers may write, whoever they run as."""

    def __init__(self):
        self._directory = tempfile.TemporaryDirectory(prefix="tenure-postgresql.")
        self.path = pathlib.Path(self._directory.name)
        self.run_as = {}
        other = postgresql_server.user()
        if other:
            self.give(self.path)
            self.run_as = {"user": other[0], "group": other[1], "extra_groups": []}

    @staticmethod
    def give(path):
        other = postgresql_server.user()
        if other:
            os.chown(path, *other)

    def run(self, command, what):
        done = subprocess.run([str(word) for word in command], cwd=self.path, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              env=postgresql_server.environment("", {"PATH": os.defpath}), **self.run_as)
        if done.returncode:
            raise ToolError(f"{what} failed:\n{done.stdout.strip()}")
        return done.stdout

    def close(self):
        self._directory.cleanup()


class Node(ServerProcess):
    """One server. `data`: its directory, which need not be there yet."""

    ToolError = ToolError
    READY = "to take connections"
    END = RESTART = signal.SIGINT  # a fast shutdown; SIGQUIT: as a crash would leave it

    def __init__(self, directory, name, data=None, binaries=None, settings=None):
        super().__init__(directory.path / f"{name}.log")
        self.name = name
        self.port = dynamodb_server.free_port()
        self.data = pathlib.Path(data or directory.path / name)
        self.settings = {**SETTINGS, **(settings or {})}
        self._directory = directory
        self._binaries = binaries or postgresql_server.prepare()

    def __repr__(self):
        return f"{self.name} at port {self.port}"

    # -- its life -------------------------------------------------------------------------------------------------

    def make(self):
        """A new, empty cluster."""
        self._directory.run([f"{self._binaries}/initdb", "-D", self.data, "-U", "tenure", "-A", "trust", "-E", "UTF8",
                             "--locale=C", "--no-sync", "--no-instructions", "--wal-segsize=1"], "initdb")
        return self

    def copy(self, source_port):
        """A standby of the server at this port, which may be that of a Switch, as an exact copy."""
        self._directory.run(["rm", "-rf", self.data], "removing the old data")
        self._directory.run([f"{self._binaries}/pg_basebackup", "-D", self.data, "-h", "127.0.0.1", "-p", source_port,
                             "-U", "tenure", "-c", "fast", "-X", "stream", "--no-sync"], "pg_basebackup")
        self.follow(source_port)
        return self

    def follow(self, source_port):
        """What it streams from when it starts the next time."""
        self.settings["primary_conninfo"] = (f"host=127.0.0.1 port={source_port} user=tenure "
                                             f"application_name={self.name} connect_timeout=2")
        (self.data / "standby.signal").touch()
        Directory.give(self.data / "standby.signal")

    def _launch(self, **how):
        options = {**self.settings, "port": str(self.port), "unix_socket_directories": str(self._directory.path)}
        words = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        return subprocess.Popen(
            [f"{self._binaries}/postgres", "-D", str(self.data), *words], cwd=self._directory.path,
            preexec_fn=postgresql_server.die_with_parent,
            env=postgresql_server.environment("", {"PATH": os.defpath}), **self._directory.run_as, **how)

    def is_ready(self):
        return postgresql_server.is_ready(self.data)

    def crash(self):
        self.stop(signal.SIGQUIT)

    def processes(self):
        """The postmaster and every process of it."""
        return [self.process.pid, *proc.children(self.process.pid)]

    def freeze(self):
        """SIGSTOP for all processes. The postmaster comes first, so that there are no new ones."""
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)

    def thaw(self):
        if self.runs():
            for pid in self.processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    # -- what it knows --------------------------------------------------------------------------------------------

    def conninfo(self, user="tenure", **more):
        words = {"host": "127.0.0.1", "port": self.port, "user": user, "dbname": "postgres", "sslmode": "disable", **more}
        return " ".join(f"{name}={value}" for name, value in words.items())

    def try_sql(self, text, timeout_s=PATIENCE_S, **conninfo):
        """(exit code of psql, rows or what it complained of)."""
        done = subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", self.conninfo(**conninfo), "-c", text],
                              capture_output=True, text=True, timeout=timeout_s, check=False, stdin=subprocess.DEVNULL,
                              env=postgresql_server.environment("", {"PATH": os.environ["PATH"]}))
        return done.returncode, done.stderr if done.returncode else done.stdout.rstrip("\n")

    def sql(self, text, timeout_s=PATIENCE_S, **conninfo):
        code, answer = self.try_sql(text, timeout_s, **conninfo)
        if code:
            raise ToolError(f"{self}: {text}: {answer}")
        return answer

    def set(self, name, value):
        """A setting that takes effect without a restart, for all connections."""
        self.settings.pop(name, None)  # one of the command line would win
        self.sql(f"ALTER SYSTEM SET {name} = '{value}'")
        self.sql("SELECT pg_reload_conf()")
        wait_until(lambda: self.sql(f"SHOW {name}") == value, f"{name} = {value} at {self}")

    def timeline(self):
        return int(self.sql("SELECT ('x'||left(pg_walfile_name(pg_current_wal_lsn()),8))::bit(32)::bigint"))

    def is_standby(self):
        return self.sql("SELECT pg_is_in_recovery()") == "t"

    def backends(self, where="true"):
        """Process ids of its clients' connections, but for this one."""
        rows = self.sql("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() "
                        f"AND {where}")
        return [int(pid) for pid in rows.split()]

    def has_standby(self, name, sync_state=None):
        state = f" AND sync_state = '{sync_state}'" if sync_state else ""
        return self.sql("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND application_name = "
                        f"'{name}'{state}") == "1"

    def wait_for_standby(self, name, sync_state=None):
        wait_until(lambda: self.has_standby(name, sync_state), f"{name} to follow {self}")

    def promote(self):
        self.sql("SELECT pg_promote(true, 60)")
        wait_until(lambda: not self.is_standby(), f"the promotion of {self}")


class Pooler:
    """pgbouncer before a server."""

    def __init__(self, directory, target_port, mode="transaction", settings=None):
        self.port = dynamodb_server.free_port()
        self._log = directory.path / f"pgbouncer-{self.port}.log"
        config = directory.path / f"pgbouncer-{self.port}.ini"
        options = {"listen_addr": "127.0.0.1", "listen_port": self.port, "unix_socket_dir": "", "auth_type": "any",
                   "pool_mode": mode, "logfile": self._log, "pidfile": "", "max_client_conn": 200,
                   "default_pool_size": 10, "ignore_startup_parameters": "extra_float_digits", **(settings or {})}
        lines = "".join(f"{name} = {value}\n" for name, value in options.items() if value != "" or name == "unix_socket_dir")
        config.write_text(f"[databases]\n* = host=127.0.0.1 port={target_port} user=tenure\n[pgbouncer]\n{lines}",
                          encoding="ascii")
        Directory.give(config)
        self.process = subprocess.Popen(["pgbouncer", "-q", str(config)], cwd=directory.path, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                                        preexec_fn=dynamodb_server.die_with_parent, **directory.run_as)
        wait_until(lambda: self.process.poll() is not None or dynamodb_server.listens(self.process.pid, self.port),
                   "pgbouncer to listen")
        if self.process.poll() is not None:
            raise ToolError(f"pgbouncer ended: {self.log()}")

    @property
    def endpoint(self):
        return f"postgresql://tenure@127.0.0.1:{self.port}/postgres?sslmode=disable"

    def log(self):
        return self._log.read_text(encoding="utf-8", errors="replace") if self._log.exists() else ""

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(PATIENCE_S)


class Cluster:
    """A directory with its nodes, as a context manager. It is empty at first."""

    def __init__(self, binaries=None):
        self.directory = Directory()
        self._binaries = binaries
        self._undo = contextlib.ExitStack()
        self._undo.callback(self.directory.close)

    def keep(self, what):
        """Closes it with the cluster."""
        self._undo.callback(what.close)
        return what

    def node(self, name, **more):
        node = Node(self.directory, name, binaries=self._binaries, **more)
        self._undo.callback(node.crash)
        return node

    def primary(self, name="a", **more):
        return self.node(name, **more).make().start()

    def standby(self, name, source_port, **more):
        return self.node(name, **more).copy(source_port).start()

    def pooler(self, target_port, **more):
        pooler = Pooler(self.directory, target_port, **more)
        self._undo.callback(pooler.stop)
        return pooler

    def tmpfs(self, name, mebibytes):
        """A disk of this size, for a node's data. It needs root, or it is a PermissionError."""
        if os.geteuid() != 0:
            raise PermissionError("mounting needs root")
        path = self.directory.path / name
        path.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,mode=0700", "tenure-test", str(path)], check=True)
        self._undo.callback(subprocess.run, ["umount", "-l", str(path)], check=False)
        Directory.give(path)
        return path

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._undo.close()
