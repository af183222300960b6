#include "support/temp_dir.hpp"

#include <cerrno>
#include <cstdlib>
#include <system_error>

namespace tenure::test {

TempDir::TempDir() {
  std::string pattern = (std::filesystem::temp_directory_path() / "tenure-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::system_error{errno, std::generic_category(), "mkdtemp " + pattern};
  path_ = pattern;
}

TempDir::~TempDir() {
  std::error_code ignored;  // a file that stays behind is no reason to fail a test
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace tenure::test
