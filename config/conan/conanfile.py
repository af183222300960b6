"""The recipe for Conan 2: conan create config/conan."""

import os
import pathlib
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir

required_conan_version = ">=2.0"

# The options of the recipe, each with what it needs of others, and the option of CMakeLists.txt.
PARTS = {
    "with_sqlite": ("TENURE_WITH_SQLITE", ["sqlite3/[>=3.40 <4]"]),
    "with_jobs": ("TENURE_WITH_JOBS", []),
    "with_config": ("TENURE_WITH_CONFIG", ["yaml-cpp/0.8.0"]),
    "with_dynamodb": ("TENURE_WITH_DYNAMODB", ["openssl/[>=3 <4]"]),
    "with_postgresql": ("TENURE_WITH_POSTGRESQL", ["libpq/15.5"]),
    "with_postgresql_store": ("TENURE_WITH_POSTGRESQL_STORE", ["libpq/15.5"]),
    "with_etcd": ("TENURE_WITH_ETCD_STORE", ["openssl/[>=3 <4]"]),
    "with_kubernetes": ("TENURE_WITH_KUBERNETES_STORE", ["openssl/[>=3 <4]"]),
    "with_http": ("TENURE_WITH_HTTP_FENCE", ["openssl/[>=3 <4]", "sqlite3/[>=3.40 <4]"]),
    "with_redis": ("TENURE_WITH_REDIS", ["hiredis/1.2.0"]),
}
# What the library's .pc files call the libraries of others, Conan's names of them, and the linker's.
FOREIGN = {
    "sqlite3": ("sqlite3::sqlite3", "sqlite3"),
    "libpq": ("libpq::pq", "pq"),
    "libssl": ("openssl::ssl", "ssl"),
    "libcrypto": ("openssl::crypto", "crypto"),
    "hiredis": ("hiredis::hiredis", "hiredis"),
    "yaml-cpp": ("yaml-cpp::yaml-cpp", "yaml-cpp"),
    "-lboost_json": ("boost::json", "boost_json"),
}


class TenureRecipe(ConanFile):
    name = "tenure"
    description = "Leader election on a lease, with fencing tokens"
    license = "Apache-2.0"
    topics = ("leader-election", "lease", "lock", "fencing", "distributed-systems")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], **{part: [True, False] for part in PARTS}}
    # The elector, SQLite and the YAML file; what a network is needed for is asked for.
    default_options = {"shared": False, "fPIC": True, "with_sqlite": True, "with_jobs": True, "with_config": True,
                       **{part: False for part in PARTS if part not in ("with_sqlite", "with_jobs", "with_config")}}
    implements = ["auto_shared_fpic"]

    def set_version(self):
        top = os.path.join(self.recipe_folder, "..", "..", "CMakeLists.txt")
        self.version = re.search(r"^project\(tenure VERSION ([0-9.]+)", load(self, top), re.M).group(1)

    def export_sources(self):
        top = os.path.join(self.recipe_folder, "..", "..")
        for pattern in ("CMakeLists.txt", "LICENSE", "THIRD_PARTY_NOTICES.md", "lockcore/*", "election/*", "jobs/*", "ops/*", "testing/*", "config/*",
                        "adapters/*", "tests/contract/*"):
            copy(self, pattern, top, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        # Public headers include Boost.System's.
        self.requires("boost/[>=1.81 <2]", transitive_headers=True)
        needed = [package for part, (_, packages) in PARTS.items() if self.options.get_safe(part) for package in packages]
        for package in dict.fromkeys(needed):
            self.requires(package)

    def validate(self):
        check_min_cppstd(self, 20)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        for part, (option, _) in PARTS.items():
            toolchain.cache_variables[option] = "ON" if self.options.get_safe(part) else "OFF"
        for kind in ("TESTS", "EXAMPLES", "BENCH", "PROGRAM"):
            toolchain.cache_variables[f"TENURE_BUILD_{kind}"] = "OFF"
        toolchain.cache_variables["TENURE_UNITY"] = "ON"
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build(target="product")

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        # What CMakeDeps writes for a consumer takes the place of the library's own package files.
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))
        rmdir(self, os.path.join(self.package_folder, "share"))

    def package_info(self):
        # Each library of the package is a component. What it needs is read from its .pc file, where the build wrote it.
        for file in sorted(pathlib.Path(self.package_folder, "lib", "pkgconfig").glob("tenure-*.pc")):
            self._describe(file.stem.removeprefix("tenure-"), file.read_text(encoding="utf-8"))

    def _describe(self, name, text):
        component = self.cpp_info.components[name]
        component.libs = [f"tenure_{name}"]
        component.set_property("cmake_target_name", f"tenure::{name}")
        component.set_property("pkg_config_name", f"tenure-{name}")
        component.requires = ["boost::headers"] if name == "lockcore" and self._has("boost") else []
        component.system_libs = []
        words = re.findall(r"[^\s,=]+", re.search(r"^Requires:(.*)$", text, re.M).group(1))
        words += re.search(r"^Libs:(.*)$", text, re.M).group(1).split()
        for word in words:
            if word.startswith("tenure-"):
                component.requires.append(word.removeprefix("tenure-"))
            elif word in FOREIGN:
                target, library = FOREIGN[word]
                if self._has(target.partition("::")[0]):
                    component.requires.append(target)
                else:
                    component.system_libs.append(library)
            elif word == "-pthread":
                component.system_libs.append("pthread")

    def _has(self, package):
        """Whether a package of Conan's has it, and not the system (the profile's platform_requires)."""
        return any(dependency.ref.name == package for _, dependency in self.dependencies.direct_host.items())
