"""The judge of the chaos tests must find each fault that it exists for."""

import copy
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from verdict import SECOND, Process, Run, Verdict, stale_rows, time_in


def at(seconds):
    return int(seconds * SECOND)


def claims(token, begin, end):
    """One claim in 100 ms."""
    count = round((end - begin) * 10)
    return [{"e": "led", "t": at(begin + n / 10), "u": at(begin + n / 10) + 1000, "token": token} for n in range(count + 1)]


def term(token, begin, end, revoked=True):
    told = [{"e": "elected", "t": at(begin), "token": token}, *claims(token, begin, end)]
    return told + ([{"e": "revoked", "t": at(end), "token": token, "reason": "expired"}] if revoked else [])


def good_run():
    """A leads from 1 s to 4 s and is killed, B from 6 s to 9 s, A's next process from 9.5 s to 20 s."""
    return Run(
        began=at(0), ended=at(20), longest_vacancy_s=3.0, first_election_s=5.0,
        processes=[Process("A", 1, at(0), at(4), "killed", term(1, 1, 4, revoked=False)),
                   Process("B", 1, at(0), at(21), "stopped", term(2, 6, 9)),
                   Process("A", 2, at(5), at(21), "stopped", term(3, 9.5, 20))],
        fenced_rows=[(1, "A"), (1, "A"), (2, "B"), (3, "A'")], unfenced_rows=[(1, "A"), (2, "B"), (1, "A"), (3, "A'")])


class TheJudge(unittest.TestCase):
    def setUp(self):
        self.run_ = good_run()

    def expect_fault(self, *words):
        faults = Verdict(self.run_).faults
        self.assertEqual(len(faults), 1, faults)
        for word in words:
            self.assertIn(word, faults[0])

    def expect_none(self):
        self.assertEqual([], Verdict(self.run_).faults)

    def test_finds_nothing_where_nothing_is(self):
        self.expect_none()
        figures = Verdict(self.run_).figures
        self.assertEqual((figures["terms"], figures["tokens"], figures["rows_fenced"]), (3, [1, 2, 3], 4))
        self.assertEqual((figures["stale_rows_fenced"], figures["stale_rows_unfenced"]), (0, 1))
        self.assertAlmostEqual(figures["longest_vacancy_s"], 2.0)

    def test_two_leaders_at_once(self):
        self.run_.processes[2].events = term(3, 8.9, 20)
        self.expect_fault("two leaders at once", "A.2 token 3", "B.1 token 2")

    def test_a_short_term_within_a_long_one(self):
        self.run_.processes[1].events = term(2, 6, 9)
        self.run_.processes[2].events = [*term(3, 7, 7.3), *term(4, 9.5, 20)]
        self.expect_fault("two leaders at once", "A.2 token 3")

    def test_a_claim_that_was_made_at_some_time_in_a_freeze_accuses_nobody(self):
        self.run_.processes[2].events.insert(0, {"e": "led", "t": at(8), "u": at(9.4), "token": 3})
        self.expect_none()

    def test_elected_and_never_revoked(self):
        self.run_.processes[1].events.pop()
        self.expect_fault("B.1", "token 2", "never revoked")

    def test_a_killed_process_need_not_tell(self):
        self.run_.processes[1].events.pop()
        self.run_.processes[1].how = "killed"
        self.expect_none()

    def test_elected_twice_in_a_row(self):
        self.run_.processes[2].events.insert(0, {"e": "elected", "t": at(9.2), "token": 3})
        self.expect_fault("A.2", "elected with token 3 is number 2")

    def test_revoked_twice(self):
        self.run_.processes[1].events.append({"e": "revoked", "t": at(10), "token": 2})
        self.expect_fault("B.1", "revoked with token 2 is number 3")

    def test_revoked_with_another_token(self):
        self.run_.processes[1].events[-1]["token"] = 1
        self.expect_fault("B.1", "revoked with token 1")

    def test_revoked_without_elected(self):
        self.run_.processes[1].events.insert(0, {"e": "revoked", "t": at(5), "token": 1})
        self.assertTrue(any("revoked with token 1 is number 1" in f for f in Verdict(self.run_).faults))

    def test_tokens_that_fall(self):
        self.run_.processes[1].events = term(4, 6, 9)
        self.run_.fenced_rows = []
        self.expect_fault("tokens do not rise")

    def test_one_token_for_two(self):
        for event in self.run_.processes[2].events:
            event["token"] = 2
        self.run_.fenced_rows = []
        self.assertTrue(any("given twice" in f for f in Verdict(self.run_).faults))

    def test_a_stale_row(self):
        self.run_.fenced_rows.insert(3, (1, "A"))
        self.expect_fault("accepted a stale write", "row 4", "token 1")

    def test_a_row_of_another_holder(self):
        self.run_.fenced_rows.append((3, "B"))
        self.expect_fault("accepted a stale write", "row 5", "of B")

    def test_rows_that_vanished(self):
        self.run_.processes[1].events.append({"e": "rows", "t": at(9), "token": 2, "accepted": 2})
        self.expect_fault("2 rows of token 2", "1 are there")

    def test_a_foreign_term(self):
        self.run_.processes[1].events.append({"e": "foreign", "t": at(9), "token": 2, "message": "two leases of one name"})
        self.expect_fault("two leases of one name")

    def test_a_process_that_died(self):
        self.run_.processes[1].how, self.run_.processes[1].why = "died", "exit code 1"
        self.expect_fault("B.1 ended by itself: exit code 1")

    def test_nobody_leads_for_too_long(self):
        self.run_.processes[2].events = term(3, 12.5, 20)
        self.expect_fault("nobody led for 3.50 s", "from 9.00 s to 12.50 s", "3.00 s")

    def test_nobody_leads_in_the_end(self):
        self.run_.processes[2].events = term(3, 9.5, 15)
        self.expect_fault("nobody led for 5.00 s", "to 20.00 s")

    def test_nobody_ever_leads(self):
        for process in self.run_.processes:
            process.events = []
        self.run_.fenced_rows = []
        self.expect_fault("nobody led for 20.00 s", "5.00 s")

    def test_an_outage_is_no_vacancy(self):
        self.run_.processes[2].events = term(3, 12.5, 20)
        self.run_.blocked = [(at(10), at(10.6), "outage"), (at(10.2), at(10.4), "twice")]
        self.expect_none()
        self.run_.blocked = [(at(10), at(10.4), "too short")]
        self.expect_fault("nobody led for 3.10 s")

    def test_a_token_that_nobody_claimed_cost_a_lease(self):
        later = copy.deepcopy(self.run_)
        later.processes[2].events = term(4, 12.5, 20)
        later.fenced_rows.pop()
        self.assertEqual([], Verdict(later).faults)

    def test_a_lost_update(self):
        self.run_.processes[1].events += [{"e": "added", "t": at(7), "to": where, "element": f"B.2.{n}"}
                                          for n in (0, 1) for where in ("fenced", "unfenced")]
        self.run_.sets = {"fenced": ["B.2.0", "B.2.1", "A.3.0"], "unfenced": ["B.2.0"]}
        self.expect_none()
        figures = Verdict(self.run_).figures
        self.assertEqual((figures["added_fenced"], figures["lost_fenced"]), (2, 0))
        self.assertEqual((figures["added_unfenced"], figures["lost_unfenced"]), (2, 1))
        self.run_.sets["fenced"].remove("B.2.1")
        self.expect_fault("1 acknowledged elements", "B.2.1")

    def test_stale_rows_are_counted_one_by_one(self):
        self.assertEqual([(3, 1, "A"), (4, 1, "A")], stale_rows([(1, "A"), (2, "B"), (1, "A"), (1, "A"), (2, "B")]))

    def test_time_in_intervals_that_overlap(self):
        self.assertEqual(time_in([(5, 8, ""), (0, 6, ""), (9, 20, "")], 1, 10), 8)


if __name__ == "__main__":
    unittest.main()
