#include "base64.hpp"

#include <cstdint>

namespace tenure::http_fence {
namespace {

constexpr std::string_view base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view group = bytes.substr(at, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      bits = bits << 8U | (i < group.size() ? static_cast<unsigned char>(group[i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) out += i <= group.size() ? base64Digits[bits >> (18U - 6U * i) & 63U] : '=';
  }
  return out;
}

std::optional<std::string> bytesFromBase64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += 4) {
    const std::string_view group = text.substr(at, 4);
    const bool last = at + 4 == text.size();
    const std::size_t used = !last || group[3] != '=' ? 4 : (group[2] != '=' ? 3 : 2);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t digit = i < used ? base64Digits.find(group[i]) : 0;
      if (digit == std::string_view::npos) return std::nullopt;
      bits = bits << 6U | static_cast<std::uint32_t>(digit);
    }
    for (std::size_t i = 0; i + 1 < used; ++i) out += static_cast<char>(bits >> (16U - 8U * i) & 0xFFU);
  }
  if (base64(out) != text) return std::nullopt;  // unused bits at the end are set
  return out;
}

}  // namespace tenure::http_fence
