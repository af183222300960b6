"""scripts/dynamodb_local and the launcher give a real DynamoDB, for one command only, which ends with the command."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests" / "support")]
import dynamodb_server
from waiting import wait_until

SCRIPT = str(ROOT / "scripts" / "dynamodb_local")
SHOW = [sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ)))"]
PATIENCE = 30


def clean():
    return {k: v for k, v in os.environ.items() if k != dynamodb_server.ENDPOINT and not k.startswith("AWS_")}


def answers(endpoint):
    where = urllib.parse.urlsplit(endpoint)
    with socket.socket() as probe:
        return probe.connect_ex((where.hostname, where.port)) == 0


class Shared(unittest.TestCase):
    """The server that the launcher gave to this test."""

    def test_answers_as_dynamodb(self):
        endpoint = os.environ[dynamodb_server.ENDPOINT]
        table = f"server-test-{os.getpid()}"
        status, reply = dynamodb_server.call(endpoint, "CreateTable", {
            "TableName": table, "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": "key", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "key", "AttributeType": "S"}]})
        self.assertEqual(status, 200, reply)
        dynamodb_server.call(endpoint, "PutItem", {"TableName": table, "Item": {"key": {"S": "k"}, "n": {"N": "1"}}})
        status, reply = dynamodb_server.call(endpoint, "UpdateItem", {
            "TableName": table, "Key": {"key": {"S": "k"}}, "UpdateExpression": "SET n = :two",
            "ConditionExpression": "n = :two", "ExpressionAttributeValues": {":two": {"N": "2"}},
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD"})
        self.assertEqual((status, reply["__type"].split("#")[-1]), (400, "ConditionalCheckFailedException"))
        self.assertEqual(reply["Item"], {"key": {"S": "k"}, "n": {"N": "1"}})
        dynamodb_server.call(endpoint, "DeleteTable", {"TableName": table})

    def test_hides_the_users_settings(self):
        self.assertEqual(os.environ["AWS_ACCESS_KEY_ID"], "tenuretest")
        self.assertEqual(os.environ["AWS_CONFIG_FILE"], os.devnull)
        self.assertNotIn("AWS_PROFILE", os.environ)


class OwnServer(unittest.TestCase):
    """scripts/dynamodb_local."""

    def test_runs_a_command_and_ends_the_server_after_it(self):
        done = subprocess.run([SCRIPT, "--", *SHOW], env=dict(clean(), AWS_PROFILE="mine"), capture_output=True, text=True,
                              timeout=PATIENCE * 2)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        seen = json.loads(done.stdout)
        self.assertNotIn("AWS_PROFILE", seen)
        self.assertFalse(answers(seen[dynamodb_server.ENDPOINT]))

    def test_exits_with_the_commands_code(self):
        for command, code in ((["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -9 $$"], 137), (["/nowhere"], 127)):
            done = subprocess.run([SCRIPT, "--", *command], env=clean(), capture_output=True, timeout=PATIENCE * 2)
            self.assertEqual(done.returncode, code, command)

    def test_ends_with_a_killed_script(self):
        for number in (signal.SIGKILL, signal.SIGTERM):
            with subprocess.Popen([SCRIPT], env=clean(), stdout=subprocess.PIPE, text=True) as script:
                endpoint = script.stdout.readline().strip()
                self.assertTrue(answers(endpoint))
                script.send_signal(number)
                self.assertEqual(script.wait(PATIENCE), 0 if number == signal.SIGTERM else -number)
            wait_until(lambda at=endpoint: not answers(at), "the server's end")

    def test_uses_a_server_that_is_given(self):
        given = dict(clean(), AWS_PROFILE="mine", **{dynamodb_server.ENDPOINT: "http://127.0.0.1:1"})
        done = subprocess.run([SCRIPT, "--", *SHOW], env=given, capture_output=True, text=True, timeout=PATIENCE)
        seen = json.loads(done.stdout)
        self.assertEqual((seen[dynamodb_server.ENDPOINT], seen["AWS_PROFILE"]), ("http://127.0.0.1:1", "mine"))

    def script(self, *options, **environment):
        return subprocess.run([sys.executable, SCRIPT, *options], env={**clean(), **environment}, capture_output=True, text=True,
                              timeout=PATIENCE * 2)

    def test_says_what_to_do_if_nothing_can_be_fetched(self):
        with tempfile.TemporaryDirectory() as cache:
            done = self.script("--fetch", TENURE_CACHE=cache, PIP_NO_INDEX="1", PIP_FIND_LINKS="")
            self.assertEqual((done.returncode, os.listdir(cache)), (1, ["dynamodb-server.lock"]), done.stderr)
        self.assertRegex(done.stderr, r"^dynamodb_local: Fetching what tests/dynamodb/requirements.txt names failed:\n")
        self.assertIn("If https://pypi.org cannot be reached from here", done.stderr)
        self.assertIn(f"set {dynamodb_server.ENDPOINT} to", done.stderr)

    def test_dynoxide_is_not_built_without_cargo_nor_from_another_crate(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            fetched = folder / "registry" / "cache" / "index" / "dynoxide-rs-3.2.0.crate"
            fetched.parent.mkdir(parents=True)
            fetched.write_bytes(b"another one")
            cargo = folder / "cargo"
            cargo.write_text("#!/bin/sh\n[ $1 = --version ] && echo cargo $OF_CARGO\n[ $1 != install ]\n", encoding="utf-8")
            cargo.chmod(0o755)

            def build(path, version):
                return self.script("--build", TENURE_CACHE=f"{name}/cache", CARGO_HOME=name, OF_CARGO=version, PATH=path)

            for path, version in (("/nonexistent", ""), (f"{name}:{os.environ['PATH']}", "1.87.0 (99624be96 2025-05-06)")):
                done = build(path, version)
                self.assertEqual(done.returncode, 77, done.stderr)
                self.assertIn("cargo 1.88 or later is not there", done.stderr)
            done = build(f"{name}:{os.environ['PATH']}", "1.88.0")
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertRegex(done.stderr, r"dynoxide-rs-3.2.0.crate has SHA-256 [0-9a-f]{64}, not a2d1ffc8")
            self.assertFalse((folder / "cache" / "dynoxide").exists())

    def test_says_that_it_is_ministack_where_dynoxide_was_never_built(self):
        dynamodb_server.prepare()
        with tempfile.TemporaryDirectory() as cache:
            (pathlib.Path(cache) / "dynamodb-server").symlink_to(dynamodb_server.MINISTACK)
            done = self.script("--durable", "--", *SHOW, TENURE_CACHE=cache)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, "dynoxide is not there; scripts/dynamodb_local --build .* This is ministack, in memory")
        self.assertIn(dynamodb_server.ENDPOINT, json.loads(done.stdout))


class Https(unittest.TestCase):
    """A server like AWS's own: behind TLS."""

    def test_the_contract_suite_runs_against_a_server_with_tls(self):
        with tempfile.TemporaryDirectory() as name:
            certificate, key = f"{name}/certificate.pem", f"{name}/key.pem"
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                            "-days", "2", "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key,
                            "-out", certificate], check=True, capture_output=True)
            port = dynamodb_server.free_port()
            server = subprocess.Popen([*dynamodb_server.prepare(), "--port", str(port), "--certificate", certificate, "--key", key],
                                      preexec_fn=dynamodb_server.die_with_parent)
            try:
                wait_until(lambda: dynamodb_server.listens(server.pid, port), "the server's start")
                done = subprocess.run([os.environ["TENURE_CONTRACT_TEST"], "--gtest_brief=1", "--gtest_filter=*StoreRemoveContract.removes*:"
                                       "*StoreRemoveContract.tokens*"], capture_output=True, text=True,
                                      env={**os.environ, dynamodb_server.ENDPOINT: f"https://127.0.0.1:{port}",
                                           "AWS_CA_BUNDLE": certificate}, timeout=PATIENCE * 2, check=False)
            finally:
                server.kill()
                server.wait()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"2 tests.* ran")


class SharedByCtest(unittest.TestCase):
    """The launcher, under a ctest that this test starts."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.home = pathlib.Path(directory.name)
        self.endpoints = self.home / "endpoints"
        self.endpoints.touch()

    def ctest(self, *commands):
        launcher = f'"{sys.executable}" -B "{ROOT / "tests/servers/launcher.py"}" dynamodb "{self.home}" --'
        (self.home / "CTestTestfile.cmake").write_text("".join(
            f'add_test(case{n} {launcher} sh -c "{command}")\n' for n, command in enumerate(commands)))
        environment = dict(clean(), ENDPOINTS=str(self.endpoints))
        return subprocess.Popen(["ctest", "-j", "4", "-V"], cwd=self.home, env=environment, stdout=subprocess.PIPE, text=True)

    NOTE = f"echo ${dynamodb_server.ENDPOINT} >> $ENDPOINTS"

    def test_tests_of_one_run_share_a_server_that_ends_with_it(self):
        with self.ctest(*[self.NOTE] * 6) as ctest:
            output = ctest.communicate(timeout=PATIENCE * 2)[0]
        self.assertEqual(ctest.returncode, 0, output)
        endpoints = self.endpoints.read_text().split()
        self.assertEqual((len(endpoints), len(set(endpoints))), (6, 1))
        wait_until(lambda: not answers(endpoints[0]), "the server's end")
        wait_until(lambda: {p.name for p in self.home.glob("server*")} == set(), "the keeper's end")

    def test_the_server_ends_with_a_killed_run(self):
        with self.ctest(self.NOTE + " && exec sleep 20") as ctest:
            wait_until(lambda: self.endpoints.read_text().endswith("\n"), "the test's start")
            endpoint = self.endpoints.read_text().strip()
            self.assertTrue(answers(endpoint))
            ctest.kill()
            wait_until(lambda: not answers(endpoint), "the server's end")


if __name__ == "__main__":
    unittest.main()
