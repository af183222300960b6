"""Runs a command beside another PostgreSQL than the one that most tests share.

    beside.py pooler -- COMMAND [ARGS...]    pgbouncer in transaction mode before a server of this machine's release
    beside.py newest -- COMMAND [ARGS...]    the newest release, which Maven fetches once

COMMAND finds the URL in TENURE_TEST_POSTGRESQL. It exits with the command's code.
"""

import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "scripts")]
import postgresql_server
from postgresql_cluster import Cluster


def main(arguments):
    if len(arguments) < 3 or arguments[0] not in ("pooler", "newest") or arguments[1] != "--":
        sys.exit(__doc__)
    try:
        with Cluster(postgresql_server.fetch_newest() if arguments[0] == "newest" else None) as cluster:
            server = cluster.primary(settings={"max_connections": "100"})
            port = cluster.pooler(server.port).port if arguments[0] == "pooler" else server.port
            url = f"postgresql://tenure@127.0.0.1:{port}/postgres?sslmode=disable"
            return subprocess.run(arguments[2:], env=postgresql_server.environment(url, os.environ), check=False).returncode
    except postgresql_server.Trouble as trouble:
        sys.exit(f"beside: {trouble}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
