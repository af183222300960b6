"""The linked program has full RELRO, position independence, stack protector, FORTIFY and no executable stack."""

import os
import pathlib
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["TENURE_PROGRAM"]
COMPILER = os.environ.get("CXX", "c++")
TREE = pathlib.Path(__file__).resolve().parents[2]


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


RELEASE = ("stack clash protection", "control-flow integrity", "no path of the build")


def release_flags_missing(object_file, folder):
    """What the release's own flags give, by name."""
    code = subprocess.run(["objdump", "-d", object_file], check=True, capture_output=True, text=True).stdout
    there = (any(word in code for word in ("orq    $0x0,", "orl    $0x0,", "str\txzr, [sp")),
             any(word in code for word in ("endbr64", "paciasp", "bti")),
             str(folder).encode() not in pathlib.Path(object_file).read_bytes())
    return [name for name, is_there in zip(RELEASE, there) if not is_there]


class Release(unittest.TestCase):
    """What a release is compiled with, on one file: its flags come from the tree's own function."""

    PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(one CXX)
include({tree}/config/cmake/TenureTargets.cmake)
add_library(one STATIC one.cpp)
{call}
"""
    CODE = """
#include <cstdio>
void use(char*);
void big() {{ char room[100000]; use(room); std::puts(__FILE__); }}
"""

    def object_of(self, call, directory):
        folder = pathlib.Path(directory)
        (folder / "CMakeLists.txt").write_text(self.PROJECT.format(tree=TREE, call=call))
        (folder / "one.cpp").write_text(self.CODE.replace("{{", "{").replace("}}", "}"))
        subprocess.run(["cmake", "-S", folder, "-B", folder / "build", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", f"-DCMAKE_CXX_COMPILER={COMPILER}"],
                       check=True, capture_output=True)
        subprocess.run(["cmake", "--build", folder / "build"], check=True, capture_output=True)
        return next((folder / "build").rglob("one.cpp.o"))

    def test_a_release_has_every_protection_and_no_path(self):
        with tempfile.TemporaryDirectory() as directory:
            self.assertEqual(release_flags_missing(self.object_of("tenure_harden(one)", directory), directory), [])

    def test_what_is_compiled_without_is_told_from_it(self):
        with tempfile.TemporaryDirectory() as directory:
            bare = self.object_of("target_compile_options(one PRIVATE -fno-stack-clash-protection -fcf-protection=none)", directory)
            self.assertEqual(release_flags_missing(bare, directory), list(RELEASE))


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
