"""boto3 reads the rows that `tenure` wrote, and finds the attributes and types of docs/reference/dynamodb-record.md, no
more and no fewer.

The document has one table for each kind of row, below a heading that says "lock" or "counter". Its first column names
the attributes, the second has their types. The third says when an attribute is written: if it begins with "release",
the attribute is in released rows; if it depends on the program or on an option, it may be absent; every other must be
there.
"""

import os
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import peers
import tenure_program

try:
    import boto3
except ImportError:
    # Starts again, with the packages of requirements.txt.
    os.execv(peers.python(), [peers.python(), "-B", *sys.argv])

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "reference" / "dynamodb-record.md"


def presence(written):
    if written.startswith("release"):
        return "released"
    return "optional" if re.search(r"\bif (the program|configured)|^only\b", written) else "always"


def documented(text):
    """{"lock": {name: (type, "always", "released" or "optional")}, "counter": {...}}"""
    kinds, kind, columns = {}, None, None
    for line in text.splitlines():
        if line.startswith("#"):
            kind = next((k for k in ("counter", "lock") if k in line.lower()), None)
        if not line.startswith("|"):
            columns = None
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if columns is None:
            columns = cells
        elif kind and columns[:2] == ["attribute", "type"]:
            for name in re.findall(r"`([^`]+)`", cells[0]):
                kinds.setdefault(kind, {})[name] = (cells[1], presence(cells[2]))
    if "counter" in kinds:
        kinds["counter"]["key"] = ("S", "always")  # the document's text defines it: the lease's name and #fence
    return kinds


def types_of(item):
    return {name: next(iter(value)) for name, value in item.items()}


class Boto3ReadsRows(tenure_program.TableTest):
    def setUp(self):
        super().setUp()
        self.document = documented(DOCUMENT.read_text(encoding="utf-8"))
        self.client = boto3.client("dynamodb", endpoint_url=tenure_program.the_endpoint())

    def read(self, key):
        return self.client.get_item(TableName=self.table, Key={"key": {"S": key}}, ConsistentRead=True)["Item"]

    def check(self, kind, item, state):
        """Every attribute is documented with its type; those that must be there in this state are there."""
        table = self.document[kind]
        seen = types_of(item)
        self.assertEqual(seen, {name: table.get(name, ("undocumented",))[0] for name in seen})
        needed = {name for name, (_, present) in table.items() if present in ("always", state)}
        self.assertEqual(needed - set(seen), set())

    def test_finds_the_document(self):
        self.assertEqual(set(self.document), {"lock", "counter"})
        self.assertEqual(self.document["lock"]["leaseDuration"][0], "S")

    def test_reads_a_held_lock_and_its_counter(self):
        process, token = self.start_holding()
        item = self.read(self.group)
        self.check("lock", item, "held")
        self.assertNotIn("isReleased", item)
        self.assertEqual(item["leaseDuration"]["S"], str(tenure_program.LEASE_MS))
        self.assertRegex(item["recordVersionNumber"]["S"], r"^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
        counter = self.read(self.group + "#fence")
        self.check("counter", counter, "released")
        self.assertIn({"N": str(token)}, counter.values())
        process.communicate("\n")

    def test_reads_a_released_lock(self):
        self.win_once()
        item = self.read(self.group)
        self.check("lock", item, "released")
        self.assertEqual(item["isReleased"], {"S": "1"})

    def test_the_resource_interface_reads_them_too(self):
        self.win_once()
        table = boto3.resource("dynamodb", endpoint_url=tenure_program.the_endpoint()).Table(self.table)
        rows = {row["key"]: row for row in table.scan(ConsistentRead=True)["Items"]}
        self.assertEqual(set(rows), {self.group, self.group + "#fence"})
        self.assertEqual({row["isReleased"] for row in rows.values()}, {"1"})


if __name__ == "__main__":
    unittest.main()
