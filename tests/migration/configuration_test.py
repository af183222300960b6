"""Rows about options, names, defaults and the program's words: how `tenure check` and `tenure run` handle a file."""

import http.server
import json
import os
import pathlib
import re
import sys
import threading
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import proc
from row_case import RowTest, the_endpoint

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECRET = "wJalrXUtnFEMI-this-is-the-secret-key-of-the-test"
HOLDS = "group: g\nstore: { type: sqlite, path: ./g.db }\n"


class Listener(http.server.BaseHTTPRequestHandler):
    """Refuses every request, and records the key and the region of its signature."""

    signatures = []

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.signatures.append(re.search(r"Credential=([^/]+)/\d+/([^/]+)/dynamodb/aws4_request",
                                         self.headers["Authorization"]).groups())
        body = b'{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"no"}'
        self.send_response(400)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Configuration(RowTest):
    def setUp(self):
        super().setUp()
        # Neither the user's settings nor those of this run's server.
        self.bare = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        self.bare |= {"HOME": str(self.directory), "AWS_EC2_METADATA_DISABLED": "true"}

    def refused(self, text, *words):
        done = self.check(text)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_a_lease_that_makes_no_sense_is_refused_with_line_and_key(self):
        for value, says in (("0s", "allowed is 100ms to 24h"), ("-1s", "lease.duration"), ("-5ms", "lease.duration"),
                            ("99999h", "allowed is 100ms to 24h"), ("2.5ms", "allowed is"), ("0.5ms", "millisecond"),
                            ("99999999999999999999h", "lease.duration")):
            with self.subTest(value=value):
                self.refused(f"{HOLDS}lease:\n  duration: {value}\n", ":4:13: lease.duration: ", says)

    def test_without_a_name_there_is_no_lock(self):
        self.refused("store: { type: sqlite, path: ./g.db }\n", "group", ":1:")

    def test_no_name_is_made_up_for_a_bad_one(self):
        for name in ('""', '" "', '"a\\0b"', '"' + "x" * 2049 + '"', "~"):
            with self.subTest(name=name[:9]):
                self.refused(f"group: {name}\nstore: {{ type: sqlite, path: ./g.db }}\n", ": group: ")
        self.assertEqual([], list(self.directory.glob("*.db")))

    def test_defaults_are_printed(self):
        done = self.check(HOLDS, "--effective")
        self.assertIn("duration: 10s", done.stdout)
        self.assertIn("# heartbeat: 3333ms  (default: a third of lease.duration)", done.stdout)

    def test_a_heartbeat_as_long_as_the_lease_is_refused(self):
        for heartbeat in ("30s", "15s", "14s"):
            self.refused(f"{HOLDS}lease: {{ duration: 30s, heartbeat: {heartbeat} }}\n", "lease.heartbeat: ", "lease duration of 30000ms")
        self.assertEqual(self.check(f"{HOLDS}lease: {{ duration: 30s, heartbeat: 10s }}\n").returncode, 0)

    def test_a_variable_with_a_default(self):
        text = f'group: g\nstore: {{ type: dynamodb, table: "${{T:-locks}}", endpoint: "{the_endpoint()}" }}\n'
        config = self.file(text)
        for environment, table in (({}, "locks"), ({"T": "mine"}, "mine"), ({"T": ""}, "locks")):
            done = self.tenure("check", "--effective", "--config", config, env=self.bare | environment)
            self.assertIn(f"table: {table}\n", done.stdout, done.stderr)

    def test_a_store_without_a_table_is_refused(self):
        self.refused("group: g\nstore: { type: dynamodb }\n", "store.table")

    def test_a_time_has_a_unit(self):
        self.refused(f"{HOLDS}lease: {{ duration: 10 }}\n", 'lease.duration: "10" has no unit', "10s")
        same = {self.check(f"{HOLDS}lease: {{ duration: {value} }}\n", "--effective").stdout for value in ("5s", "5000ms")}
        self.assertEqual(len(same), 1, same)
        self.assertIn("duration: 5s", same.pop())

    def test_the_time_of_the_warning_is_named_and_bounded(self):
        for lease in ("{ duration: 10s, stop_margin: 6s }", "{ duration: 10s, heartbeat: 4s, stop_margin: 3s }",
                      "{ duration: 10s, clock_margin: 6s }"):
            self.refused(f"{HOLDS}lease: {lease}\n", ": lease.")
        help_of_key = (ROOT / "config" / "reference.yaml").read_text(encoding="utf-8")
        self.assertIn("the work is asked to stop this long before the leader's validity ends",
                      re.sub(r"\s*\n\s*# ", " ", help_of_key))

    def test_options_are_printable_and_hold_no_secret(self):
        done = self.tenure("check", "--effective", "--config", self.yaml(), env=self.bare | {
            "AWS_ACCESS_KEY_ID": "AKIAROWS", "AWS_SECRET_ACCESS_KEY": SECRET})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"table: {self.table}", done.stdout)
        self.assertNotIn(SECRET, done.stdout + done.stderr)
        self.assertNotIn("AKIAROWS", done.stdout + done.stderr)

    def test_no_output_shows_a_secret_not_even_a_trace(self):
        environment = self.bare | {"AWS_ACCESS_KEY_ID": "AKIAROWS", "AWS_SECRET_ACCESS_KEY": SECRET,
                                   "AWS_SESSION_TOKEN": SECRET + "-session"}
        config = self.yaml(more="log: { level: trace }\n")
        leader = self.started(config, environment=environment)
        command = pathlib.Path(f"/proc/{leader.process.pid}/cmdline").read_bytes()
        status = self.tenure("status", "--config", config, env=environment)
        self.assertEqual(status.returncode, 0, status.stderr)
        self.assertEqual(leader.finish(15), 0, leader.log)
        for text in (leader.log, command.decode(), status.stdout, status.stderr):
            self.assertNotIn(SECRET, text)
        levels = {}
        for level in ("trace", "info", "off"):
            other = self.started(self.yaml(level, group=level, more=f"log: {{ level: {level} }}\n"), "--once", job="exit 0") \
                if level != "off" else self.start(self.yaml(level, group=level, more="log: { level: off }\n"), "--once",
                                                  job="exit 0")
            self.assertEqual(other.finish(), 0)
            levels[level] = len(other.log.splitlines())
        self.assertEqual(levels["off"], 0)
        self.assertGreaterEqual(levels["trace"], levels["info"])

    def signature(self, store, environment):
        """(key id, region) of the requests of `tenure check --connect`, or its error text if it sends none."""
        Listener.signatures.clear()
        config = self.file(f'group: g\nstore: {{ type: dynamodb, table: {self.table}, endpoint: "{self.url}"{store} }}\n')
        done = self.tenure("check", "--connect", "--config", config, env=self.bare | environment)
        self.assertEqual(done.returncode, 83, done.stderr)
        return set(Listener.signatures) or done.stderr

    def listen(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Listener)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.url = f"http://127.0.0.1:{server.server_port}"
        (self.directory / ".aws").mkdir()
        (self.directory / ".aws" / "credentials").write_text(
            f"[default]\naws_access_key_id = AKIAFILE\naws_secret_access_key = {SECRET}\n"
            f"[other]\naws_access_key_id = AKIAOTHER\naws_secret_access_key = {SECRET}\n"
            f"[half]\naws_access_key_id = AKIAHALF\n")
        keys = json.dumps({"Version": 1, "AccessKeyId": "AKIAPROCESS", "SecretAccessKey": SECRET})
        (self.directory / "keys.json").write_text(keys)
        (self.directory / ".aws" / "config").write_text(
            "[default]\nregion = eu-west-2\n[profile process]\nregion = sa-east-1\n"
            f"credential_process = cat {self.directory}/keys.json\n")

    def test_the_region_signs_the_request_and_there_is_none_by_default(self):
        self.listen()
        keys = {"AWS_ACCESS_KEY_ID": "AKIAENV", "AWS_SECRET_ACCESS_KEY": SECRET}
        for store, environment, region in (
                (", region: us-west-2", {"AWS_REGION": "eu-central-1"}, "us-west-2"),
                ("", {"AWS_REGION": "eu-central-1", "AWS_DEFAULT_REGION": "eu-north-1"}, "eu-central-1"),
                ("", {"AWS_DEFAULT_REGION": "eu-north-1"}, "eu-north-1"), ("", {}, "eu-west-2")):
            self.assertEqual(self.signature(store, keys | environment), {("AKIAENV", region)})
        (self.directory / ".aws" / "config").unlink()
        told = self.signature("", keys)
        for place in ("AWS_REGION", "AWS_DEFAULT_REGION", "profile"):
            self.assertIn(place, told)

    def test_each_source_of_keys_signs_and_half_a_key_is_an_error(self):
        self.listen()
        secret = {"AWS_SECRET_ACCESS_KEY": SECRET}
        for store, environment, key in ((", region: us-east-1", secret | {"AWS_ACCESS_KEY_ID": "AKIAENV"}, "AKIAENV"),
                                        (", region: us-east-1", {}, "AKIAFILE"),
                                        (", region: us-east-1", {"AWS_PROFILE": "other"}, "AKIAOTHER"),
                                        (", region: us-east-1, profile: other", {}, "AKIAOTHER"),
                                        (", region: us-east-1", {"AWS_PROFILE": "process"}, "AKIAPROCESS")):
            self.assertEqual(self.signature(store, environment), {(key, "us-east-1")})
        for environment, names in (({"AWS_ACCESS_KEY_ID": "AKIAENV"}, "AWS_SECRET_ACCESS_KEY"),
                                   ({"AWS_PROFILE": "half"}, "aws_secret_access_key")):
            told = self.signature(", region: us-east-1", environment)
            self.assertIsInstance(told, str, "it went on to other keys")
            self.assertIn(names, told)
            self.assertNotIn(SECRET, told)

    def test_each_place_for_the_endpoint_works(self):
        self.make_table()
        keys = {name: value for name, value in os.environ.items() if name.startswith("AWS_") and "ENDPOINT" not in name}
        plain = f"group: g\nstore: {{ type: dynamodb, table: {self.table}, region: us-east-1"
        for store, environment in ((f', endpoint: "{the_endpoint()}"', {}),
                                   ("", {"AWS_ENDPOINT_URL_DYNAMODB": the_endpoint()}),
                                   ("", {"AWS_ENDPOINT_URL": the_endpoint()})):
            done = self.tenure("check", "--connect", "--config", self.file(f"{plain}{store} }}\n"),
                               env=self.bare | keys | environment)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_lock_for_one_process_only_says_so(self):
        config = self.file("group: g\nstore: { type: memory }\n")
        both = [self.started(config) for _ in range(2)]
        for candidate in both:
            candidate.says("warning: store.type memory is seen by this process only; another copy would lead")
        self.assertIn("memory (single process)", self.tenure("status", "--config", config).stdout)

    def test_one_version_everywhere(self):
        version = re.search(r"project\(tenure VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
        self.assertEqual(self.tenure("--version").stdout, f"tenure {version}\n")
        changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
        self.assertIn(version, changes)

    def test_one_line_for_each_step_and_no_warning_at_a_normal_end(self):
        self.make_table()
        candidate = self.started(self.yaml("alice"))
        self.assertEqual(candidate.finish(15), 0)
        for line in (rf"rows: alice \(\w+\) competes on .*{self.table}", "rows: elected with fencing token 1",
                     r"rows: revoked \(stopped", r"rows: stopped \(released\)"):
            self.assert_one(line, candidate.log)
        self.assertNotRegex(candidate.log, r"Z (warn|error) ")

    def test_licence_and_notices_are_there(self):
        for name in ("LICENSE", "THIRD_PARTY_NOTICES.md", "CHANGELOG.md"):
            self.assertGreater((ROOT / name).stat().st_size, 200)
        install = (ROOT / "config" / "cmake" / "TenureInstall.cmake").read_text(encoding="utf-8")
        self.assertIn("LICENSE", install)
        self.assertIn("THIRD_PARTY_NOTICES.md", install)

    def test_threads_have_names(self):
        leader = self.started(self.yaml())
        names = set(proc.threads(leader.process.pid).values())
        named = {name for name in names if name.startswith("tenure-")}
        self.assertGreaterEqual(len(named), 1, names)
        self.assertEqual(names - named, {"tenure"}, "the main thread alone has the program's name")


if __name__ == "__main__":
    unittest.main()
