"""client-go and Go judge kubeconfig files and proxies as the tables that the C++ tests read say. Needs Go and its modules."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "scripts"))
import go_tools

TABLES = (HERE.parent / "config" / "kubeconfig_cases.json", HERE.parent / "net" / "proxy_cases.json")


class Verdicts(unittest.TestCase):
    def judge(self, folder):
        """The judge's program."""
        try:
            go = go_tools.go_program("the judge of kubeconfig files")
        except go_tools.NoGo as reason:
            self.skipTest(str(reason))
        program = pathlib.Path(folder) / "judge"
        built = subprocess.run([go, "build", "-o", str(program), "./kubeconfig"], cwd=HERE / "peers", check=False,
                               env=go_tools.environment(CGO_ENABLED="0"), capture_output=True, text=True)
        if built.returncode != 0 and ("dial tcp" in built.stderr or "proxy" in built.stderr):
            self.skipTest("the modules cannot be fetched: " + built.stderr.strip())
        self.assertEqual(built.returncode, 0, built.stderr)
        return program

    def test_of_client_go_are_as_they_are_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            program = self.judge(folder)
            copies = [pathlib.Path(folder) / table.name for table in TABLES]
            for table, copy in zip(TABLES, copies):
                copy.write_bytes(table.read_bytes())
            subprocess.run([program, *map(str, copies)], check=True, capture_output=True)
            for table, copy in zip(TABLES, copies):
                kept, asked = (json.loads(file.read_text(encoding="utf-8")) for file in (table, copy))
                self.assertGreaterEqual(len(kept), 60)
                for case, now in zip(kept, asked, strict=True):
                    with self.subTest(table.name, case=case["name"]):
                        self.assertEqual(now, case)


if __name__ == "__main__":
    unittest.main()
