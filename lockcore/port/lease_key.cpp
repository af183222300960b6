#include <algorithm>
#include <charconv>
#include <cstddef>

#include <tenure/lockcore/lease_record.hpp>

#include "name_text.hpp"
#include "quoted_text.hpp"
#include "stored_key.hpp"

namespace tenure {
namespace {

bool isBlank(std::string_view text) noexcept { return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos; }

std::string escaped(std::string_view text) {
  std::string out = inQuotes(text, text.size());
  return out.substr(1, out.size() - 2);
}

void checkText(const char* what, std::string_view text, std::vector<std::string>& faults) {
  if (!isPlainText(text)) return;  // has a fault of its own
  if (const auto fault = faultOfNameText(text)) faults.push_back(std::string{what} + ' ' + *fault);
}

}  // namespace

std::vector<std::string> faultsOf(const LeaseKey& key) {
  std::vector<std::string> faults = faultsOfStored(key);
  if (!isBlank(key.name)) checkText("the lease name", key.name, faults);
  checkText("the sort key", key.sortKey, faults);
  return faults;
}

std::vector<std::string> faultsOfStored(const LeaseKey& key) {
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

std::string placeOf(const LeaseKey& key) { return std::to_string(key.name.size()) + ':' + key.name + key.sortKey; }

std::optional<LeaseKey> keyAt(const std::string& place) {
  const std::size_t colon = place.find(':');
  std::size_t length = 0;
  const char* const digitsEnd = place.data() + std::min(colon, place.size());
  const auto read = std::from_chars(place.data(), digitsEnd, length);
  if (colon == std::string::npos || read.ec != std::errc{} || read.ptr != digitsEnd) return std::nullopt;
  if (length > place.size() - colon - 1) return std::nullopt;
  return LeaseKey{place.substr(colon + 1, length), place.substr(colon + 1 + length)};
}

}  // namespace tenure
