// The bytes of a configuration file: how they are read, and the line and column of each.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/system/result.hpp>

#include "duration.hpp"

namespace tenure::config {

/// Line and column, both from 1. The column counts characters, so it is what an editor shows.
struct Place {
  int line{0};
  int column{0};

  friend auto operator<=>(const Place&, const Place&) = default;
};

struct TextFault {
  Place place;
  std::string message;
};

class SourceText {
 public:
  /// A byte order mark at the start is removed.
  explicit SourceText(std::string_view text);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  /// Offsets after the end count as the end. Ascending ones of one line cost no more than a walk along it. One thread
  /// at a time.
  [[nodiscard]] Place placeOf(std::size_t offset) const;
  [[nodiscard]] int lineOf(std::size_t offset) const;
  [[nodiscard]] std::string_view lineAt(std::size_t offset) const;

  /// Faults that prevent reading the text as YAML at all: not UTF-8, control characters, tabs used for indentation.
  [[nodiscard]] std::optional<TextFault> fault() const;

 private:
  [[nodiscard]] std::size_t lineIndex(std::size_t offset) const;
  [[nodiscard]] std::optional<TextFault> badByte() const;
  [[nodiscard]] std::optional<TextFault> badCharacter() const;
  [[nodiscard]] std::optional<TextFault> oddOutsideComments() const;
  [[nodiscard]] std::optional<TextFault> badIndentation() const;

  std::string text_;
  std::vector<std::size_t> lineStarts_;
  mutable std::size_t placed_{0};              ///< the last offset whose place was asked for
  mutable std::ptrdiff_t charactersThere_{0};  ///< before it, in its line
};

/// What YAML 1.1 lets a file be, as UTF-8: UTF-16 with a byte order mark too. A CR alone becomes LF. Refused is what is
/// not well-formed, and a control character.
[[nodiscard]] boost::system::result<std::string, TextFault> textOfYaml(std::string_view bytes);

inline constexpr std::size_t maxFileBytes = std::size_t{1} << 20U;

/// Reads only regular files (nothing that could block or never end), of at most `most` bytes. `cure`: what to do where
/// there is none.
[[nodiscard]] boost::system::result<std::string, ValueFault> readSmallFile(const std::filesystem::path& file,
                                                                           const std::string& cure,
                                                                           std::size_t most = maxFileBytes);

}  // namespace tenure::config
