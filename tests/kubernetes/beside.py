"""Runs a command beside an API server of Kubernetes of its own, whose processes and users the command may change.

    beside.py [--set NAME=VALUE]... -- COMMAND [ARGS...]

COMMAND finds in its environment what scripts/kubernetes_local says, and this process exits with its code. --set is an
argument of kube-apiserver: --set feature-gates=CoordinatedLeaderElection=true. Without the server it exits with 77.
"""

import argparse
import os
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import kubernetes_server
import kubernetes_cluster


def main():
    parser = argparse.ArgumentParser(prog="beside.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND")
    options = parser.parse_args()
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        parser.error("a command is missing")
    settings = dict(one.split("=", 1) for one in options.set)
    try:
        with kubernetes_cluster.Cluster(kubernetes_server.prepare(), settings) as cluster:
            return subprocess.run(command, env=kubernetes_server.environment(cluster.kubeconfig), check=False).returncode
    except kubernetes_server.Missing as trouble:
        print(f"beside: {trouble}", file=sys.stderr)
        return 77
    except kubernetes_server.Trouble as trouble:
        sys.exit(f"beside: {trouble}")


if __name__ == "__main__":
    sys.exit(main())
