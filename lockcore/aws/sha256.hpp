// SHA-256 and HMAC-SHA-256 with OpenSSL, made for many short messages.
#pragma once

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>

namespace tenure::aws {

using Digest = std::array<unsigned char, 32>;

/// The hash of the parts, one after another. Any thread. Throws std::runtime_error if OpenSSL has no SHA-256.
[[nodiscard]] Digest sha256(std::initializer_list<std::string_view> parts);

/// 64 hex digits in lower case.
void appendHex(std::string& out, const Digest& digest);
[[nodiscard]] std::string hex(const Digest& digest);

/// The bytes as a text, for use in the next hash.
[[nodiscard]] inline std::string_view bytesOf(const Digest& digest) noexcept {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): unsigned char may be looked at as char
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

/// A key prepared for many messages: the two padded blocks of RFC 2104. Immutable, so any thread may use it.
class HmacKey {
 public:
  explicit HmacKey(std::string_view key);
  /// Wipes the key.
  ~HmacKey();
  HmacKey(const HmacKey&) = default;
  HmacKey& operator=(const HmacKey&) = default;

  [[nodiscard]] Digest operator()(std::string_view message) const;

 private:
  static constexpr std::size_t blockSize = 64;
  std::array<char, blockSize> inner_{};
  std::array<char, blockSize> outer_{};
};

}  // namespace tenure::aws
