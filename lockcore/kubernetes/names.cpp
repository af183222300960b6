#include "names.hpp"

#include <algorithm>
#include <cstdint>

#include "lockcore/port/fnv1a.hpp"
#include "lockcore/port/stored_key.hpp"

namespace tenure::kubernetes_store {
namespace {

constexpr std::size_t hashDigits = 8;

bool isLetterOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool isPart(std::string_view part) {
  return !part.empty() && isLetterOrDigit(part.front()) && isLetterOrDigit(part.back()) &&
         std::all_of(part.begin(), part.end(), [](char c) { return isLetterOrDigit(c) || c == '-'; });
}

/// The name of a label without its prefix, or a value.
bool isWordOfLabel(std::string_view text) {
  const auto isSolid = [](char c) { return isLetterOrDigit(c) || (c >= 'A' && c <= 'Z'); };
  return !text.empty() && text.size() <= longestLabel && isSolid(text.front()) && isSolid(text.back()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return isSolid(c) || c == '-' || c == '_' || c == '.'; });
}

/// 64 bits, folded.
std::string digitsOf(std::string_view text) {
  const std::uint64_t hash = fnv1a(text);
  return hexOf(hash ^ hash >> 32U, hashDigits);
}

/// Each row of characters that are not allowed becomes one hyphen; there is none at the ends.
void appendAllowed(std::string& out, std::string_view text) {
  bool gap = !out.empty();
  for (const char c : text) {
    const char low = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (!isLetterOrDigit(low)) {
      gap = !out.empty();
      continue;
    }
    if (gap) out += '-';
    gap = false;
    out += low;
  }
}

}  // namespace

bool isObjectName(std::string_view name) {
  if (name.size() > longestName) return false;
  for (;;) {
    const auto dot = name.find('.');
    if (!isPart(name.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    name.remove_prefix(dot + 1);
  }
}

bool isLabelName(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return isWordOfLabel(text);
  return isObjectName(text.substr(0, slash)) && isWordOfLabel(text.substr(slash + 1));
}

bool isLabelValue(std::string_view text) { return text.empty() || isWordOfLabel(text); }

bool isPlain(const LeaseKey& key) { return key.sortKey.empty() && isObjectName(key.name); }

std::string objectNameOf(const LeaseKey& key) {
  if (isPlain(key)) return key.name;
  std::string name;
  appendAllowed(name, key.name);
  appendAllowed(name, key.sortKey);
  name.resize(std::min(name.size(), longestName - hashDigits - 1));
  while (!name.empty() && name.back() == '-') name.pop_back();
  if (name.empty()) name = "lease";
  return name += '-' + digitsOf(placeOf(key));
}

}  // namespace tenure::kubernetes_store
