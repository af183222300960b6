"""The recipes for Conan and vcpkg: they say what CMakeLists.txt says, and, by hand and in scripts/test --all, their tools take them."""

import ast
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPTIONS = set(re.findall(r"^tenure_part\((\w+)", (ROOT / "config/cmake/TenureOptions.cmake").read_text(), re.M))
VERSION = re.search(r"^project\(tenure VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M).group(1)

# Libraries of this system in place of those of Conan's own repository.
PROFILE = """
[settings]
os=Linux
arch=x86_64
build_type=Release
compiler=gcc
compiler.version={version}
compiler.libcxx=libstdc++11
compiler.cppstd=20
[platform_requires]
boost/1.81.0
sqlite3/3.40.1
date/3.0.1
yaml-cpp/0.8.0
"""


def conan_parts():
    tree = ast.parse((ROOT / "config/conan/conanfile.py").read_text())
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and statement.targets[0].id == "PARTS":
            return ast.literal_eval(statement.value)
    raise AssertionError("config/conan/conanfile.py has no PARTS")


class Recipes(unittest.TestCase):
    def test_the_recipe_of_conan_has_each_part(self):
        self.assertEqual({option for option, _ in conan_parts().values()}, OPTIONS)

    def test_the_port_of_vcpkg_has_each_part_as_a_feature_and_the_same_version(self):
        manifest = json.loads((ROOT / "config/vcpkg/tenure/vcpkg.json").read_text())
        port = (ROOT / "config/vcpkg/tenure/portfile.cmake").read_text()
        pairs = re.findall(r"^        ([a-z0-9]+) (TENURE_WITH_\w+)$", port, re.M)
        self.assertEqual({option for _, option in pairs}, OPTIONS)
        self.assertEqual({feature for feature, _ in pairs}, set(manifest["features"]))
        self.assertEqual(manifest["version"], VERSION)

    def test_conan_makes_the_package_and_a_consumer_elects_a_leader(self):
        cache = ROOT / "build/.cache/conan"
        conan = cache / "venv/bin/conan"
        if not conan.exists():
            subprocess.run([sys.executable, "-m", "venv", cache / "venv"], check=True)
            subprocess.run([cache / "venv/bin/pip", "install", "-q", "conan>=2,<3"], check=True)
        with tempfile.TemporaryDirectory() as home:
            version = subprocess.run(["g++", "-dumpversion"], check=True, capture_output=True, text=True).stdout.strip()
            profile = pathlib.Path(home, "profile")
            profile.write_text(PROFILE.format(version=version.split(".")[0]))
            environment = {**os.environ, "CONAN_HOME": home}
            made = subprocess.run([conan, "create", ROOT / "config/conan", "-pr:a", profile, "--no-remote", "--build=missing:tenure/*"],
                                  env=environment, capture_output=True, text=True, check=False)
            self.assertEqual(made.returncode, 0, made.stdout + made.stderr)
            self.assertIn("\nelected\n", made.stdout + made.stderr)


if __name__ == "__main__":
    unittest.main()
