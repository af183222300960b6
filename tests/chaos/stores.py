"""Where the lease of a chaos test is stored, and which faults exist there."""

import contextlib
import http.client
import os
import pathlib
import select
import sqlite3
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parents[1] / "scripts"), *(str(HERE.parent / folder) for folder in ("faults", "postgresql", "etcd"))]
import dynamodb_server
import etcd_cluster
from client import FaultProxy
from freezing import has_write_lock
from postgresql_cluster import Cluster
from switch import Switch

GROUP = "chaos"
# For locks: while a test waits longer than this, it does not see what the fleet does.
SHORT_S = 0.05


class SqliteStore:
    kind = "sqlite"

    @classmethod
    def of_a_run(cls, directory, _):
        return cls(directory)

    def __init__(self, directory, file="leases.db"):
        self.path = pathlib.Path(directory) / file
        self._locker = None

    def yaml(self):
        return f"{{ type: sqlite, path: {self.path} }}"

    def close(self):
        self.unlock()

    def execute(self, sql, patience_s=10):
        with contextlib.closing(sqlite3.connect(self.path, timeout=patience_s, isolation_level=None)) as database:
            return database.execute(sql).fetchall()

    def delete_record(self):
        """False if somebody has locked the file at this moment."""
        try:
            self.execute("DELETE FROM tenure_lease", SHORT_S)
            return True
        except sqlite3.OperationalError:
            return False

    def lock(self):
        """From now on somebody else holds the write lock; False if that program did not get it, or already has it."""
        if self._locker:
            return False
        self._locker = sqlite3.connect(self.path, timeout=SHORT_S, isolation_level=None)
        try:
            self._locker.execute("BEGIN IMMEDIATE")
            return True
        except sqlite3.OperationalError:
            self.unlock()
            return False

    def unlock(self):
        if self._locker:
            if self._locker.in_transaction:
                self._locker.execute("ROLLBACK")  # closing alone keeps the lock until the last statement is finalized
            self._locker.close()
            self._locker = None

    def is_locked_by(self, pid):
        """A stopped process that has the lock keeps all others from being elected."""
        return has_write_lock(self.path, pid)


class DynamoDbStore:
    """A table of the test's own, behind a fault proxy."""
    kind = "dynamodb"

    @classmethod
    def of_a_run(cls, _, seed):
        return cls(seed)

    def __init__(self, seed=1, endpoint=None):
        self._direct = endpoint or os.environ[dynamodb_server.ENDPOINT]
        self.table = f"chaos-{os.getpid()}-{time.monotonic_ns()}"
        self.proxy = FaultProxy(self._direct, seed)

    def yaml(self, endpoint=None):
        return (f"{{ type: dynamodb, table: {self.table}, region: us-east-1, "
                f'endpoint: "{endpoint or self.proxy.endpoint}" }}')

    def call(self, operation, **body):
        status, reply = dynamodb_server.call(self._direct, operation, {"TableName": self.table, **body})
        if status != 200:
            raise RuntimeError(f"{operation}: {reply}")
        return reply

    def item(self):
        return self.call("GetItem", Key={"key": {"S": GROUP}}, ConsistentRead=True).get("Item")

    def delete_record(self):
        self.call("DeleteItem", Key={"key": {"S": GROUP}})
        return True

    def create_table(self):
        self.call("CreateTable", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "key", "KeyType": "HASH"}],
                  AttributeDefinitions=[{"AttributeName": "key", "AttributeType": "S"}])

    def delete_table(self):
        self.call("DeleteTable")

    def is_locked_by(self, pid):
        return False

    def close(self):
        self.proxy.close()
        with contextlib.suppress(RuntimeError, OSError):
            self.delete_table()


class PostgresqlStore:
    """A server of the test's own, behind a switch. The lease's table is made by the candidates."""
    kind = "postgresql"
    LOCK = "tenure_chaos_lock"

    @classmethod
    def of_a_run(cls, _, seed):
        return cls(seed)

    def __init__(self, seed=1, cluster=None, port=None):
        self.cluster = cluster or Cluster()
        self._undo = contextlib.ExitStack()
        if not cluster:
            self._undo.enter_context(self.cluster)
        self.server = self.cluster.primary() if port is None else None
        self.switch = self._undo.enter_context(Switch(port or self.server.port, seed))
        self.switches = [self.switch]
        self._locker = None

    def yaml(self, port=None):
        return (f"{{ type: postgresql, host: 127.0.0.1, port: {port or self.switch.port}, user: tenure, "
                "database: postgres, sslmode: disable }")

    def delete_record(self):
        """As an operator would who leaves the counter; False if somebody has locked the row at this moment."""
        code, answer = self.server.try_sql(
            "SET lock_timeout = 50; UPDATE public.tenure_lease SET token = NULL, version = NULL, holder = NULL")
        if code and "lock" not in answer:
            raise RuntimeError(answer)
        return code == 0

    def lock(self):
        """From now on somebody else has locked the row."""
        if self._locker:
            return False
        self._locker = subprocess.Popen(
            ["psql", "-XAtq", "-d", self.server.conninfo(application_name=self.LOCK)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, preexec_fn=dynamodb_server.die_with_parent)
        self._locker.stdin.write("BEGIN;\nSELECT 'locked' FROM public.tenure_lease FOR UPDATE;\n")
        self._locker.stdin.flush()
        answered = select.select([self._locker.stdout], [], [], 2)[0]  # a frozen server does not answer
        if answered and self._locker.stdout.readline().strip() == "locked":
            return True
        self.unlock()
        return False

    def unlock(self):
        """The server sees the end of the session, at the latest when it is thawed. Nobody waits for that here."""
        if self._locker:
            self._locker.kill()
            self._locker.communicate()
            self._locker = None

    def end_sessions(self):
        self.server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND "
                        f"backend_type = 'client backend' AND application_name <> '{self.LOCK}'")

    def is_locked_by(self, pid):
        return False  # a stopped process holds no row: each transaction is sent as a whole

    def close(self):
        self.unlock()
        self._undo.close()


class EtcdStore:
    """Three members of the test's own, each behind a switch."""
    kind = "etcd"
    ANSWERS_S = 0.25

    @classmethod
    def of_a_run(cls, _, seed):
        return cls(seed)

    def __init__(self, seed=1):
        self._undo = contextlib.ExitStack()
        self.cluster = self._undo.enter_context(etcd_cluster.Cluster(3))
        self.switches = [self._undo.enter_context(Switch(one.port, seed + n)) for n, one in enumerate(self.cluster.members)]

    def yaml(self):
        urls = ",".join(f"http://127.0.0.1:{switch.port}" for switch in self.switches)
        return f'{{ type: etcd, endpoints: "{urls}", prefix: {self.cluster.prefix} }}'

    def ask(self, path, body, timeout_s=2):
        """At the members themselves, not through the switches; False if none of them did it."""
        for member in self.cluster.members:
            with contextlib.suppress(OSError, http.client.HTTPException):
                if member.request(path, body, timeout_s)[0] == 200:
                    return True
        return False

    def delete_record(self):
        """As an operator would who leaves the counter."""
        return self.ask("/v3/kv/deleterange", {"key": etcd_cluster.b64(f"{self.cluster.prefix}/lease/{GROUP}")})

    def members(self, count):
        """So many that run, the cluster's leader first."""
        return sorted(self.cluster.members, key=lambda one: not one.leads())[:count]

    def serves(self):
        """Whether a majority answers."""
        return self.ask("/v3/kv/range", {"key": etcd_cluster.b64("x")}, 0.25)

    def await_service(self, served):
        with contextlib.suppress(TimeoutError):
            etcd_cluster.wait_until(self.serves, "a majority")
            served.set()

    def refuse_writes(self, refuses):
        """By the alarm that etcd raises when its database is full."""
        if not self.ask("/v3/maintenance/alarm", {"action": "ACTIVATE" if refuses else "DEACTIVATE", "alarm": "NOSPACE"}):
            raise RuntimeError("the alarm could not be changed")

    def is_locked_by(self, pid):
        return False

    def close(self):
        self._undo.close()


STORES = {store.kind: store for store in (SqliteStore, DynamoDbStore, PostgresqlStore, EtcdStore)}
