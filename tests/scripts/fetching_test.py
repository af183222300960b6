"""scripts/fetching.py refuses every file whose hash is not listed."""

import hashlib
import os
import pathlib
import sys
import tempfile
import unittest
import unittest.mock
import zipfile

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "scripts"))
import fetching


class Fetched(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name).resolve()
        patch = unittest.mock.patch.object(fetching, "ROOT", self.root)
        patch.start()
        self.addCleanup(patch.stop)


class Jars(Fetched):
    def setUp(self):
        super().setUp()
        self.jars = self.root / "jars"
        self.jars.mkdir()
        for name in ("a.jar", "b.jar"):
            (self.jars / name).write_bytes(name.encode())
        self.listed = self.root / "pom.sha256"
        self.listed.write_text("".join(f"{digest}  {name}\n" for name, digest in fetching.sums_of(self.jars).items()))

    def error(self):
        with self.assertRaises(fetching.ToolError) as caught:
            fetching.check_sums(self.jars, self.listed)
        return str(caught.exception)

    def test_what_is_listed_passes(self):
        fetching.check_sums(self.jars, self.listed)

    def test_a_changed_byte_is_named_with_both_hashes(self):
        (self.jars / "b.jar").write_bytes(b"b.jaR")
        self.assertIn(f"b.jar has SHA-256 {hashlib.sha256(b'b.jaR').hexdigest()}, "
                      f"not {hashlib.sha256(b'b.jar').hexdigest()}", self.error())

    def test_one_more_and_one_less_are_named(self):
        (self.jars / "b.jar").rename(self.jars / "c.jar")
        told = self.error()
        self.assertIn("b.jar is not there", told)
        self.assertIn("c.jar is not in the list", told)

    def test_what_was_refused_is_not_kept(self):
        self.listed.write_text("")
        home = self.root / "home"

        def build(fresh):
            (fresh / "evil.jar").write_bytes(b"?")
            fetching.check_sums(fresh, self.listed)

        for _ in range(2):
            with self.assertRaises(fetching.ToolError):
                fetching.cached(home, [self.listed], build)
        self.assertEqual([path.name for path in self.root.glob("home*")], ["home.lock"])


class Packages(Fetched):
    """pip compares the hashes; here the registry is a folder."""

    def setUp(self):
        super().setUp()
        self.wheel = self.root / "tiny-1-py3-none-any.whl"
        with zipfile.ZipFile(self.wheel, "w") as wheel:
            wheel.writestr("tiny.py", "")
            wheel.writestr("tiny-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1\n")
            wheel.writestr("tiny-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr("tiny-1.dist-info/RECORD", "")

    def make(self, requirement):
        requirements = self.root / "requirements.txt"
        requirements.write_text(requirement + "\n")
        folder = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.root), "PIP_CONFIG_FILE": os.devnull}
        with unittest.mock.patch.dict(os.environ, folder):
            fetching.make_python(pathlib.Path(tempfile.mkdtemp(dir=self.root)) / "home", requirements)

    def test_only_the_listed_file_is_installed(self):
        digest = hashlib.sha256(self.wheel.read_bytes()).hexdigest()
        self.make(f"tiny==1 --hash=sha256:{digest}")
        for other in (f"tiny==1 --hash=sha256:{digest[::-1]}", "tiny==1"):
            with self.assertRaises(fetching.ToolError, msg=other) as caught:
                self.make(other)
            self.assertIn("hash", str(caught.exception).lower())


if __name__ == "__main__":
    unittest.main()
