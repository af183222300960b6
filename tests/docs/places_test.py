"""Documented lines and files in the place they are for: crontab lines under cron, the health check under HAProxy."""

import http.server
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "scripts"), str(HERE.parent / "support")]
import doc_blocks
from ports import free_port
from waiting import wait_until

TENURE = pathlib.Path(os.environ["TENURE_PROGRAM"])
SBIN = os.environ["PATH"] + ":/usr/sbin"
# The parts of a documented line: how often, the options, and the words that name a file and a job.
CRON_LINE = re.compile(r"\*/10 \* \* \* \*\s+tenure (run [^`\n]*--once[^`\n]*)")
FILE_AND_JOB = re.compile(r"(?<=\s)(/etc/\w+\.yaml|FILE)(?=\s)"), re.compile(r" -- \S+$")

# Everything that cron touches is of this namespace alone. $1: the directory of the test; $2, $3: cron and tenure.
CRON = r"""
set -e
mkdir "$1/over" && mount -t tmpfs none "$1/over"
for part in etc usr var; do
  mkdir -p "$1/over/$part" "$1/over/$part.work"
  mount -t overlay none -o "lowerdir=/$part,upperdir=$1/over/$part,workdir=$1/over/$part.work" "/$part"
done
mount -t tmpfs none /run
rm -rf /etc/cron.d /etc/crontab /var/spool/cron
mkdir -p /var/spool/cron/crontabs
for kind in account session auth; do echo "$kind sufficient pam_permit.so"; done >/etc/pam.d/cron
printf '#!/bin/sh\ncat >"$(mktemp %s/mail.XXXXXX)"\n' "$1" >/usr/sbin/sendmail
chmod 755 /usr/sbin/sendmail
ln -sf "$3" /usr/bin/tenure
install -m 600 "$1/crontab" /var/spool/cron/crontabs/root
exec "$2" -f
"""


def documented_lines():
    lines = []
    for path in doc_blocks.documents(doc_blocks.ROOT):
        lines += [(path.name, line) for line in CRON_LINE.findall(path.read_text(encoding="utf-8"))]
    return lines


class Places(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def start(self, *command, **options):
        process = subprocess.Popen(command, cwd=self.directory, stderr=subprocess.DEVNULL, **options)
        self.addCleanup(process.wait, 30)
        self.addCleanup(process.terminate)
        return process

    def write_group(self, name, jobs=""):
        file = self.directory / f"{name}.yaml"
        file.write_text(f"group: {name}\ncandidate: {{ id: \"${{NAME:-{name}}}\" }}\nlease: {{ duration: 2s }}\n"
                        f"store: {{ type: sqlite, path: ./{name}.db }}\n{jobs}")
        return file

    def mails(self):
        return [file.read_text() for file in self.directory.glob("mail.*")]

    def crontab_line(self, number, line):
        """The documented line every minute, with a group and a job of this test."""
        file = self.write_group(f"group{number}", "jobs: { nightly: { schedule: \"0 3 * * *\", time_zone: Europe/Berlin } }\n")
        line, files = FILE_AND_JOB[0].subn(str(file), line)
        line, jobs = FILE_AND_JOB[1].subn(f" -- {self.directory}/job{number}", line)
        self.assertEqual((files, jobs), (1, 1), line)
        job = self.directory / f"job{number}"
        job.write_text(f"#!/bin/sh\necho x >>{self.directory}/ran{number}\n")
        job.chmod(0o755)
        return f"* * * * *  tenure {line}\n"

    def test_cron_mails_nothing_for_the_starts_of_the_documented_lines_that_find_nothing_to_do(self):
        cron = shutil.which("cron", path=SBIN)
        if not cron or os.geteuid() != 0:
            self.skipTest("it needs root and cron")
        lines = documented_lines()
        self.assertGreaterEqual(len(lines), 3, lines)
        busy = len(lines)
        table = [self.crontab_line(number, line) for number, (_, line) in enumerate([*lines, lines[0]])]
        (self.directory / "crontab").write_text("".join(table) + "* * * * *  echo a minute\n")
        self.start(TENURE, "run", "-c", f"group{busy}.yaml", "--", "sleep", "1000")
        system = self.start("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private",
                            "sh", "-c", CRON, "sh", str(self.directory), cron, str(TENURE))
        self.addCleanup(system.kill)  # it ignores SIGTERM while it waits
        minutes = lambda: sum(mail.endswith("\na minute\n") for mail in self.mails())
        wait_until(lambda: minutes() >= 3, "three minutes of cron", 240)
        told = [mail for mail in self.mails() if not mail.endswith("\na minute\n")]
        self.assertEqual(len(told), len(lines), told)
        for number, (document, _) in enumerate(lines):
            self.assertEqual((self.directory / f"ran{number}").read_text(), "x\n", document)
            self.assertEqual(sum(f"group{number}: the job starts" in mail for mail in told), 1, document)
        self.assertFalse((self.directory / f"ran{busy}").exists())

    def serve(self, name):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.end_headers()
                self.wfile.write(name.encode())

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server.server_port

    def test_haproxy_asks_as_documented_and_follows_the_leader(self):
        haproxy = shutil.which("haproxy", path=SBIN)
        if not haproxy:
            self.skipTest("it needs haproxy")
        text = (doc_blocks.ROOT / "docs/operations.md").read_text(encoding="utf-8")
        backend = re.search(r"```\n(backend billing\n.*?)```", text, re.DOTALL).group(1)
        group, copies = self.write_group("billing"), {}
        for number, name in enumerate(("a", "b"), 1):
            asked = free_port()
            backend = backend.replace(f"10.0.0.{number}:8080 check addr 10.0.0.{number} port 9200",
                                      f"127.0.0.1:{self.serve(name)} check addr 127.0.0.1 port {asked}")
            copies[name] = self.start(TENURE, "run", "-c", group, "--http", f"127.0.0.1:{asked}", "--", "sleep", "1000",
                                      env={**os.environ, "NAME": name})
        self.assertNotIn("10.0.0.", backend)
        port = free_port()
        (self.directory / "haproxy.cfg").write_text("defaults\n    timeout connect 1s\n    timeout client 5s\n    timeout server 5s\n"
                                                    f"frontend front\n    bind 127.0.0.1:{port}\n    default_backend billing\n{backend}")
        self.start(haproxy, "-db", "-f", "haproxy.cfg", stdout=subprocess.DEVNULL)

        def answer():
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as reply:
                    return reply.read().decode()
            except OSError:
                return None

        # HAProxy takes a server for good until its first check has ended.
        wait_until(lambda: answer() and len({answer() for _ in range(4)}) == 1, "a leader behind HAProxy")
        first = answer()
        other = "b" if first == "a" else "a"
        self.assertEqual([answer() for _ in range(20)], [first] * 20)
        copies[first].send_signal(signal.SIGTERM)
        wait_until(lambda: answer() == other, "its successor behind HAProxy")
        copies[other].send_signal(signal.SIGTERM)
        wait_until(lambda: answer() is None, "that there is no leader")


if __name__ == "__main__":
    unittest.main()
