// The first line of a fenced object. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tenure/lockcore/fence.hpp>

namespace tenure::s3_fence {

/// {"tenure-fence":1,"write":"<id>","replaces":"<id>","size":"6","terms":[{"lease":...,"token":"5","holder":...}]}\n
struct ObjectHead {
  std::string write{};     ///< the id of this write alone, 32 hex digits
  std::string replaces{};  ///< the id of the write before; empty: there was none
  std::size_t size{0};     ///< of the bytes
  std::string data{};      ///< the key at which the bytes are; empty: they follow the head
  std::vector<TermStamp> terms{};

  friend bool operator==(const ObjectHead&, const ObjectHead&) = default;
};

/// At most this much of an object is read for its head; a write that would need more is refused.
inline constexpr std::size_t longestHead = 64U << 10U;

/// With its newline.
[[nodiscard]] std::string toText(const ObjectHead& head);

struct FoundHead {
  ObjectHead head;
  std::size_t length{0};  ///< including the newline; the bytes follow
};

/// Empty for everything else, also for a head that is not understood, damaged or spelt in another way: it fails closed.
[[nodiscard]] std::optional<FoundHead> parseHead(std::string_view object);

/// If the fault of a head is a malformed token: the first of its terms that has one.
struct DamagedTerm {
  std::string lease;
  std::string token;
};
[[nodiscard]] std::optional<DamagedTerm> damageIn(std::string_view object);

[[nodiscard]] std::optional<TermStamp> seenIn(const ObjectHead& head, const std::string& lease);

/// The terms, with `stamp` in the place of the term of the same lease.
[[nodiscard]] std::vector<TermStamp> termsWith(std::vector<TermStamp> terms, const TermStamp& stamp);

}  // namespace tenure::s3_fence
