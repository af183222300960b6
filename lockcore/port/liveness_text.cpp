#include "liveness_text.hpp"

#include <algorithm>
#include <cstdint>

#include "ascii_text.hpp"

namespace tenure {

std::string livenessText(const LivenessFile& file) {
  return std::to_string(file.device) + ' ' + std::to_string(file.inode) + ' ' + file.bootId + ' ' + file.id;
}

std::optional<LivenessFile> livenessFileFrom(std::string_view text) {
  const auto next = [&text] {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    return word;
  };
  const auto device = numberFrom<std::uint64_t>(next());
  const auto inode = numberFrom<std::uint64_t>(next());
  const std::string bootId{next()};
  if (!device || !inode || bootId.empty() || text.empty()) return std::nullopt;
  return LivenessFile{std::string{text}, bootId, *device, *inode};
}

}  // namespace tenure
