#!/usr/bin/env python3
"""Rules of this tree that no compiler knows: which file may include what, which one may read a clock, and the like.

Reads the files that git tracks, and new files that are not ignored. A line that must break a rule says so, with the
reason: `// lint-allow(<rule>): <reason>`.
"""

import argparse
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys

import house

COMPONENTS = ("lockcore", "election", "config", "adapters", "cli")  # folders; those of PARTS are components of their own
PARTS = ("jobs", "ops", "testing")  # of election
PRODUCT = COMPONENTS  # examples are users' code; tests and benchmarks may do what the product may not

# Dependencies point one way. The program (cli) stands on top.
MAY_INCLUDE = {
    "lockcore": {"lockcore"},
    "election": {"lockcore", "election"},
    "jobs": {"lockcore", "election", "jobs"},
    "ops": {"lockcore", "election", "ops"},
    "testing": {"lockcore", "election", "testing"},
    "adapters": {"lockcore", "adapters"},
    "config": {"lockcore", "election", "jobs", "config"},
    "cli": {"lockcore", "election", "jobs", "ops", "config", "adapters", "cli"},
}

# The floors of lockcore, and what is built on them. Each is listed with the floors that it may include besides itself.
FLOORS = {
    "port": set(),
    "lease": {"port"},
    "runtime": {"port"},
    "liveness": {"port", "runtime"},
    "stored": {"port", "runtime"},
    "sqlite": {"port"},
    "postgresql": set(),
    "driver": {"port", "lease", "runtime"},
    "lock": {"port", "lease", "runtime", "driver"},
    "token": {"port", "lease", "runtime"},
    "net": {"port", "runtime"},
    "aws": {"port", "runtime", "net"},
    "kubernetes": {"port", "runtime", "net"},
    "stores": {"port", "runtime", "liveness", "stored", "sqlite", "postgresql", "net", "aws", "kubernetes"},
    "election": {"port", "lease", "runtime", "driver"},
    "election/jobs": {"port", "lease", "runtime", "driver"},
    "election/ops": {"port", "lease", "runtime", "driver"},
    "election/testing": {"port", "lease", "runtime", "driver"},
    "config": {"port", "runtime", "net", "aws", "kubernetes", "stores"},
    "adapters": {"port", "runtime", "sqlite", "postgresql", "net", "aws"},
    "adapters/pod_label": {"port", "runtime", "kubernetes"},
}
# Public headers of other floors than the port.
PUBLIC_FLOORS = {
    "runtime": ("asio",),
    "lock": ("lock", "lock_asio", "lock_client", "lock_future"),
    "token": ("lock_tokens",),
    "kubernetes": ("stores/kubernetes_store",),  # the client has the options of its user, who may be no store
}

# Folders with one header for the rest of the product.
DOORS = {"lockcore/stores/sqlite/src/sidecar/": "sidecar.hpp"}

# Headers that take seconds in each translation unit, and the files that may include them.
HEAVY = {
    "boost/asio": ("lockcore/runtime/", "lockcore/net/", "lockcore/stores/postgresql/src/link/", "election/src/", "election/ops/src/", "cli/", "adapters/", "examples/", "tests/", "bench/"),
    "boost/json": ("lockcore/stores/", "lockcore/kubernetes/", "lockcore/aws/", "adapters/dynamodb/src/", "adapters/pod_label/src/",
                   "adapters/s3/src/", "election/src/", "election/jobs/src/", "election/ops/src/", "tests/", "bench/"),
    "date/": ("election/jobs/src/", "tests/"),
    "boost/beast": ("lockcore/net/", "election/ops/src/", "adapters/gateway/proxy/", "examples/", "tests/", "bench/"),
    "openssl/": ("lockcore/net/", "lockcore/aws/", "adapters/gateway/src/", "tests/net/"),  # hashes in aws; the test's server speaks TLS too
    "yaml-cpp/": ("config/src/", "tests/config/"),
    "CLI/": ("cli/", "bench/", "tests/simulation/"),
    "hiredis/": ("adapters/redis/src/", "tests/", "bench/", "examples/"),
    "libpq-fe.h": ("lockcore/stores/postgresql/src/link/", "adapters/postgresql/", "tests/", "bench/", "examples/"),
    "sqlite3.h": ("lockcore/sqlite/", "lockcore/stores/sqlite/", "adapters/sqlite/", "adapters/gateway/src/", "tests/", "bench/", "examples/"),
}
# Public headers that use a type of Asio, for users with an executor of their own. No other header may include them.
OPT_IN_HEADERS = {
    "lockcore/include/tenure/lockcore/asio.hpp": "boost/asio/",
    "lockcore/include/tenure/lockcore/lock_asio.hpp": "tenure/lockcore/asio.hpp",
    "election/include/tenure/election/elector_asio.hpp": "tenure/lockcore/asio.hpp",
}
MOST_FILES = {"boost/asio": 11, "yaml-cpp/": 10, "CLI/": 4}  # of the product

LONG_FILE = 300
LONGEST_TEST_NAME = 64
TEST_NAME = re.compile(r"^TEST(?:_F|_P)?\(\w+,\s*(\w+)\)", re.MULTILINE)

CLOCK_READ = re.compile(
    r"_clock\s*::\s*now\s*\(|\bclock_gettime\s*\(|\bgettimeofday\s*\(|\btimespec_get\s*\("
    r"|(?<![\w.>])(?:std::|::)?time\s*\(\s*(?:nullptr|NULL|0|&\s*\w+)\s*\)")
RAW_NEW = re.compile(r"\bnew\b(?!\s*\()|(?<!=)(?<!= )\bdelete\b(?!\s*[;,]\s*(?://|$))|\b(?:malloc|calloc|realloc)\s*\(")
SLEEP = re.compile(r"\bsleep_(?:for|until)\s*\(|\bu?sleep\s*\(|\bnanosleep\s*\(")
ONE_THREAD_ONLY = re.compile(r"(?<![\w.>])(?:std::|::)?(?:strerror|localtime|gmtime|asctime|ctime|strtok|s?rand)\s*\(")
# What reads or writes by the locale that the host has set: std::locale::global, setlocale().
OF_LOCALE = re.compile(
    r"\b[io]?stringstream\b|\bstd::(?:regex|put_time|get_time|put_money|get_money|locale)\b|\blexical_cast\b"
    r"|stream\s*[{(].*[)}]\s*>>|(?<![\w.>])(?:std::|::)?(?:strto(?:d|f|ld)|ato[fil]|sto(?:d|f|ld)|strftime|strptime|setlocale"
    r"|is(?:alpha|alnum|digit|xdigit|space|blank|upper|lower|punct|print|graph|cntrl)|to(?:upper|lower)|strn?casecmp"
    r"|strcoll|strxfrm|gai_strerror|strerror_r|mbstowcs|wcstombs|isw\w+)\s*\(|_category\(\)\}?\.message\s*\(")
FORMAT_OF_LOCALE = re.compile(r"\{\w*:[^{}\"]*L\}|printf\s*\(.*%[-+ #0-9.*]*(?:'|L?[eEfFgGaA])")
ALSO_IN_STD = re.compile(r"^\s*(?:inline |static )*std::string quoted\(std::string_view\b")
SKIPPED = re.compile(r"\bGTEST_SKIP\b|\bDISABLED_\w")
OPEN_TO_WRITE = re.compile(r"(?<![\w.>])(?:::)?open(?:at)?\s*\(.*\bO_(?:WRONLY|RDWR)\b")
OPEN_FLAGS = re.compile(r"\bO_(?:RDONLY|WRONLY|RDWR)\b")
UNFINISHED = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
ALLOW = re.compile(r"lint-allow\(([a-z-]+)\): \S")


class Tree:
    """The files to look at, read once."""

    def __init__(self, root, names):
        self.root = root
        self.text = {}
        for name in names:
            path = root / name
            if path.is_file() and not path.is_symlink():
                try:
                    self.text[name] = path.read_text(encoding="utf-8")
                except UnicodeDecodeError:
                    continue  # a binary file, or a test input that is malformed on purpose

    def named(self, *suffixes, under=("",)):
        return sorted(n for n in self.text if n.endswith(suffixes) and n.startswith(tuple(under)))

    def lines(self, name):
        return enumerate(self.text[name].splitlines(), 1)

    def code(self, name):
        """Lines with comments and literals blanked out, so that prose about a clock does not count as reading one."""
        text = re.sub(r'R"([^(\s]*)\(.*?\)\1"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'',
                      lambda m: re.sub(r"[^\n]", " ", m.group()), self.text[name], flags=re.S)
        return zip(range(1, len(text) + 2), text.splitlines(), self.text[name].splitlines())


class Findings:
    def __init__(self):
        self.errors = []
        self.warnings = []

    def error(self, rule, name, number, message, line=""):
        allowed = ALLOW.search(line)
        if not (allowed and allowed.group(1) == rule):
            self.errors.append(f"{name}:{number}: {message} [{rule}]")

    def warning(self, rule, name, message):
        self.warnings.append(f"{name}: {message} [{rule}]")


def cpp_files(tree, under=("",)):
    return tree.named(".cpp", ".hpp", under=under)


def in_product(name):
    return name.split("/")[0] in PRODUCT


def component_of(name):
    within = next((part for part in PARTS if name.startswith(f"election/{part}/")), None)
    first = within or name.split("/")[0]
    return first if first in MAY_INCLUDE else None


def check_code_patterns(tree, findings):
    for name in cpp_files(tree):
        for number, code, line in tree.code(name):
            if code.lstrip().startswith("#"):
                continue
            if in_product(name) and name != "lockcore/runtime/clock.cpp" and CLOCK_READ.search(code):
                findings.error("clock", name, number, "reads a clock; use readClock() of lockcore/runtime/clock.cpp", line)
            if in_product(name) and RAW_NEW.search(code):
                findings.error("raw-new", name, number, "owns memory by hand; use a container or std::unique_ptr", line)
            if (in_product(name) or name.endswith("_test.cpp")) and SLEEP.search(code):
                findings.error("sleep", name, number, "sleeps; wait for a condition with a bound instead", line)
            if ONE_THREAD_ONLY.search(code):
                findings.error("threads", name, number, "keeps its result in memory that all threads share", line)
            if in_product(name) and (OF_LOCALE.search(code) or FORMAT_OF_LOCALE.search(line)):
                findings.error("locale", name, number, "reads or writes by the locale of the host; use fmt, "
                               "lockcore/port/ascii_text.hpp, errnoText() of lockcore/runtime/system_error.hpp", line)
            if ALSO_IN_STD.search(code):
                findings.error("std-name", name, number, "a std::string as argument finds std::quoted as well, which "
                               "fits better: g++ 14 has it in <chrono>; give it another name", line)
            if SKIPPED.search(code):
                findings.error("skipped-test", name, number, "a test that does not run tells nothing", line)


def check_cloexec(tree, findings):
    for name in cpp_files(tree):
        for number, code, line in tree.code(name):
            if OPEN_FLAGS.search(code) and "O_CLOEXEC" not in code:
                findings.error("cloexec", name, number, "opens without O_CLOEXEC: a child would inherit the file", line)
            if in_product(name) and OPEN_TO_WRITE.search(code) and "/dev/null" not in line:
                findings.error("standard-streams", name, number, "may get the number of a closed stdout or stderr; use "
                               "openToWrite() of lockcore/runtime/open_file.hpp", line)


def includes(tree, name):
    for number, line in tree.lines(name):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1), match.group(2), line


def check_layers(tree, findings):
    for name in cpp_files(tree, under=tuple(f"{component}/" for component in COMPONENTS)):
        component = component_of(name)
        for number, bracket, header, line in includes(tree, name):
            if ".." in header.split("/"):
                findings.error("layers", name, number, f"climbs to {header}; name it from the top of the tree", line)
            first = header.split("/")
            if bracket == "<" and first[0] == "tenure":
                other = first[1]
            elif bracket == '"' and first[0] in COMPONENTS and len(first) > 1:
                other = first[0]
            else:
                continue
            if other not in MAY_INCLUDE[component]:
                findings.error("layers", name, number,
                               f"{component} must not know {other} (lockcore <- election <- config <- cli)", line)


def floor_of(name):
    """The floor of a source, or of a header by its include name. None: it is no part of lockcore and does not use it."""
    parts = name.split("/")
    if name.startswith("lockcore/include/tenure/") or name.startswith("tenure/lockcore/"):
        rest = name.split("tenure/lockcore/")[1]
        stem = posixpath.splitext(rest)[0]
        otherwise = "stores" if rest.startswith("stores/") else "port"
        return next((floor for floor, stems in PUBLIC_FLOORS.items() if stem in stems), otherwise)
    if "/".join(parts[:2]) in FLOORS:
        return "/".join(parts[:2])
    if parts[0] == "lockcore":
        return parts[1] if parts[1] in FLOORS else None
    return parts[0] if parts[0] in FLOORS else None


def check_floors(tree, findings):
    for name in cpp_files(tree, under=tuple(f"{component}/" for component in COMPONENTS)):
        floor = floor_of(name)
        for number, _, header, line in includes(tree, name):
            if floor is None or not header.startswith(("lockcore/", "tenure/lockcore/")):
                continue
            other = floor_of(header)
            if other and other != floor and other not in FLOORS[floor]:
                findings.error("floors", name, number, f"{floor} must not see {other} (it may see: "
                               f"{', '.join(sorted(FLOORS[floor])) or 'nothing'})", line)


def check_doors(tree, findings):
    for name in cpp_files(tree, under=tuple(f"{component}/" for component in COMPONENTS)):
        for number, bracket, header, line in includes(tree, name):
            full = header if header.split("/")[0] in COMPONENTS else posixpath.join(posixpath.dirname(name), header)
            for folder, door in DOORS.items():
                if bracket == '"' and full.startswith(folder) and not name.startswith(folder) and full != folder + door:
                    findings.error("door", name, number, f"includes {header}; the way into {folder} is {door}", line)


def check_public_headers(tree, findings):
    """A program that includes lockcore or election compiles std, Boost.System and nothing heavier."""
    roots = [n for n in tree.named(".hpp") if "/include/tenure/" in n]
    for name in roots:
        for number, bracket, header, line in includes(tree, name):
            std = "/" not in header and not header.endswith((".h", ".hpp"))
            light = std or header.startswith(("boost/system/", "boost/assert/source_location", "tenure/"))
            if any(opt_in.endswith(f"/include/{header}") for opt_in in OPT_IN_HEADERS):
                light = False
            if name in OPT_IN_HEADERS and header.startswith(OPT_IN_HEADERS[name]):
                light = True
            if not (bracket == "<" and light):
                findings.error("public-header", name, number,
                               f"includes {header}; public headers take std, Boost.System and tenure only", line)
    for name in tree.named(".hpp"):
        if "#pragma once" not in tree.text[name]:
            findings.error("pragma-once", name, 1, "has no #pragma once")


def namespace_declarations(code):
    """(line, text, "{" or ";") of each declaration of a header that lies in no class and no function. The text is
    without what is in parentheses or brackets."""
    text, line, depth, within = "", 0, 0, 0  # within: braces of a class, of a body or of an initialiser
    for number, blanked, _ in code:
        if blanked.lstrip().startswith("#"):
            continue
        for letter in blanked + " ":
            depth += (letter in "([") - (letter in ")]")
            if depth or letter in ")]":
                continue
            if within:
                within += (letter == "{") - (letter == "}")
            elif letter not in "{};":
                line = line if text.strip() else number
                text += letter
            elif letter == "{" and "=" in text and "operator" not in text:
                within = 1  # an initialiser: the declaration goes on behind it
            else:
                if text.strip():
                    yield line, text.strip(), letter
                within = int(letter == "{" and not text.lstrip().startswith("namespace"))
                text = ""


def functions_of_a_library(body):
    """Whether a class whose text this is has functions that stand in a source, or virtual ones."""
    before = None
    while before != body:  # a body or an initialiser at a time, from the inside
        before, body = body, re.sub(r"\{[^{}]*\}", "@", body)
    body = re.sub(r"<[^<>;]*(?:<[^<>;]*>[^<>;]*)*>", "", body)  # types of functions
    return any(re.search(r"\bvirtual\b|^[^=]*\)(?: *(?:const|noexcept))*$", " ".join(one.split())) for one in body.split(";")[:-1])


def check_exported_structs(tree, findings):
    """A struct of plain values needs no symbol: what users have of it is compiled with them."""
    for name in tree.named(".hpp", under=PRODUCT):
        text = "\n".join(blanked for _, blanked, _ in tree.code(name))
        for found in re.finditer(r"^struct (TENURE_API )?(\w+)[^;{]*\{(.*?)^\}", text, re.MULTILINE | re.DOTALL):
            linked = functions_of_a_library(found[3])
            if linked != bool(found[1]) and (found[1] or "/include/tenure/" in name):
                number = text.count("\n", 0, found.start()) + 1
                message = ("has no TENURE_API: a shared library would hide its functions" if linked else
                           "has TENURE_API and no function that a library has")
                findings.error("export", name, number, message, tree.text[name].splitlines()[number - 1])


def check_exports(tree, findings):
    """What a public header declares is in the shared library's table of symbols."""
    for name in tree.named(".hpp"):
        if "/include/tenure/" not in name:
            continue
        for number, text, end in namespace_declarations(tree.code(name)):
            nothing_linked = re.match(r"(?:namespace|template|using|enum|static_assert)\b", text)
            if re.match(r"(?:class|struct)\b", text):
                nothing_linked = end == ";" or text.startswith("struct")  # announced alone; see check_exported_structs
            elif re.search(r"\b(?:inline|constexpr|consteval)\b", text):
                nothing_linked = True
            if not nothing_linked and "TENURE_API" not in text:
                findings.error("export", name, number, "has no TENURE_API: a shared library would hide it",
                               tree.text[name].splitlines()[number - 1])


def check_heavy_headers(tree, findings):
    seen = {heavy: set() for heavy in HEAVY}
    for name in cpp_files(tree):
        for number, _, header, line in includes(tree, name):
            for heavy, allowed in HEAVY.items():
                if not header.startswith(heavy):
                    continue
                if name.startswith(allowed) or header.startswith(OPT_IN_HEADERS.get(name, "none")):
                    seen[heavy].add(name)
                else:
                    findings.error("heavy-header", name, number, f"includes {header}; may only: {' '.join(allowed)}",
                                   line)
    for heavy, most in MOST_FILES.items():
        product = sorted(n for n in seen[heavy] if in_product(n))
        if len(product) > most:
            findings.error("heavy-header", product[0], 1, f"{len(product)} files of the product include {heavy}*, more "
                           f"than {most}: {', '.join(product)}")


def check_names(tree, findings):
    for name in tree.text:
        if not re.fullmatch(r"[\w.@/-]+", name, re.ASCII):
            findings.error("name", name, 1, "has other characters in its name than letters, digits and ._-@")


def check_test_names(tree, findings):
    """Short facts, which a list of results can be read by."""
    for name in tree.named("_test.cpp", "_contract.cpp", under=("tests/",)):
        for found in TEST_NAME.finditer(tree.text[name]):
            if len(found[1]) > LONGEST_TEST_NAME:
                findings.error("test-name", name, tree.text[name].count("\n", 0, found.start()) + 1,
                               f"{found[1]} has more than {LONGEST_TEST_NAME} characters; say the fact in fewer words")


def check_text(tree, findings):
    for name in tree.text:
        if name == "LICENSE" or name.startswith("tests/") and not name.endswith((".cpp", ".hpp", ".py", ".txt")):
            continue  # golden files and malformed inputs must stay as they are
        for number, line in tree.lines(name):
            if UNFINISHED.search(line) and not name.endswith(("lint.py", "lint_test.py")):
                findings.error("unfinished", name, number, "is marked as unfinished", line)
            if line != line.rstrip():
                findings.error("whitespace", name, number, "trailing white space")
        if tree.text[name] and not tree.text[name].endswith("\n"):
            findings.error("whitespace", name, len(tree.text[name].splitlines()), "no newline at the end")
    for name in cpp_files(tree):
        length = len(tree.text[name].splitlines())
        if length > LONG_FILE:
            findings.warning("long-file", name, f"{length} lines; one idea a file, at most about {LONG_FILE}")


def check_scripts(tree, findings):
    shells = [n for n in tree.text if n.endswith(".sh") or re.match(r"#!.*\b(?:ba)?sh\b", tree.text[n])]
    for name in shells:
        result = subprocess.run(["bash", "-n", name], cwd=tree.root, capture_output=True, text=True)
        if result.returncode:
            findings.error("shell", name, 1, result.stderr.strip())
    if shells and shutil.which("shellcheck"):
        command = ["shellcheck", "-x", "-P", "SCRIPTDIR", "-S", "warning", "-f", "gcc", *shells]
        result = subprocess.run(command, cwd=tree.root, capture_output=True, text=True)
        findings.errors += [f"{line} [shellcheck]" for line in result.stdout.splitlines() if line.strip()]
    for name in tree.text:
        if name.endswith(".py") or re.match(r"#!.*\bpython3?\b", tree.text[name]):
            try:
                compile(tree.text[name], name, "exec")
            except SyntaxError as fault:
                findings.error("python", name, fault.lineno, fault.msg)


def check_house(tree, findings):
    """The figures of the product's sources may only fall."""
    if "scripts/house.txt" not in tree.text:
        return
    faults, slack = house.compare(house.read_bounds(tree.text["scripts/house.txt"]), house.measure(tree.text))
    for fault in faults:
        findings.error("house", "scripts/house.txt", 1, fault)
    for name, value in slack.items():
        findings.warning("house", "scripts/house.txt", f"{name} has fallen to {value}: scripts/house.py --lower")


CHECKS = (check_code_patterns, check_cloexec, check_layers, check_floors, check_doors, check_public_headers, check_exports,
          check_exported_structs, check_heavy_headers, check_names, check_test_names, check_text, check_scripts, check_house)


def tracked(root):
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root,
                            capture_output=True, text=True)
    if listed.returncode == 0:
        return [n for n in listed.stdout.split("\0") if n]
    # Not a git clone (a source archive): everything but the build trees.
    return [str(p.relative_to(root)) for p in root.rglob("*")
            if p.is_file() and p.relative_to(root).parts[0] not in ("build", ".git")]


def lint(root, names=None):
    findings = Findings()
    tree = Tree(root, tracked(root) if names is None else names)
    for check in CHECKS:
        check(tree, findings)
    return findings, len(tree.text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--warnings", action="store_true", help="also what is no fault, but could be better")
    options = parser.parse_args()
    findings, count = lint(options.root)
    for line in findings.warnings if options.warnings else []:
        print(f"warning: {line}")
    for line in findings.errors:
        print(line)
    if findings.errors:
        print(f"{len(findings.errors)} findings in {count} files")
    return 1 if findings.errors else 0


if __name__ == "__main__":
    sys.exit(main())
