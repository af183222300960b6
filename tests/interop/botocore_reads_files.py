"""botocore reads AWS's shared files of tests/aws/shared_files/cases.json as it is written there under "botocore".

The tests of lockcore/aws compare what tenure reads with these verdicts, without a network. This one asks botocore itself.
TENURE_UPDATE=1 makes it write the verdicts. Its second half invents files, and has the same test of lockcore/aws compare
what tenure reads in them: RANDOM_FILES=SEED:COUNT for another seed.
"""

import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import types
import unittest
import urllib.parse
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import peers

try:
    import botocore.awsrequest
    import botocore.httpsession
    import botocore.loaders
    import botocore.session
    import botocore.utils
except ImportError:
    # Starts again, with the packages of requirements.txt.
    os.execv(peers.python(), [peers.python(), "-B", *sys.argv])

LOADER = botocore.loaders.create_loader()  # one for all sessions: it reads large files
TABLE = pathlib.Path(__file__).resolve().parents[1] / "aws" / "shared_files" / "cases.json"


def found(profile=None):
    """What a client of DynamoDB would use, by the environment of this process."""
    session = botocore.session.Session(profile=profile)
    session.register_component("data_loader", LOADER)
    session.register("before-send.sts", answerOfSts)
    client = session.create_client("dynamodb")
    credentials = session.get_credentials()
    frozen = credentials.get_frozen_credentials() if credentials else None
    return {"key": frozen and frozen.access_key, "token": frozen and frozen.token, "region": client.meta.region_name,
            "endpoint": asked(client)}


def asked(client):
    """Where a request goes. client.meta.endpoint_url comes from an older list, which knows fewer partitions."""
    urls = []

    def answer(params, **_):
        urls.append(params["url"])
        return types.SimpleNamespace(status_code=200), {}

    client.meta.events.register("before-call", answer)
    client.list_tables()
    return urls[0].removesuffix("/")


def answerOfSts(request, **_):
    """A role's access key says what STS was asked for. SharedFilesTest in tests/aws gives the same one."""
    asked = dict(urllib.parse.parse_qsl(request.body.decode() if isinstance(request.body, bytes) else request.body))
    if asked["RoleSessionName"].startswith("botocore-session-"):
        asked["RoleSessionName"] = "(generated)"
    names = ("Action", "RoleArn", "RoleSessionName", "ExternalId", "DurationSeconds", "WebIdentityToken")
    key = " ".join(asked[name].removeprefix("arn:aws:iam::123456789012:role/") for name in names if name in asked)
    signer = re.search("Credential=([^/]*)/", str(request.headers.get("Authorization")))
    key += f" by {signer[1]}" if signer else ""
    action = asked["Action"]
    text = (f"<{action}Response><{action}Result><Credentials><AccessKeyId>{key}</AccessKeyId>"
            "<SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>"
            f"<Expiration>2100-01-01T00:00:00Z</Expiration></Credentials></{action}Result></{action}Response>")
    raw = types.SimpleNamespace(stream=lambda: [text.encode()])
    return botocore.awsrequest.AWSResponse(request.url, 200, {}, raw)


class Inventor:
    """Shared files as people could write them. Mostly botocore reads them; no key goes on in a further line, because
    tenure refuses such keys."""

    profiles = ("default", "p", "my prod")

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.count = 0

    def one(self, *choices):
        return self.random.choice(choices)

    def often(self, share):
        return self.random.random() < share

    def blank(self):
        return self.one("", "", "", " ", "  ", "\t", "\xa0")

    def line(self, name, value):
        name = self.one(name, name, name.upper(), name.title())
        return name + self.blank() + self.one("=", "=", ":") + self.blank() + value + self.blank()

    def block(self, name, base, inner):
        indent = base + self.one(" ", "  ", "\t", "\t ", "\xa0")
        extra = self.random.sample(["other = 1", "# note", "", "x=y = z", f"{indent}region = us-west-1"], 2)
        lines = [inner, *extra]
        self.random.shuffle(lines)
        return [base + name + self.blank() + self.one("=", ":") + self.blank(), *(indent + line for line in lines)]

    def header(self, kind, name):
        if kind == "profile" and name == "default" and self.often(0.8):
            kind = ""
        if kind and " " in name:
            name = self.one(f"'{name}'", f'"{name}"', name.replace(" ", "\\ "))
        elif kind:
            name = self.one(name, name, f"'{name}'", f'"{name}"', f"{name[0]}''{name[1:]}")
        inside = kind + self.one(" ", " ", "\t", "  ") + name + self.one("", "", " ", "\t") if kind else name
        return f"[{inside}]" + self.one("", "", " ", " # note", " sandbox", "; x", "x]")

    def body(self, inCredentials):
        self.count += 1
        n = self.count
        values = {"aws_access_key_id": f"AKIA{n}", "aws_secret_access_key": self.one("s", "s/+=", "s:s"),
                  "aws_session_token": f"t{n}", "aws_security_token": f"old{n}", "endpoint_url": f"http://h{n}:8000",
                  "region": self.one("eu-west-1", "ap-south-1"), "services": self.one("s", "a b"), "s3": "",
                  "output": self.one("json", "a # b", "[x]", "x = y", "a;b"),
                  "ignore_configured_endpoint_urls": self.one("true", "false", "TRUE", "1")}
        share = {"aws_access_key_id": 0.9 if inCredentials else 0.4, "ignore_configured_endpoint_urls": 0.1}
        names = [name for name in values if name != "aws_secret_access_key" and self.often(share.get(name, 0.25))]
        if "aws_access_key_id" in names:
            names.append("aws_secret_access_key")
        self.random.shuffle(names)
        base = self.one("", "", "", " ", "\t", "    ", "\xa0 ")
        for name in names:
            yield from self.block(name, base, "endpoint_url = http://no:1") if name == "s3" else [
                base + self.line(name, values[name])]
            if name == "output" and self.often(0.4):
                yield base + self.one(" ", "\t") + self.one("more", "endpoint_url = http://no:1", "[profile p]")
            if self.often(0.15):
                yield self.one("", "# note", "; note", "   # endpoint_url = http://no:1", "\t")

    def file(self, inCredentials):
        sections = [("profile" if not inCredentials else "", name) for name in self.profiles if self.often(0.8)]
        sections += [("services", name) for name in ("s", "a b") if not inCredentials]
        if self.often(0.1):
            sections.append(("", "DEFAULT"))
        self.random.shuffle(sections)
        lines = [self.one("", "# note", ";")]
        for kind, name in sections:
            lines.append(self.header(kind, name))
            if kind == "services":
                self.count += 1
                base = self.one("", "", " ")
                for service in self.random.sample(["dynamodb", "s3", "sts"], 2):
                    lines += self.block(service, base, f"endpoint_url = http://{service}{self.count}:80")
            else:
                lines += self.body(inCredentials)
        return self.one("\n", "\n", "\r\n", "\r").join([*lines, ""])

    def case(self, name):
        environment = {"AWS_DEFAULT_REGION": "us-east-2"} if self.often(0.9) else {}
        if self.often(0.5):
            environment[self.one("AWS_PROFILE", "AWS_DEFAULT_PROFILE")] = self.one(*self.profiles)
        case = {"name": name, "environment": environment, "config": self.file(False)}
        return {**case, "credentials": self.file(True)} if self.often(0.7) else case


def verdict(case):
    with tempfile.TemporaryDirectory() as home:
        (pathlib.Path(home) / ".aws").mkdir()
        files = {f".aws/{name}": case[name] for name in ("config", "credentials") if name in case}
        for name, text in {**files, **case.get("files", {})}.items():
            (pathlib.Path(home) / name).write_bytes(text.replace("{home}", home).encode())
        given = {name: value.replace("{home}", home) for name, value in case.get("environment", {}).items()}
        environment = {"HOME": home, "AWS_EC2_METADATA_DISABLED": "true", **given}
        with mock.patch.dict(os.environ, environment, clear=True):
            try:
                return found(case.get("profile"))
            except Exception as rejection:  # of many kinds, some of them mere accidents
                return {"refused": type(rejection).__name__}


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

    def test_as_tenure_does_whatever_is_in_them(self):
        seed, count = map(int, os.environ.get("RANDOM_FILES", "48:200").split(":"))
        inventor = Inventor(seed)
        cases = [inventor.case(f"{seed}, {number}") for number in range(count)]
        read = [case for case in ({**case, "botocore": verdict(case)} for case in cases)
                if "refused" not in case["botocore"]]
        self.assertGreater(len(read), count // 2, "botocore refuses most of the files, which say little then")
        with tempfile.TemporaryDirectory() as folder:
            table = pathlib.Path(folder) / "cases.json"
            table.write_text(json.dumps(read), encoding="utf-8")
            ours = subprocess.run([os.environ["AWS_TEST"], "--gtest_filter=SharedFilesTest.*"], check=False,
                                  env={**os.environ, "SHARED_FILES_TABLE": str(table)}, capture_output=True, text=True)
        self.assertEqual(ours.returncode, 0, ours.stdout)
        self.assertIn("[  PASSED  ] 1 test.", ours.stdout)


class BotocoreTakesProxies(unittest.TestCase):
    def test_proxies_as_the_table_says(self):
        """Of tests/net/proxy_cases.json, which the tests of lockcore/net read."""
        for case in json.loads((TABLE.parents[2] / "net" / "proxy_cases.json").read_text(encoding="utf-8")):
            with self.subTest(case["name"]), mock.patch.dict(os.environ, case["environment"], clear=True):
                proxies = botocore.httpsession.ProxyConfiguration(botocore.utils.get_environ_proxies(case["url"]))
                self.assertEqual(proxies.proxy_url_for(case["url"]) or "", case["botocore"])


if __name__ == "__main__":
    unittest.main()
