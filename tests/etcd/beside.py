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

import argparse
import os
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import etcd_cluster as etcd


def environment(cluster):
    made = {"TENURE_TEST_ETCD": ",".join(cluster.endpoints),
            "TENURE_TEST_ETCD_PIDS": ",".join(str(one.process.pid) for one in cluster.members)}
    if cluster.authority:
        made.update({"TENURE_TEST_ETCD_CA": cluster.authority.ca,
                     "TENURE_TEST_ETCD_CERTIFICATE": cluster.authority.certificate("client"),
                     "TENURE_TEST_ETCD_KEY": cluster.authority.key("client")})
    if cluster.users:
        made.update({"TENURE_TEST_ETCD_USER": etcd.USER[0], "TENURE_TEST_ETCD_PASSWORD_FILE": cluster.password_file()})
    return made


def main():
    parser = argparse.ArgumentParser(prog="beside.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", type=int, default=1)
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--users", action="store_true")
    parser.add_argument("--jwt", metavar="TTL")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND")
    options = parser.parse_args()
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        parser.error("a command is missing")
    settings = dict(one.split("=", 1) for one in options.set)
    try:
        with etcd.Cluster(options.members, options.tls, options.users, settings, jwt=options.jwt) as cluster:
            return subprocess.run(command, env={**os.environ, **environment(cluster)}, check=False).returncode
    except etcd.Trouble as trouble:
        sys.exit(f"beside: {trouble}")


if __name__ == "__main__":
    sys.exit(main())
