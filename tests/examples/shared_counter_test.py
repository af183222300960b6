import unittest

from program import ExampleTest


class SharedCounter(ExampleTest):
    example = "shared_counter"
    group = ()

    def test_no_number_is_lost_between_processes(self):
        programs = [self.start("locks.db", "counter", 40) for _ in range(4)]
        for program in programs:
            self.assertEqual(program.exit_code(), 0, program)
        numbers = [int(line) for program in programs for line in program.lines]
        self.assertEqual(sorted(numbers), list(range(1, 161)))


if __name__ == "__main__":
    unittest.main()
