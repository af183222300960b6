#include "label_selector.hpp"

#include <algorithm>

#include "annotations.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "names.hpp"

namespace tenure::kubernetes_store {
namespace {

/// `name=value`, `name==value` or `name!=value`.
struct Part {
  std::string_view name{};
  std::string_view value{};
  bool equal{true};
};

Part partFrom(std::string_view text) {
  const auto sign = text.find('=');
  if (sign == std::string_view::npos) return {};
  Part part{text.substr(0, sign), text.substr(sign + 1)};
  part.equal = !part.name.ends_with('!');
  if (!part.equal) {
    part.name.remove_suffix(1);
  } else if (part.value.starts_with('=')) {
    part.value.remove_prefix(1);
  }
  return part;
}

std::string_view withoutSpaces(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::string faultOf(std::string_view text, const Part& part) {
  if (!isLabelName(part.name) || !isLabelValue(part.value)) {
    return inQuotes(text) + " is not a selector by equality; write NAME=VALUE, several with commas between";
  }
  if (part.name != roleLabel) return {};
  return "has " + std::string{roleLabel} + ", which is added to it; give what all pods have that may lead";
}

}  // namespace

std::string faultOfSelector(std::string_view text) {
  bool restricts = false;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view one = withoutSpaces(text.substr(begin, end - begin));
    const Part part = partFrom(one);
    if (std::string fault = faultOf(one, part); !fault.empty()) return fault;
    restricts = restricts || part.equal;
    begin = end + 1;
  }
  return restricts ? std::string{} : "has no NAME=VALUE, so it finds the pods of others too";
}

}  // namespace tenure::kubernetes_store
