"""Runs a command beside an API server of Kubernetes of its own, whose processes and users the command may change.

    beside.py [--set NAME=VALUE]... -- COMMAND [ARGS...]

COMMAND finds in its environment what scripts/kubernetes_local says, and this process exits with its code. --set is an
argument of kube-apiserver: --set feature-gates=CoordinatedLeaderElection=true. Without the server it exits with 77.
"""

import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support"), str(HERE.parents[1] / "scripts")]
import command_beside
import kubernetes_server
import kubernetes_cluster


def cluster(options):
    return kubernetes_cluster.Cluster(kubernetes_server.prepare(), command_beside.settings(options))


if __name__ == "__main__":
    sys.exit(command_beside.main(__doc__, cluster, lambda started: kubernetes_server.environment(started.kubeconfig),
                                 kubernetes_server.ToolError, command_beside.declare_settings, kubernetes_server.Missing))
