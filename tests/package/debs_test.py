"""The packages of scripts/debs, in bare systems of both releases: built twice, judged by lintian, installed, used, removed."""

import hashlib
import os
import pathlib
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# What a user does, in a bare system. /debs has the packages, /consumer a project of somebody else.
USE = r"""
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends /debs/tenure_*.deb /debs/libtenure0*.deb >/dev/null
tenure --version
mkdir /try && cd /try
printf 'group: packaged\nstore: { type: sqlite, path: ./lease.db }\n' >group.yaml
tenure run --once --config group.yaml -- sh -c 'echo "leads with term $TENURE_FENCING_TOKEN"'

apt-get install -y -qq --no-install-recommends /debs/libtenure-dev_*.deb g++ cmake make pkg-config >/dev/null
cmake -S /consumer -B /try/consumer -DUSE_INSTALLED=ON >/dev/null
cmake --build /try/consumer >/dev/null
/try/consumer/consumer
g++ /consumer/main.cpp -o /try/by_pkg_config $(pkg-config --cflags --libs tenure-election tenure-store_memory)
/try/by_pkg_config

dpkg -L tenure libtenure0.1 libtenure-dev | sort -u | while read -r file; do [ -d "$file" ] || echo "$file"; done >/files
apt-get purge -y -qq tenure libtenure0.1 libtenure-dev >/dev/null
echo "$(wc -l </files) files were installed"
while read -r file; do [ ! -e "$file" ] || echo "is left: $file"; done </files
find / -xdev -name '*tenure*' -not -path '/try/*' -not -path '/proc/*' | sed 's/^/is left: /'
"""


def digests(directory):
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(directory.glob("*.deb"))}


class Debs(unittest.TestCase):
    def judge(self, release):
        environment = {**os.environ, "TENURE_DEBIAN_CONTACT": "Tester <tester@debian.org>"}
        built = ROOT / "build" / "debs" / release
        subprocess.run([ROOT / "scripts" / "debs", release], check=True, env=environment)
        first = digests(built)
        self.assertEqual(len(first), 3, first)
        subprocess.run([ROOT / "scripts" / "debs", release], check=True, env=environment)
        self.assertEqual(digests(built), first, "two builds of one tree differ")

        used = subprocess.run(
            [ROOT / "scripts" / "chroot", release, "--bind", f"{built}:/debs",
             "--bind", f"{ROOT / 'tests' / 'package' / 'consumer'}:/consumer", "--", "bash", "-euo", "pipefail", "-c", USE],
            capture_output=True, text=True, check=False)
        self.assertEqual(used.returncode, 0, used.stdout + used.stderr)
        self.assertRegex(used.stdout, r"leads with term 1\n")
        self.assertEqual(used.stdout.count(": term 1 on "), 2, used.stdout)  # once by CMake, once by pkg-config
        self.assertRegex(used.stdout, r"\b[1-9]\d\d? files were installed")
        self.assertNotIn("is left", used.stdout)

    def test_on_bookworm(self):
        self.judge("bookworm")

    def test_on_trixie(self):
        self.judge("trixie")


if __name__ == "__main__":
    unittest.main()
