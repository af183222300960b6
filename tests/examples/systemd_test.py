"""examples/systemd: the unit, judged by systemd itself, and run by a real manager in namespaces of its own."""

import collections
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import proc
from waiting import wait_until

UNIT = pathlib.Path(os.environ["EXAMPLES_SOURCE"]) / "systemd" / "tenure@.service"
TENURE = pathlib.Path(os.environ["EXAMPLES_BIN"]).parent / "tenure"
MANAGER = pathlib.Path("/usr/lib/systemd/systemd")

# A manager of a user needs no boot by systemd but this directory. It must not be the first process of the namespace. The test's files are at /run/t, which PrivateTmp leaves
# visible.
START = """
mount -t tmpfs none /run && mkdir -p /run/systemd/system /run/user/0 /run/t && mount --bind "$1" /run/t || exit 1
export HOME=/run/t XDG_RUNTIME_DIR=/run/user/0
"$2" --user --log-target=console >/run/t/manager.log 2>&1
exit
"""
GROUP = """
group: billing
candidate: { id: host-a }
lease: { duration: 2s, drain_timeout: 8s }
store: { type: sqlite, path: /run/t/leases.db }
"""
# What a manager of one user, or one in such a namespace, cannot do. Shorter times than the unit's, so that the test is quick.
HERE = """
[Service]
User=
ProtectHome=no
ProtectKernelTunables=no
ExecStart=
ExecStart={tenure} run --config /run/t/%i.yaml -- sh /run/t/job
TimeoutStopSec=1
WatchdogSec=3
TimeoutAbortSec=500ms
RestartSec=100ms
"""
# It takes longer to end than TimeoutStopSec.
JOB = "trap 'sleep 2; echo ended >>/run/t/ended; exit' TERM\nenv >/run/t/new; mv /run/t/new /run/t/environment\nwhile :; do sleep 0.1; done\n"


class Manager:
    def __init__(self, test):
        if os.geteuid() != 0 or not MANAGER.exists() or not shutil.which("nsenter"):
            test.skipTest("it needs root, systemd and nsenter")
        directory = tempfile.TemporaryDirectory()
        test.addCleanup(directory.cleanup)
        self.files = pathlib.Path(directory.name)
        units = self.files / ".config" / "systemd" / "user"
        (units / "tenure@.service.d").mkdir(parents=True)
        (units / "default.target").write_text("[Unit]\nDescription=nothing else\n")
        shutil.copy(UNIT, units)
        (units / "tenure@.service.d" / "here.conf").write_text(HERE.format(tenure=TENURE))
        (self.files / "billing.yaml").write_text(GROUP)
        (self.files / "job").write_text(JOB)
        self._process = subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation",
                                          "private", "sh", "-c", START, "sh", directory.name, MANAGER], stderr=subprocess.DEVNULL)
        test.addCleanup(self._end)
        try:
            wait_until(lambda: self.systemctl("is-system-running").stdout.strip() in ("running", "degraded"), "a manager", 15)
        except TimeoutError:
            test.skipTest("no manager can be started here: " + self.log())

    def _inside(self):
        children = proc.children(self._process.pid)
        return children[0] if children else None

    def systemctl(self, *words):
        command = ["nsenter", "--mount", "--pid", f"--target={self._inside()}", "env", "XDG_RUNTIME_DIR=/run/user/0",
                   "systemctl", "--user", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    def show(self):
        lines = self.systemctl("show", "tenure@billing.service").stdout.splitlines()
        return collections.defaultdict(str, (line.split("=", 1) for line in lines if "=" in line))  # what is empty is left out

    def signal(self, number, process):
        """By the number that the manager knows."""
        subprocess.run(["nsenter", "--mount", "--pid", f"--target={self._inside()}", "kill", f"-{number}", process], check=True)

    def log(self):
        log = self.files / "manager.log"
        return log.read_text()[-2000:] if log.exists() else "no log"

    def _end(self):
        if self._inside():
            self.systemctl("exit")  # it takes its cgroups away
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Systemd(unittest.TestCase):
    def test_the_unit_is_accepted(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("systemd-analyze is not there")
        with tempfile.TemporaryDirectory() as directory:
            unit = pathlib.Path(directory, "tenure@.service")
            unit.write_text(UNIT.read_text().replace("/usr/bin/tenure", str(TENURE)))
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", f"{directory}/tenure@billing.service"],
                                  capture_output=True, text=True, check=False, timeout=60)
            told = [line for line in done.stderr.splitlines() if "tenure" in line]
            self.assertEqual((done.returncode, told), (0, []), done.stderr)
            unit.write_text(unit.read_text().replace("WatchdogSec=10", "WatchdogSecond=10"))
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", f"{directory}/tenure@billing.service"],
                                  capture_output=True, text=True, check=False, timeout=60)
            self.assertIn("WatchdogSecond", done.stderr, "a fault would be told")

    def test_a_manager_sees_it_start_lead_and_drain(self):
        manager = Manager(self)
        started = manager.systemctl("start", "tenure@billing.service")
        self.assertEqual(started.returncode, 0, started.stderr + manager.log())
        wait_until(lambda: manager.show()["StatusText"] == "leading group billing, token 1", "the first term")
        wait_until((manager.files / "environment").exists, "the job, which begins after that")
        shown = manager.show()
        self.assertEqual((shown["SubState"], shown["NRestarts"], shown["LimitCORE"]), ("running", "0", "0"))
        hidden = [line for line in (manager.files / "environment").read_text().splitlines()
                  if line.startswith(("NOTIFY_SOCKET=", "WATCHDOG_"))]
        self.assertEqual(hidden, [])
        self.assertEqual(manager.systemctl("stop", "tenure@billing.service").returncode, 0)
        self.assertEqual((manager.files / "ended").read_text(), "ended\n", "the drain had more time than TimeoutStopSec")
        shown = manager.show()
        self.assertEqual((shown["Result"], shown["ExecMainStatus"], shown["NRestarts"]), ("success", "0", "0"))

    def test_a_manager_restarts_what_hangs_and_not_what_is_wrong(self):
        manager = Manager(self)
        manager.systemctl("start", "tenure@billing.service")
        wait_until(lambda: manager.show()["StatusText"].startswith("leading"), "the first term")
        manager.signal(signal.SIGSTOP.value, manager.show()["MainPID"])
        wait_until(lambda: manager.show()["NRestarts"] == "1", "the watchdog")
        wait_until(lambda: manager.show()["StatusText"] == "leading group billing, token 2", "the next term")
        manager.systemctl("stop", "tenure@billing.service")
        (manager.files / "billing.yaml").write_text("grupp: billing\n")
        manager.systemctl("start", "tenure@billing.service")
        wait_until(lambda: manager.show()["ActiveState"] == "failed", "the rejection of the file")
        self.assertEqual(manager.show()["ExecMainStatus"], "2")

    def test_a_manager_starts_again_after_what_may_change_and_after_no_permanent_code(self):
        manager = Manager(self)
        group = manager.files / "billing.yaml"
        etcd = 'store: { type: etcd, endpoints: ["https://127.0.0.1:1"], ca_file: /run/t/ca.pem }\n'
        group.write_text("group: billing\n" + etcd)
        manager.systemctl("start", "--no-block", "tenure@billing.service")
        wait_until(lambda: int(manager.show()["NRestarts"] or 0) >= 2, "restarts while the certificate is missing")
        (manager.files / "ca.pem").write_text("no certificate\n")
        wait_until(lambda: manager.show()["ActiveState"] == "failed", "the end with a permanent code")
        self.assertEqual(manager.show()["ExecMainStatus"], "83")
        faults = {"2": GROUP + "hooks: { on_elected: 'if (' }\n", "126": GROUP + "hooks: { on_elected: /run/t/billing.yaml }\n",
                  "127": GROUP + "hooks: { on_elected: /run/t/none }\n"}
        for code, text in faults.items():
            group.write_text(text)
            manager.systemctl("start", "tenure@billing.service")
            wait_until(lambda: manager.show()["ActiveState"] == "failed", "the end with " + code)
            self.assertEqual((manager.show()["ExecMainStatus"], manager.show()["NRestarts"]), (code, "0"))


if __name__ == "__main__":
    unittest.main()
