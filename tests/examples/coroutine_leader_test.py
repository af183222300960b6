import unittest

from program import ExampleTest, first_to_print

STEP = r"step \d+ with fencing token (\d+)"


class CoroutineLeader(ExampleTest):
    example = "coroutine_leader"

    def setUp(self):
        super().setUp()
        self.leader, (self.standby,) = first_to_print([self.start(NODE=name) for name in ("left", "right")], STEP)

    def test_the_work_ends_before_the_lease_is_given_up(self):
        self.assertEqual(self.leader.stop(), 0)
        self.leader.wait_for(r"has ended term 1")
        self.leader.wait_for(r"has stopped \(released\)")
        self.standby.wait_for(r"step 1 with fencing token 2")
        self.assertEqual(self.standby.stop(), 0)

    def test_a_frozen_one_works_no_more_under_its_old_term(self):
        self.freeze(self.leader)
        self.standby.wait_for(r"step 1 with fencing token 2")
        self.leader.thaw()
        self.leader.wait_for(r"has ended term 1")
        self.assertEqual(self.standby.stop(), 0)
        self.leader.wait_for(r"step 1 with fencing token 3")
        self.assertEqual(self.leader.stop(), 0)


if __name__ == "__main__":
    unittest.main()
