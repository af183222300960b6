"""Who may do what at the API server of a test: its certificates, tokens, roles and service accounts, as files of one
directory. A process that only knows this directory can change them: control.py.

The directory has
    kubeconfig     the contexts of CONTEXTS; its own choice is "tenure"
    environment    what a command beside the server gets, as NAME=value
    ca.pem         the authority; client.pem, client.key: a certificate of the user "tenure"
    accounts/NAME  what a pod of the service account NAME finds: token, ca.crt, namespace, laid out as the kubelet does

How to make the server refuse a token and accept another one (all of it was tried on 1.37):
    - put_token() replaces the file of a service account as the kubelet does, by one rename of "..data".
    - signed_token(account, seconds) is one that the server refuses after so many seconds; the server itself issues none for
      less than ten minutes. tokens.csv is read when the server starts, and never again.
    - recreate_account() makes the server refuse all tokens of the account.
    - The server remembers for 10 s that it accepted a token. So a token that is in use is refused up to 10 s late;
      until_refused() waits for it. A token that it has not seen for 10 s is refused at once.
"""

import base64
import contextlib
import http.client
import json
import os
import pathlib
import re
import secrets
import shutil
import socket
import ssl
import sys
import time
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "etcd"), str(HERE.parents[1] / "scripts")]
from certificates import Authority, ToolError, openssl
from etcd_cluster import wait_until

ENDPOINT = "TENURE_TEST_KUBERNETES"
NAMESPACE = "tenure-test"
PREPARED = "prepared"  # the Lease that the user of this name may use
# Users with a token, and the group of each.
USERS = {"admin": "system:masters", "tenure": "", "prepared": "", "outsider": ""}
ROLES = {"tenure": ("tenure", "x"), "prepared": ("tenure-prepared", PREPARED)}  # and a Lease that each may read
CONTEXTS = (*USERS, "certificate", "account")
MANIFESTS = HERE.parents[1] / "config" / "kubernetes"
LEEWAY_S = 60  # so much later than it says a token ends, for servers whose clocks differ
PLURALS = {"ServiceAccount": "serviceaccounts", "Role": "roles", "RoleBinding": "rolebindings", "Lease": "leases", "Pod": "pods",
           "Deployment": "deployments", "Namespace": "namespaces", "ConfigMap": "configmaps", "Service": "services",
           "StatefulSet": "statefulsets", "Job": "jobs", "CronJob": "cronjobs", "NetworkPolicy": "networkpolicies"}


class Access:
    ISSUER = "https://kubernetes.default.svc"

    def __init__(self, directory):
        self.path = pathlib.Path(directory)

    @classmethod
    def beside(cls, base=None):
        """Of the server that the environment names."""
        return cls(pathlib.Path((base or os.environ)[ENDPOINT]).parent)

    @property
    def kubeconfig(self):
        return self.file("kubeconfig")

    @property
    def url(self):
        return self.text("url")

    def file(self, name):
        return str(self.path / name)

    def text(self, name):
        return (self.path / name).read_text(encoding="utf-8").strip()

    def user_token(self, user):
        return self.text(f"{user}.token")

    # -- before the server starts ---------------------------------------------------------------------------------

    def make_files(self, url):
        authority = Authority(self.path, "tenure test authority")
        authority.issue("apiserver", ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "127.0.0.1",
                                      "10.0.0.1"])
        authority.issue("client", (), "tenure")
        self._write("ca.crt", self.text("ca.pem"))
        openssl("genrsa", "-out", self.file("accounts.key"), "2048")
        openssl("rsa", "-in", self.file("accounts.key"), "-pubout", "-out", self.file("accounts.pem"))
        for user in USERS:
            self._write(f"{user}.token", secrets.token_hex(16))
        self._write("tokens.csv", "\n".join(f"{self.user_token(user)},{user},{user}{group and ',' + group}" for user, group in USERS.items()))
        self._write("url", url)
        self._write("kubeconfig", self._kubeconfig(url))

    def _kubeconfig(self, url):
        def data(name):
            return base64.b64encode((self.path / name).read_bytes()).decode()

        clusters = {"local": {"certificate-authority": self.file("ca.pem")},
                    "embedded": {"certificate-authority-data": data("ca.pem")}}
        users = {user: {"token": self.user_token(user)} for user in USERS}
        users["certificate"] = {"client-certificate-data": data("client.pem"), "client-key-data": data("client.key")}
        users["account"] = {"tokenFile": self.file("accounts/tenure/token")}
        lines = ["apiVersion: v1", "kind: Config", "current-context: tenure", "preferences: {}", "clusters:"]
        for name, values in clusters.items():
            lines += ["- cluster:", *(f"    {key}: {value}" for key, value in values.items()), f"    server: {url}", f"  name: {name}"]
        lines.append("contexts:")
        for name in CONTEXTS:
            cluster = "embedded" if name == "certificate" else "local"
            lines += ["- context:", f"    cluster: {cluster}", f"    namespace: {NAMESPACE}", f"    user: {name}", f"  name: {name}"]
        lines.append("users:")
        for name, values in users.items():
            lines += [f"- name: {name}", "  user:", *(f"    {key}: {value}" for key, value in values.items())]
        return "\n".join(lines)

    def _write(self, name, text):
        path = self.path / name
        path.touch(mode=0o600)
        path.write_text(text + "\n", encoding="utf-8")

    def keep_environment(self, more):
        made = {ENDPOINT: self.kubeconfig, f"{ENDPOINT}_URL": self.url, f"{ENDPOINT}_CA": self.file("ca.pem"),
                f"{ENDPOINT}_ADMIN": self.user_token("admin"), f"{ENDPOINT}_ACCOUNT": self.file("accounts/tenure"), **more}
        self._write("environment", "\n".join(f"{name}={value}" for name, value in made.items()))

    def environment(self):
        return dict(line.split("=", 1) for line in self.text("environment").splitlines())

    # -- requests -------------------------------------------------------------------------------------------------

    def ask(self, method, path, body=None, token=None, url=None, timeout_s=10, headers=None):
        """(status, headers, text). `body`: text, or what becomes JSON. `token`: the administrator's if None. OSError if
        the server does not answer."""
        where = urllib.parse.urlsplit(url or self.url)
        context = ssl.create_default_context(cafile=self.file("ca.pem"))
        connection = http.client.HTTPSConnection(where.hostname, where.port, timeout=timeout_s, context=context)
        sent = {"Authorization": f"Bearer {token or self.user_token('admin')}", "Content-Type": "application/json", **(headers or {})}
        text = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
        with contextlib.closing(connection):
            connection.request(method, path, text, sent)
            reply = connection.getresponse()
            return reply.status, dict(reply.getheaders()), reply.read().decode()

    def request(self, method, path, body=None, **more):
        """(status, the reply's JSON)"""
        status, _, text = self.ask(method, path, body, **more)
        try:
            return status, json.loads(text)
        except ValueError:
            return status, {"text": text}

    def must(self, method, path, body=None, **more):
        status, reply = self.request(method, path, body, **more)
        if status >= 300:
            raise ToolError(f"{method} {path} was answered with {status}: {reply.get('message', reply)}")
        return reply

    @staticmethod
    def leases(name="", namespace=NAMESPACE):
        return f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases" + (f"/{name}" if name else "")

    @staticmethod
    def pods(name="", namespace=NAMESPACE):
        return f"/api/v1/namespaces/{namespace}/pods" + (f"/{name}" if name else "")

    def make_pod(self, name, labels):
        """A plain object, which nobody runs."""
        self._apply_object("v1", "Pod", name, labels, spec={"automountServiceAccountToken": False, "serviceAccountName": "tenure",
                                                            "containers": [{"name": "main", "image": "none"}]})

    def apply(self, text, namespace=NAMESPACE, dry_run=False):
        """As kubectl apply does: documents with --- between. Unknown fields are refused."""
        for document in re.split(r"^---\n", text, flags=re.M):
            if not re.sub(r"^\s*#.*$", "", document, flags=re.M).strip():
                continue
            version, kind = (re.search(rf"^{key}: *(\S+)", document, re.M).group(1) for key in ("apiVersion", "kind"))
            name = re.search(r"^metadata:.*?\bname: *([^\s,}]+)", document, re.M | re.S).group(1)
            self._apply_one(version, kind, name, document, namespace, dry_run)

    def _apply_one(self, version, kind, name, document, namespace=NAMESPACE, dry_run=False):
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        place = "" if kind == "Namespace" else f"/namespaces/{namespace}"
        self.must("PATCH", f"{root}{place}/{PLURALS[kind]}/{name}?fieldManager=tenure-test&force=true&fieldValidation=Strict" +
                  ("&dryRun=All" if dry_run else ""), document, headers={"Content-Type": "application/apply-patch+yaml"})

    def _apply_object(self, version, kind, name, labels=None, **more):
        metadata = {"name": name, **({"labels": labels} if labels else {})}
        self._apply_one(version, kind, name, {"apiVersion": version, "kind": kind, "metadata": metadata, **more})

    # -- roles ----------------------------------------------------------------------------------------------------

    def prepare(self):
        """What the users may do. The manifests are those that a user of tenure applies."""
        self.apply(f"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {NAMESPACE}\n")
        for file in ("role.yaml", "prepared.yaml", "routing.yaml"):
            self.apply(self.manifest(file))
        for user in ROLES:
            self.give_back(user)
        self.put_token("tenure", self.token("tenure"))

    @staticmethod
    def manifest(name):
        """A file of config/kubernetes, with what its readers are to replace."""
        text = (MANIFESTS / name).read_text(encoding="utf-8")
        return text.replace("my-namespace", NAMESPACE).replace("my-lease", PREPARED)

    def give_back(self, name):
        """What a user of ROLES or a service account may do. Returns when it takes effect."""
        role, lease = ROLES.get(name, ROLES["tenure"])
        subject = ({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name} if name in ROLES else
                   {"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE})
        self._apply_object("rbac.authorization.k8s.io/v1", "RoleBinding", f"test-{name}", subjects=[subject],
                           roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role})
        self.until_allowed(self._bearer(name), lease)

    def take_away(self, name):
        """The same. Returns when it takes effect."""
        self.must("DELETE", f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}/rolebindings/test-{name}")
        self.until_allowed(self._bearer(name), ROLES.get(name, ROLES["tenure"])[1], False)

    def _bearer(self, name):
        return self.user_token(name) if name in ROLES else self.text(f"accounts/{name}/token")

    def until_allowed(self, token, name, allowed=True):
        """A change of roles takes effect a little later."""
        wait_until(lambda: (self.request("GET", self.leases(name), token=token)[0] != 403) == allowed, "a change of roles")

    # -- service accounts -----------------------------------------------------------------------------------------

    def _account(self, name):
        return f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{name}"

    def make_account(self, name):
        """A service account with the role "tenure" and the files of a pod; their directory."""
        self._apply_object("v1", "ServiceAccount", name)
        self.put_token(name, self.token(name))
        self.give_back(name)
        return self.file(f"accounts/{name}")

    def recreate_account(self, name):
        """The server refuses the tokens that the account had, and issues new ones."""
        self.must("DELETE", self._account(name))
        self.must("POST", self._account(""), {"metadata": {"name": name}})

    def token(self, name, seconds=3600):
        """As the kubelet gets it for a pod. Not for less than 600 s."""
        return self.must("POST", self._account(name) + "/token", {"spec": {"expirationSeconds": seconds}})["status"]["token"]

    def signed_token(self, name, seconds):
        """Signed here, with the server's key: refused after so many seconds."""
        uid = self.must("GET", self._account(name))["metadata"]["uid"]
        at = time.time()
        claims = {"iss": self.ISSUER, "aud": [self.ISSUER], "sub": f"system:serviceaccount:{NAMESPACE}:{name}",
                  "iat": int(at) - 3600, "nbf": int(at) - 3600, "exp": int(at + seconds) - LEEWAY_S, "jti": secrets.token_hex(8),
                  "kubernetes.io": {"namespace": NAMESPACE, "serviceaccount": {"name": name, "uid": uid}}}
        text = ".".join(_base64url(json.dumps(part).encode()) for part in ({"alg": "RS256", "typ": "JWT"}, claims))
        plain, signed = (self.path / f"jwt.{secrets.token_hex(4)}{end}" for end in ("", ".signed"))
        plain.write_text(text, encoding="ascii")
        openssl("dgst", "-sha256", "-sign", self.file("accounts.key"), "-out", str(signed), str(plain))
        made = f"{text}.{_base64url(signed.read_bytes())}"
        plain.unlink()
        signed.unlink()
        return made

    def put_token(self, name, token):
        """Replaces the token of accounts/NAME, as the kubelet does: a new directory, to which the link "..data" then leads."""
        home = self.path / "accounts" / name
        fresh = home / f"..{time.time_ns()}"
        fresh.mkdir(parents=True)
        for file, text in (("token", token), ("ca.crt", self.text("ca.pem") + "\n"), ("namespace", NAMESPACE)):
            (fresh / file).write_text(text, encoding="ascii")
            if not (home / file).is_symlink():
                (home / file).symlink_to(f"..data/{file}")
        before = home / "..data"
        old = before.resolve() if before.is_symlink() else None
        (home / "..data_tmp").symlink_to(fresh.name)
        (home / "..data_tmp").rename(before)
        if old:
            shutil.rmtree(old)

    def accepts(self, token):
        return self.request("GET", self.leases("x"), token=token)[0] != 401

    def until_refused(self, token):
        wait_until(lambda: not self.accepts(token), "the server to refuse the token")


def _base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def answers(kubeconfig):
    """Whether something listens where this file says."""
    try:
        parts = urllib.parse.urlsplit(Access(pathlib.Path(kubeconfig).parent).url)
        socket.create_connection((parts.hostname, parts.port), timeout=1).close()
    except (FileNotFoundError, ConnectionRefusedError):
        return False
    except OSError:
        pass
    return True
