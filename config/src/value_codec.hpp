// How the text of one value is converted to a C++ value and back.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/system/result.hpp>

#include "duration.hpp"
#include "lockcore/port/option_ranges.hpp"
#include "words.hpp"

namespace tenure::config {

template <typename T>
struct Codec {
  std::string kind;     ///< as in ConfigKey
  std::string allowed;  ///< as in ConfigKey
  std::function<boost::system::result<T, ValueFault>(std::string_view text)> parse;
  std::function<std::string(const T& value)> write;  ///< as YAML writes it, quoted where needed
};

// What is not of the kind at all is refused here. The ranges are only named: faultsOf(GroupConfig) checks them.

/// Any text that is not empty.
[[nodiscard]] Codec<std::string> textCodec(std::string allowed);

/// Texts in a YAML list, or in one text with commas between. No item holds a comma.
[[nodiscard]] Codec<std::vector<std::string>> listCodec(std::string allowed);

[[nodiscard]] Codec<bool> boolCodec();

/// Decimal digits only.
[[nodiscard]] Codec<unsigned> wholeNumberCodec(const OptionRange<unsigned>& range);

[[nodiscard]] Codec<std::chrono::milliseconds> durationCodec(const OptionRange<std::chrono::milliseconds>& range);

/// For a value that is not within what its key allows.
[[nodiscard]] ValueFault outOfRange(std::string_view text, const std::string& allowed);

/// The text as a YAML scalar that reads back the same: plain where that is safe, else in double quotes. Each `$` is
/// doubled.
[[nodiscard]] std::string yamlScalar(std::string_view text);
/// The same for a key, in which a `$` has no meaning.
[[nodiscard]] std::string yamlKey(std::string_view text);

/// `"x" is not allowed; allowed is a, b or c`, with a suggestion.
[[nodiscard]] ValueFault notOneOf(std::string_view text, const std::vector<std::string>& allowed);

/// One of a few words, each with its value.
template <typename T>
[[nodiscard]] Codec<T> choiceCodec(std::vector<std::pair<std::string, T>> choices) {
  std::vector<std::string> words;
  words.reserve(choices.size());
  for (const auto& choice : choices) words.push_back(choice.first);
  std::string allowed = listed(words, "or");
  const auto parse = [choices, words](std::string_view text) -> boost::system::result<T, ValueFault> {
    for (const auto& [word, value] : choices) {
      if (word == text) return value;
    }
    return notOneOf(text, words);
  };
  const auto write = [choices](const T& value) {
    for (const auto& [word, choice] : choices) {
      if (choice == value) return word;
    }
    return std::string{"invalid"};
  };
  return {"one of", std::move(allowed), parse, write};
}

}  // namespace tenure::config
