"""The page of the HTTP listener in a real Chromium, over `tenure run` in each of its states.

TENURE_PAGE_PICTURES=FOLDER keeps pictures, for people to look at.
"""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

from browser import CHROMIUM, DRIVER, Browser

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import freezing

PROGRAM = os.environ["TENURE_PROGRAM"]
PICTURES = os.environ.get("TENURE_PAGE_PICTURES", "")
LEASE_S = 3
STATE, WHY, LEFT = "article .state", "article .why", "article .left"


class Page(unittest.TestCase):
    def setUp(self):
        if not CHROMIUM or not DRIVER:
            self.skipTest("there is no chromium with its chromedriver (apt-get install chromium chromium-driver)")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tenure-page."))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        (self.folder / "group.yaml").write_text(
            "group: billing\ncandidate: { id: \"${NAME}\" }\nstore: { type: sqlite, path: ./leases.db }\n"
            f"lease: {{ duration: {LEASE_S}s, heartbeat: 500ms }}\n")

    def process(self, name):
        """A `tenure run`, and the URL of its page."""
        log = open(self.folder / f"{name}.log", "w+")
        self.addCleanup(log.close)
        process = subprocess.Popen([PROGRAM, "run", "-c", "group.yaml", "--http", "127.0.0.1:0", "--", "sleep", "1000"],
                                   cwd=self.folder, env={**os.environ, "NAME": name}, stdout=log, stderr=log)
        self.addCleanup(self.end, process)
        end = time.monotonic() + 60
        while not (found := re.search(r"listens on (\S+)", (self.folder / f"{name}.log").read_text())):
            self.assertLess(time.monotonic(), end, (self.folder / f"{name}.log").read_text())
            time.sleep(0.02)
        return process, f"http://{found[1]}/"

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.terminate()
            process.wait(60)

    def browser(self, url, **how):
        browser = Browser(**how)
        self.addCleanup(browser.close)
        browser.open(url)
        return browser

    def keep(self, browser, name):
        if PICTURES:
            browser.picture(pathlib.Path(PICTURES) / f"{name}.png")

    @contextlib.contextmanager
    def locked_store(self):
        with contextlib.closing(sqlite3.connect(self.folder / "leases.db", timeout=10)) as other:
            other.execute("BEGIN EXCLUSIVE")
            yield
            other.rollback()

    def test_who_leads_and_who_stands_by(self):
        _, leader = self.process("alice")
        browser = self.browser(leader)
        browser.await_text(STATE, "Leads")
        self.assertRegex(browser.await_text(LEFT, "left unless"), rf"^[0-9.]+ s of {LEASE_S}\.0 s left unless it is renewed$")
        self.assertIn("alice (this process)", browser.text("article dl"))
        browser.await_text("article ol", "elected, token 1")
        self.keep(browser, "leading")
        _, other = self.process("bob")
        standby = self.browser(other, dark=True)
        standby.await_text(STATE, "Stands by")
        self.assertEqual(standby.text(WHY), "alice leads.")
        self.assertTrue(standby.run("document.querySelector('article .bar').hidden"))
        self.keep(standby, "standby-dark")

    def test_a_doubt_and_then_a_term_that_ran_out(self):
        group = self.folder / "group.yaml"
        group.write_text(group.read_text().replace(f"duration: {LEASE_S}s", "duration: 15s"))  # the doubt lasts until it is seen
        _, url = self.process("alice")
        browser = self.browser(url, dark=True)
        browser.await_text(STATE, "Leads")
        with self.locked_store():
            browser.await_text(STATE, "In doubt")
            self.assertRegex(browser.text(WHY), r"^A renewal failed: .* It leads for [0-9.]+ s more if none succeeds\.$")
            self.keep(browser, "doubt-dark")
            browser.await_text(STATE, "Revoked")
            self.assertIn("Its term with token 1 ended: store unreachable, ", browser.text(WHY))
            style = "getComputedStyle(document.querySelector('.strip .lost'))"
            self.assertEqual(browser.run(style + ".borderRightWidth"), "4px", "only the end is marked")
            self.assertNotEqual(browser.run(style + ".backgroundColor"), browser.run(style + ".borderRightColor"))
            self.keep(browser, "revoked-dark")
            browser.await_text(STATE, "Store fails")
            self.keep(browser, "store-down-dark")

    def test_a_frozen_process_is_not_shown_as_the_leader_and_neither_is_it_when_it_wakes(self):
        process, url = self.process("alice")
        browser = self.browser(url)
        browser.await_text(STATE, "Leads")
        # Each state that the page shows from now on, with the time.
        browser.run("(window.shown = [], new MutationObserver(() => shown.push([performance.now(), "
                    "document.querySelector('article .state').textContent])).observe(document.querySelector('article'), "
                    "{subtree: true, childList: true, characterData: true}), 0)")
        freezing.freeze(process.pid, [self.folder / "leases.db"])
        frozen = browser.run("performance.now()")
        browser.await_text(STATE, "No answer")
        time.sleep(LEASE_S + 2)
        self.assertEqual(browser.text(STATE), "No answer")
        self.assertIn("it does not after its lease has run out", browser.text(WHY))
        self.assertNotIn("this process)", browser.run("document.querySelector('main').innerText"))
        self.keep(browser, "frozen")
        _, other = self.process("bob")
        self.assertEqual(self.browser(other).await_text(STATE, "Leads"), "Leads")
        woken = browser.run("performance.now()")
        process.send_signal(signal.SIGCONT)
        browser.await_text(STATE, "Revoked")
        self.keep(browser, "woken")
        time.sleep(1)
        late = [state for at, state in browser.run("shown") if at > woken or at > frozen + 1000 * LEASE_S]
        self.assertNotIn("Leads", late)
        self.assertNotIn("In doubt", late)

    def test_it_fits_a_phone_and_a_keyboard_and_a_screen_reader(self):
        _, url = self.process("alice")
        browser = self.browser(url, width=360, height=1400)
        browser.await_text(STATE, "Leads")
        browser.await_text("article ol", "elected")
        self.assertLessEqual(browser.run("document.documentElement.scrollWidth"), 360)
        self.keep(browser, "phone")
        names = browser.accessible_names()
        self.assertIn(("heading", "billing"), names)
        self.assertIn(("progressbar", "validity of the lease that remains"), names)
        self.assertTrue(any(role == "image" and re.match(r"1 terms? in .*; they took", name) for role, name in names), names)
        reached = []
        for _ in range(6):
            browser.press("\ue004")  # the tabulator
            reached.append(browser.run("document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"))
        self.assertIn("events of billing, newest first", reached)
        self.assertIn("/status", reached)

    def test_what_others_wrote_is_shown_as_text(self):
        self.process("<img src=x onerror=\"document.title='taken'\"><svg onload=\"document.title='taken'\">&lt;")
        _, url = self.process("bob")
        browser = self.browser(url)
        browser.await_text(STATE, "Stands by")
        self.assertIn("<img src=x onerror=", browser.text(WHY))
        self.assertIn("&lt;", browser.text("article dl"))
        self.assertEqual(browser.run("document.querySelectorAll('main img, main svg').length"), 0)
        self.assertEqual(browser.run("document.title"), "tenure")

    def test_it_asks_nobody_but_its_own_server(self):
        _, url = self.process("alice")
        browser = self.browser(url)
        browser.await_text(STATE, "Leads")
        asked = set(browser.run("performance.getEntriesByType('resource').map((one) => one.name)"))
        self.assertEqual({one.rsplit("/", 1)[0] + "/" for one in asked}, {url})


if __name__ == "__main__":
    sys.exit(unittest.main())
