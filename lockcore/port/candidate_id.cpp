#include <algorithm>
#include <array>
#include <unistd.h>

#include <tenure/lockcore/candidate_id.hpp>
#include <tenure/lockcore/lease_record.hpp>

#include "host_name.hpp"
#include "name_text.hpp"
#include "quoted_text.hpp"

namespace tenure {

std::string_view nameOf(std::string_view holderText) noexcept {
  const std::size_t at = holderText.rfind('#');
  return at == std::string_view::npos ? holderText : holderText.substr(0, at);
}

std::string personOf(std::string_view holderText) {
  constexpr std::size_t mostName = 64, mostIncarnation = 8;
  const std::string_view name = nameOf(holderText);
  std::string out = shown(name, mostName);
  if (name.size() == holderText.size()) return out;
  return out + " (" + shown(holderText.substr(name.size() + 1).substr(0, mostIncarnation), mostIncarnation) + ")";
}

std::optional<std::string> faultOfCandidateName(std::string_view name) {
  constexpr std::size_t maxBytes = 200;
  const auto forbidden = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F || c == '#'; };
  const bool bad =
      name.empty() || name.size() > maxBytes || !isUtf8(name) || std::any_of(name.begin(), name.end(), forbidden);
  if (!bad) return faultOfNameText(name);
  return "must be 1 to " + std::to_string(maxBytes) + " bytes of UTF-8 text without control characters and without '#'";
}

std::string hostNameAsCandidate() { return hostName().value_or("localhost"); }

std::optional<std::string> hostName() {
  std::array<char, 256> name{};
  // A name as long as the array may come without a NUL; the last byte stays one.
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return std::nullopt;
  return std::string{name.data()};
}

}  // namespace tenure
