#!/usr/bin/env python3
"""Runs clang-tidy over our .cpp files, fast: in parallel, only what changed, and several files at a time.

Most of clang-tidy's time goes into the headers. So files with the same flags are put into one batch, which reads the
headers once. Some files cannot share a batch, for example if both have a function of one name in an anonymous namespace.
The errors of the batch name them, and they go into another batch. A clean file is checked again only when the file, one of its headers (as ninja knows
them), its flags or .clang-tidy have changed.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

TOOL = "clang-tidy-14"
BATCH_LINES = 3000
BATCH_FILES = 16
# Batches include the .cpp files, so clang-tidy takes those for headers.
HEADER_FILTER = r"/(lockcore|election|adapters|config|cli|tests|examples|bench)/.*\.(hpp|cpp)$"
UNITY_INCLUDE = re.compile(r'^#include "(?P<file>[^"]+\.cpp)"', re.MULTILINE)
FINDING = re.compile(r"^(?P<file>[^\s:][^:]*):\d+:\d+: (?:fatal )?(?:error|warning): ")


class Unit:
    """One translation unit: where, with which flags, from which headers."""

    def __init__(self, root, entry, path):
        self.path = path
        self.name = os.path.relpath(self.path, root)
        arguments = entry.get("arguments") or shlex.split(entry["command"])
        self.flags = self.relevant(arguments)
        self.output = entry.get("output") or self.output_of(arguments)
        self.lines = 0
        self.key = None

    @staticmethod
    def relevant(arguments):
        """What changes the meaning of the code: include paths, definitions, the language. Not g++'s own warnings."""
        flags = []
        rest = iter(arguments)
        for argument in rest:
            if argument in ("-I", "-isystem", "-D", "-include", "-idirafter"):
                flags += [argument, next(rest, "")]
            elif argument.startswith(("-I", "-D", "-std=", "-isystem", "-pthread")):
                flags.append(argument)
        return tuple(flags)

    @staticmethod
    def output_of(arguments):
        return arguments[arguments.index("-o") + 1] if "-o" in arguments else None


class Fingerprints:
    """Hashes of files: our own by content, those of the system by size and time."""

    def __init__(self, root):
        self.root = str(root) + os.sep
        self.known = {}

    def of(self, path):
        if path not in self.known:
            try:
                if path.startswith(self.root):
                    self.known[path] = hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
                else:
                    stat = os.stat(path)
                    self.known[path] = f"{stat.st_size}:{stat.st_mtime_ns}"
            except OSError:
                self.known[path] = "missing"
        return self.known[path]


def ninja_dependencies(build):
    """Object file -> the headers that its last compilation read."""
    listed = subprocess.run(["ninja", "-C", str(build), "-t", "deps"], capture_output=True, text=True)
    dependencies, current = {}, None
    for line in listed.stdout.splitlines():
        if line.startswith("    "):
            current.append(os.path.normpath(build / line.strip()))
        elif ": #deps" in line:
            current = dependencies.setdefault(line.split(": #deps")[0], [])
    return dependencies


def sources_of(entry):
    """The file of a compilation, or the files that CMake has put together into one (TENURE_UNITY)."""
    path = os.path.normpath(os.path.join(entry["directory"], entry["file"]))
    if os.path.basename(path).startswith("unity_") and os.path.exists(path):
        return UNITY_INCLUDE.findall(pathlib.Path(path).read_text())
    return [path]


def units_of(root, build):
    database = json.loads((build / "compile_commands.json").read_text())
    units = {}
    for entry in database:
        for path in sources_of(entry):
            unit = Unit(root, entry, path)
            ours = not unit.name.startswith("..") and not unit.name.startswith("build/")
            if ours and unit.name.endswith(".cpp") and os.path.exists(unit.path):
                units.setdefault(unit.name, unit)
    return [units[name] for name in sorted(units)]


def set_keys(units, root, build):
    dependencies = ninja_dependencies(build)
    prints = Fingerprints(root)
    version = subprocess.run([TOOL, "--version"], capture_output=True, text=True, check=True).stdout
    common = version + (root / ".clang-tidy").read_text() + pathlib.Path(__file__).read_text()
    for unit in units:
        unit.lines = pathlib.Path(unit.path).read_text(errors="replace").count("\n")
        headers = dependencies.get(unit.output)
        if headers is None:
            continue  # never compiled: nothing is known of its headers
        parts = [common, unit.name, *(flag.replace(str(root), "") for flag in unit.flags)]
        parts += [f"{path.replace(str(root), '')}={prints.of(path)}" for path in sorted({unit.path, *headers})]
        unit.key = hashlib.sha256("\0".join(parts).encode()).hexdigest()


def batches_of(units):
    batches = []
    by_flags = {}
    for unit in units:
        by_flags.setdefault(unit.flags, []).append(unit)
    for group in by_flags.values():
        batch, lines = [], 0
        for unit in group:
            if batch and (lines + unit.lines > BATCH_LINES or len(batch) == BATCH_FILES):
                batches.append(batch)
                batch, lines = [], 0
            batch.append(unit)
            lines += unit.lines
        batches.append(batch)
    return sorted(batches, key=lambda b: -sum(u.lines for u in b))  # the long ones first, so that all jobs end at about the same time


class Runner:
    def __init__(self, root, cache, scratch):
        self.root = root
        self.cache = cache
        self.scratch = scratch
        for directory in (cache, scratch):
            directory.mkdir(parents=True, exist_ok=True)

    def tidy(self, batch, checks=None):
        """Returns the return code and the lines of output for a batch."""
        if len(batch) == 1:
            source = batch[0].path
        else:
            names = "".join(f'#include "{unit.path}"  // NOLINT\n' for unit in batch)
            source = self.scratch / (hashlib.sha256(names.encode()).hexdigest()[:16] + ".cpp")
            source.write_text(names)
        command = [TOOL, "--quiet", f"--config-file={self.root / '.clang-tidy'}", f"--header-filter={HEADER_FILTER}"]
        if checks:
            command.append(f"--checks={checks}")
        command += [str(source), "--", *batch[0].flags, "-ferror-limit=0", "-Wno-everything"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.root)
        return done.returncode, [l for l in done.stdout.splitlines() if l.strip()], done.stderr

    def run(self, batch):
        """Checks a batch; returns its findings."""
        code, lines, stderr = self.tidy(batch)
        errors = [match["file"] for line in lines if "clang-diagnostic-error" in line and (match := FINDING.match(line))]
        if len(batch) > 1 and errors:
            later = [unit for unit in batch[1:] if unit.path in errors]
            if not later:  # the errors are elsewhere; one by one tells what is true
                return [finding for unit in batch for finding in self.run([unit])]
            return self.run([unit for unit in batch if unit not in later]) + self.run(later)
        if code == 0:
            for unit in batch:
                if unit.key:
                    (self.cache / unit.key).touch()
        elif not lines:
            lines = [f"{batch[0].name}: {TOOL} failed: {stderr.strip()}"]
        return lines if code else []


def paragraphs(lines):
    """Splits output into findings, each with the lines that explain it."""
    current = []
    for line in lines:
        if FINDING.match(line) and current:
            yield "\n".join(current)
            current = []
        current.append(line)
    if current:
        yield "\n".join(current)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=None, help="build tree (build/dev)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--under", action="append", default=[], metavar="FOLDER", help="only files in this folder")
    parser.add_argument("files", nargs="*", help="only these .cpp files")
    options = parser.parse_args()
    root = options.root.resolve()
    build = (options.build or root / "build/dev").resolve()
    # It is beside ccache's directory, so that another clone need not check again. Entries are empty files named by a hash.
    caches = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    cache = caches / "tenure/tidy"
    runner = Runner(root, cache, build / "tidy")

    units = units_of(root, build)
    if options.files:
        wanted = {os.path.relpath(os.path.abspath(name), root) for name in options.files}
        units = [unit for unit in units if unit.name in wanted]
    if options.under:
        units = [unit for unit in units if unit.name.startswith(tuple(f"{folder}/" for folder in options.under))]
    set_keys(units, root, build)
    changed = [unit for unit in units if not (unit.key and (cache / unit.key).exists())]

    findings = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for lines in pool.map(runner.run, batches_of(changed)):
            for finding in paragraphs(lines):
                findings.setdefault(finding.replace(str(root) + "/", ""))  # a finding in a header comes with each file that includes it
    for finding in findings:
        print(finding)
    print(f"clang-tidy: {len(units)} files, {len(units) - len(changed)} of them unchanged since they were clean, "
          f"{len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
