#include "label_selector.hpp"

#include "annotations.hpp"
#include "lockcore/port/ascii_text.hpp"
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
  for (const std::string_view each : split(text, ',')) {
    const std::string_view one = trimmed(each, " ");
    const Part part = partFrom(one);
    if (std::string fault = faultOf(one, part); !fault.empty()) return fault;
    restricts = restricts || part.equal;
  }
  return restricts ? std::string{} : "has no NAME=VALUE, so it finds the pods of others too";
}

}  // namespace tenure::kubernetes_store
