"""The image of examples/container: its packages hold the program's libraries, and its content runs in a chroot, as process 1
and as a user without rights."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import proc
from waiting import wait_until

PROGRAM = os.environ["TENURE_PROGRAM"]
DOCKERFILE = pathlib.Path(__file__).resolve().parents[2] / "examples/container/Dockerfile"
BASE = {"libc6", "libgcc-s1", "libstdc++6"}  # of debian:12-slim, or dependencies of each C++ library
USER = 65532


def libraries():
    plain = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    told = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True, check=True, env=plain).stdout
    return sorted(set(re.findall(r"(/\S+) \(0x", told)))


def package_of(library):
    for path in (library, os.path.realpath(library), library.removeprefix("/usr"), os.path.realpath(library).removeprefix("/usr")):
        told = subprocess.run(["dpkg", "-S", path], capture_output=True, text=True)
        if told.returncode == 0:
            return told.stdout.split(":")[0]
    return library


def depends(package):
    """All packages that come with it."""
    told = subprocess.run(["apt-cache", "depends", "--recurse", "--no-recommends", "--no-suggests", "--no-conflicts", "--no-breaks",
                           "--no-replaces", "--no-enhances", "--installed", package], capture_output=True, text=True).stdout
    return {line.split(":")[0] for line in told.splitlines() if line and not line.startswith(" ")}


def listed():
    last_stage = DOCKERFILE.read_text().split("\nFROM ")[-1]
    installed = re.search(r"--no-install-recommends \\\n\s+(.*?) \\\n", last_stage, re.S)[1].split()
    return set(installed)


def image_release():
    return re.search(r"^FROM debian:(\d+)", DOCKERFILE.read_text(), re.M)[1]


class Container(unittest.TestCase):
    def test_the_packages_of_the_image_hold_the_libraries_of_the_program(self):
        system = pathlib.Path("/etc/os-release").read_text()
        if not ("ID=debian\n" in system and f'VERSION_ID="{image_release()}"' in system):
            self.skipTest("the image's packages are those of another system")
        needed = {package_of(library) for library in libraries()}
        direct = {name for name in listed() if name.startswith("lib")}
        covered = BASE.union(*(depends(name) for name in direct))
        self.assertEqual(needed - covered, set())
        self.assertEqual(direct - needed, set(), "nothing is installed that the program does not need")


@unittest.skipIf(os.geteuid() != 0, "only root may change the root directory")
class Chroot(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="tenure-image."))
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        self.put(PROGRAM, "/usr/bin/tenure")
        for tool in ("/bin/sh", "/bin/sleep"):
            self.put(tool, tool)
            for library in re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", tool], capture_output=True, text=True).stdout):
                self.put(library, library)
        for library in libraries():
            self.put(library, library)
        (self.root / "proc").mkdir()
        (self.root / "data").mkdir()
        os.chown(self.root / "data", USER, USER)
        (self.root / "etc").mkdir()
        (self.root / "etc/group.yaml").write_text(
            "group: billing\ncandidate: { id: a }\nstore: { type: sqlite, path: /data/leases.db }\n"
            "lease: { duration: 2s, heartbeat: 500ms, drain_timeout: 1s }\n")
        self.root.chmod(0o755)

    def put(self, source, at):
        to = self.root / at.lstrip("/")
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(os.path.realpath(source), to)

    def command(self, *words):
        """As process 1 of a namespace of its own, without rights and without a network."""
        inside = 'mount -t proc proc "$0/proc" && exec chroot --userspec=' + f'{USER}:{USER} "$0" "$@"'
        return ["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "sh", "-c", inside, str(self.root), *words]

    def test_the_program_says_its_version(self):
        done = subprocess.run(self.command("/usr/bin/tenure", "--version"), capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^tenure \d+\.\d+\.\d+")

    def test_as_process_one_it_runs_the_job_and_gives_its_exit_code(self):
        job = 'test "$$" != 1 && exit 7'
        done = subprocess.run(self.command("/usr/bin/tenure", "run", "-c", "/etc/group.yaml", "--once", "--", "/bin/sh", "-c", job),
                              capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertIn("stopped (released)", done.stderr)

    def test_as_process_one_it_ends_by_sigterm_and_leaves_no_dead_process_behind(self):
        # Orphans of the job end while it runs; process 1 is their parent then.
        job = "(sleep 0.2 &) ; (sleep 0.3 &) ; sleep 100"
        with subprocess.Popen(self.command("/usr/bin/tenure", "run", "-c", "/etc/group.yaml", "--", "/bin/sh", "-c", job),
                              stderr=subprocess.PIPE, text=True) as process:
            try:
                first = self.first_process(process.pid)
                time.sleep(1.5)
                wait_until(lambda: not self.dead_children(first), "the end of the dead")
                os.kill(first, signal.SIGTERM)
                _, errors = process.communicate(timeout=60)
                self.assertIn("stopped (released)", errors)
            finally:
                # The one that has become another user is not killed by the end of `unshare`.
                for one in proc.children(process.pid) if process.poll() is None else []:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(one, signal.SIGKILL)
                process.kill()

    def first_process(self, unshare):
        """The process `tenure` that is process 1 in there."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            for child in proc.children(unshare):
                if (proc.threads(child).get(child) == "tenure"
                        and any("sleep" in contents(f"/proc/{one}/cmdline") for one in descendants(child))):
                    return child
            time.sleep(0.02)
        raise AssertionError("the job did not begin")

    @staticmethod
    def dead_children(parent):
        return [child for child in proc.children(parent) if proc.state(child) == "Z"]


def descendants(parent):
    found = proc.children(parent)
    return found + [one for child in found for one in descendants(child)]


def contents(path):
    """Nothing of a process that has ended meanwhile."""
    try:
        return pathlib.Path(path).read_text()
    except OSError:
        return ""


if __name__ == "__main__":
    unittest.main()
