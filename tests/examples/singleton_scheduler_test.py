import contextlib
import sqlite3
import unittest

from program import ExampleTest, first_to_print

TICK = r"(report|cleanup) (\S+) token (\d+)"


class SingletonScheduler(ExampleTest):
    example = "singleton_scheduler"

    def start(self):
        program = super().start("runs.db")
        self.programs = [*getattr(self, "programs", []), program]
        return program

    def leader_of(self, programs):
        return first_to_print(programs, TICK)

    def wait_for_ticks(self, program, token):
        """Two ticks of a term: the second one shows that the schedule continues."""
        program.wait_for(rf"report \S+ token {token}", count=2)

    def printed(self):
        """(job, due, token) of every tick that any process reports as done."""
        return [(m[1], m[2], int(m[3])) for program in self.programs for m in program.matches(TICK)]

    def database(self):
        return contextlib.closing(sqlite3.connect(self.directory / "runs.db", isolation_level=None))

    def runs_of(self, token):
        with self.database() as database:
            return database.execute("SELECT job, due FROM runs WHERE token = ?", [token]).fetchall()

    def check_runs(self):
        """What an independent reader of the database sees."""
        with self.database() as database:
            runs = database.execute("SELECT job, due, token, holder FROM runs ORDER BY rowid").fetchall()
        printed = self.printed()
        self.assertEqual(len({(job, due) for job, due, _ in printed}), len(printed), "a tick was done twice")
        self.assertLessEqual(set(printed), {run[:3] for run in runs})
        tokens = [token for _, _, token, _ in runs]
        self.assertEqual(tokens, sorted(tokens), "a former leader has written after its successor")
        self.assertEqual(len({run[2:] for run in runs}), len(set(tokens)), "two holders have one token")

    def test_exactly_one_of_three_copies_runs_the_jobs_through_a_kill_and_a_polite_stop(self):
        first, others = self.leader_of([self.start(), self.start(), self.start()])
        self.wait_for_ticks(first, 1)
        self.assertEqual([program.matches(TICK) for program in others], [[], []])

        first.kill()
        second, (third,) = self.leader_of(others)
        self.wait_for_ticks(second, 2)
        self.assertEqual(third.matches(TICK), [])

        self.assertEqual(second.stop(), 0)
        self.wait_for_ticks(third, 3)
        self.assertEqual(third.stop(), 0)
        self.assertEqual({token for _, _, token in self.printed()}, {1, 2, 3})
        self.check_runs()

    def test_a_frozen_leader_runs_nothing_more_on_waking(self):
        frozen, (successor,) = self.leader_of([self.start(), self.start()])
        self.wait_for_ticks(frozen, 1)
        self.freeze(frozen)
        before = self.runs_of(1)
        self.wait_for_ticks(successor, 2)

        frozen.thaw()
        # storeUnreachable: the process was frozen while an answer of the store was due.
        frozen.wait_for(r".*revoked \((expired|storeUnreachable): .*\), fencing token 1", log=True)
        self.wait_for_ticks(successor, 2)
        self.assertEqual(self.runs_of(1), before)
        self.assertEqual([program.stop() for program in (frozen, successor)], [0, 0])
        self.check_runs()

    def test_a_leader_that_the_fence_refuses_steps_back_and_its_next_term_is_above_what_the_fence_has_seen(self):
        leader = self.start()
        self.wait_for_ticks(leader, 1)
        with self.database() as database:
            database.execute("UPDATE tenure_fence_guard SET token = 41, holder = 'somebody'")

        leader.wait_for(r".*revoked \(lost: a resource has seen the token 41.*", log=True)
        leader.wait_for(r"report \S+ token 42")
        self.assertEqual({token for _, _, token in self.printed()}, {1, 42})
        self.assertEqual(leader.stop(), 0)
        self.check_runs()


if __name__ == "__main__":
    unittest.main()
