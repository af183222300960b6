"""The zones of the system, as they are and as zic -b slim makes them. The judge is Python's zoneinfo.

TENURE_ZONE_INSTANTS=N besides compares N random instants of each zone.
"""

import array
import datetime
import os
import pathlib
import random
import shutil
import struct
import subprocess
import tempfile
import unittest
import zoneinfo

PROGRAM = os.environ["TENURE_ZONE_OFFSETS"]
RANDOM_INSTANTS = int(os.environ.get("TENURE_ZONE_INSTANTS", "0"))
SYSTEM = pathlib.Path("/usr/share/zoneinfo")
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
DAY = 86400
# What datetime can show in every zone.
FIRST, LAST = -62135596800 + 2 * DAY, 253402300799 - 2 * DAY
# Years in which the changes of a rule are looked for: leap years, centuries, and the end of what files list.
RULED_YEARS = (*range(2036, 2042), 2099, 2100, 2101, 2104, 2399, 2400, 2401, 5000, 9998)


def offset(zone, instant):
    return int((EPOCH + datetime.timedelta(seconds=instant)).astimezone(zone).utcoffset().total_seconds())


def start_of(year):
    return int((datetime.datetime(year, 1, 1, tzinfo=datetime.timezone.utc) - EPOCH).total_seconds())


def listed_changes(file):
    """Of the last block of a TZif file."""
    content, times = file.read_bytes(), "i"
    if content[4:5] >= b"2":
        uts, standards, leaps, changes, types, letters = struct.unpack(">6I", content[20:44])
        content = content[44 + changes * 5 + types * 6 + letters + leaps * 8 + standards + uts:]
        times = "q"
    count, = struct.unpack(">I", content[32:36])
    return struct.unpack_from(f">{count}{times}", content, 44)


def ruled_changes(zone):
    for year in RULED_YEARS:
        steps = range(start_of(year), start_of(year + 1) + 1, 10 * DAY)
        offsets = [offset(zone, step) for step in steps]
        for step, before, after in zip(steps, offsets, offsets[1:]):
            if before == after:
                continue
            low, high = step, step + 10 * DAY
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if offset(zone, middle) == before else (low, middle)
            yield high


class Zones(unittest.TestCase):
    def setUp(self):
        self.addCleanup(zoneinfo.reset_tzpath)

    def ask(self, program, name, instants):
        program.stdin.write(f"{name} {len(instants)}\n".encode() + array.array("q", instants).tobytes())
        program.stdin.flush()
        answer = array.array("q")
        answer.frombytes(program.stdout.read(len(instants) * 24))
        self.assertEqual(len(answer), 3 * len(instants), name)
        return list(zip(answer[0::3], answer[1::3], answer[2::3]))

    def compare(self, folder):
        zoneinfo.reset_tzpath([folder])
        names = sorted(name for name in zoneinfo.available_timezones() if not name.startswith("right/"))  # leap seconds
        self.assertGreater(len(names), 400)
        environment = {**os.environ, "TZDIR": str(folder)}
        with subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as program:
            self.addCleanup(program.kill)
            compared = sum(self.compare_zone(program, folder, name) for name in names)
            program.stdin.close()
            self.assertEqual(program.wait(), 0)
        print(f"{folder}: {len(names)} zones, {compared} instants")

    def compare_zone(self, program, folder, name):
        zone = zoneinfo.ZoneInfo.no_cache(name)
        changes = {*listed_changes(folder / name), *ruled_changes(zone)}
        instants = {change + beside for change in changes for beside in (-1, 0, 1)} | {0, start_of(2024), FIRST, LAST}
        instants = sorted(instant for instant in instants if FIRST <= instant <= LAST)
        for instant, (found, begin, end) in zip(instants, self.ask(program, name, instants)):
            self.assertEqual(found, offset(zone, instant), f"{name} at {instant}")
            self.assertTrue(begin <= instant < end, f"{name} at {instant}: {begin} to {end}")
            for edge, outside in ((begin, begin - 1), (end, end)):
                if FIRST < edge < LAST:
                    self.assertNotEqual(found, offset(zone, outside), f"{name} at {instant}: {begin} to {end}")
        return len(instants) + self.compare_random(program, name, zone)

    def compare_random(self, program, name, zone):
        draw = random.Random(name)
        instants = [draw.randrange(start_of(1850), start_of(2150)) for _ in range(RANDOM_INSTANTS)]
        for instant, (found, _, _) in zip(instants, self.ask(program, name, instants)):
            if found != offset(zone, instant):
                self.fail(f"{name} at {instant}: {found}")
        return len(instants)

    def test_every_zone_of_the_system_at_and_beside_every_change(self):
        self.compare(SYSTEM)

    def test_every_zone_of_slim_files_at_and_beside_every_change(self):
        zic, source = shutil.which("zic", path=os.environ["PATH"] + ":/usr/sbin"), SYSTEM / "tzdata.zi"
        if not zic or not source.exists():
            self.skipTest("zic or the source of the zones is not installed")
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([zic, "-b", "slim", "-d", folder, source], check=True)
            self.compare(pathlib.Path(folder))


if __name__ == "__main__":
    unittest.main()
