"""examples/floating_ip: machines on one wire, as network namespaces. An address must never be on two of them after the
successor got it; the kernel's own notifications say where it is, whatever the machines believe."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from namespaces import Unavailable
from waiting import wait_until
from wire import Wire

EXAMPLE = pathlib.Path(os.environ["EXAMPLES_SOURCE"]) / "floating_ip"
TENURE = pathlib.Path(os.environ["EXAMPLES_BIN"]).parent / "tenure"
FLOATING = f"{Wire.NETWORK}.100"
RECORDER = pathlib.Path(__file__).with_name("address_recorder.py")
LEASE_S = 5


class Recorder:
    """Which host had the address from when to when, and who told the neighbours of it, as address_recorder.py sees it."""

    def __init__(self, wire, hosts):
        self.events = []  # (time, host, whether it has the address)
        self.announced = []  # hardware addresses
        places = [f"{host}=/run/netns/{wire.path(host)}" for host in hosts]
        self._process = subprocess.Popen([sys.executable, "-B", RECORDER, FLOATING, f"/run/netns/{wire.path('switch')}", "br0",
                                          *places], stdout=subprocess.PIPE, text=True)
        self._reader = threading.Thread(target=self._read, daemon=True)
        if self._process.stdout.readline() != "ready\n":
            raise RuntimeError("the recorder has ended")
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            when, what, who = line.split()
            if what == "arp":
                self.announced.append(who)
            else:
                self.events.append((float(when), who, what == "new"))

    def holders(self):
        held = {}
        for _, host, there in list(self.events):
            held[host] = there
        return {host for host, there in held.items() if there}

    def overlaps(self):
        """Each time at which an address came to a host while another one had it."""
        held, found = set(), []
        for when, host, there in list(self.events):
            if there and host not in held and held:
                found.append((when, host, set(held)))
            (held.add if there else held.discard)(host)
        return found

    def last(self, host, there):
        return max((when for when, who, what in list(self.events) if (who, what) == (host, there)), default=None)

    def end(self):
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._process.stdout.close()


class FloatingIp(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        try:
            self.wire = Wire(["a", "b"])
        except Unavailable as fault:
            self.skipTest(str(fault))
        self.addCleanup(self.wire.close)
        self.recorder = Recorder(self.wire, ["a", "b"])
        self.addCleanup(self.recorder.end)
        self.group = EXAMPLE / "group.yaml"
        self.running = {}

    def start(self, host):
        """In a session of its own, so that all that it starts can be found."""
        environment = {**os.environ, "HOSTNAME": host, "FLOATING_DATABASE": str(self.directory / "leases.db"),
                       "ADDRESS_SH": str(EXAMPLE / "address.sh"), "ADDRESS": f"{FLOATING}/24", "DEVICE": "eth0"}
        log = open(self.directory / f"{host}.log", "wb")
        self.addCleanup(log.close)
        process = subprocess.Popen([*self.wire.at(host), TENURE, "run", "--config", self.group, "--", "sleep", "600"],
                                   env=environment, stdout=log, stderr=log, start_new_session=True)
        self.running[host] = process
        self.addCleanup(process.wait)
        self.addCleanup(self.signal_all, host, signal.SIGKILL)

    def signal_all(self, host, number):
        """To tenure, guard, job and hooks at once: all that is on the machine."""
        done = subprocess.run(["ip", "netns", "pids", self.wire.path(host)], capture_output=True, text=True, check=False)
        for process in done.stdout.split():
            try:
                os.kill(int(process), number)
            except ProcessLookupError:
                pass

    def wait_for(self, host):
        wait_until(lambda: self.recorder.holders() == {host}, lambda: f"the address on {host} alone: {self.logs()}")

    def logs(self):
        return {host: (self.directory / f"{host}.log").read_text()[-1500:] for host in self.running}

    def settle(self):
        """Until just after a renewal: no hook and no transaction is under way then."""
        renewed = self.recorder.last("a", True)
        wait_until(lambda: self.recorder.last("a", True) > renewed, "a renewal")
        time.sleep(0.3)

    def begin(self):
        self.start("a")
        self.wait_for("a")
        self.start("b")
        wait_until(lambda: "the leader is a " in (self.directory / "b.log").read_text(), "b to see a")

    def judge(self, least, most):
        """b has it; a never had it meanwhile."""
        self.wait_for("b")
        self.assertEqual(self.recorder.overlaps(), [])
        gap = self.recorder.last("b", True) - self.recorder.last("a", False)
        self.assertGreater(gap, least, "the successor came before")
        self.assertLess(gap, most)
        print(f"without an address for {gap * 1000:.0f} ms")

    def test_it_moves_at_a_stop_and_neighbours_are_told(self):
        self.begin()
        self.running["a"].terminate()
        self.assertEqual(self.running["a"].wait(60), 0)
        self.judge(0, LEASE_S / 2)  # far from the end of the lease, for which it would wait without the release
        link = subprocess.run([*self.wire.at("b"), "ip", "-o", "link", "show", "eth0"], capture_output=True, text=True, check=True)
        own = link.stdout.split("link/ether ")[1].split()[0]
        wait_until(lambda: self.recorder.announced.count(own) == 5, "the announcements")

    def test_it_moves_when_all_of_a_machine_is_killed(self):
        self.begin()
        self.settle()
        self.signal_all("a", signal.SIGKILL)
        self.judge(0, LEASE_S)

    def test_it_moves_when_all_of_a_machine_is_frozen_and_stays_when_that_wakes(self):
        self.begin()
        self.settle()
        self.signal_all("a", signal.SIGSTOP)
        self.judge(0, LEASE_S)
        self.signal_all("a", signal.SIGCONT)
        wait_until(lambda: "hook on_revoked starts" in (self.directory / "a.log").read_text(), "a to undo it")
        time.sleep(2)  # nothing may happen, so there is nothing to wait for
        self.assertEqual(self.recorder.holders(), {"b"})
        self.assertEqual(self.recorder.overlaps(), [])

    def test_it_moves_when_the_supervisor_is_frozen(self):
        self.begin()
        self.settle()
        self.running["a"].send_signal(signal.SIGSTOP)
        self.judge(0, LEASE_S)

    def test_it_moves_when_a_machine_cannot_reach_the_store(self):
        store = self.wire.start_etcd(self.directory / "etcd")
        self.addCleanup(store.wait)
        self.addCleanup(store.kill)
        text = (EXAMPLE / "group.yaml").read_text()
        head, hooks = text[:text.index("store:")], text[text.index("hooks:"):]
        self.group = self.directory / "group.yaml"
        self.group.write_text(f"{head}store: {{ type: etcd, endpoints: {Wire.ETCD} }}\n{hooks}")
        self.begin()
        self.settle()
        self.wire.cut("a")
        self.judge(0, LEASE_S)
        wait_until(lambda: "hook on_revoked starts" in (self.directory / "a.log").read_text(), "a to undo it")


if __name__ == "__main__":
    unittest.main()
