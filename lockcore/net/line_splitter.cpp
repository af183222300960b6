#include "line_splitter.hpp"

namespace tenure::net {
namespace {

constexpr std::size_t lineKept = 65536;

std::string_view withoutReturn(std::string_view line) noexcept {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

}  // namespace

LineSplitter::State LineSplitter::feed(std::string_view part, const std::function<bool(std::string_view)>& onLine) {
  for (;;) {
    const auto end = part.find('\n');
    const std::string_view piece = part.substr(0, end);
    if (piece.size() > longest_ - kept_.size()) return State::tooLong;
    if (end == std::string_view::npos) {
      kept_.append(piece);
      return State::more;
    }
    // Most lines come whole, and are given without a copy.
    if (!kept_.empty()) kept_.append(piece);
    const std::string_view line = withoutReturn(kept_.empty() ? piece : std::string_view{kept_});
    if (!line.empty() && !onLine(line)) return State::stopped;
    kept_.clear();
    if (kept_.capacity() > lineKept) kept_.shrink_to_fit();
    part.remove_prefix(end + 1);
  }
}

std::string_view LineSplitter::rest() const noexcept { return withoutReturn(kept_); }

}  // namespace tenure::net
