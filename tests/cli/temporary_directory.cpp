#include "cli/temporary_directory.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace tenure::test {

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "tenure-cli-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void TemporaryDirectory::write(const std::string& name, const std::string& text) const {
  std::ofstream{file(name)} << text;
}

std::string contentOf(const std::string& file) {
  std::ifstream in{file};
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

}  // namespace tenure::test
