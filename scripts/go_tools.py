"""Go, for what tests run of other projects beside Debian's packages: tests/etcd/peers and tests/kubernetes/peers."""

import os
import shutil
import subprocess

from fetching import ToolError

GO = (1, 26)
CURE = ("If https://proxy.golang.org cannot be reached from here, name a mirror (GOPROXY), or copy build/.cache from a machine "
        "that has it.")


class NoGo(ToolError):
    """Tests that need Go are skipped; they look for this text."""


def go_program(what):
    """`what`: what needs it, for the message."""
    program = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    version = program and subprocess.run([program, "env", "GOVERSION"], capture_output=True, text=True, check=False,
                                         env=dict(os.environ, GOTOOLCHAIN="local")).stdout.strip()
    if not version or tuple(map(int, version.removeprefix("go").split(".")[:2])) < GO:
        raise NoGo(f"Go {GO[0]}.{GO[1]} or later is not there, which builds {what}")
    return program


def environment(**more):
    """For Go's commands. What go.sum does not list is not used."""
    return dict(os.environ, GOTOOLCHAIN="local", GOFLAGS="-mod=readonly", **more)
