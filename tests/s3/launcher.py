"""Runs a test beside an S3 that all tests of one ctest run share.

    launcher.py STATE_DIRECTORY -- COMMAND [ARGS...]   the endpoint in TENURE_TEST_S3_ENDPOINT, dummy AWS_* settings
    launcher.py STATE_DIRECTORY --start                so that no test has to wait for it (and for its first download)
    launcher.py STATE_DIRECTORY --stop

How it is shared: tests/servers/shared.py. Outside of ctest a command gets a server of its own. If
TENURE_TEST_S3_ENDPOINT is set already, that server is used, and nothing is started.
"""

import os
import sys

ENDPOINT = "TENURE_TEST_S3_ENDPOINT"


def execute(command, environment):
    """Replaces this process by the command."""
    try:
        os.execvpe(command[0], command, environment)
    except OSError as fault:
        sys.exit(f"launcher: {command[0]}: {fault.strerror}")


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
    import s3_server
    if mode in ("--start", "--stop") and os.environ.get(ENDPOINT):
        print(f"{ENDPOINT} is set: that server is used")
        return 0
    try:
        if mode == "--" and not ctest:
            execute([sys.executable, "-B", os.path.join(scripts, "s3_local"), "--", *command], os.environ)
        elif mode == "--":
            execute(command, s3_server.environment(shared.ensure_server(s3_server, directory, ctest)))
        elif not ctest:
            sys.exit("launcher: --start and --stop are for ctest; see scripts/s3_local")
        elif mode == "--start":
            print(shared.ensure_server(s3_server, directory, ctest))
        elif mode == "--stop":
            return shared.stop(s3_server, directory, ctest)
        else:
            sys.exit(__doc__)
    except s3_server.Trouble as trouble:
        sys.exit(f"launcher: {trouble}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
