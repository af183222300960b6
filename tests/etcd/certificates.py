"""Certificates for etcd's tests, made by openssl: an authority, members and clients that it knows, and a stranger."""

import pathlib
import subprocess

from fetching import ToolError


class Authority:
    """Makes its files in a directory. Certificates are valid for two days."""

    def __init__(self, directory, name="tenure test authority"):
        self.path = pathlib.Path(directory)
        self.path.mkdir(parents=True, exist_ok=True)
        self._make("ca", name, ["-addext", "basicConstraints=critical,CA:TRUE",
                              "-addext", "keyUsage=critical,keyCertSign,cRLSign"])

    @property
    def ca(self):
        return str(self.path / "ca.pem")

    def certificate(self, name):
        return str(self.path / f"{name}.pem")

    def key(self, name):
        return str(self.path / f"{name}.key")

    def issue(self, name, hosts=(), common_name=""):
        """Makes NAME.pem and NAME.key. A member is a client, too: its gateway calls its own gRPC port. If users are on, a
        member's gateway refuses (400) every client whose certificate has a common name."""
        names = ",".join(f"IP:{host}" if host.replace(".", "").isdigit() or ":" in host else f"DNS:{host}" for host in hosts)
        more = ["-CA", self.ca, "-CAkey", self.key("ca"), "-addext", "basicConstraints=critical,CA:FALSE",
                "-addext", "extendedKeyUsage=serverAuth,clientAuth"]
        self._make(name, common_name, more + (["-addext", f"subjectAltName={names}"] if names else []))
        return self.certificate(name), self.key(name)

    def encrypted(self, name, password="sesame"):
        """A copy of a key, which only the password opens."""
        path = str(self.path / f"{name}.encrypted.key")
        openssl("pkey", "-in", self.key(name), "-aes256", "-passout", f"pass:{password}", "-out", path)
        return path

    def _make(self, name, common_name, more):
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                f"/O=tenure/CN={common_name}" if common_name else "/O=tenure", "-keyout", self.key(name), "-out", self.certificate(name), *more)


def openssl(*words):
    try:
        done = subprocess.run(["openssl", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise ToolError("openssl is not there; on Debian: scripts/setup") from None
    if done.returncode:
        raise ToolError(f"openssl {words[0]} failed: {done.stderr.strip()}")
