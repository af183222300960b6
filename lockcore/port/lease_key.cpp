#include <array>

#include <tenure/lockcore/lease_key.hpp>

namespace tenure {
namespace {

bool isBlank(std::string_view text) noexcept { return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos; }

std::string escaped(std::string_view text) {
  static constexpr std::array<char, 16> digits{'0', '1', '2', '3', '4', '5', '6', '7',
                                               '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'};
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\', out += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      out += "\\x", out += digits[byte >> 4U], out += digits[byte & 0xFU];
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> faultsOf(const LeaseKey& key) {
  std::vector<std::string> faults;
  if (isBlank(key.name))
    faults.emplace_back("the lease name is empty or blank; give it a name such as billing-scheduler");
  if (key.name.size() > maxLeaseNameBytes) {
    faults.push_back("the lease name has " + std::to_string(key.name.size()) + " bytes; at most " +
                     std::to_string(maxLeaseNameBytes) + " are allowed");
  }
  if (key.sortKey.size() > maxSortKeyBytes) {
    faults.push_back("the sort key has " + std::to_string(key.sortKey.size()) + " bytes; at most " +
                     std::to_string(maxSortKeyBytes) + " are allowed");
  }
  if (key.name.find('\0') != std::string::npos || key.sortKey.find('\0') != std::string::npos) {
    faults.emplace_back("the lease name or sort key holds a NUL character");
  }
  if (!isUtf8(key.name) || !isUtf8(key.sortKey)) faults.emplace_back("the lease name or sort key is not UTF-8 text");
  if (key.name.ends_with("#fence")) {
    faults.emplace_back("the lease name ends in \"#fence\", which names the record of the fencing counter");
  }
  return faults;
}

std::string toString(const LeaseKey& key) {
  std::string out = escaped(key.name);
  if (!key.sortKey.empty()) out += '/' + escaped(key.sortKey);
  return out;
}

}  // namespace tenure
