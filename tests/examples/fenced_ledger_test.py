import fcntl
import shutil
import unittest

from program import ExampleTest, first_to_print

WROTE = r"wrote (\d+) (\S+) (\d+)"


class FencedLedger(ExampleTest):
    example = "fenced_ledger"

    def start(self):
        program = super().start("ledger")
        self.programs = [*getattr(self, "programs", []), program]
        return program

    def freeze(self, program):
        """Outside an append: a process that is frozen inside one lets nobody write (docs/fencing/file.md)."""
        super().freeze(program)
        while self.ledger_is_locked():
            program.thaw()
            super().freeze(program)

    def ledger_is_locked(self):
        with open(self.directory / "ledger.fence.lock", "rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return False
            except BlockingIOError:
                return True

    def check_ledger(self):
        """What is in the file, read without the library."""
        text = (self.directory / "ledger").read_text(encoding="utf-8")
        self.assertTrue(text.endswith("\n"), "a line is there by half")
        lines = [tuple(line.split(" ")) for line in text.splitlines()]
        tokens = [int(token) for token, _, _ in lines]
        self.assertEqual(tokens, sorted(tokens), "a former leader has written after its successor")
        self.assertEqual(len({line[:2] for line in lines}), len(set(tokens)), "two holders have one token")
        self.assertEqual(len(set(lines)), len(lines), "a line is there twice")
        printed = {match.groups() for program in self.programs for match in program.matches(WROTE)}
        self.assertLessEqual(printed, set(lines), "a line that was told is not there")
        return set(tokens)

    def test_a_killed_leader_is_succeeded_and_no_line_is_lost(self):
        first, (second,) = first_to_print([self.start(), self.start()], WROTE)
        first.wait_for(WROTE, count=3)
        first.kill()
        second.wait_for(r"wrote 2 .*", count=2)
        self.assertEqual(second.stop(), 0)
        self.assertEqual(self.check_ledger(), {1, 2})

    def test_a_frozen_leader_writes_nothing_after_its_successor(self):
        frozen, (successor,) = first_to_print([self.start(), self.start()], WROTE)
        frozen.wait_for(WROTE, count=2)
        self.freeze(frozen)
        successor.wait_for(r"wrote 2 .*", count=2)
        frozen.thaw()
        frozen.wait_for(r".*revoked \(.*\), fencing token 1", log=True)
        successor.wait_for(r"wrote 2 .*", count=4)
        self.assertEqual([program.stop() for program in (frozen, successor)], [0, 0])
        self.assertEqual(self.check_ledger(), {1, 2})

    def test_a_leader_that_the_file_refuses_steps_back_and_its_next_term_is_above(self):
        for term in (1, 2):
            leader = self.start()
            leader.wait_for(rf"wrote {term} .*")
            self.assertEqual(leader.stop(), 0)
        # The lease's database is lost, and with it the token counter; the ledger remembers the token.
        shutil.rmtree(self.directory / ".lease.db.tenure")
        for file in self.directory.glob("lease.db*"):
            file.unlink()
        again = self.start()
        again.wait_for(r".*refused a write .* with fencing token 1,.*", log=True)
        again.wait_for(r"wrote 3 .*")
        self.assertEqual(again.stop(), 0)
        self.assertEqual(self.check_ledger(), {1, 2, 3})


if __name__ == "__main__":
    unittest.main()
