#include "machine_tree.hpp"

#include <fstream>
#include <iterator>

namespace tenure::cli::doctor {

std::optional<std::string> MachineTree::text(const std::string& path) const {
  std::ifstream in{root_ + path};
  if (!in) return std::nullopt;
  std::string text{std::istreambuf_iterator<char>{in}, {}};
  if (in.bad()) return std::nullopt;
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace tenure::cli::doctor
