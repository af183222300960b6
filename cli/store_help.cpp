#include "store_help.hpp"

#include <string_view>

#include "config/src/store_types.hpp"
#include "help_texts.hpp"
#include "lockcore/port/ascii_text.hpp"

namespace tenure::cli {
namespace {

/// `words` below one another, so that no line is longer than a terminal.
std::string paragraph(const std::string& words) {
  constexpr std::size_t width = 79;
  const std::string margin(19, ' ');
  std::string out;
  std::string line = margin;
  for (const std::string_view word : wordsOf(words)) {
    if (line.size() + 1 + word.size() > width) {
      out += line + "\n";
      line = margin;
    }
    if (line.size() > margin.size()) line += ' ';
    line += word;
  }
  return out + line + "\n";
}

}  // namespace

std::string initHelp() {
  constexpr std::string_view mark = "@STORES@\n";
  std::string stores;
  for (const config::StoreType& type : config::storeTypes()) stores += paragraph(type.name + ": " + type.about);
  std::string text = help::init;
  return text.replace(text.find(mark), mark.size(), stores);
}

}  // namespace tenure::cli
