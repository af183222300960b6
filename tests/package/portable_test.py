#!/usr/bin/env python3
"""What scripts/portable makes, as a user takes it: in bare systems, at servers, as the root of a container."""

import contextlib
import hashlib
import http.server
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILT = ROOT / "build" / "portable"
BUNDLES = re.findall(r'"(/etc/[^"]+)"', (ROOT / "lockcore/net/system_bundle.hpp").read_text())

# /p has what was built.
UNPACK = "mkdir /t && tar -xzf /p/tenure-*-linux-*.tar.gz -C /t && PATH=/t/$(ls /t)/bin:$PATH && cd /t\n"
RUN = UNPACK + r"""
tenure --version
printf 'group: portable\nstore: { type: sqlite, path: /t/lease.db }\n' >group.yaml
tenure check group.yaml
tenure run --once --config group.yaml -- sh -c 'echo "leads with term $TENURE_FENCING_TOKEN"'
ls /t/*/share/man/man1/tenure.1* /t/*/share/bash-completion/completions/tenure /t/*/share/doc/tenure/licenses/libpq
"""
# An OpenSSL for Debian looks into /usr/lib/ssl, which other systems do not have.
TRUST = UNPACK + r"""
rm -rf /usr/lib/ssl /etc/ssl/certs/*
tenure check --connect /p/tls.yaml 2>&1 | sed 's/^/nowhere: /' || true
for place in {places}; do
  mkdir -p "$(dirname $place)" && cp /p/ca.pem $place
  tenure check --connect /p/tls.yaml 2>&1 | sed "s|^|$place: |" || true
  rm $place
done
"""


def build():
    subprocess.run([ROOT / "scripts" / "portable"], check=True, stdout=subprocess.DEVNULL)
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in BUILT.glob("tenure-*-*.tar.gz")}


def inside(release, shared, script, before=()):
    done = subprocess.run([*before, ROOT / "scripts" / "chroot", release, "--bind", f"{shared}:/p", "--",
                           "bash", "-euo", "pipefail", "-c", script], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@contextlib.contextmanager
def https_server(directory):
    """A server whose certificate directory/ca.pem vouches for."""
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    subprocess.run(["openssl", "req", "-x509", *key, "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem"],
                   cwd=directory, check=True, capture_output=True)
    subprocess.run(["openssl", "req", "-x509", *key, "-subj", "/CN=server", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-addext", "basicConstraints=critical,CA:FALSE", "-CA", "ca.pem", "-CAkey", "ca.key",
                    "-keyout", "server.key", "-out", "server.pem"], cwd=directory, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(directory / "server.pem", directory / "server.key")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


class Portable(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.first = build()
        assert len(cls.first) == 2, cls.first

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.shared = pathlib.Path(directory.name)
        for file in BUILT.glob("tenure-*-*.tar.gz"):
            shutil.copy(file, self.shared)

    def test_the_same_sources_give_the_same_bytes(self):
        self.assertEqual(build(), self.first)

    def test_it_runs_in_bare_systems(self):
        for release in ("bookworm", "trixie", "sid"):
            with self.subTest(release):
                code, said = inside(release, self.shared, RUN)
                self.assertEqual(code, 0, said)
                self.assertIn("leads with term 1\n", said)

    def test_it_trusts_the_authorities_wherever_a_system_keeps_them(self):
        with https_server(self.shared) as port:
            (self.shared / "tls.yaml").write_text(
                f"group: g\nstore: {{ type: etcd, endpoints: ['https://127.0.0.1:{port}'] }}\n")
            _, said = inside("trixie", self.shared, TRUST.replace("{places}", " ".join(BUNDLES)))
        places = {place: text for place, text in re.findall(r"^(\S+): (.*certificate.*)$", said, re.M)}
        self.assertEqual(list(places), ["nowhere"], said)  # elsewhere it is trusted, and is no etcd
        for place in BUNDLES:
            self.assertIn(f"\n{place}: ", said)

    def test_it_reaches_postgresql_with_its_own_libpq(self):
        self.reaches("postgresql", "store: { type: postgresql, connection: 'CONNECTION' }\n", "TENURE_TEST_POSTGRESQL")

    def test_it_reaches_etcd(self):
        self.reaches("etcd", "store: { type: etcd, endpoints: ['CONNECTION'] }\n", "TENURE_TEST_ETCD")

    def reaches(self, store, section, variable):
        """The server is one of this machine. That of PostgreSQL listens on a socket under /tmp."""
        (self.shared / "template.yaml").write_text("group: g\n" + section)
        use = UNPACK + "tenure run --once --wait 30s --config /p/group.yaml -- sh -c 'echo leads with term $TENURE_FENCING_TOKEN'"
        enter = (f"sed \"s|CONNECTION|${variable}|\" {self.shared}/template.yaml >{self.shared}/group.yaml && exec "
                 f"{ROOT}/scripts/chroot trixie --bind {self.shared}:/p --bind /tmp:/tmp -- bash -euo pipefail -c \"$1\"")
        done = subprocess.run([ROOT / "scripts" / f"{store}_local", "--", "bash", "-c", enter, "bash", use],
                              capture_output=True, text=True, check=False, env={**os.environ, "TMPDIR": "/tmp"})
        self.assertRegex(done.stdout, r"leads with term \d+\n", done.stdout + done.stderr)

    def test_a_container_leads_with_it_as_a_user_without_rights(self):
        root = self.shared / "root"
        root.mkdir()
        archive = next(self.shared.glob("tenure-*-container-root-*.tar.gz"))
        subprocess.run(["tar", "-xzf", archive, "-C", root], check=True)
        (root / "group.yaml").write_text("group: g\nstore: { type: sqlite, path: /var/lib/tenure/lease.db }\n")
        enter = f"mount -t proc proc {root}/proc && exec chroot --userspec=65532:65532 {root} \"$@\""
        done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "bash", "-c", enter, "bash", "/usr/bin/tenure", "run",
                               "--once", "--config", "/group.yaml", "--", "/usr/bin/tenure", "--version"],
                              capture_output=True, text=True, check=False, env={})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"tenure \d+\.\d+\.\d+")


if __name__ == "__main__":
    unittest.main()
