"""Runs a test beside a server that all tests of one ctest run share.

    launcher.py KIND STATE_DIRECTORY -- COMMAND [ARGS...]   the server's address in TENURE_TEST_<KIND>
    launcher.py KIND STATE_DIRECTORY --start                so that no test has to wait for it (and for a download)
    launcher.py KIND STATE_DIRECTORY --stop

KIND is dynamodb, etcd, kubernetes, postgresql or s3: scripts/KIND_server.py. How a server is shared: shared.py. Outside of
ctest a command gets a server of its own. If TENURE_TEST_<KIND> is set already, that server is used, and nothing is started.
If the server's program is missing and others build it, the exit code is 77, which ctest takes for a skipped test.
"""

import os
import sys

import shared

SKIP = 77
SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts")


def execute(command, environment=None):
    """Replaces this process by the command."""
    try:
        os.execvpe(command[0], command, os.environ if environment is None else environment)
    except OSError as fault:
        sys.exit(f"launcher: {command[0]}: {fault.strerror}")


def run_beside(name, directory, command):
    ctest = shared.ctest_above()
    if not ctest:
        execute([sys.executable, "-B", os.path.join(SCRIPTS, f"{name}_local"), "--", *command])
    # Most tests find the server running. The module of its kind would cost each of them an import.
    server = shared.running(directory, ctest)
    if not server and sys.flags.no_site:  # what a download needs may be in a package
        execute([sys.executable, "-B", *sys.argv])
    execute(command, (server or shared.ensure_server(kind_of(name), directory, ctest)).environment(os.environ))


def kind_of(name):
    import importlib
    sys.path.insert(0, SCRIPTS)
    return importlib.import_module(f"{name}_server")


def main():
    name, directory, mode, command = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    endpoint = f"TENURE_TEST_{name.upper()}"
    sys.dont_write_bytecode = True
    if mode == "--" and ("--gtest_list_tests" in command or os.environ.get(endpoint)):
        execute(command)
    if os.environ.get(endpoint):
        print(f"{endpoint} is set: that server is used")
        return 0
    if mode == "--":
        run_beside(name, directory, command)
    ctest = shared.ctest_above()
    if not ctest:
        sys.exit(f"launcher: --start and --stop are for ctest; see scripts/{name}_local")
    if mode == "--stop":
        return shared.stop(kind_of(name), directory, ctest)
    print(shared.ensure_server(kind_of(name), directory, ctest).endpoint)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except shared.Missing as fault:
        print(f"launcher: {fault}")
        sys.exit(SKIP)
    except shared.ToolError as fault:
        sys.exit(f"launcher: {fault}")
