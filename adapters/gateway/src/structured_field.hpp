// Reads and writes the parts of RFC 9651 that the header needs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tenure::http_fence {

inline constexpr std::size_t maxKeyBytes = 64;

/// Whether the text is a key of the grammar, and short enough to be one here.
[[nodiscard]] bool isKey(std::string_view text) noexcept;

/// A String if the text is printable ASCII, else a Display String.
[[nodiscard]] std::string quotedField(std::string_view text);
[[nodiscard]] std::string bytesField(std::string_view bytes);

/// Reads from the front. Each reader leaves the cursor where it was if there is nothing of its kind.
class FieldReader {
 public:
  explicit FieldReader(std::string_view text) noexcept : rest_{text} {}

  [[nodiscard]] bool done() const noexcept { return rest_.empty(); }
  [[nodiscard]] bool take(char c) noexcept;
  void skipSpaces() noexcept;
  /// Skips spaces and tabs between members.
  void skipBlanks() noexcept;

  [[nodiscard]] std::optional<std::string> key();
  /// The characters of a number with its sign, without judging it. At most `most` of them are returned; all are
  /// consumed.
  [[nodiscard]] std::optional<std::string> numberText(std::size_t most);
  /// Reads a String or a Display String. A Display String that is not UTF-8 is refused.
  [[nodiscard]] std::optional<std::string> text();
  [[nodiscard]] std::optional<std::string> bytes();

 private:
  [[nodiscard]] std::optional<std::string> quotedText();
  [[nodiscard]] std::optional<std::string> displayText();

  std::string_view rest_;
};

}  // namespace tenure::http_fence
