"""The recipes for Conan and vcpkg: they say what CMakeLists.txt says, and, by hand and in scripts/test --all, their tools take them."""

import ast
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPTIONS = {option for file in [ROOT / "config/cmake/TenureOptions.cmake", *ROOT.glob("lockcore/stores/*/option.cmake")]
           for option in re.findall(r"^tenure_part\((\w+)", file.read_text(), re.M)}
VERSION = re.search(r"^project\(tenure VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M).group(1)
TRIPLET = "x64-linux-release"

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
[conf]
tools.cmake.cmake_layout:test_folder={home}/test
tools.cmake.cmaketoolchain:user_presets=
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
            profile.write_text(PROFILE.format(version=version.split(".")[0], home=home))
            environment = {**os.environ, "CONAN_HOME": home}
            made = subprocess.run([conan, "create", ROOT / "config/conan", "-pr:a", profile, "--no-remote", "--build=missing:tenure/*"],
                                  env=environment, capture_output=True, text=True, check=False)
            self.assertEqual(made.returncode, 0, made.stdout + made.stderr)
            self.assertIn("\nelected\n", made.stdout + made.stderr)

    @unittest.skipUnless(os.environ.get("TENURE_VCPKG_ROOT"), "TENURE_VCPKG_ROOT names a clone of vcpkg")
    def test_vcpkg_builds_the_port_and_a_consumer_elects_a_leader(self):
        # The scripts of vcpkg itself, with the libraries of this system in place of those that it would build. Its program, which
        # would build them, is not used: it only chooses what to build, and calls these scripts.
        vcpkg = pathlib.Path(os.environ["TENURE_VCPKG_ROOT"])
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            helpers = []
            for port in ("vcpkg-cmake", "vcpkg-cmake-config"):
                there = root / "installed" / TRIPLET / "share" / port
                shutil.copytree(vcpkg / "ports" / port, there)
                helpers.append(str(there / "vcpkg-port-config.cmake"))
            settings = {
                "CMD": "BUILD", "PORT": "tenure", "VERSION": VERSION, "FEATURES": "core;sqlite;jobs;config", "ALL_FEATURES": "",
                "CURRENT_PORT_DIR": ROOT / "config/vcpkg/tenure", "TARGET_TRIPLET": TRIPLET, "_HOST_TRIPLET": TRIPLET,
                "TARGET_TRIPLET_FILE": vcpkg / "triplets/community" / f"{TRIPLET}.cmake", "VCPKG_PORT_CONFIGS": ";".join(helpers),
                "_VCPKG_INSTALLED_DIR": root / "installed", "BUILDTREES_DIR": root / "buildtrees", "PACKAGES_DIR": root / "packages",
                "VCPKG_ROOT_DIR": vcpkg, "DOWNLOADS": root / "downloads", "VCPKG_CONCURRENCY": "2", "_VCPKG_NO_DOWNLOADS": "1",
                "VCPKG_BASE_VERSION": "2999-12-31", "VCPKG_USE_HEAD_VERSION": "0", "_VCPKG_EDITABLE": "0",
                "Z_VCPKG_CHAINLOAD_TOOLCHAIN_FILE": vcpkg / "scripts/toolchains/linux.cmake", "VCPKG_PLATFORM_TOOLSET": "external",
                **{name: shutil.which(program) for name, program in (("NINJA", "ninja"), ("GIT", "git"), ("PKGCONFIG", "pkg-config"), ("PATCHELF", "patchelf"))},
            }
            self.run_all(["cmake", *(f"-D{name}={value}" for name, value in settings.items()), "-P", vcpkg / "scripts/ports.cmake"])
            shutil.copytree(root / "packages" / f"tenure_{TRIPLET}", root / "installed" / TRIPLET, dirs_exist_ok=True)
            self.run_all(["cmake", "-G", "Ninja", "-S", ROOT / "config/conan/test_package", "-B", root / "consumer",
                          f"-DCMAKE_TOOLCHAIN_FILE={vcpkg}/scripts/buildsystems/vcpkg.cmake", f"-DVCPKG_TARGET_TRIPLET={TRIPLET}",
                          f"-DVCPKG_INSTALLED_DIR={root}/installed", "-DVCPKG_MANIFEST_MODE=OFF"])
            self.run_all(["cmake", "--build", root / "consumer"])
            self.assertIn("elected\n", self.run_all([root / "consumer/consumer"], cwd=root))

    def run_all(self, command, **options):
        done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout


if __name__ == "__main__":
    unittest.main()
