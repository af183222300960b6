"""Runs a command beside an etcd cluster of its own.

    beside.py [--members 3] [--tls] [--users [--jwt 1h]] [--set NAME=VALUE]... -- COMMAND [ARGS...]

COMMAND finds in its environment
    TENURE_TEST_ETCD               the members' URLs, with commas between
    TENURE_TEST_ETCD_PIDS          their process ids, in the same order
    TENURE_TEST_ETCD_CA            with --tls: the authority's file, and those of a client
    TENURE_TEST_ETCD_CERTIFICATE
    TENURE_TEST_ETCD_KEY
    TENURE_TEST_ETCD_USER          with --users: who may do everything below /tenure
    TENURE_TEST_ETCD_PASSWORD_FILE
and this process exits with the command's code. --set is an argument of etcd: --set auth-token-ttl=2
"""

import os
import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import command_beside
import etcd_cluster as etcd


def environment(cluster):
    made = {**os.environ, "TENURE_TEST_ETCD": ",".join(cluster.endpoints),
            "TENURE_TEST_ETCD_PIDS": ",".join(str(one.process.pid) for one in cluster.members)}
    if cluster.authority:
        made.update({"TENURE_TEST_ETCD_CA": cluster.authority.ca,
                     "TENURE_TEST_ETCD_CERTIFICATE": cluster.authority.certificate("client"),
                     "TENURE_TEST_ETCD_KEY": cluster.authority.key("client")})
    if cluster.users:
        made.update({"TENURE_TEST_ETCD_USER": etcd.USER[0], "TENURE_TEST_ETCD_PASSWORD_FILE": cluster.password_file()})
    return made


def declare(parser):
    parser.add_argument("--members", type=int, default=1)
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--users", action="store_true")
    parser.add_argument("--jwt", metavar="TTL")
    command_beside.declare_settings(parser)


def cluster(options):
    return etcd.Cluster(options.members, options.tls, options.users, command_beside.settings(options), jwt=options.jwt)


if __name__ == "__main__":
    sys.exit(command_beside.main(__doc__, cluster, environment, etcd.ToolError, declare))
