"""Runs a test where a mutant of `kill` or `remove` does no harm: the test sees no processes except its own, and may
write only to its temporary folder. Needs root or user namespaces; --no-sandbox runs without them.
"""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading

# Mounts that exist before the rest becomes read-only stay as they are. GoogleTest captures output in /tmp whatever
# TMPDIR says, so /tmp is redirected to the temporary folder. The shell stays as the first process of the namespace: a
# test in its place would not get signals.
SCRIPT = """
for folder in $WRITABLE; do mount --bind "$folder" "$folder" || exit 125; done
case "$TMPDIR" in
  /tmp/*) ;;
  *) mkdir -m 1777 "$SCRATCH/upper" "$SCRATCH/work"
     mount -t overlay overlay -o "lowerdir=/tmp,upperdir=$SCRATCH/upper,workdir=$SCRATCH/work" /tmp 2>/dev/null ;;
esac
mount -o remount,bind,ro / || exit 125
mountpoint -q /dev/shm && { mount -o remount,bind,ro /dev/shm || exit 125; }
cd "$1" || exit 125
shift
ulimit -v 16777216  # an endless loop must not take all memory: 16 GiB of addresses, files of 2 GiB
ulimit -f 4194304
"$@"
exit $?
"""
KEPT_OUTPUT = 20000


class Sandbox:
    def __init__(self, home, enabled=True):
        self.home = home  # in memory if possible: judgements of a few milliseconds must not wait for fsync
        self.home.mkdir(parents=True, exist_ok=True)
        self.home.chmod(0o755)
        self.lock = threading.Lock()
        self.running = set()  # None once all of them were ended
        self.prefix = []
        if enabled:
            self.prefix = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
            if os.geteuid() != 0:
                self.prefix[1:1] = ["--user", "--map-root-user"]

    def works(self):
        return not self.prefix or self.run(["true"], "/", {}, 20)[0] == 0

    def run(self, command, directory, environment, seconds, trace=None):
        """(exit code, output); None for the code if the time ran out. None of its processes survives."""
        scratch = pathlib.Path(tempfile.mkdtemp(dir=self.home))
        scratch.chmod(0o755)
        temporary = scratch / "tmp"
        temporary.mkdir(mode=0o755)
        variables = {**environment, "TMPDIR": str(temporary)}
        if trace:
            variables["TENURE_TRACE"] = str(trace)
        if self.prefix:
            variables |= {"SCRATCH": str(scratch), "WRITABLE": f"{scratch} {trace or ''}"}
            command = [*self.prefix, "sh", "-c", SCRIPT, "sandbox", directory, *command]
        try:
            return self.wait(command, directory, variables, seconds)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def wait(self, command, directory, variables, seconds):
        with tempfile.TemporaryFile() as output:
            child = self.begin(command, cwd=directory, env=variables, stdin=subprocess.DEVNULL, stdout=output,
                               stderr=subprocess.STDOUT, start_new_session=True)
            try:
                code = child.wait(seconds)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                self.end(child)
            size = output.seek(0, os.SEEK_END)
            output.seek(max(0, size - KEPT_OUTPUT))
            return code, output.read().decode(errors="replace")

    def begin(self, command, **options):
        with self.lock:
            if self.running is None:
                raise Ended
            child = subprocess.Popen(command, **options)
            self.running.add(child)
            return child

    def end(self, child):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        with self.lock:
            if self.running is not None:
                self.running.discard(child)

    def end_all(self):
        """Ends all running tests at once, and lets no more run."""
        with self.lock:
            children, self.running = self.running or set(), None
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)


class Ended(Exception):
    """The run was interrupted."""


def default_home():
    shared = pathlib.Path("/dev/shm")
    base = os.environ.get("TMPDIR") or (shared if os.access(shared, os.W_OK) else tempfile.gettempdir())
    return pathlib.Path(tempfile.mkdtemp(prefix="tenure-mutate.", dir=base))
