"""CTest's tests as commands that can be run without it; cases of one program can be run together."""

import contextlib
import dataclasses
import importlib
import json
import os
import pathlib
import subprocess
import sys

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
import fetching

# These test the tree, the installation or the tools; mutants of a library do not concern them.
OTHER_MATTERS = {"package", "docs", "tools", "model", "interop"}
FILTER = "--gtest_filter="
LONGEST_FACTOR = 5


@dataclasses.dataclass
class Test:
    name: str
    command: list
    directory: str
    timeout: float
    labels: set
    environment: dict
    expected: list  # regular expressions; the output must match one of them
    refused: list
    serial: bool
    inverted: bool

    @property
    def program(self):
        """Tests with the same key can share a process; None for tests that are not GoogleTest's."""
        words = [word for word in self.command if not word.startswith(FILTER)]
        return None if len(words) == len(self.command) else json.dumps([words, self.directory, self.environment])

    @property
    def case(self):
        return next(word for word in self.command if word.startswith(FILTER)).removeprefix(FILTER)


def properties_of(listed):
    found = {one["name"]: one["value"] for one in listed.get("properties", [])}
    environment = dict(pair.split("=", 1) for pair in found.get("ENVIRONMENT", []))
    return found, environment


def listed_tests(build, left_out=OTHER_MATTERS):
    """Every test whose program is built, without those that start and stop servers."""
    text = subprocess.run(["ctest", "--show-only=json-v1"], cwd=build, capture_output=True, text=True, check=True).stdout
    tests = []
    for listed in json.loads(text)["tests"]:
        found, environment = properties_of(listed)
        labels = set(found.get("LABELS", []))
        if "command" not in listed or labels & left_out or "FIXTURES_SETUP" in found or "FIXTURES_CLEANUP" in found:
            continue
        tests.append(Test(listed["name"], listed["command"], found.get("WORKING_DIRECTORY", str(build)),
                          float(found.get("TIMEOUT", 60)), labels, environment, found.get("PASS_REGULAR_EXPRESSION", []),
                          found.get("FAIL_REGULAR_EXPRESSION", []), bool(found.get("RUN_SERIAL")) or "quiet" in labels,
                          bool(found.get("WILL_FAIL"))))
    return tests


class Servers:
    """Started for the first test that needs one; they run until the end. Mutants never run in them."""

    NAMES = {path.name.removesuffix("_local") for path in SCRIPTS.glob("*_local")}

    def __init__(self):
        self.modules = {name: importlib.import_module(f"{name}_server") for name in self.NAMES}
        self.stack = contextlib.ExitStack()
        self.endpoints = {}
        self.missing = {}

    def start(self, labels):
        for label in sorted(labels & self.NAMES - set(self.endpoints) - set(self.missing)):
            module = self.modules[label]
            try:
                given = os.environ.get(module.ENDPOINT)
                server = None if given else self.stack.enter_context(module.Server(module.prepare()))
                self.endpoints[label] = given or server.endpoint
            except fetching.ToolError as error:
                self.missing[label] = str(error)

    def can_run(self, test):
        return not test.labels & set(self.missing)

    def environment(self, test, base):
        made = dict(base)
        for label in sorted(test.labels & set(self.endpoints)):
            made = self.modules[label].environment(self.endpoints[label], made)
        return {**made, **test.environment}

    def close(self):
        self.stack.close()
