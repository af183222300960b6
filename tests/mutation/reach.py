"""Which tests run which lines, measured once for a state of the tree: each test alone, with traced libraries
(trace.cpp).

traces.jsonl has a line for each test; an interrupted measurement continues there.
"""

import base64
import bisect
import collections
import concurrent.futures
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import zlib

TRACE = re.compile(r"^\s+[0-9a-f]+:\s+call\s+[0-9a-f]+ <__sanitizer_cov_trace_pc>")
ADDRESS = re.compile(r"^\s+([0-9a-f]+):\t")
CALL_BYTES = 5  # a block begins with a call; the call's return address identifies the block
LINE = re.compile(r"^(\S.*?)\s+(\d+)\s+0x([0-9a-f]+)\b")


class Library:
    """A library's basic blocks in the order of their addresses, and the lines of our sources in each of them."""

    def __init__(self, path, workspace):
        self.name = path.name
        self.path = path
        self.tree = workspace.tree.resolve()
        self.build = workspace.build
        self.sources = workspace.entries
        self.starts = self.block_starts()

    def block_starts(self):
        starts, traced = [], False
        text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", self.path], capture_output=True, text=True, check=True)
        for line in text.stdout.splitlines():
            if traced:
                address = ADDRESS.match(line)
                if not address:
                    continue
                starts.append(int(address[1], 16))
            traced = bool(TRACE.match(line))
        return starts

    def lines(self):
        """Block -> {(file, line)}."""
        found = collections.defaultdict(set)
        listed = subprocess.run(["objdump", "--dwarf=decodedline", self.path], capture_output=True, text=True, errors="replace")
        known, rows, current = {}, [], None
        for line in listed.stdout.splitlines():
            if line.endswith(":") and not line.startswith(" "):
                if line not in known:
                    known[line] = self.ours(line[:-1])
                current = known[line]
            else:
                row = LINE.match(line)
                if row and current and current.endswith(row[1]):
                    rows.append((current, int(row[2]), int(row[3], 16)))
        for file, number, address in rows:
            block = bisect.bisect_right(self.starts, address + CALL_BYTES) - 1
            if block >= 0:
                found[block].add((file, number))
        return found

    def ours(self, heading):
        """The name of a file in this tree; None for others. At its first mention a unit's own file has no folder."""
        if "/" not in heading:
            known = [name for name in self.sources if pathlib.PurePath(name).name == heading and self.has(name)]
            return known[0] if len(known) == 1 else None
        path = (self.build / heading).resolve()
        return path.relative_to(self.tree).as_posix() if path.is_relative_to(self.tree) and path.is_file() else None

    def has(self, name):
        """The library's folder in the build is that of its sources, or one above."""
        return (self.tree / name).is_relative_to(self.tree / self.path.parent.resolve().relative_to(self.build.resolve()))


def packed(blocks, count):
    bits = bytearray((count + 7) // 8)
    for block in blocks:
        bits[block // 8] |= 1 << block % 8
    return base64.b64encode(zlib.compress(bytes(bits), 6)).decode()


def unpacked(text):
    bits = zlib.decompress(base64.b64decode(text))
    return [8 * at + bit for at, byte in enumerate(bits) if byte for bit in range(8) if byte >> bit & 1]


class Reach:
    def __init__(self, workspace, runner):
        self.workspace = workspace
        self.runner = runner
        self.file = workspace.home / "traces.jsonl"
        self.libraries = {}
        self.records = {}

    def find_libraries(self):
        for path in sorted(self.workspace.build.rglob("libtenure_*.so*")):
            if not path.is_symlink():
                library = Library(path, self.workspace)
                soname = re.sub(r"(\.so\.\d+\.\d+)\.\d+$", r"\1", library.name)
                self.libraries[soname] = library

    def load(self, fingerprint):
        if not self.file.exists():
            self.file.write_text(json.dumps({"fingerprint": fingerprint}) + "\n")
        lines = self.file.read_text().splitlines()
        if not lines or json.loads(lines[0]).get("fingerprint") != fingerprint:
            self.file.write_text(json.dumps({"fingerprint": fingerprint}) + "\n")
            lines = []
        for line in lines[1:]:
            try:
                record = json.loads(line)
            except ValueError:
                continue  # incomplete because of an interruption
            if record["ok"]:  # a test that failed is tried again: the reason may have been the load
                self.records[record["name"]] = record

    def measure(self, tests, jobs, told):
        """Runs the tests without a result so far. Calls `told(done, all)` after each."""
        missing = [test for test in tests if test.name not in self.records]
        serial = [test for test in missing if test.serial]
        with open(self.file, "a") as out:
            for group, workers in (([t for t in missing if not t.serial], jobs), (serial, 1)):
                with concurrent.futures.ThreadPoolExecutor(workers) as pool:
                    for record in pool.map(self.measure_one, group):
                        self.records[record["name"]] = record
                        out.write(json.dumps(record) + "\n")
                        out.flush()
                        told(len(self.records), len(tests))

    def measure_one(self, test):
        trace = pathlib.Path(tempfile.mkdtemp(prefix="trace.", dir=self.runner.sandbox.home))
        trace.chmod(0o777)
        try:
            verdict = self.runner.run_alone(test, trace=trace)
            hits = {}
            for file in trace.iterdir():
                library = self.libraries.get(file.name)
                if library:
                    marks = file.read_bytes()
                    blocks = [at for at, start in enumerate(library.starts) if start < len(marks) and marks[start]]
                    hits[file.name] = packed(blocks, len(library.starts))
            return {"name": test.name, "ok": verdict.ok, "seconds": round(verdict.seconds, 3), "hits": hits,
                    **({} if verdict.ok else {"output": verdict.output[-600:]})}
        finally:
            shutil.rmtree(trace, ignore_errors=True)

    def tests_by_line(self, files):
        """file -> line with code -> names of the tests that pass and run it."""
        found = {file: {} for file in files}
        for soname, library in self.libraries.items():
            wanted = {block: [one for one in lines if one[0] in found] for block, lines in library.lines().items()}
            wanted = {block: lines for block, lines in wanted.items() if lines}
            for file, line in (one for lines in wanted.values() for one in lines):
                found[file].setdefault(line, set())
            for record in self.records.values():
                if not record["ok"] or soname not in record["hits"]:
                    continue
                for block in unpacked(record["hits"][soname]):
                    for file, line in wanted.get(block, ()):
                        found[file][line].add(record["name"])
        return found
