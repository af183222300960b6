"""scripts/tidy.py finds faults in batches, separates files that clash, and checks again only what changed."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]


class Tidy(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.root = pathlib.Path(self.directory.name).resolve()
        (self.root / "lockcore").mkdir()
        (self.root / "build").mkdir()
        shutil.copy(TREE / ".clang-tidy", self.root)

    def write(self, files):
        for name, text in files.items():
            (self.root / "lockcore" / name).write_text(text)
        sources = sorted((self.root / "lockcore").glob("*.cpp"))
        rule = ["rule cxx", "  command = g++ -std=c++20 -MD -MF $out.d -c $in -o $out", "  depfile = $out.d",
                "  deps = gcc"]
        ninja = rule + [f"build {s.stem}.o: cxx {s}" for s in sources]
        (self.root / "build/build.ninja").write_text("\n".join(ninja) + "\n")
        database = [{"directory": str(self.root / "build"), "file": str(s),
                     "command": f"g++ -std=c++20 -c {s} -o {s.stem}.o"} for s in sources]
        (self.root / "build/compile_commands.json").write_text(json.dumps(database))
        subprocess.run(["ninja", "-C", self.root / "build"], check=True, capture_output=True)

    def tidy(self, *more):
        done = subprocess.run([sys.executable, "-B", TREE / "scripts/tidy.py", "--root", self.root, "--build",
                               self.root / "build", *more], capture_output=True, text=True,
                              env={**os.environ, "XDG_CACHE_HOME": str(self.root / "cache")})
        return done.returncode, done.stdout

    def test_faults_in_a_batch_are_found_and_what_clashes_is_taken_apart(self):
        self.write({
            "good.cpp": "namespace {\nint same() { return 1; }\n}\nint good() { return same(); }\n",
            "clash.cpp": "namespace {\nint same() { return 2; }\n}\nint Clash() { return same(); }\n",
            "name.hpp": "#pragma once\nstruct bad_name {};\n",
            "uses.cpp": '#include "name.hpp"\nint uses(bad_name) { return 0; }\n',
        })
        code, output = self.tidy()
        self.assertEqual(code, 1)
        self.assertIn("lockcore/clash.cpp:4:5: error: invalid case style for function 'Clash'", output)
        self.assertIn("lockcore/name.hpp:2:8: error: invalid case style for struct 'bad_name'", output)
        self.assertIn("3 files, 0 of them unchanged since they were clean, 2 findings", output)
        self.assertNotIn("redefinition", output)

    def test_only_the_folders_that_were_asked_for(self):
        self.write({"clash.cpp": "int Clash() { return 1; }\n"})
        self.assertEqual(self.tidy("--under", "lock"), (0, "clang-tidy: 0 files, 0 of them unchanged since they were "
                                                           "clean, 0 findings\n"))
        code, output = self.tidy("--under", "tests", "--under", "lockcore")
        self.assertEqual(code, 1)
        self.assertIn("1 files, 0 of them unchanged since they were clean, 1 findings", output)

    def test_only_what_changed_is_looked_at_again(self):
        self.write({"a.hpp": "#pragma once\nint a();\n", "a.cpp": '#include "a.hpp"\nint a() { return 1; }\n',
                    "b.cpp": "int b() { return 1; }\n"})
        said = "clang-tidy: 2 files, {} of them unchanged since they were clean, 0 findings\n"
        self.assertEqual(self.tidy(), (0, said.format(0)))
        self.assertEqual(self.tidy(), (0, said.format(2)))
        self.write({"a.hpp": "#pragma once\nint a();\nint Wrong();\n"})
        code, output = self.tidy()
        self.assertEqual(code, 1)
        self.assertIn("lockcore/a.hpp:3:5: error: invalid case style for function 'Wrong'", output)
        self.assertIn("2 files, 1 of them unchanged", output)
        code, output = self.tidy()
        self.assertEqual(code, 1, "a finding is not forgotten")

    def test_code_that_does_not_compile_is_a_finding(self):
        self.write({"a.cpp": "int a() { return 1; }\n", "b.cpp": "int b() { return 1; }\n"})
        (self.root / "lockcore/a.cpp").write_text("int a() { return missing; }\n")
        code, output = self.tidy()
        self.assertEqual(code, 1)
        self.assertIn("use of undeclared identifier 'missing'", output)


if __name__ == "__main__":
    unittest.main()
