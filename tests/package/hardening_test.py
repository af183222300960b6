"""The linked program has full RELRO, position independence, stack protector, FORTIFY and no executable stack."""

import os
import pathlib
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["TENURE_PROGRAM"]
COMPILER = os.environ.get("CXX", "c++")


def readelf(option, binary):
    return subprocess.run(["readelf", "-W", option, binary], check=True, capture_output=True, text=True).stdout


def what_is_missing(binary):
    """The protections that this ELF file does not have, by name."""
    segments = {line.split()[0]: line.split()[-2] for line in readelf("--program-headers", binary).splitlines()
                if line.strip().startswith(("GNU_RELRO", "GNU_STACK"))}
    dynamic = readelf("--dynamic", binary)
    symbols = readelf("--dyn-syms", binary)
    there = {
        "RELRO": "GNU_RELRO" in segments,
        "immediate binding": "BIND_NOW" in dynamic or "Flags: NOW" in dynamic,
        "position independence": "(Position-Independent Executable file)" in readelf("--file-header", binary),
        "a stack that is not executable": "E" not in segments.get("GNU_STACK", "E"),
        "stack protector": "__stack_chk_fail" in symbols,
        # Calls of the C library that know how large their target is.
        "FORTIFY": any(name.split("@")[0].endswith("_chk") and "__stack" not in name for name in symbols.split()),
    }
    return [name for name, is_there in there.items() if not is_there]


class Hardening(unittest.TestCase):
    def test_the_program_has_every_protection(self):
        self.assertEqual(what_is_missing(PROGRAM), [])

    def test_a_program_without_them_is_told_from_it(self):
        with tempfile.TemporaryDirectory() as directory:
            binary = pathlib.Path(directory) / "bare"
            subprocess.run([COMPILER, "-x", "c++", "-", "-o", binary, "-O1", "-fno-stack-protector", "-U_FORTIFY_SOURCE",
                            "-no-pie", "-Wl,-z,norelro", "-Wl,-z,lazy", "-Wl,-z,execstack"],
                           input="int main() {}", text=True, check=True)
            self.assertEqual(what_is_missing(binary), ["RELRO", "immediate binding", "position independence",
                                                       "a stack that is not executable", "stack protector", "FORTIFY"])


if __name__ == "__main__":
    unittest.main()
