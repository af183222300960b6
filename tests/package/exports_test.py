"""What one library of tenure takes from another is marked TENURE_API, without which shared libraries do not link."""

import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["TENURE_BUILD"])
FOLDERS = ("lockcore", "election", "adapters", "config", "cli")
NEVER_SHARED = {"libtenure_cli.a", "libtenure_gateway_proxy.a"}
MARKED = re.compile(r"\b(?:class|struct) TENURE_API (\w+)|\bTENURE_API\b[^;{]*?(\w+|operator\W+)\s*\(")


def marked_names():
    """Of classes and functions, in public and internal headers."""
    headers = subprocess.run(["git", "ls-files", *(f"{folder}/*.hpp" for folder in FOLDERS)], cwd=ROOT, check=True,
                             capture_output=True, text=True).stdout.split()
    return {one or other for header in headers for one, other in MARKED.findall((ROOT / header).read_text(encoding="utf-8"))}


def symbols(archive, *options):
    """Of tenure, defined or needed by an archive: mangled and readable."""
    lines = subprocess.run(["nm", "--format=just-symbols", *options, archive], check=True, capture_output=True, text=True).stdout
    names = [line for line in lines.splitlines() if "6tenure" in line]
    readable = subprocess.run(["c++filt"], input="\n".join(names), check=True, capture_output=True, text=True).stdout
    return dict(zip(names, readable.splitlines()))


class Exports(unittest.TestCase):
    def test_what_another_library_takes_is_marked(self):
        archives = [path for folder in FOLDERS for path in (BUILD / folder).rglob("libtenure_*.a")]
        self.assertGreater(len(archives), 10)
        owner = {name: path for path in archives if path.name not in NEVER_SHARED
                 for name in symbols(path, "--defined-only", "--extern-only")}
        marked, taken, missing = marked_names(), 0, set()
        for path in archives:
            for name, readable in symbols(path, "--undefined-only").items():
                if owner.get(name, path) == path:
                    continue
                taken += 1
                words = set(re.findall(r"(?:^|::|\s)(~?\w+)", readable.split("(")[0].replace("[abi:cxx11]", "")))
                if not words & marked:
                    missing.add(f"{readable}, of {owner[name].name} in {path.name}")
        self.assertGreater(taken, 500)
        self.assertEqual(sorted(missing), [], "mark the declaration with TENURE_API")


if __name__ == "__main__":
    unittest.main()
