"""Lines of crontab(5) as `tenure check` reads them. The judge is Debian's crontab(1): its verdicts are stored, and asked for anew where it is there."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["TENURE_PROGRAM"]

# Read alike.
TAKEN = """
0 3 * * *|*/5 * * * *|0,30 8-18/2 * * 1-5|5-10 * * * *|0 0 1 1 *|0 0 29 2 *|0 0 * * 7|0 0 * * 0|0 0 * * sun|0 0 * * SUN|0 0 * * Sun
0 0 1 jan *|0 0 1 JAN-MAR *|0 0 * * mon-fri|0 0 * * sat-sun|0 0 * * 5-7|0 0 * * 0-7|0 0 * * 0-7/2|*/60 * * * *|*/59 * * * *
1-59/2 * * * *|1,2,3 * * * *|\t0 0 * * *| * * * * *|*  *\t* * *|00 03 * * *|007 3 * * *|*/5,7 * * * *|*,5 * * * *|7,*/5 * * * *
1-10/3,20-30/5 * * * *|@hourly|@daily|@midnight|@weekly|@monthly|@yearly|@annually|0 0 * * mon,wed,FRI|0 0 * * 1,mon|0 0 */31 * *
0 0 1-31/31 * *|0 */23 * * *|0 */24 * * *|1-1 * * * *|0 0 1 feb,apr *|0 0 1 2-feb *|0 0 * * tue-4|*/007 * * * *|5-007 * * * *
"""
REFUSED = """
0 0 * * sunday|0 0 1 january *|*/0 * * * *|0/5 * * * *|60 * * * *|0 24 * * *|0 0 0 * *|0 0 32 * *|0 0 * 0 *|0 0 * 13 *|0 0 * * 8
-1 * * * *|1- * * * *|1,,2 * * * *|,1 * * * *|1, * * * *|* * * *|+5 3 * * *|0x10 3 * * *|* 3 ? * *|0 0 L * *|0 0 15W * *
0 0 * * 5L|H H * * *|@every 5m|@ daily|@
"""
# crontab takes them, and reads less than is there or runs the line never or otherwise than it seems to say.
STRICTER = {
    "0 0 31 4 *": "never matches", "0 0 30 2 *": "never matches", "0 0 * * fri-mon": "runs backwards", "10-5 * * * *": "runs backwards",
    "59-0 * * * *": "runs backwards", "*/61 * * * *": "the step must be", "0 0 */32 * *": "the step must be", "0 */25 * * *": "the step must be",
    "2-2/2 * * * *": "the step must be", "*/5/2 * * * *": "the step must be", "1.5 * * * *": "allowed are", "0 0 * * 5#3": "allowed are",
    "0~30 * * * *": "allowed are", "*-5 * * * *": "allowed are", "** * * * *": "allowed are", "@reboot": "allowed are"}
MORE_LENIENT = ("@Daily", "@DAILY")


def lines_of(text):
    return [line for row in text.strip("\n").split("\n") for line in row.split("|")]


ROWS = ({line: (True, "") for line in lines_of(TAKEN)} | {line: (False, "schedule: ") for line in lines_of(REFUSED)} |
        {line: (True, why) for line, why in STRICTER.items()} | {line: (False, "") for line in MORE_LENIENT})


class CrontabLines(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def test_are_read_as_crontab_reads_them_or_refused_with_the_reason(self):
        self.assertGreaterEqual(len(ROWS), 60)
        for line, (_, why) in ROWS.items():
            with self.subTest(line):
                file = self.directory / "group.yaml"
                file.write_text(f"group: g\nstore: {{ type: sqlite, path: ./g.db }}\njobs: {{ j: {{ schedule: {json.dumps(line)} }} }}\n")
                found = subprocess.run([PROGRAM, "check", file], capture_output=True, text=True, check=False)
                self.assertEqual(found.returncode, 2 if why else 0, found.stderr)
                self.assertIn(why, found.stderr)
                self.assertEqual(bool(re.search(r":3:\d+: jobs\.j\.schedule: ", found.stderr)), bool(why), found.stderr)

    def test_crontab_judges_as_is_stored(self):
        if os.geteuid() != 0 or not shutil.which("crontab"):
            self.skipTest("it needs root and crontab")
        for number, line in enumerate(ROWS):
            (self.directory / str(number)).write_text(f"{line} /bin/true\n")
        # In a place of this namespace alone.
        script = ('mount -t tmpfs none /var/spool/cron && mkdir -m 1730 /var/spool/cron/crontabs && cd "$1" && '
                  'for i in $(seq 0 $(($2 - 1))); do crontab $i >/dev/null 2>&1 && echo taken || echo refused; done')
        told = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", str(self.directory), str(len(ROWS))],
                              capture_output=True, text=True, check=True).stdout.split()
        judged = dict(zip(ROWS, told, strict=True))
        self.assertEqual(judged, {line: "taken" if taken else "refused" for line, (taken, _) in ROWS.items()})


if __name__ == "__main__":
    unittest.main()
