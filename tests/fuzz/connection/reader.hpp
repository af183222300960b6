// How services read requests: one that accepts only what the standard says, and some that guess. This code does not use
// Beast, because the proxy does.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenure::fuzz {

/// One request in the bytes of a connection.
struct ReadRequest {
  std::size_t begin{0};
  std::size_t headEnd{0};  ///< after the empty line; 0: the head is incomplete
  std::size_t end{0};      ///< after the body; 0: the request is incomplete
  const char* fault{nullptr};
  std::string method{};
  std::string target{};
  std::vector<std::pair<std::string, std::string>> fields{};  ///< names in lower case
  std::string body{};                                         ///< what is there of it, without its framing

  [[nodiscard]] std::vector<std::string> values(std::string_view name) const;
  [[nodiscard]] bool isWhole() const noexcept { return fault == nullptr && end != 0; }
};

/// RFC 9112 to the letter, and what a proxy must remove: no field of the connection except `close`, no trailer, no
/// chunk extension, at most one field that frames, one Host, one token.
[[nodiscard]] ReadRequest readStrictly(std::string_view bytes, std::size_t begin);

/// A reader that guesses: `Content_Length` and `Content-Length ` are `Content-Length` to it.
struct Dialect {
  const char* name;
  bool lastLength;         ///< uses the last of several; otherwise the first
  bool lengthBeatsCoding;  ///< if both are there
  bool readsHaveNoBody;    ///< what follows the head of a GET, HEAD or OPTIONS is the next request
  int lengthBase;          ///< 0: as C reads a number, so that 010 is 8
};
inline constexpr std::array<Dialect, 5> dialects{
    {{"takes the first Content-Length, and the coding before it", false, false, false, 10},
     {"takes the last Content-Length, and the coding before it", true, false, false, 10},
     {"takes a Content-Length before the coding", false, true, false, 10},
     {"reads a Content-Length as C does", true, true, false, 0},
     {"knows no body of GET, HEAD and OPTIONS", false, false, true, 10}}};

/// Where the request that begins there ends for such a reader; 0: not complete.
[[nodiscard]] std::size_t endOfRequest(std::string_view bytes, std::size_t begin, const Dialect& dialect);

/// The number that a Fencing-Token states for the lease, found without the product's parser. 0 if there is none, or if
/// more than one member has that name.
[[nodiscard]] unsigned long long claimedToken(std::string_view header, std::string_view ofLease);

/// GET, HEAD and OPTIONS.
[[nodiscard]] bool onlyReads(std::string_view method);

}  // namespace tenure::fuzz
