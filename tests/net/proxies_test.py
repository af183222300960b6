"""Each store goes through the proxy that the variables of its own tools name, and past it where they say so."""

import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from connect_proxy import ConnectProxy

VARIABLES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy", "ALL_PROXY", "REQUEST_METHOD")


class ApiServer(http.server.BaseHTTPRequestHandler):
    """As much of one as `check --connect` asks: there is no Lease, and every right."""

    protocol_version = "HTTP/1.1"

    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        self.answer(404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404,
                          "details": {"name": "b", "group": "coordination.k8s.io", "kind": "leases"}})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer(201, {**asked, "status": {"allowed": True}})

    def log_message(self, *_):
        pass


class Proxies(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def proxy(self, **names):
        made = ConnectProxy({name.replace("_", ".", 1).replace("_", ":"): at for name, at in names.items()})
        self.addCleanup(made.close)
        return made

    def check(self, store, command=("check", "--connect", "-c"), **variables):
        """The exit code, and what is said."""
        (self.folder / "group.yaml").write_text(f"group: b\nstore: {json.dumps(store)}\n", encoding="utf-8")
        environment = {name: value for name, value in os.environ.items() if name not in VARIABLES}
        done = subprocess.run([os.environ["TENURE_PROGRAM"], *command, str(self.folder / "group.yaml")],
                              env={**environment, **variables}, capture_output=True, text=True, check=False, timeout=60)
        return done.returncode, done.stdout + done.stderr

    @staticmethod
    def address(variable):
        url = urllib.parse.urlsplit(os.environ[variable].split(",")[0])
        return (url.hostname, url.port)

    def test_etcd_uses_https_proxy_with_a_tunnel_for_each_member(self):
        proxy = self.proxy(etcd_corp_2379=self.address("TENURE_TEST_ETCD"))
        store = {"type": "etcd", "endpoints": ["http://etcd.corp:2379"], "prefix": "/proxied"}
        for name in ("HTTPS_PROXY", "https_proxy"):
            with self.subTest(name):
                code, said = self.check(store, **{name: proxy.url})
                self.assertEqual(code, 0, said)
        self.assertEqual(set(proxy.seen), {"CONNECT etcd.corp:2379 HTTP/1.1"})
        said = self.check(store, ("doctor",), HTTPS_PROXY=proxy.url)[1]
        self.assertRegex(said, "etcd 3[.][0-9]+")  # the server's own version, which the doctor asks for
        proxy.seen.clear()
        for variables in ({"HTTP_PROXY": proxy.url}, {"ALL_PROXY": proxy.url},
                          {"HTTPS_PROXY": proxy.url, "NO_PROXY": "corp"}):
            with self.subTest(variables):
                code, said = self.check(store, **variables)
                self.assertNotEqual(code, 0)
                self.assertIn("etcd.corp", said)
        self.assertEqual(proxy.seen, [])

    def test_etcd_on_loopback_needs_no_proxy(self):
        proxy = self.proxy()
        host, port = self.address("TENURE_TEST_ETCD")
        code, said = self.check({"type": "etcd", "endpoints": [f"http://{host}:{port}"], "prefix": "/proxied"},
                                HTTPS_PROXY=proxy.url)
        self.assertEqual((code, proxy.seen), (0, []), said)

    def dynamodb(self, proxy, **more):
        keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_EC2_METADATA_DISABLED": "true"}
        return self.check({"type": "dynamodb", "table": "none", "region": "eu-west-1", "endpoint": "http://db.corp:8000"},
                          **keys, **{name: proxy.url if value is proxy else value for name, value in more.items()})

    def test_dynamodb_uses_http_proxy_as_botocore_does(self):
        proxy = self.proxy(db_corp_8000=self.address("TENURE_TEST_DYNAMODB"))
        for name in ("HTTP_PROXY", "http_proxy"):
            with self.subTest(name):
                _, said = self.dynamodb(proxy, **{name: proxy})
                self.assertIn("none", said)  # DynamoDB says that there is no such table
                self.assertEqual(proxy.seen[-1], "POST http://db.corp:8000/ HTTP/1.1")
        proxy.seen.clear()
        for variables in ({"HTTPS_PROXY": proxy}, {"http_proxy": proxy, "no_proxy": "corp"},
                          {"HTTP_PROXY": proxy, "REQUEST_METHOD": "GET"}):
            with self.subTest(str(variables)):
                _, said = self.dynamodb(proxy, **variables)
                self.assertIn("db.corp", said)
        self.assertEqual(proxy.seen, [])

    def kubeconfig(self, cluster):
        (self.folder / "kubeconfig").write_text(json.dumps({
            "clusters": [{"name": "a", "cluster": cluster}], "contexts": [{"name": "a", "context": {"cluster": "a"}}],
            "current-context": "a"}, indent="\t"), encoding="utf-8")
        return {"type": "kubernetes", "kubeconfig": "./kubeconfig"}

    def test_kubernetes_uses_the_variables_and_the_proxy_of_its_file(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), ApiServer)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        proxy = self.proxy(api_corp_8080=server.server_address)
        named = self.kubeconfig({"server": "http://api.corp:8080"})
        for variables in ({"HTTP_PROXY": proxy.url}, {"http_proxy": proxy.url, "NO_PROXY": "other.corp"}):
            with self.subTest(variables):
                code, said = self.check(named, **variables)
                self.assertEqual(code, 0, said)
        self.assertIn("GET http://api.corp:8080/apis/coordination.k8s.io/v1/namespaces/default/leases/b HTTP/1.1", proxy.seen)
        seen = len(proxy.seen)
        code, said = self.check(named, HTTP_PROXY=proxy.url, NO_PROXY=".corp")
        self.assertNotEqual(code, 0)
        self.assertEqual(len(proxy.seen), seen)
        proxied = self.kubeconfig({"server": "http://api.corp:8080", "proxy-url": proxy.url.replace("//", "//me:sesame@")})
        code, said = self.check(proxied, NO_PROXY="*", HTTP_PROXY="http://127.0.0.1:1")
        self.assertEqual(code, 0, said)
        self.assertIn("proxy-authorization: basic bwu6c2vzyw1l", proxy.headers[-1])
        self.assertNotIn("sesame", said)

    def test_kubernetes_says_which_proxy_refuses(self):
        proxy = self.proxy()
        code, said = self.check(self.kubeconfig({"server": "https://api.corp:6443"}), HTTPS_PROXY=proxy.url)
        self.assertNotEqual(code, 0)
        self.assertIn(f"the proxy {proxy.url} (HTTPS_PROXY) refused the tunnel with status 502", said)
        self.assertEqual(proxy.seen[0], "CONNECT api.corp:6443 HTTP/1.1")


if __name__ == "__main__":
    unittest.main()
