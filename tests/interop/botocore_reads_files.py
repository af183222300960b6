"""botocore reads AWS's shared files of tests/aws/shared_files/cases.json as it is written there under "botocore".

The tests of lockcore/aws compare what tenure reads with these verdicts, without a network. This one asks botocore itself.
TENURE_UPDATE=1 makes it write the verdicts.
"""

import json
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import peers

try:
    import botocore.session
except ImportError:
    # Starts again, with the packages of requirements.txt.
    os.execv(peers.python(), [peers.python(), "-B", *sys.argv])

TABLE = pathlib.Path(__file__).resolve().parents[1] / "aws" / "shared_files" / "cases.json"


def found():
    """What a client of DynamoDB would use, by the environment of this process."""
    session = botocore.session.Session()
    client = session.create_client("dynamodb")
    credentials = session.get_credentials()
    frozen = credentials.get_frozen_credentials() if credentials else None
    return {"key": frozen and frozen.access_key, "token": frozen and frozen.token, "region": client.meta.region_name,
            "endpoint": client.meta.endpoint_url}


def verdict(case):
    with tempfile.TemporaryDirectory() as home:
        (pathlib.Path(home) / ".aws").mkdir()
        for name in ("config", "credentials"):
            if name in case:
                (pathlib.Path(home) / ".aws" / name).write_bytes(case[name].encode())
        environment = {"HOME": home, "AWS_EC2_METADATA_DISABLED": "true", **case.get("environment", {})}
        with mock.patch.dict(os.environ, environment, clear=True):
            try:
                return found()
            except Exception as refusal:  # of many kinds, some of them mere accidents
                return {"refused": type(refusal).__name__}


class BotocoreReadsFiles(unittest.TestCase):
    def test_as_the_table_says(self):
        cases = json.loads(TABLE.read_text(encoding="utf-8"))
        self.assertGreaterEqual(len(cases), 60)
        now = [{**case, "botocore": verdict(case)} for case in cases]
        if os.environ.get("TENURE_UPDATE") == "1":
            TABLE.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")
            return
        for case, asked in zip(cases, now):
            with self.subTest(case["name"]):
                self.assertEqual(asked["botocore"], case.get("botocore"))


if __name__ == "__main__":
    unittest.main()
