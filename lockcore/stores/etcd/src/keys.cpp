#include "keys.hpp"

namespace tenure::etcd_store {

std::string Keys::nameOf(const LeaseKey& key) {
  if (key.sortKey.empty()) return key.name;
  std::string name = key.name;
  name += '\0';
  return name += key.sortKey;
}

std::optional<LeaseKey> Keys::leaseAt(std::string_view folder, std::string_view raw) {
  if (!raw.starts_with(folder) || raw.size() == folder.size()) return std::nullopt;
  raw.remove_prefix(folder.size());
  const std::size_t end = raw.find('\0');
  if (end == std::string_view::npos) return LeaseKey{std::string{raw}};
  return LeaseKey{std::string{raw.substr(0, end)}, std::string{raw.substr(end + 1)}};
}

std::string endOf(std::string prefix) {
  // No byte of UTF-8 is the greatest one.
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1U);
  return prefix;
}

}  // namespace tenure::etcd_store
