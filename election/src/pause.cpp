#include <tenure/election/listener.hpp>
#include <tenure/lockcore/candidate_id.hpp>

#include "lockcore/port/name_text.hpp"
#include "lockcore/port/quoted_text.hpp"

namespace tenure {
namespace {

constexpr std::string_view separator = ": ";

}  // namespace

std::optional<Pause> pauseIn(std::string_view holder) {
  std::string_view name = nameOf(holder);
  if (!name.starts_with(pauseNamePrefix)) return std::nullopt;
  name.remove_prefix(pauseNamePrefix.size());
  const std::size_t end = name.find(separator);
  if (end == std::string_view::npos || end == 0 || end + separator.size() == name.size()) return std::nullopt;
  return Pause{std::string{name.substr(0, end)}, std::string{name.substr(end + separator.size())}};
}

std::string pauseOwner(const Pause& pause) {
  return std::string{pauseNamePrefix} + pause.by + std::string{separator} + pause.why;
}

std::string toString(const Pause& pause) { return shown(pauseOwner(pause)); }

}  // namespace tenure
