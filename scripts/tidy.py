#!/usr/bin/env python3
"""Runs clang-tidy over our .cpp files, fast: in parallel, only what changed, and several files at a time.

Most of clang-tidy's time goes into the headers. So many files are put into one batch, which reads the headers once, with
the flags of all of them. Some files cannot share a batch, for example if both have a function of one name in an anonymous
namespace. The names at the beginning of a line tell most of them before. The errors of the batch name the others, which
then go into another batch. A clean file is checked again only when the file, one of its headers (as ninja knows them), its
flags or .clang-tidy have changed.
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
BATCH_LINES = 4000
BATCH_FILES = 28
# Batches include the .cpp files, so clang-tidy takes those for headers.
HEADER_FILTER = r"/(lockcore|election|jobs|ops|testing|adapters|config|cli|tests|examples|bench)/.*\.(hpp|cpp)$"
UNITY_INCLUDE = re.compile(r'^#include "(?P<file>[^"]+\.cpp)"', re.MULTILINE)
NAMESPACE = re.compile(r"^namespace (?P<name>[\w:]+) \{", re.MULTILINE)
ANONYMOUS = re.compile(r"^namespace \{$(?P<content>.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)
# What begins in the first column: a function, a constant, a type. clang-format puts all that is within one further right.
DEFINED = re.compile(r"^(?:(?:struct|class|enum class|enum|using) (?P<type>\w+)\b(?!::)|"
                     r"(?!static_assert)[\w\[][^(=;{}\n]*?\b(?P<name>\w+)(?:\(| =|\{))", re.MULTILINE)
ALIAS = re.compile(r"^using (?P<scope>[\w:]+)::(?P<name>\w+);", re.MULTILINE)
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
        self.names = {}
        self.is_program = False
        self.key = None

    def read(self):
        text = pathlib.Path(self.path).read_text(errors="replace")
        self.lines = text.count("\n")
        self.names = names_in(text)
        self.is_program = re.search(r"^int main\(", text, re.MULTILINE) is not None

    def included(self, main):
        """The line that puts it into a batch, where its function main() needs a name that no other program has."""
        line = f'#include "{self.path}"  // NOLINT\n'
        return f"#define main {main}  // NOLINT\n{line}#undef main\n" if self.is_program else line

    @staticmethod
    def relevant(arguments):
        """What changes the meaning of the code: include paths, definitions, the language. Not g++'s own warnings."""
        flags = []
        rest = iter(arguments)
        for argument in rest:
            if argument in ("-I", "-isystem", "-D", "-include", "-idirafter"):
                flag = argument + next(rest, "")
                if not flag.endswith("/cmake_pch.hxx"):  # it changes nothing but the time
                    flags.append(flag)
            elif argument.startswith(("-I", "-D", "-std=", "-isystem", "-pthread")):
                flags.append(argument)
        return tuple(flags)

    @staticmethod
    def output_of(arguments):
        return arguments[arguments.index("-o") + 1] if "-o" in arguments else None


def names_in(text):
    """What two files of a batch must not both have: (namespace, name) -> what it stands for, if that may be said twice."""
    within = NAMESPACE.search(text)
    scope = within["name"] if within else ""
    names = {(scope, match["name"]): match["scope"] for match in ALIAS.finditer(text)}
    for part in ANONYMOUS.finditer(text):
        for match in DEFINED.finditer(part["content"]):
            names.setdefault((scope, match["type"] or match["name"]), None)
    return names


class Batch:
    """Files that one run of clang-tidy reads. No two public headers have one name, so each file may see those of all. A macro
    that one file has is defined for all, so two must not give it two values."""

    def __init__(self):
        self.units = []
        self.lines = 0
        self.names = {}
        self.macros = {}

    @staticmethod
    def private(flags):
        return {flag for flag in flags if not flag.startswith(("-D", "-isystem")) and not flag.endswith("/include")}

    @staticmethod
    def macros_of(flags):
        return dict(flag[2:].partition("=")[::2] for flag in flags if flag.startswith("-D"))

    def takes(self, unit):
        if not self.units:
            return True
        if len(self.units) == BATCH_FILES or self.lines + unit.lines > BATCH_LINES:
            return False
        if self.private(self.units[0].flags) != self.private(unit.flags):
            return False
        if any(self.macros.get(name, value) != value for name, value in self.macros_of(unit.flags).items()):
            return False
        return all(name not in self.names or (what and what == self.names[name]) for name, what in unit.names.items())

    def add(self, unit):
        self.units.append(unit)
        self.lines += unit.lines
        self.names.update(unit.names)
        self.macros.update(self.macros_of(unit.flags))


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
        unit.read()
        headers = dependencies.get(unit.output)
        if headers is None:
            continue  # never compiled: nothing is known of its headers
        parts = [common, unit.name, *(flag.replace(str(root), "") for flag in unit.flags)]
        parts += [f"{path.replace(str(root), '')}={prints.of(path)}" for path in sorted({unit.path, *headers})]
        unit.key = hashlib.sha256("\0".join(parts).encode()).hexdigest()


def batches_of(units):
    batches = []
    for unit in units:
        for batch in batches:
            if batch.takes(unit):
                break
        else:
            batch = Batch()
            batches.append(batch)
        batch.add(unit)
    batches.sort(key=lambda b: -b.lines)  # the long ones first, so that all jobs end at about the same time
    return [batch.units for batch in batches]


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
            text = "".join(unit.included(f"main{number}") for number, unit in enumerate(batch))
            source = self.scratch / (hashlib.sha256(text.encode()).hexdigest()[:16] + ".cpp")
            source.write_text(text)
        command = [TOOL, "--quiet", f"--config-file={self.root / '.clang-tidy'}", f"--header-filter={HEADER_FILTER}"]
        if checks:
            command.append(f"--checks={checks}")
        flags = dict.fromkeys(flag for unit in batch for flag in unit.flags)  # each once, in order
        command += [str(source), "--", *flags, "-ferror-limit=0", "-Wno-everything"]
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
