#include "liveness_text.hpp"

#include <cstdint>

#include "ascii_text.hpp"

namespace tenure {

std::string livenessText(const LivenessFile& file) {
  return std::to_string(file.device) + ' ' + std::to_string(file.inode) + ' ' + file.bootId + ' ' + file.id;
}

std::optional<LivenessFile> livenessFileFrom(std::string_view text) {
  const auto device = numberFrom<std::uint64_t>(takeUpTo(text, ' '));
  const auto inode = numberFrom<std::uint64_t>(takeUpTo(text, ' '));
  const std::string bootId{takeUpTo(text, ' ')};
  if (!device || !inode || bootId.empty() || text.empty()) return std::nullopt;
  return LivenessFile{std::string{text}, bootId, *device, *inode};
}

}  // namespace tenure
