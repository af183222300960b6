// What the fuzz targets share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace tenure::fuzz {

/// A broken promise ends the process: libFuzzer and the short run keep the input.
inline void require(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", promise);
  std::abort();
}

/// Takes numbers from the end of the input, so that the text at its beginning stays as it is in the corpus.
class Choices {
 public:
  Choices(const std::uint8_t* data, std::size_t size) : text_{reinterpret_cast<const char*>(data), size} {}

  [[nodiscard]] std::uint8_t next() {
    if (text_.empty()) return 0;
    const auto last = static_cast<std::uint8_t>(text_.back());
    text_.remove_suffix(1);
    return last;
  }
  [[nodiscard]] std::string_view rest() const noexcept { return text_; }

 private:
  std::string_view text_;
};

/// A text for people stays on one line and within bounds, whatever bytes others wrote.
inline void requireTellable(const std::string& message) {
  require(!message.empty(), "an error says something");
  require(message.size() < 2000, "an error is short");
}

}  // namespace tenure::fuzz
