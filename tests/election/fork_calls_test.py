"""Every public function of what a process has when it forks is called in a child (fork_calls.cpp)."""

import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs" / "site"))
import api  # noqa: E402  pylint: disable=wrong-import-position

# Plain values: they have no thread, no lock and no descriptor, so a child may use them as any process.
VALUES = {"CallDeadline", "FencedTerm", "FencingToken", "Group", "HttpFenceClient", "LeaseTiming", "LeaseView", "LockToken", "Logger",
          "PostgresqlResult", "RecordVersion", "Schedule"}
# What users implement, or get from a store; an inherited store is of no use to a child (docs/reference/cpp-api.md).
INTERFACES = {"Clock", "LeaseStore", "RandomSource", "Register", "Scheduler"}
# One thread at a time uses these, and it is the one that forks; some write over a connection of the user's own.
ONE_THREAD = {"FencedFile", "PostgresqlFence", "RedisFence", "SqliteFence", "HandMadeTerm", "ManualExecutor",
              "ManualRuntime", "ManualScheduler"}
# They need a server. Each refuses first, by inItsProcess() or in the one place through which its requests go.
WITH_SERVER = {"DynamoDbFence", "PodLabel", "S3Fence"}
MAKERS = {"open", "start", "make", "from", "of"}  # static; a child makes objects of its own


def public_functions():
    """Class -> function -> how many overloads."""
    headers = subprocess.run(["git", "ls-files", "*/include/tenure/*.hpp"], cwd=ROOT, check=True, capture_output=True,
                             text=True).stdout.split()
    found, free = {}, []
    for compound in api.read(ROOT, headers):
        if compound.get("kind") == "namespace" and "detail" not in compound.findtext("compoundname"):
            free += [member for member in compound.iter("memberdef") if member.get("kind") == "function"]
        name = compound.findtext("compoundname").split("::")[-1]
        if compound.get("kind") != "class" or compound.get("prot") == "private" or "::detail" in compound.findtext("compoundname"):
            continue
        for member in compound.iter("memberdef"):
            function, arguments = member.findtext("name"), member.findtext("argsstring") or ""
            made = function == name or (member.get("static") == "yes" and function in MAKERS)
            if member.get("kind") == "function" and member.get("prot") == "public" and not made and not arguments.endswith(
                    ("=default", "=delete")):
                functions = found.setdefault(name, {})
                functions[function] = functions.get(function, 0) + 1
    return found, free


class ForkCalls(unittest.TestCase):
    def setUp(self):
        symbols = subprocess.run(["nm", "-C", os.environ["TENURE_FORK_CALLS"]], check=True, capture_output=True, text=True)
        self.symbols = {line.split(" ", 1)[1] for line in map(str.strip, symbols.stdout.splitlines()) if " " in line}
        self.functions, self.free = public_functions()
        self.exempt = VALUES | INTERFACES | ONE_THREAD | WITH_SERVER

    def test_a_child_calls_every_public_function(self):
        missing = []
        for name, functions in sorted(self.functions.items()):
            for function, overloads in sorted(functions.items()) if name not in self.exempt else ():
                call = re.compile(rf"\b{name}::{re.escape(function)}(<|\(|\[)")
                if sum(bool(call.search(symbol)) for symbol in self.symbols) < overloads:
                    missing.append(f"{name}::{function}")
        self.assertEqual(missing, [], "fork_calls.cpp does not call these; call them there, and make them ask inItsProcess() first")

    def test_a_child_calls_every_function_that_takes_one_of_them(self):
        handles = re.compile(rf"\b({'|'.join(sorted(set(self.functions) - self.exempt))})\b")
        names = {member.findtext("name") for member in self.free
                 if any(handles.search("".join(one.find("type").itertext())) for one in member.findall("param"))}
        self.assertIn("asyncAcquire", names)
        missing = [name for name in sorted(names)
                   if not any(re.search(rf"\b{name}(<|\()", symbol) for symbol in self.symbols)]
        self.assertEqual(missing, [])

    def test_what_is_exempt_is_there(self):
        self.assertEqual(self.exempt - set(self.functions), set())


if __name__ == "__main__":
    unittest.main()
