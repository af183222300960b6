"""A server as a child process, which a test freezes, ends and starts again."""

import signal
import subprocess

from waiting import PATIENCE_S, wait_until


class ServerProcess:
    """What each kind has besides: `_launch(**how)` starts the process, and `is_ready()` says whether clients are served."""

    ToolError = RuntimeError
    READY = "to be ready"
    END = signal.SIGTERM       # how stop() asks it to end
    RESTART = signal.SIGKILL
    patience_s = PATIENCE_S

    def __init__(self, log):
        self.process = None
        self._log = log

    def start(self, wait=True):
        with open(self._log, "ab") as log:
            self.process = self._launch(stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        if wait:
            self.wait_until_ready()
        return self

    def wait_until_ready(self):
        def ready():
            if self.process.poll() is not None:
                raise self.ToolError(f"{self} ended:\n{self.log()[-3000:]}")
            return self.is_ready()
        wait_until(ready, f"{self} {self.READY}", self.patience_s)

    def stop(self, how=None):
        """A frozen one is thawed."""
        if self.runs():
            self.process.send_signal(how or self.END)
            self.thaw()
            self.process.wait(PATIENCE_S)

    def kill(self):
        self.stop(signal.SIGKILL)

    def restart(self, how=None, wait=True):
        self.stop(how or self.RESTART)
        return self.start(wait)

    def runs(self):
        return self.process is not None and self.process.poll() is None

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        if self.runs():
            self.process.send_signal(signal.SIGCONT)

    def log(self):
        return self._log.read_text(encoding="utf-8", errors="replace") if self._log.exists() else ""
