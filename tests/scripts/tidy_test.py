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
sys.path.insert(0, str(TREE / "scripts"))

import tidy  # noqa: E402


@unittest.skipUnless(shutil.which(tidy.TOOL), f"{tidy.TOOL} is not there")
class Tidy(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.root = pathlib.Path(self.directory.name).resolve()
        (self.root / "lockcore").mkdir()
        (self.root / "build").mkdir()
        shutil.copy(TREE / ".clang-tidy", self.root)

    def write(self, files, own_include=False):
        for name, text in files.items():
            (self.root / "lockcore" / name).write_text(text)
        sources = sorted((self.root / "lockcore").glob("*.cpp"))
        flags = {s: f"-std=c++20 -I {self.root / s.stem / 'include'}" if own_include else "-std=c++20" for s in sources}
        rule = ["rule cxx", "  command = g++ $flags -MD -MF $out.d -c $in -o $out", "  depfile = $out.d",
                "  deps = gcc"]
        ninja = rule + [f"build {s.stem}.o: cxx {s}\n  flags = {flags[s]}" for s in sources]
        (self.root / "build/build.ninja").write_text("\n".join(ninja) + "\n")
        database = [{"directory": str(self.root / "build"), "file": str(s),
                     "command": f"g++ {flags[s]} -c {s} -o {s.stem}.o"} for s in sources]
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
            "known.cpp": "namespace {\n\nint same() { return 3; }\n\n}  // namespace\nint Known() { return same(); }\n",
            "name.hpp": "#pragma once\nstruct bad_name {};\n",
            "uses.cpp": '#include "name.hpp"\nint uses(bad_name) { return 0; }\n',
        })
        code, output = self.tidy()
        self.assertEqual(code, 1)
        self.assertIn("lockcore/clash.cpp:4:5: error: invalid case style for function 'Clash'", output)
        self.assertIn("lockcore/known.cpp:6:5: error: invalid case style for function 'Known'", output)
        self.assertIn("lockcore/name.hpp:2:8: error: invalid case style for struct 'bad_name'", output)
        self.assertIn("4 files, 0 of them unchanged since they were clean, 3 findings", output)
        self.assertNotIn("redefinition", output)

    def test_programs_with_include_folders_of_their_own_are_one_batch(self):
        programs = ("one", "three", "two")
        for name in programs:
            (self.root / name / "include").mkdir(parents=True)
            (self.root / name / "include" / f"{name}.hpp").write_text(f"inline int {name}() {{ return 1; }}\n")
        text = "#include <{0}.hpp>\nint {1}() {{ return {0}(); }}\nint main() {{ return {1}(); }}\n"
        self.write({f"{name}.cpp": text.format(name, name.title()) for name in programs}, own_include=True)
        code, output = self.tidy()
        self.assertEqual(code, 1)
        for name in programs:
            self.assertIn(f"lockcore/{name}.cpp:2:5: error: invalid case style for function '{name.title()}'", output)
        self.assertIn("3 files, 0 of them unchanged since they were clean, 3 findings", output)
        self.assertEqual(len(list((self.root / "build/tidy").iterdir())), 1)

    def test_what_clashes_by_its_names_is_not_put_into_one_batch(self):
        text = "namespace part {{\nnamespace {{\n\n{}\n\n}}  // namespace\n}}  // namespace part\n"
        texts = ("using std::string;", "using other::string;", "struct Same {\n};", "int Same(int a) { return a; }",
                 "constexpr int same = 1;", "int unlike() { return 1; }", "using std::string;")
        units = []
        for number, content in enumerate(texts):
            path = self.root / f"lockcore/{number}.cpp"
            path.write_text(text.format(content))
            units.append(tidy.Unit(self.root, {"command": "g++ -std=c++20 -I include -I other/include"}, str(path)))
            units[-1].read()
        self.assertEqual(self.names(tidy.batches_of(units)), [["0", "2", "4", "5", "6"], ["1", "3"]])

    def test_what_has_other_flags_is_in_the_batch_if_it_may_have_those_of_all(self):
        flags = ("-I a/include -DX=1", "-I b/include -isystem c -DY", "-I a/include -DX=2", "-I private", "-DX=1 -std=c++17")
        units = [tidy.Unit(self.root, {"command": f"g++ {words}"}, f"{number}.cpp") for number, words in enumerate(flags)]
        self.assertEqual(self.names(tidy.batches_of(units)), [["0", "1"], ["2"], ["3"], ["4"]])

    @staticmethod
    def names(batches):
        return [[pathlib.Path(unit.path).stem for unit in batch] for batch in batches]

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
