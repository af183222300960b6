"""scripts/site: the whole site, its links, its search and its width in a real Chromium; and that a bad link is refused.

TENURE_PAGE_PICTURES=FOLDER keeps pictures, for people to look at.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "docs/site"), str(ROOT / "tests/ops"), str(ROOT / "scripts")]
import doc_blocks
import links
import lists
from browser import CHROMIUM, DRIVER, Browser

PICTURES = os.environ.get("TENURE_PAGE_PICTURES", "")
PAGES = ("index", "docs/guide", "docs/reference/configuration", "docs/postgresql/replication", "api/index",
         "api/election/leader_elector", "docs/evidence")


class Links(unittest.TestCase):
    def judged(self, body):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "other.html").write_text('<p id="there">', encoding="utf-8")
            pathlib.Path(folder, "index.html").write_text(body, encoding="utf-8")
            return links.faults(folder)

    def test_a_link_to_a_page_and_its_anchor_is_good(self):
        self.assertEqual(([], 3), self.judged('<a id="a" href="other.html#there"></a><a href="#a"></a><a href="./"></a>'
                                              '<a href="https://example.org/"></a>'))

    def test_a_link_to_no_page_or_no_anchor_or_out_of_the_site_is_found(self):
        for url in ("none.html", "other.html#here", "#here", "../index.html"):
            found, _ = self.judged(f'<a href="{url}"></a>')
            self.assertEqual(1, len(found), url)
            self.assertIn(url, found[0])

    def test_what_is_loaded_from_elsewhere_is_found(self):
        for tag in ('<script src="https://cdn.example.org/x.js">', '<img src="//example.org/x.png">',
                    '<link rel="stylesheet" href="https://example.org/x.css">'):
            self.assertEqual(1, len(self.judged(tag)[0]), tag)


class Navigation(unittest.TestCase):
    def test_every_page_of_docs_is_in_the_navigation(self):
        """MkDocs says so too, but only in the long test."""
        listed = re.findall(r"(docs/[\w/*-]+\.md)", (ROOT / "docs/site/mkdocs.yml").read_text(encoding="utf-8"))
        shown = {page for path in listed for page in ROOT.glob(path)}
        self.assertEqual([], [str(page) for page in sorted((ROOT / "docs").rglob("*.md")) if page not in shown])


class Runbook(unittest.TestCase):
    def test_each_alert_has_its_section(self):
        alerts = re.findall(r"- alert: (\w+)", (ROOT / "config/prometheus/tenure.rules.yml").read_text(encoding="utf-8"))
        headings = re.findall(r"^### (Tenure\w+)$", (ROOT / "docs/runbook.md").read_text(encoding="utf-8"), re.MULTILINE)
        self.assertEqual(alerts, headings)

    def test_each_alert_links_to_its_section(self):
        rules = (ROOT / "config/prometheus/tenure.rules.yml").read_text(encoding="utf-8")
        linked = dict(re.findall(r"- alert: (\w+)$(?:(?!- alert:).)*?runbook_url: \"([^\"]+)\"", rules, re.MULTILINE | re.DOTALL))
        self.assertEqual(sorted(re.findall(r"- alert: (\w+)", rules)), sorted(linked))
        for alert, target in linked.items():
            page, anchor = target.split("#")
            self.assertEqual(alert.lower(), anchor)
            self.assertIn(anchor, doc_blocks.anchors_of(ROOT / page))


class Lists(unittest.TestCase):
    def test_lists_that_github_takes_become_lists(self):
        for given, wanted in (
                ("words\n- a\n- b", "words\n\n- a\n- b"),
                ("1. a\n   goes on\n2. b\n\nwords", "1. a\n    goes on\n2. b\n\nwords"),
                ("1. a\n   - b\n     c", "1. a\n    - b\n        c"),
                ("- a\n\n  words\n- b", "- a\n\n    words\n\n- b"),
                ("- a\n\n  ```\n  - b\n  ```", "- a\n\n    ```\n    - b\n    ```"),
                ("words of\n2026. And more", "words of\n2026. And more"),
                ("```\n- a\n  b\n```", "```\n- a\n  b\n```")):
            self.assertEqual(wanted, lists.for_python(given))


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("doxygen"):
            raise unittest.SkipTest("doxygen is not installed")
        folder = tempfile.TemporaryDirectory(prefix="tenure-site.")
        cls.addClassCleanup(folder.cleanup)
        cls.server = subprocess.Popen([ROOT / "scripts/site", "--out", folder.name, "--serve", "0"], stdout=subprocess.PIPE,
                                      text=True)
        cls.addClassCleanup(cls.stop)
        cls.told, cls.url = cls.server.stdout.readline(), cls.server.stdout.readline().strip()
        cls.site = pathlib.Path(folder.name)

    @classmethod
    def stop(cls):
        cls.server.terminate()
        cls.server.wait(20)
        cls.server.stdout.close()

    def browser(self, **how):
        if not CHROMIUM or not DRIVER:
            self.skipTest("there is no chromium with its chromedriver (apt-get install chromium chromium-driver)")
        browser = Browser(**how)
        self.addCleanup(browser.close)
        return browser

    def test_a_reader_on_a_phone_and_at_a_desk_finds_and_reads_the_site(self):
        self.assertRegex(self.told, r"[0-9]{3} pages, [0-9]{4,} links checked")
        for header in ROOT.glob("**/include/tenure/**/*.hpp"):
            if not header.is_relative_to(ROOT / "build"):
                page = self.site / "api" / str(header).split("/include/tenure/")[1]
                self.assertTrue(page.with_suffix(".html").is_file(), page)
        for width, dark in ((360, False), (360, True), (1280, False), (1280, True)):
            browser = self.browser(width=width, height=900, dark=dark)
            for page in PAGES:
                browser.open(f"{self.url}{page}.html")
                self.assertLessEqual(browser.run("document.documentElement.scrollWidth"), width, page)
                asked = browser.run("performance.getEntriesByType('resource').map(one => one.name)")
                self.assertEqual([], [one for one in asked if not one.startswith(self.url)], page)
                if PICTURES:
                    browser.picture(f"{PICTURES}/{page.replace('/', '_')}-{width}{'-dark' if dark else ''}.png")
            if width == 1280 and not dark:
                self.search(browser)
            browser.close()

    def search(self, browser):
        browser.open(f"{self.url}index.html?q=drain_timeout")
        end = time.monotonic() + 60
        while not (found := browser.run("[...document.querySelectorAll('.md-search-result__link')].map(one => one.href)")):
            self.assertLess(time.monotonic(), end, "the search has found nothing")
            time.sleep(0.1)
        self.assertTrue([one for one in found if "docs/reference/configuration.html" in one], found)


if __name__ == "__main__":
    unittest.main()
