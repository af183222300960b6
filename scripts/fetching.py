"""Fetches what tests need from package registries: pinned by SHA-256, kept in build/.cache, once for all processes.

Jars come through Maven, so that mirrors in ~/.m2/settings.xml are used. They are compared with a list of hashes beside
the pom.xml before anything runs them. Python packages come through pip, which compares them with the requirements itself.
"""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = pathlib.Path(os.environ.get("TENURE_CACHE", ROOT / "build" / ".cache"))


class ToolError(Exception):
    """What went wrong and what to do, for people."""


def run(command, failure, **options):
    """Runs the command quietly. If it fails, its output is shown between the two parts of `failure`."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False, **options)
    if done.returncode:
        what, cure = failure
        raise ToolError(f"{what} failed:\n{done.stdout.strip()}\n{cure}")


def run_maven(arguments, what, instead=None):
    """`instead`: what else the user may do if it fails."""
    if not shutil.which("mvn") or not shutil.which("java"):
        raise ToolError(f"{what} needs mvn and java. On Debian: scripts/setup, or: apt-get install maven "
                      "openjdk-17-jdk-headless")
    # Maven compares what it fetches, its own plugins too, with the registry's checksums. With --strict-checksums a
    # difference is an error.
    command = ["nice", "-n", "10", "mvn", "-B", "-q", "--strict-checksums", *arguments]
    run(command, (what, "If Maven Central (https://repo.maven.apache.org) cannot be reached from here, name a mirror or "
                  "proxy in ~/.m2/settings.xml, copy build/.cache from a machine that has it" +
                  (f", or {instead}." if instead else ".")))


def make_python(home, requirements, instead=None):
    """Makes a virtual environment with the packages of `requirements`, which lists the hash of each file. To renew a list:
    pip-compile --generate-hashes --strip-extras requirements.in (package pip-tools)."""
    try:
        venv.create(home, with_pip=True, symlinks=True)
    except subprocess.CalledProcessError as fault:
        raise ToolError("A virtual environment of Python cannot be made. On Debian: apt-get install python3-venv\n"
                      f"{(fault.output or b'').decode(errors='replace').strip()}") from None
    # pip is called as a module, because its script holds the path of `home`, and `home` is renamed afterwards.
    run([home / "bin" / "python", "-m", "pip", "install", "-q", "--require-hashes", "-r", requirements],
        (f"Fetching what {requirements.relative_to(ROOT)} names",
         "If https://pypi.org cannot be reached from here, name a mirror (PIP_INDEX_URL), copy build/.cache from a machine "
         "that has it" + (f", or {instead}." if instead else ".")),
        env=dict(os.environ, PIP_DISABLE_PIP_VERSION_CHECK="1"))


def sums_of(directory):
    """The SHA-256 of every file in the directory, by name."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(directory.iterdir())}


def check_sums(directory, listed):
    """Raises ToolError unless `directory` has exactly the files of the list `listed` (in sha256sum's format), each with its
    hash."""
    lines = [line.split() for line in listed.read_text(encoding="ascii").splitlines()]
    wanted = {name: digest for digest, name in lines}
    found = sums_of(directory)
    faults = [f"{name} is not there" for name in sorted(wanted.keys() - found.keys())]
    faults += [f"{name} is not in the list" for name in sorted(found.keys() - wanted.keys())]
    faults += [f"{name} has SHA-256 {found[name]}, not {wanted[name]}"
               for name in sorted(found.keys() & wanted.keys()) if found[name] != wanted[name]]
    if faults:
        raise ToolError("What was fetched is not what was asked for, and was thrown away:\n  " + "\n  ".join(faults) +
                      f"\nThe list is {listed.relative_to(ROOT)}. If versions were changed on purpose, compare the new "
                      "hashes with those of the registry and write them into it (`sha256sum *` makes such lines).")


@contextlib.contextmanager
def locked(path):
    """Only one process at a time runs the body."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _digest(inputs):
    digest = hashlib.sha256()
    for path in inputs:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def is_made_from(directory, inputs):
    """Whether `cached` made the directory from exactly these files."""
    stamp = directory / ".made-from"
    return stamp.is_file() and stamp.read_text(encoding="ascii") == _digest(inputs)


def cached(directory, inputs, build):
    """Calls build(new directory) unless `directory` was made from exactly these files. Then it returns at once."""
    if is_made_from(directory, inputs):
        return
    with locked(directory.with_name(directory.name + ".lock")):
        if is_made_from(directory, inputs):
            return
        fresh = directory.with_name(directory.name + ".new")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        try:
            build(fresh)
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise
        (fresh / ".made-from").write_text(_digest(inputs), encoding="ascii")
        shutil.rmtree(directory, ignore_errors=True)
        fresh.rename(directory)
