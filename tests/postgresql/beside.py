"""Runs a command beside another PostgreSQL than the one that most tests share.

    beside.py pooler -- COMMAND [ARGS...]    pgbouncer in transaction mode before a server of this machine's release
    beside.py newest -- COMMAND [ARGS...]    the newest release, which Maven fetches once

COMMAND finds the URL in TENURE_TEST_POSTGRESQL. It exits with the command's code.
"""

import contextlib
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support"), str(HERE.parents[1] / "scripts")]
import command_beside
import postgresql_server
from postgresql_cluster import Cluster


def declare(parser):
    parser.add_argument("which", choices=("pooler", "newest"))


@contextlib.contextmanager
def port(options):
    with Cluster(postgresql_server.fetch_newest() if options.which == "newest" else None) as cluster:
        server = cluster.primary(settings={"max_connections": "100"})
        yield cluster.pooler(server.port).port if options.which == "pooler" else server.port


def environment(at):
    return postgresql_server.environment(f"postgresql://tenure@127.0.0.1:{at}/postgres?sslmode=disable", os.environ)


if __name__ == "__main__":
    sys.exit(command_beside.main(__doc__, port, environment, postgresql_server.ToolError, declare))
