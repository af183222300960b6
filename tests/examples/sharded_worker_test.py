import unittest

from program import ExampleTest, wait_until

BEGAN = r"shard (\d) with token (\d+)"
OVER = r"shard (\d) is over \((\w+)\)"


class ShardedWorker(ExampleTest):
    example = "sharded_worker"

    def owned(self, program):
        owned = {}
        for line in program.lines:
            words = line.split()
            if words[:1] == ["shard"]:
                owned[words[1]] = "with" in words
        return {shard for shard, held in owned.items() if held}

    def wait_for_spread(self, *counts):
        programs = self.programs
        wait_until(lambda: sorted(len(self.owned(program)) for program in programs) == sorted(counts),
                   f"a spread of {counts}", programs)
        shards = [shard for program in programs for shard in self.owned(program)]
        self.assertEqual(len(shards), len(set(shards)))

    def start(self):
        program = super().start()
        self.programs = [*getattr(self, "programs", []), program]
        return program

    def test_the_shards_are_shared_with_a_second_copy_and_taken_back_when_it_is_killed(self):
        first = self.start()
        self.wait_for_spread(6)
        second = self.start()
        self.wait_for_spread(3, 3)
        self.assertEqual({why for _, why in (match.groups() for match in first.matches(OVER))}, {"steppedDown"})
        self.assertEqual({token for _, token in (match.groups() for match in second.matches(BEGAN))}, {"2"})

        second.kill()
        self.programs.remove(second)
        self.wait_for_spread(6)
        self.assertEqual(first.stop(), 0)
        self.assertEqual(first.lines[-1], "stopped (released)")

    def test_a_copy_that_is_stopped_hands_its_shards_over(self):
        first, second = self.start(), self.start()
        self.wait_for_spread(3, 3)
        self.assertEqual(first.stop(), 0)
        self.programs.remove(first)
        self.wait_for_spread(6)
        self.assertEqual(second.stop(), 0)


if __name__ == "__main__":
    unittest.main()
