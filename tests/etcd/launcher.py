"""Runs a test beside an etcd that all tests of one ctest run share.

    launcher.py STATE_DIRECTORY -- COMMAND [ARGS...]   the server's URL in TENURE_TEST_ETCD
    launcher.py STATE_DIRECTORY --start                so that no test has to wait for it
    launcher.py STATE_DIRECTORY --stop

How it is shared: tests/servers/shared.py. Outside of ctest a command gets a server of its own. If
TENURE_TEST_ETCD is set already, that server is used, and nothing is started.
"""

import os
import sys

ENDPOINT = "TENURE_TEST_ETCD"


def execute(command, environment):
    """Replaces this process by the command."""
    try:
        os.execvpe(command[0], command, environment)
    except OSError as fault:
        sys.exit(f"launcher: {command[0]}: {fault.strerror}")


def beside(endpoint):
    """The same as etcd_server.environment, which would cost each test an import."""
    return {**{name: value for name, value in os.environ.items() if not name.startswith(("ETCD_", "ETCDCTL_"))}, ENDPOINT: endpoint}


def main():
    directory, mode, command = sys.argv[1], sys.argv[2], sys.argv[3:]
    if mode == "--" and ("--gtest_list_tests" in command or os.environ.get(ENDPOINT)):
        execute(command, os.environ)
    here = os.path.dirname(os.path.abspath(__file__))
    scripts = os.path.join(here, "..", "..", "scripts")
    sys.dont_write_bytecode = True
    sys.path[:0] = [os.path.join(here, "..", "servers"), scripts]
    import shared
    ctest = shared.ctest_above()
    there = shared.running(shared.state_file(directory, ctest)) if ctest and mode == "--" else None
    if there:
        execute(command, beside(there))
    import etcd_server
    if mode in ("--start", "--stop") and os.environ.get(ENDPOINT):
        print(f"{ENDPOINT} is set: that server is used")
        return 0
    try:
        if mode == "--" and not ctest:
            execute([sys.executable, "-B", os.path.join(scripts, "etcd_local"), "--", *command], os.environ)
        elif mode == "--":
            execute(command, beside(shared.ensure_server(etcd_server, directory, ctest)))
        elif not ctest:
            sys.exit("launcher: --start and --stop are for ctest; see scripts/etcd_local")
        elif mode == "--start":
            print(shared.ensure_server(etcd_server, directory, ctest))
        elif mode == "--stop":
            return shared.stop(etcd_server, directory, ctest)
        else:
            sys.exit(__doc__)
    except etcd_server.Trouble as trouble:
        sys.exit(f"launcher: {trouble}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
