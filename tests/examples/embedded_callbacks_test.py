import unittest

from program import ExampleTest, first_to_print

ELECTED = r"elected, fencing token (\d+)"


class EmbeddedCallbacks(ExampleTest):
    example = "embedded_callbacks"

    def test_one_copy_works_and_a_polite_stop_hands_over(self):
        leader, (standby,) = first_to_print([self.start(), self.start()], ELECTED)
        leader.wait_for("working under token 1")
        self.assertEqual(standby.matches(ELECTED), [])

        self.assertEqual(leader.stop(), 0)
        self.assertEqual(leader.lines[-2:], ["revoked (stopped), fencing token 1", "stopped (released)"])
        standby.wait_for("elected, fencing token 2")
        self.assertEqual(standby.stop(), 0)

    def test_a_killed_leader_is_succeeded(self):
        leader, (standby,) = first_to_print([self.start(), self.start()], ELECTED)
        leader.kill()
        standby.wait_for("working under token 2")

    def test_a_frozen_leader_knows_on_waking_that_its_term_is_over(self):
        leader, (standby,) = first_to_print([self.start(), self.start()], ELECTED)
        leader.wait_for("working under token 1")
        self.freeze(leader)
        standby.wait_for("elected, fencing token 2")
        before = leader.lines  # not at once: what it printed last may still be in its pipe

        leader.thaw()
        # storeUnreachable: the process was frozen while an answer of the store was due.
        revoked = leader.wait_for(r"revoked \((expired|storeUnreachable)\), fencing token 1")
        self.assertEqual(leader.lines, [*before, revoked[0]])
        self.assertEqual(leader.stop(), 0)
        self.assertEqual(leader.lines[-1], "stopped (notHeld)")

    def test_a_wrong_file_is_refused_with_its_place(self):
        (self.directory / "group.yaml").write_text("group: jobs\nleese: { duration: 2s }\n")
        program = self.start()
        self.assertEqual(program.exit_code(), 1)
        self.assertIn("group.yaml:2:1", "\n".join(program.log))
        self.assertEqual([path.name for path in self.directory.iterdir()], ["group.yaml"])


if __name__ == "__main__":
    unittest.main()
