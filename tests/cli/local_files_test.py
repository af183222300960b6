"""Files of this machine that a group's file names: `tenure check` and `tenure run` judge them alike.

`check` ends with the code with which `run` ends for good. Where it ends with 0 and says "cannot be used here", `run` waits, or ends
with a code after which a service manager starts it again; a hook's program that is missing is as a missing COMMAND.
"""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from waiting import wait_until

TENURE = os.environ["TENURE_PROGRAM"]
USAGE, STORE, NOT_EXECUTABLE, NOT_FOUND = 2, 83, 126, 127
PATIENCE_S = 60

ETCD = 'store: {{ type: etcd, endpoints: ["https://127.0.0.1:1"], {} }}'
DYNAMODB = 'store: {{ type: dynamodb, table: tenure-x, region: eu-central-1, endpoint: "https://127.0.0.1:1", {} }}'
SERVER = 'store: {{ type: kubernetes, server: "https://127.0.0.1:1", namespace: n, {} }}'
KUBECONFIG = "store: {{ type: kubernetes, kubeconfig: {} }}"
POSTGRESQL = 'store: {{ type: postgresql, connection: "host=127.0.0.1 port=1 dbname=d user=u", {} }}'
SQLITE = "store: {{ type: sqlite, path: {} }}"
GOOD = SQLITE.format("good.db")

BROKEN = {  # what no restart changes: the code of both
    "a database that is none": (STORE, SQLITE.format("text")),
    "a directory for a database": (STORE, SQLITE.format("directory")),
    "a pipe for a database": (STORE, SQLITE.format("pipe")),
    "a database below a file": (STORE, SQLITE.format("text/x.db")),
    "a database behind a link": (STORE, SQLITE.format("link.db")),
    "an authority that is no PEM": (STORE, ETCD.format("ca_file: text")),
    "an empty authority": (STORE, ETCD.format("ca_file: empty")),
    "a directory for an authority": (STORE, DYNAMODB.format("ca_file: directory")),
    "half of an authority": (STORE, SERVER.format("ca_file: half.pem, token_file: token")),
    "an authority in DER": (STORE, ETCD.format("ca_file: a.der")),
    "a key of another certificate": (STORE, ETCD.format("certificate: a.crt, key: b.key")),
    "a key with a passphrase": (STORE, ETCD.format("certificate: a.crt, key: secret.key")),
    "a directory for a key": (STORE, SERVER.format("certificate: a.crt, key: directory")),
    "a key for a certificate": (STORE, ETCD.format("certificate: a.key, key: a.key")),
    "an empty password": (STORE, ETCD.format("user: u, password_file: empty")),
    "a directory for a password": (STORE, ETCD.format("user: u, password_file: directory")),
    "a token of two lines": (STORE, SERVER.format("token_file: text")),
    "an empty token": (STORE, SERVER.format("token_file: empty")),
    "a kubeconfig that is no YAML": (STORE, KUBECONFIG.format("broken.yaml")),
    "a kubeconfig without the context": (STORE, KUBECONFIG.format("contextless.yaml")),
    "a kubeconfig with an authority that is no PEM": (STORE, KUBECONFIG.format("text-authority.yaml")),
    "a directory for a kubeconfig": (STORE, KUBECONFIG.format("directory")),
    "a directory for an authority of a kubeconfig": (STORE, KUBECONFIG.format("directory-authority.yaml")),
    "a kubeconfig without its authority and with a user that is refused": (STORE, KUBECONFIG.format("no-authority-exec.yaml")),
    "an authority of PostgreSQL that is no PEM": (STORE, POSTGRESQL.format("sslrootcert: text, sslmode: verify-full")),
    "a directory for a key of PostgreSQL": (STORE, POSTGRESQL.format("sslcert: a.crt, sslkey: directory, sslmode: require")),
    "an empty password of PostgreSQL": (STORE, POSTGRESQL.format("password_file: empty")),
    "a directory for a password of PostgreSQL": (STORE, POSTGRESQL.format("password_file: directory")),
    "a service file with a line that is none": (STORE, "store: { type: postgresql, service: x }"),
    "a hook that the shell cannot read": (USAGE, GOOD + '\nhooks: { on_elected: "if then (" }'),
    "a hook's program that is no program": (NOT_EXECUTABLE, GOOD + '\nhooks: { on_renewed: "./text up" }'),
    "a directory for a hook's program": (NOT_EXECUTABLE, GOOD + '\nhooks: { on_revoked: "./directory" }'),
}
MISSING = {  # what is only not there: the code of `run`, or None where it waits
    "a directory": (None, SQLITE.format("none/x.db")),
    "a group of this machine": (None, "store: { type: sqlite, path: x.db, mode: \"0660\", group: no-such-group }"),
    "an authority": (1, ETCD.format("ca_file: none")),
    "a key": (1, SERVER.format("certificate: a.crt, key: none")),
    "a password": (None, ETCD.format("user: u, password_file: none")),
    "a token": (None, SERVER.format("token_file: none")),
    "a kubeconfig": (1, KUBECONFIG.format("none")),
    "an authority of a kubeconfig": (1, KUBECONFIG.format("no-authority.yaml")),  # client-go opens these when it makes a client
    "a key of a kubeconfig": (1, KUBECONFIG.format("no-key.yaml")),
    "a token of a kubeconfig": (1, KUBECONFIG.format("no-token.yaml")),
    "a pod": (1, "store: { type: kubernetes }"),
    "an authority of PostgreSQL": (None, POSTGRESQL.format("sslrootcert: none, sslmode: verify-full")),
    "an authority of PostgreSQL that nobody names": (None, POSTGRESQL.format("sslmode: verify-ca")),
    "a password of PostgreSQL": (None, POSTGRESQL.format("password_file: none")),
    "a passfile": (None, POSTGRESQL.format("passfile: none")),
    "an address of this machine": (1, GOOD + '\nhttp: { listen: "203.0.113.9:8080" }'),
    "a free port": (1, GOOD + '\nhttp: { listen: "127.0.0.1:PORT" }'),
    "a free socket": (1, GOOD + '\nhttp: { listen: "unix:PLACE/taken" }'),
    "a hook's program": (NOT_FOUND, GOOD + '\nhooks: { on_elected: "./none up" }'),
}
FINE = {
    "a database to be made": SQLITE.format("new.db"),
    "hooks": GOOD + '\nhooks: { on_elected: "./program up", on_revoked: "x=1; if true; then echo a/b; fi" }',
    "a kubeconfig of which there is one of two": KUBECONFIG.format('"none:kubeconfig.yaml"'),
    "a listener": GOOD + '\nhttp: { listen: "127.0.0.1:0" }',
    "a pair and its authority": ETCD.format("ca_file: a.crt, certificate: a.crt, key: a.key, user: u, password_file: token"),
}
CONTEXT = """
current-context: %s
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: "https://127.0.0.1:1", certificate-authority: %s}}]
users: [{name: u, user: {%s}}]
"""


class LocalFiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.place = pathlib.Path(temporary.name)
        for name in "ab":
            cls.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key",
                        "-out", f"{name}.crt", "-days", "2", "-subj", f"/CN={name}")
        cls.openssl("pkcs8", "-topk8", "-in", "a.key", "-out", "secret.key", "-passout", "pass:x")
        cls.openssl("x509", "-in", "a.crt", "-outform", "DER", "-out", "a.der")
        texts = {"text": "some text\nand more\n" * 99, "empty": "", "half.pem": (cls.place / "a.crt").read_text()[:300], "token": "x\n",
                 "broken.yaml": "a: [b\n", "contextless.yaml": CONTEXT % ("z", "a.crt", "token: x"), "services": "[x]\nfoo bar\n", "program": "#!/bin/sh\n"}
        for name, authority, user in (("kubeconfig", "a.crt", "token: x"), ("text-authority", "text", "token: x"),
                                      ("no-authority", "none", "token: x"), ("directory-authority", "directory", "token: x"),
                                      ("no-authority-exec", "none", "exec: {command: x}"), ("no-token", "a.crt", "tokenFile: none"),
                                      ("no-key", "a.crt", "client-certificate: a.crt, client-key: none")):
            texts[f"{name}.yaml"] = CONTEXT % ("c", authority, user)
        for name, text in texts.items():
            (cls.place / name).write_text(text)
        (cls.place / "program").chmod(0o755)
        (cls.place / "directory").mkdir()
        os.mkfifo(cls.place / "pipe")
        (cls.place / "link.db").symlink_to("good.db")
        cls.port = socket.socket()
        cls.port.bind(("127.0.0.1", 0))
        cls.taken = socket.socket(socket.AF_UNIX)
        cls.taken.bind(str(cls.place / "taken"))
        for each in (cls.port, cls.taken):
            each.listen()
            cls.addClassCleanup(each.close)

    @classmethod
    def openssl(cls, *words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=cls.place)

    def environment(self):
        kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "TSAN_OPTIONS") if name in os.environ}
        return {**kept, "HOME": str(self.place), "PGSERVICEFILE": str(self.place / "services"), "AWS_EC2_METADATA_DISABLED": "true"}

    def configured(self, store):
        here = store.replace("PORT", str(self.port.getsockname()[1])).replace("PLACE", str(self.place))
        (self.place / "group.yaml").write_text("group: g\nlease: { duration: 2s }\n" + here + "\n")

    def start(self, *words):
        return subprocess.Popen([TENURE, *words], cwd=self.place, env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True)

    def end_of(self, *words):
        process = self.start(*words)
        out, errors = process.communicate(timeout=PATIENCE_S)
        return process.returncode, out, errors

    def waits(self):
        """`run` says that it waits, and does not end."""
        log = self.place / "log"
        with log.open("w") as errors:
            process = subprocess.Popen([TENURE, "run", "-c", "group.yaml", "--", "touch", "ran"], cwd=self.place, env=self.environment(),
                                       stderr=errors)
        try:
            wait_until(lambda: "has waited for its store" in log.read_text() or process.poll() is not None, "the wait", PATIENCE_S)
            self.assertIsNone(process.poll(), log.read_text())
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE_S)

    def test_what_is_broken_ends_check_and_run_with_one_permanent_code(self):
        for name, (code, store) in BROKEN.items():
            with self.subTest(name):
                self.configured(store)
                checked, out, errors = self.end_of("check", "group.yaml")
                ran, _, told = self.end_of("run", "-c", "group.yaml", "--", "touch", "ran")
                self.assertEqual((checked, ran), (code, code), errors + told)
                self.assertEqual(out, "")
                self.assertIn("group.yaml: is broken: ", errors)
        self.assertFalse((self.place / "ran").exists())

    def test_what_is_missing_here_is_no_fault_of_the_file(self):
        for name, (code, store) in MISSING.items():
            with self.subTest(name):
                self.configured(store)
                checked, out, errors = self.end_of("check", "group.yaml")
                self.assertEqual(checked, 0, errors)
                self.assertIn("group.yaml: OK", out)
                self.assertIn("group.yaml: cannot be used here: ", errors)
                if code is None:
                    self.waits()
                else:
                    ran, _, told = self.end_of("run", "-c", "group.yaml", "--", "touch", "ran")
                    self.assertEqual(ran, code, told)
        self.assertFalse((self.place / "ran").exists())
        self.assertFalse((self.place / "x.db").exists())

    def test_what_is_fine_is_not_doubted_and_check_makes_nothing(self):
        before = sorted(os.listdir(self.place))
        for name, store in FINE.items():
            with self.subTest(name):
                self.configured(store)
                checked, _, errors = self.end_of("check", "group.yaml")
                self.assertEqual((checked, errors), (0, ""))
        self.assertEqual(sorted(set(os.listdir(self.place)) - {"group.yaml"}), sorted(set(before) - {"group.yaml"}))

    def test_commands_that_need_the_store_say_so_by_their_code(self):
        for store in (BROKEN["an authority that is no PEM"][1], MISSING["an authority"][1], BROKEN["a directory for a kubeconfig"][1]):
            self.configured(store)
            for words in (("status",), ("resign",), ("check", "--connect"), ("lock", "list")):
                with self.subTest(words=words, store=store):
                    code, _, errors = self.end_of(*words, "--config", "group.yaml")
                    self.assertEqual(code, STORE, errors)


if __name__ == "__main__":
    unittest.main()
