"""Runs cases of existing test programs, under the name of the fault that they test.

    existing.py PROGRAM CASES [PROGRAM CASES ...]      CASES: as for --gtest_filter

Each pattern must name at least one case: a filter that matches nothing would pass without having shown anything.
"""

import subprocess
import sys


def cases_of(program, cases):
    listed = subprocess.run([program, "--gtest_list_tests", f"--gtest_filter={cases}"], check=True, capture_output=True,
                            text=True).stdout
    return [line for line in listed.splitlines() if line.startswith("  ")]


def main(arguments):
    if not arguments or len(arguments) % 2:
        sys.exit(__doc__)
    for program, cases in zip(arguments[::2], arguments[1::2]):
        for pattern in cases.split(":"):
            if not cases_of(program, pattern):
                sys.exit(f"{program} has no case {pattern}: was it renamed? tests/chaos/CMakeLists.txt names it")
        print(f"{program}: {len(cases_of(program, cases))} cases", flush=True)
        code = subprocess.run([program, f"--gtest_filter={cases}", "--gtest_brief=1"], check=False).returncode
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
