// Internal: cuts a stream of bytes into lines.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace tenure::net {

/// Lines end with LF or CRLF and are given without it; empty ones are left out. No more than one line is kept.
class LineSplitter {
 public:
  explicit LineSplitter(std::size_t longest) : longest_{longest} {}

  enum class State { more, stopped, tooLong };
  /// Gives each line that is whole now, until `onLine` returns false. After `stopped` or `tooLong` nothing may follow.
  [[nodiscard]] State feed(std::string_view part, const std::function<bool(std::string_view)>& onLine);

  /// The beginning of the line that has no end yet.
  [[nodiscard]] std::string_view rest() const noexcept;

 private:
  const std::size_t longest_;  ///< bytes before the LF
  std::string kept_{};
};

}  // namespace tenure::net
