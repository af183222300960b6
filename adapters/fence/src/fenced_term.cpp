#include <tenure/adapters/fenced_writer.hpp>

namespace tenure {

std::optional<FenceError> FencedTerm::refusal() const {
  if (!isValid_ || isValid_()) return std::nullopt;
  return termOver(stamp_);
}

void FencedTerm::settle(const FenceError& error) const {
  if (const StaleToken* stale = error.stale(); stale != nullptr && reportStaleToken_) {
    reportStaleToken_(stale->highestSeen);
  }
}

}  // namespace tenure
