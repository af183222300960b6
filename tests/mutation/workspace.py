"""The copy of the tree in which mutants are made, with its own build: no other sources are ever changed.

Its libraries are shared and their files are compiled one by one (TENURE_MUTATE). So a mutant costs one compilation and
one link into its own folder, and LD_LIBRARY_PATH puts that folder before the originals. The build itself stays
unchanged, whatever happens to the run.
"""

import contextlib
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess

COMPILE_SECONDS = 600
UNTESTED = ("docs/", "scripts/", "tests/mutation/", "tests/scripts/", "bench/")
POLITE = ("nice", "-n", "12")  # tests that measure time run at the same time
COMPARED = ("--strip-debug", "--remove-section=.comment", "--remove-section=.note.*")


class ToolError(Exception):
    """An error and its remedy, for people."""


def run(command, what, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **options)
    if done.returncode:
        raise ToolError(f"{what} failed:\n{done.stdout[-6000:]}")
    return done.stdout


class Workspace:
    def __init__(self, root, home):
        self.root = root
        self.home = home
        self.tree = home / "tree"
        self.build = self.tree / "build/dev"

    def sync(self):
        """Copies what git tracks, or would track; only what changed, so that the build stays up to date. Returns the
        fingerprint of everything on which a verdict depends."""
        names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=self.root,
                               capture_output=True, text=True, check=True).stdout.split("\0")
        total = hashlib.sha256()
        wanted = sorted({name for name in names if name and (self.root / name).is_file()})
        for name in wanted:
            content = (self.root / name).read_bytes()
            self.copy(name, content)
            if not name.startswith(UNTESTED) and not name.endswith(".md"):
                total.update(f"{name}\0{hashlib.sha256(content).hexdigest()}\0".encode())
        self.drop_all_but(set(wanted))
        return total.hexdigest()[:16]

    def copy(self, name, content):
        target, source = self.tree / name, self.root / name
        if source.is_symlink():
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.is_symlink():
                target.symlink_to(os.readlink(source))
        elif not target.is_file() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        if not source.is_symlink():
            target.chmod(source.stat().st_mode & 0o777)

    def drop_all_but(self, wanted):
        for path in list(self.tree.rglob("*")):
            name = path.relative_to(self.tree).as_posix()
            if not name.startswith("build/") and path.is_file() and name not in wanted:
                path.unlink()

    def compile(self, targets, jobs):
        """Uses the compiler cache, with the preset's own flags: what dev built here is not built again."""
        environment = {**os.environ, "CCACHE_BASEDIR": str(self.tree), "CCACHE_NOHASHDIR": "1"}
        for name in ("CDPATH", "CPATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH"):
            environment.pop(name, None)
        if not (self.build / "build.ninja").exists():
            run(["cmake", "--preset", "dev", "-DTENURE_MUTATE=ON", "-DTENURE_BUILD_BENCH=OFF"], "Configuring the copy",
                cwd=self.tree, env=environment)
        run(["ninja", "-C", self.build, f"-j{jobs}", *targets], "Building the copy", env=environment)

    @functools.cached_property
    def entries(self):
        """Source -> how it is compiled, once for each library with it; files of a unity build are not here."""
        found = {}
        prefix = str(self.tree) + os.sep
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            if entry["file"].startswith(prefix):
                found.setdefault(entry["file"].removeprefix(prefix), []).append(entry)
        return found

    @functools.lru_cache(maxsize=None)
    def links(self, item):
        """(library, its link command) of each shared library that is built and contains this object."""
        query = run(["ninja", "-C", self.build, "-t", "query", item], "ninja")
        outputs = query.split("outputs:")[1].split()
        found = []
        for library in [o for o in outputs if re.search(r"\.so\b", o) and (self.build / o).exists()]:
            commands = run(["ninja", "-C", self.build, "-t", "commands", "-s", library], "ninja")
            found.append((library, commands.strip().splitlines()[-1]))
        return found


class Uncompilable(Exception):
    pass


class SameObject(Exception):
    """The compiler produces the same object: the mutant is proven to be equivalent."""


class Variant:
    """The libraries with one mutant, in their own folder."""

    def __init__(self, workspace, path, folder):
        self.workspace = workspace
        self.path = path
        self.folder = folder
        self.libraries = folder / "lib"
        self.libraries.mkdir(parents=True, exist_ok=True)

    def make(self, text, only=None):
        """`only`: a pattern of the libraries that matter. Raises Uncompilable or SameObject."""
        made, same = 0, True
        source = self.folder / pathlib.Path(self.path).name
        source.write_text(text)
        for entry in self.workspace.entries.get(self.path, []):
            item = self.object_of(entry)
            links = [one for one in self.workspace.links(item) if only is None or re.search(only, one[0])]
            if not links:
                continue
            fresh = self.folder / f"object{made}.o"
            self.compile_one(entry, source, fresh)
            same = same and self.stripped(fresh) == self.stripped(self.workspace.build / item)
            made += 1
            for library, command in links:
                self.link(library, command, item, fresh)
        if made and same:
            raise SameObject
        return made

    @staticmethod
    def object_of(entry):
        words = shlex.split(entry["command"])
        return words[words.index("-o") + 1]

    def compile_one(self, entry, source, fresh):
        words = shlex.split(entry["command"])
        if words[0].endswith("ccache"):
            words = words[1:]
        original = words[words.index("-c") + 1]
        words[words.index("-c") + 1] = str(source)
        words[words.index("-o") + 1] = str(fresh)
        # A mutant may leave a variable unused; that does not matter here.
        words += ["-w", "-iquote", str(pathlib.Path(original).parent)]
        try:
            done = subprocess.run([*POLITE, *words], cwd=self.workspace.build, capture_output=True, timeout=COMPILE_SECONDS)
        except subprocess.TimeoutExpired:
            raise Uncompilable from None
        if done.returncode:
            raise Uncompilable(done.stderr.decode(errors="replace")[:2000])

    def stripped(self, item):
        out = self.folder / "compared.o"
        run(["objcopy", *COMPARED, item, out], "objcopy")
        return out.read_bytes()

    def link(self, library, command, item, fresh):
        soname = re.search(r"-Wl,-soname,(\S+)", command)[1]
        command = command.replace(f" {item} ", f" {shlex.quote(str(fresh))} ")
        command = command.replace(f" -o {library} ", f" -o {shlex.quote(str(self.libraries / soname))} ")
        done = subprocess.run(["sh", "-c", command], cwd=self.workspace.build, capture_output=True)
        if done.returncode:
            raise Uncompilable(done.stderr.decode(errors="replace")[:2000])

    def clear(self):
        for path in list(self.libraries.iterdir()) + [p for p in self.folder.iterdir() if p.is_file()]:
            with contextlib.suppress(OSError):
                path.unlink()
