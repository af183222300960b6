"""Each rule of scripts/lint.py finds a violation, and does not report correct text."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import house
import lint


def errors(files):
    """The findings for a tree of these files, as (rule, file:line)."""
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        findings, _ = lint.lint(root, list(files))
    return [(line.rsplit("[", 1)[1].rstrip("]"), ":".join(line.split(":")[:2])) for line in findings.errors]


class Rules(unittest.TestCase):
    def finds(self, rule, name, text, line=1):
        self.assertEqual(errors({name: text}), [(rule, f"{name}:{line}")])

    def accepts(self, name, text):
        self.assertEqual(errors({name: text}), [])

    def test_clock(self):
        for code in ("auto t = std::chrono::steady_clock::now();", "clock_gettime(CLOCK_REALTIME, &t);",
                     "auto t = std::time(nullptr);", "auto t = time(0);", "gettimeofday(&t, nullptr);"):
            self.finds("clock", "election/src/a.cpp", f"\n{code}\n", 2)
            self.accepts("lockcore/runtime/clock.cpp", f"{code}\n")
            self.accepts("tests/a_test.cpp", f"{code}\n")
        self.accepts("election/src/a.cpp", '// not steady_clock::now()\nauto s = "time(0)";\nauto t = m.time(x);\n')

    def test_raw_new(self):
        self.finds("raw-new", "lockcore/runtime/a.cpp", "auto* p = new int{1};\n")
        self.finds("raw-new", "lockcore/runtime/a.cpp", "delete p;\n")
        self.finds("raw-new", "lockcore/runtime/a.cpp", "void* p = malloc(3);\n")
        self.accepts("lockcore/runtime/a.cpp",
                     '#include <new>\nauto s = R"sql(\n-- a new row\n)sql";\n'
                     "A(const A&) = delete;\nauto* p = new (page) int{1};\n")

    def test_allowance_needs_its_rule_and_a_reason(self):
        self.accepts("lockcore/runtime/a.cpp", "auto* p = new int{1};  // lint-allow(raw-new): handed to a C library\n")
        self.finds("raw-new", "lockcore/runtime/a.cpp", "auto* p = new int{1};  // lint-allow(clock): no\n")
        self.finds("raw-new", "lockcore/runtime/a.cpp", "auto* p = new int{1};  // lint-allow(raw-new):\n")

    def test_sleep(self):
        self.finds("sleep", "tests/a_test.cpp", "std::this_thread::sleep_for(1s);\n")
        self.finds("sleep", "election/src/a.cpp", "usleep(10);\n")
        self.accepts("tests/support/wait_until.cpp", "std::this_thread::sleep_for(1ms);\n")

    def test_functions_for_one_thread(self):
        self.finds("threads", "lockcore/runtime/a.cpp", "auto text = std::strerror(errno);\n")
        self.finds("threads", "tests/a_test.cpp", "auto* t = localtime(&now);\n")
        self.accepts("lockcore/runtime/a.cpp", "auto* t = gmtime_r(&now, &parts);\nauto r = random.rand(3);\n")

    def test_locale_of_the_host(self):
        for line in ("std::istringstream in{text};", "if (std::isdigit(c)) return;", "auto x = strtod(text, &end);", "std::regex r{text};",
                     "c = tolower(c);", "std::ifstream{path} >> count;", "auto why = std::generic_category().message(errno);",
                     "std::strftime(text, 9, form, &parts);", 'fmt::format("{:L}", n);', 'snprintf(text, 9, "%5.1f", x);'):
            self.finds("locale", "config/src/a.cpp", line + "\n")
            self.accepts("tests/config/a_test.cpp", line + "\n")
        for line in ("for (std::string line; std::getline(file, line);) {}", "return isDigit(c);", 'fmt::format("{:.1f}", x);',
                     'snprintf(path, 9, "/proc/%d/stat", pid);', 'constexpr auto sql = "strftime(\'%f\')";', "mask >> 3U;"):
            self.accepts("config/src/a.cpp", line + "\n")

    def test_name_that_std_has_too(self):
        self.finds("std-name", "adapters/gateway/src/a.cpp", "std::string quoted(std::string_view text) {\n")
        self.accepts("adapters/gateway/src/a.cpp", "std::string quoted(const std::string& lease) {\n")

    def test_skipped_test(self):
        self.finds("skipped-test", "tests/a_test.cpp", "GTEST_SKIP();\n")
        self.finds("skipped-test", "tests/a_test.cpp", "TEST(A, DISABLED_b) {}\n")

    def test_cloexec(self):
        self.finds("cloexec", "lockcore/runtime/a.cpp", "int fd = ::open(path, O_RDONLY);\n")
        self.accepts("lockcore/runtime/a.cpp", "int fd = ::open(path, O_RDONLY | O_CLOEXEC);\n")

    def test_standard_streams(self):
        self.finds("standard-streams", "cli/a.cpp", "int fd = open(path, O_WRONLY | O_CLOEXEC);\n")
        self.finds("standard-streams", "cli/a.cpp", "int fd = ::open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);\n")
        self.accepts("cli/a.cpp", "int fd = openToWrite(path, O_RDWR | O_CLOEXEC);\n")
        self.accepts("cli/a.cpp", "int fd = open(path, O_RDONLY | O_CLOEXEC);\n")

    def test_layers(self):
        upwards = "#include <tenure/election/group.hpp>\n"
        self.finds("layers", "lockcore/runtime/a.cpp", upwards)
        self.finds("layers", "adapters/sqlite/src/a.cpp", upwards)
        self.finds("layers", "election/src/a.cpp", "#include <tenure/config/load_group.hpp>\n")
        self.finds("layers", "lockcore/runtime/a.cpp", '#include "../../election/src/elector_impl.hpp"\n')
        self.finds("layers", "lockcore/runtime/a.cpp", '#include "election/src/elector_impl.hpp"\n')
        self.accepts("election/src/a.cpp", upwards)
        self.accepts("cli/a.cpp", "#include <tenure/config/load_group.hpp>\n")
        self.finds("layers", "config/src/stores/a.cpp", '#include "../store_types.hpp"\n')

    def test_floors(self):
        self.finds("floors", "lockcore/lease/a.cpp", '#include "lockcore/runtime/thread.hpp"\n')
        self.finds("floors", "lockcore/lease/a.cpp", "#include <tenure/lockcore/lock_client.hpp>\n")
        self.finds("floors", "lockcore/port/a.cpp", "#include <tenure/lockcore/lock_client.hpp>\n")
        self.finds("floors", "lockcore/include/tenure/lockcore/lease_record.hpp",
                   "#pragma once\n#include <tenure/lockcore/lock.hpp>\n", 2)
        self.finds("floors", "lockcore/stores/sqlite/src/a.cpp", '#include "lockcore/driver/watchdog.hpp"\n')
        self.finds("floors", "adapters/gateway/src/a.cpp", '#include "lockcore/lease/observation.hpp"\n')
        self.finds("floors", "adapters/s3/src/a.cpp", '#include "lockcore/kubernetes/gateway.hpp"\n')
        self.finds("floors", "adapters/pod_label/src/a.cpp", '#include "lockcore/stores/kubernetes/src/state.hpp"\n')
        self.finds("floors", "lockcore/kubernetes/a.cpp", '#include "lockcore/stores/kubernetes/src/state.hpp"\n')
        self.finds("floors", "lockcore/stored/a.cpp", '#include "lockcore/kubernetes/gateway.hpp"\n')
        self.accepts("adapters/pod_label/src/a.cpp", '#include "lockcore/kubernetes/gateway.hpp"\n')
        self.accepts("lockcore/kubernetes/a.cpp", "#include <tenure/lockcore/stores/kubernetes_store.hpp>\n")
        self.accepts("lockcore/driver/a.cpp", '#include "lockcore/lease/observation.hpp"\n')
        self.accepts("lockcore/lease/a.cpp", "#include <tenure/lockcore/clock.hpp>\n")
        self.accepts("cli/a.cpp", '#include "lockcore/driver/watchdog.hpp"\n')
        self.finds("floors", "lockcore/liveness/a.cpp", '#include "lockcore/stores/sqlite/src/errors.hpp"\n')

    def test_door(self):
        folder = "lockcore/stores/sqlite/src"
        self.finds("door", f"{folder}/a.cpp", '#include "sidecar/wake_files.hpp"\n')
        self.finds("door", f"{folder}/a.cpp", f'#include "{folder}/sidecar/loss_watch.hpp"\n')
        self.accepts(f"{folder}/a.cpp", '#include "sidecar/sidecar.hpp"\n')
        self.accepts(f"{folder}/sidecar/a.cpp", '#include "loss_watch.hpp"\n')
        self.accepts("tests/stores/sqlite/a.cpp", f'#include "{folder}/sidecar/wake_files.hpp"\n')

    def test_public_header(self):
        header = "lockcore/include/tenure/lockcore/a.hpp"
        self.finds("public-header", header, "#pragma once\n#include <unistd.h>\n", 2)
        self.finds("public-header", header, '#pragma once\n#include "b.hpp"\n', 2)
        self.finds("public-header", "adapters/gateway/include/tenure/adapters/a.hpp",
                   "#pragma once\n#include <tenure/lockcore/asio.hpp>\n", 2)
        self.accepts(header, "#pragma once\n#include <map>\n#include <boost/system/result.hpp>\n"
                             "#include <tenure/lockcore/clock.hpp>\n")
        self.accepts("lockcore/include/tenure/lockcore/asio.hpp",
                     "#pragma once\n#include <boost/asio/any_io_executor.hpp>\n")

    def test_export(self):
        header = "lockcore/include/tenure/lockcore/a.hpp"
        start = "#pragma once\nnamespace tenure {\n"
        for code in ("class A {};", "struct A final : public B<int> {\n  int c();\n};",
                     "struct A {\n  virtual ~A() = default;\n};", "struct TENURE_API A {\n  int a{b()};\n};", "int a();", "extern const int a;",
                     "[[nodiscard]] std::string a(int b = {},\n    int c);", "[[noreturn]] void a(const B&) noexcept;"):
            self.finds("export", header, f"{start}class B;\n{code}\n}}\n", 4)
        self.accepts(header, start + "class TENURE_API A {\n  struct B {};\n  void b();\n  friend void c(A);\n};\n"
                                     "struct L {\n  int l() const { return m(); }\n  std::function<void(int)> m{};\n"
                                     "  friend bool operator==(const L&, const L&) = default;\n};\n"
                                     "struct TENURE_API N {\n  [[nodiscard]] int n() const noexcept;\n};\n"
                                     "[[nodiscard]] TENURE_API A a(\n    A b = {});\nenum class D { a };\nstruct E;\n"
                                     "inline constexpr A f{A{1} << 3};\ninline int g() { return 1; }\nusing H = A;\n"
                                     "template <class T>\nstruct I {\n  T t;\n};\n// class J {\n#define K int k();\n"
                                     "[[nodiscard]] constexpr A operator+(A a, A b) noexcept { return {a + b}; }\n}\n")
        self.accepts("lockcore/port/a.hpp", start + "class A {};\n}\n")

    def test_pragma_once(self):
        self.finds("pragma-once", "election/src/a.hpp", "int a();\n")

    def test_heavy_header(self):
        self.finds("heavy-header", "election/src/a.cpp", "#include <yaml-cpp/yaml.h>\n")
        self.finds("heavy-header", "config/src/a.cpp", "#include <CLI/CLI.hpp>\n")
        self.accepts("config/src/a.cpp", "#include <yaml-cpp/yaml.h>\n")
        count = lint.MOST_FILES["boost/asio"] + 1
        many = {f"lockcore/runtime/a{i}.cpp": "#include <boost/asio/post.hpp>\n" for i in range(count)}
        self.assertEqual([rule for rule, _ in errors(many)], ["heavy-header"])

    def test_text(self):
        self.finds("unfinished", "lockcore/runtime/a.cpp", "int a;  // TO" "DO: more\n")
        self.finds("whitespace", "README.md", "a \n")
        self.finds("whitespace", "README.md", "a")
        self.accepts("tests/golden/a.yaml", "broken: \nas it must be")

    def test_name_of_a_file(self):
        self.finds("name", 'P","key"}', "{}\n")
        self.finds("name", "docs/a b.md", "a\n")
        self.accepts("docs/systemd/a-b_1@.service", "a\n")

    def test_name_of_a_test(self):
        self.finds("test-name", "tests/a_test.cpp", "\nTEST_F(A,\n       " + "b" * (lint.LONGEST_TEST_NAME + 1) + ") {}\n", 2)
        self.accepts("tests/a_test.cpp", "TEST(A, " + "b" * lint.LONGEST_TEST_NAME + ") {}\n")

    def test_scripts(self):
        self.assertIn(("shell", "scripts/a.sh:1"), errors({"scripts/a.sh": "if true; then\n"}))
        self.finds("python", "scripts/a.py", "def f(:\n")

    def test_long_file_is_a_warning(self):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            (root / "a.cpp").write_text("int a;\n" * (lint.LONG_FILE + 1))
            findings, _ = lint.lint(root, ["a.cpp"])
        self.assertEqual((len(findings.warnings), findings.errors), (1, []))

    def test_house(self):
        code = {"lockcore/include/tenure/lockcore/a.hpp": "#pragma once\n\n// a comment\nstruct TENURE_API A {};\n"}
        figures = house.measure(code)
        bounds = "".join(f"{name} {value}\n" for name, value in figures.items())
        self.accepts_house(code, bounds)
        self.assertEqual([figures[n] for n in ("installed_headers", "installed_types", "files", "lines")], [1, 1, 1, 2])
        for name, grown in {"lines": {"cli/a.cpp": "int a;\n"}, "store_names.cli_election": {"cli/a.cpp": "int etcd;\n"},
                            "word.Bell": {"cli/a.cpp": "int ringBell;\n"}, "word.trouble": {"cli/a.cpp": "// trouble\n"},
                            "installed_types": {next(iter(code)): "#pragma once\nenum class B { b };\nstruct A {\n};\n"},
                            }.items():
            faults, _ = house.compare(house.read_bounds(bounds), house.measure({**code, **grown}))
            self.assertIn(name, [fault.split()[0] for fault in faults])
        self.assertEqual(errors({**code, "scripts/house.txt": bounds, "cli/a.cpp": "int a;\n"})[0],
                         ("house", "scripts/house.txt:1"))
        self.assertEqual(errors({**code, "scripts/house.txt": bounds + "nonsense 1\n"}),
                         [("house", "scripts/house.txt:1")])

    def test_a_bound_is_lowered_and_its_reason_goes(self):
        text = "# why\nlines 10  # +3 a store\nfiles 2  # +1 a store\n"
        _, slack = house.compare(house.read_bounds(text), {"lines": 8, "files": 2})
        self.assertEqual(house.lower(text, slack), "# why\nlines 8\nfiles 2  # +1 a store\n")

    def accepts_house(self, code, bounds):
        self.assertEqual(errors({**code, "scripts/house.txt": bounds}), [])


if __name__ == "__main__":
    unittest.main()
