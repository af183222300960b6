"""Runs a test beside a DynamoDB that all tests of one ctest run share.

    launcher.py STATE_DIRECTORY -- COMMAND [ARGS...]   the endpoint in TENURE_TEST_DYNAMODB_ENDPOINT, dummy AWS_* settings
    launcher.py STATE_DIRECTORY --start                so that no test has to wait for it (and for its first download)
    launcher.py STATE_DIRECTORY --stop

Whoever comes first starts a keeper, a process that owns the server and watches the ctest process by a pidfd: when that
is gone, for whatever reason, the keeper ends the server; should the keeper itself be killed, the kernel does. Two ctest
runs have two servers. Outside of ctest a command gets a server of its own. If TENURE_TEST_DYNAMODB_ENDPOINT is set
already, that server is used, and nothing is started.
"""

import os
import sys

ENDPOINT = "TENURE_TEST_DYNAMODB_ENDPOINT"


def ctest_above():
    """(pid, start time) of the ctest that this process runs under, or None."""
    pid = os.getppid()
    while pid > 1:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            return None
        fields = rest.split()
        if name == "ctest":
            return pid, int(fields[19])
        pid = int(fields[1])
    return None


def state_file(directory, ctest):
    return os.path.join(directory, f"server-{ctest[0]}-{ctest[1]}")


def running(path):
    """The endpoint of this ctest run's server, or None."""
    try:
        with open(path, encoding="ascii") as file:
            return file.read().split()[0]
    except FileNotFoundError:
        return None


def execute(command, endpoint=None):
    """Becomes the command."""
    if endpoint:
        import dynamodb_server
        environment = dynamodb_server.environment(endpoint)
    else:
        environment = os.environ
    try:
        os.execvpe(command[0], command, environment)
    except OSError as fault:
        sys.exit(f"launcher: {command[0]}: {fault.strerror}")


def ensure_server(directory, ctest):
    import dynamodb_server
    path = state_file(directory, ctest)
    endpoint = running(path)
    if endpoint:
        return endpoint
    from pathlib import Path
    with dynamodb_server.locked(Path(directory) / "lock"):
        endpoint = running(path)
        if not endpoint:
            import keeper
            endpoint = keeper.start(directory, path, ctest)
    return endpoint


def stop(directory, ctest):
    import keeper
    return keeper.stop(state_file(directory, ctest))


def main():
    directory, mode, command = sys.argv[1], sys.argv[2], sys.argv[3:]
    if mode == "--" and ("--gtest_list_tests" in command or os.environ.get(ENDPOINT)):
        execute(command)
    here = os.path.dirname(os.path.abspath(__file__))
    sys.dont_write_bytecode = True
    sys.path[:0] = [here, os.path.join(here, "..", "..", "scripts")]
    import dynamodb_server
    if mode in ("--start", "--stop") and os.environ.get(ENDPOINT):
        print(f"{ENDPOINT} is set: that server is used")
        return 0
    ctest = ctest_above()
    try:
        if mode == "--" and not ctest:
            execute([sys.executable, "-B", os.path.join(here, "..", "..", "scripts", "dynamodb_local"), "--", *command])
        elif mode == "--":
            execute(command, ensure_server(directory, ctest))
        elif not ctest:
            sys.exit("launcher: --start and --stop are for ctest; see scripts/dynamodb_local")
        elif mode == "--start":
            print(ensure_server(directory, ctest))
        elif mode == "--stop":
            return stop(directory, ctest)
        else:
            sys.exit(__doc__)
    except dynamodb_server.Trouble as trouble:
        sys.exit(f"launcher: {trouble}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
