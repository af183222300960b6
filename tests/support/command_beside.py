"""What beside.py of each kind of server shares: it runs a command next to a server that is the command's alone."""

import argparse
import subprocess
import sys


def main(doc, cluster, environment, error, declare=lambda parser: None, missing=()):
    """`cluster(options)` is a context manager, `environment(cluster)` what the command finds. The exit code is the command's, or
    77 without the server (`missing`)."""
    parser = argparse.ArgumentParser(prog="beside.py", description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    declare(parser)
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND")
    options = parser.parse_args()
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        parser.error("a command is missing")
    try:
        with cluster(options) as started:
            return subprocess.run(command, env=environment(started), check=False).returncode
    except missing as fault:
        print(f"beside: {fault}", file=sys.stderr)
        return 77
    except error as fault:
        sys.exit(f"beside: {fault}")


def declare_settings(parser):
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")


def settings(options):
    return dict(one.split("=", 1) for one in options.set)
