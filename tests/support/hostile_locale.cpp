// Preloaded, it makes each program of this build start as in a host that has set a locale: German numbers, times and
// messages, Turkish letters, groups of thousands (hostile_locale.i18n). Other programs (Python, servers) stay as they
// are, and so do the examples: a host with such a locale prints its own numbers by it.
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <locale>
#include <stdexcept>
#include <string>
#include <unistd.h>

#include <climits>

namespace {

std::string folderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

std::string ownFolder() {
  Dl_info found{};
  return dladdr(reinterpret_cast<const void*>(&folderOf), &found) != 0 ? folderOf(found.dli_fname) : std::string{};
}

bool isOfThisBuild(const std::string& own) {
  char program[PATH_MAX]{};
  const ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
  const std::string build = folderOf(own) + '/';
  return size > 0 && std::string{program}.starts_with(build) &&
         !std::string{program}.starts_with(build + "bin/examples/");
}

/// The C library reads the variable in setlocale() alone; children of the program must not find it.
void setLocale(const std::string& own) {
  setenv("LOCPATH", (own + "/hostile_locale").c_str(), 1);
  try {
    std::locale::global(std::locale{"de_TR"});
  } catch (const std::runtime_error& fault) {
    std::fprintf(stderr, "hostile_locale: %s\n", fault.what());
    std::abort();
  }
  unsetenv("LOCPATH");
}

[[gnu::constructor]] void start() {
  const std::string own = ownFolder();
  if (isOfThisBuild(own)) setLocale(own);
}

}  // namespace
