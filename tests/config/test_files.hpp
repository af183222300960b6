// Files for tests: complete files, the source tree, the variables that files may use.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tenure::test {

inline std::filesystem::path sourceDirectory() { return TENURE_SOURCE_DIR; }

inline std::string textOf(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  if (!in) throw std::runtime_error("cannot read " + file.string());
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

inline void writeFile(const std::filesystem::path& file, std::string_view text) {
  std::ofstream out{file, std::ios::binary};
  out << text;
  if (!out.flush()) throw std::runtime_error("cannot write " + file.string());
}

/// With `TENURE_UPDATE=1` the golden tests write what they would expect; look at the difference before committing it.
inline bool updating() { return ::getenv("TENURE_UPDATE") != nullptr; }  // NOLINT(concurrency-mt-unsafe)

/// These tests have a single thread.
inline void setVariable(const char* name, const char* value) {
  if (::setenv(name, value, 1) != 0) throw std::runtime_error("setenv failed");  // NOLINT(concurrency-mt-unsafe)
}
inline void unsetVariable(const char* name) {
  if (::unsetenv(name) != 0) throw std::runtime_error("unsetenv failed");  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace tenure::test
