"""scripts/papers.py: man pages that man and mandoc take without a word, and completion in the shells themselves.

A shell that is not installed is skipped. TENURE_PROGRAM names the program."""

import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))
import papers

PROGRAM = os.environ["TENURE_PROGRAM"]


def needs(tool):
    return unittest.skipUnless(shutil.which(tool), f"{tool} is not installed")


class Papers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.out = pathlib.Path(cls.folder.name)
        subprocess.run([sys.executable, "-B", ROOT / "scripts/papers.py", PROGRAM, cls.out], check=True)
        cls.commands = papers.commands(PROGRAM)

    def test_every_command_has_a_page_with_all_its_options(self):
        self.assertGreater(len(self.commands), 20)
        for one in self.commands:
            page = (self.out / "man1" / f"{one.name.replace(' ', '-')}.1").read_text().replace("\\-", "-")
            for option in one.options():
                self.assertIn(option, page, one.name)
            self.assertIn(papers.escaped(one.summary).replace("\\-", "-"), page)

    def test_page_of_the_file_has_every_key(self):
        page = (self.out / "man5/tenure.yaml.5").read_text().replace("\\-", "-")
        for key in re.findall(r"^\s*(?:#\|)?\s*([a-z_]+):", (ROOT / "config/reference.yaml").read_text(), re.M):
            self.assertRegex(page, rf"\b{key}:")

    @needs("man")
    @needs("mandoc")
    def test_man_and_mandoc_have_nothing_to_say(self):
        for page in sorted(self.out.glob("man?/*")):
            done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), page)
            lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], capture_output=True, text=True).stdout
            found = [line for line in lint.splitlines() if "missing date" not in line]  # two builds must be equal
            self.assertEqual(found, [], page)

    def bash(self, *words):
        script = f'source {self.out}/bash/tenure; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tenure; printf "%s\\n" "${{COMPREPLY[@]}}"'
        done = subprocess.run(["bash", "--norc", "-c", script, "bash", *words], capture_output=True, text=True, check=True,
                              cwd=ROOT)
        return done.stdout.split()

    def test_bash_offers_all_commands_options_and_values(self):
        for one in self.commands:
            offered = self.bash("tenure", *one.path, "")
            for word, _ in one.subcommands():
                self.assertIn(word, offered, one.name)
            for option in one.options():
                self.assertTrue(option in offered or not option.startswith("--"), f"{one.name} {option}")
        self.assertEqual(self.bash("tenure", "ru"), ["run"])
        self.assertEqual(self.bash("tenure", "lock", "hold", "--store", "sq"), ["sqlite"])
        self.assertEqual(self.bash("tenure", "run", "--config", str(ROOT / "READM")), [str(ROOT / "README.md")])
        self.assertIn("true", self.bash("tenure", "run", "--once", "--", "tru"))
        self.assertEqual(self.bash("tenure", "check", str(ROOT / "READM")), [str(ROOT / "README.md")])
        self.assertIn("README.md", self.bash("tenure", "check", ""))
        self.assertEqual(self.bash("tenure", "READM"), [], "a command is wanted there")
        self.assertEqual(self.bash("tenure", "run", "--config", "=", str(ROOT / "READM")), [str(ROOT / "README.md")])

    def test_bash_quotes_names_of_files_that_it_would_run(self):
        name = "odd;echo IN''JECTED;name"
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, name).touch()
            for line in ("tenure run -- ./od", "tenure lock hold x -- ./od", "tenure run --config ./od", "tenure check ./od"):
                seen = self.typed(["bash", "--norc", "-i"], f"cd {folder}; source {self.out}/bash/tenure", line)
                self.assertIn("odd\\;echo", seen, line)

    @needs("fish")
    def test_fish_offers_all_commands_options_and_values(self):
        def ask(line):
            done = subprocess.run(["fish", "--no-config", "-c", f"source {self.out}/fish/tenure.fish; complete -C '{line}'"],
                                  capture_output=True, text=True, check=True)
            return [each.split("\t")[0] for each in done.stdout.splitlines()]
        for one in self.commands:
            words, options = ask(" ".join(["tenure", *one.path, ""])), ask(" ".join(["tenure", *one.path, "--"]))
            for word, _ in one.subcommands():
                self.assertIn(word, words, one.name)
            for option in one.options():
                self.assertTrue(option in options or not option.startswith("--"), f"{one.name} {option}")
        self.assertEqual(ask("tenure lock hold --store sq"), ["sqlite"])
        self.assertIn(str(ROOT / "README.md"), ask(f"tenure check {ROOT}/READM"))
        self.assertIn(str(ROOT / "README.md"), ask(f"tenure run -- {ROOT}/READM"))

    @needs("zsh")
    def test_zsh_completes_at_a_terminal(self):
        for line, wanted in (("tenure ru", "tenure run"), ("tenure lock ho", "tenure lock hold"),
                             ("tenure run --onc", "tenure run --once"), ("tenure lock hold --store sq", "--store sqlite")):
            seen = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", self.zsh(line))
            self.assertIn(wanted, seen, line)

    @needs("zsh")
    def test_zsh_runs_no_program_that_is_named_as_a_value(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("PORT", "WHERE"):  # of ADDRESS:PORT and KIND:WHERE
                program = pathlib.Path(folder, name)
                program.write_text(f"#!/bin/sh\necho > {folder}/was-run\n")
                program.chmod(0o755)
            for line in ("tenure fence proxy --listen ", "tenure fence recover --resource "):
                self.zsh(line, f"PATH={folder}:$PATH")
            self.assertFalse(pathlib.Path(folder, "was-run").exists())

    def zsh(self, line, before=":"):
        return self.typed(["zsh", "-f", "-i"], f"{before}; unset zle_bracketed_paste; fpath=({self.out}/zsh $fpath); "
                          "autoload -Uz compinit; compinit -u -D", line)

    def typed(self, shell, set_up, line):
        """The terminal's text after a line and a tab."""
        process, terminal = pty.fork()
        if process == 0:
            os.execvp(shell[0], shell)
        try:
            # What the shell prints once it is ready must not be what was typed. From its prompt on, the terminal shows
            # nothing by itself.
            os.write(terminal, f"{set_up}; PS1='pro''mpt> '\n".encode())
            self.read_until(terminal, "prompt> ")
            # The next word is shown once the tab has been dealt with.
            os.write(terminal, line.encode() + b"\tafterwards")
            return self.read_until(terminal, "afterwards")
        finally:
            os.close(terminal)
            os.waitpid(process, 0)

    @staticmethod
    def read_until(terminal, mark):
        """Until the mark is there, for 30 s at most."""
        text, end = "", time.monotonic() + 30
        while time.monotonic() < end and mark not in text:
            if not select.select([terminal], [], [], 30)[0]:
                break
            text += os.read(terminal, 65536).decode(errors="replace")
        return text


if __name__ == "__main__":
    unittest.main()
