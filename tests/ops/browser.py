"""A headless Chromium by the WebDriver protocol (https://www.w3.org/TR/webdriver2), without a library for it."""

import base64
import json
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")


class Browser:
    """`dark`: the colours that the system asks for. Sizes are those of the page, in CSS pixels."""

    def __init__(self, width=1000, height=1100, dark=False):
        self.profile = tempfile.mkdtemp(prefix="tenure-chromium.")
        self.driver = subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, text=True)
        try:
            self.base = f"http://127.0.0.1:{self._port()}"
            arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
                         "--disable-background-networking", "--disable-component-update", "--disable-sync",
                         f"--user-data-dir={self.profile}"]
            wanted = {"browserName": "chrome", "goog:chromeOptions": {"binary": CHROMIUM, "args": arguments}}
            made = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
            self.session = f"/session/{made['sessionId']}"
            self._devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
            self._devtools("Emulation.setEmulatedMedia",
                           features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        except BaseException:
            self.close()
            raise

    def _port(self):
        for line in self.driver.stdout:
            if "started successfully on port" in line:
                return int(line.rstrip(".\n").split()[-1])
        raise RuntimeError("chromedriver has ended")

    def _call(self, method, path, body=None):
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{path}: {error.read().decode()}") from error

    def _devtools(self, command, **parameters):
        return self._call("POST", f"{self.session}/goog/cdp/execute", {"cmd": command, "params": parameters})

    def open(self, url):
        self._call("POST", f"{self.session}/url", {"url": url})

    def run(self, script):
        """The value of a JavaScript expression."""
        return self._call("POST", f"{self.session}/execute/sync", {"script": f"return {script}", "args": []})

    def press(self, key):
        self._call("POST", f"{self.session}/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": [
            {"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]}]})

    def text(self, selector):
        return self.run(f"document.querySelector({json.dumps(selector)})?.textContent ?? null")

    def await_text(self, selector, wanted, patience=60):
        end = time.monotonic() + patience
        while (shown := self.text(selector)) is None or wanted not in shown:
            if time.monotonic() > end:
                raise AssertionError(f"{selector} shows {shown!r}, not {wanted!r}")
            time.sleep(0.05)
        return shown

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self._call("GET", f"{self.session}/screenshot")))

    def accessible_names(self):
        """(role, name) of what a screen reader finds."""
        self._devtools("Accessibility.enable")
        nodes = self._devtools("Accessibility.getFullAXTree")["nodes"]
        return [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node["ignored"]]

    def close(self):
        try:
            if hasattr(self, "session"):
                self._call("DELETE", self.session)
        except (OSError, RuntimeError):
            pass
        self.driver.terminate()
        self.driver.wait(60)
        self.driver.stdout.close()
        shutil.rmtree(self.profile, ignore_errors=True)
