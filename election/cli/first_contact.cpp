#include "first_contact.hpp"

#include <algorithm>

namespace tenure::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

/// Nobody announces errors, so they are looked for: often at first, when somebody watches the start.
constexpr seconds quickTime{5};
constexpr milliseconds quickLook{50};
constexpr milliseconds slowLook{1'000};
constexpr std::chrono::minutes longestPause{10};

}  // namespace

std::optional<FirstContact::Advice> FirstContact::look(const Instant& now, const LeaseStatus& status) {
  if (made_) return std::nullopt;
  made_ = status.leaderSeenAgo.count() >= 0 || status.terms > 0;
  if (made_) return std::nullopt;
  const std::string cause = status.lastError ? status.lastError->message : std::string{};
  const nanoseconds waited = elapsedForHolder(since_, now);
  if (status.lastError && status.lastError->permanent) return Advice{Advice::Kind::giveUp, cause, waited};
  const bool news = !cause.empty() && !causeTold_;
  const bool again = elapsedForHolder(toldAt_, now) >= pause_;
  if (!news && !again) return std::nullopt;
  if (again) pause_ = std::min<nanoseconds>(pause_ * 2, longestPause);
  toldAt_ = now;
  causeTold_ = causeTold_ || news;
  return Advice{Advice::Kind::tell, cause, waited};
}

std::optional<nanoseconds> FirstContact::untilLook(const Instant& now) const noexcept {
  if (made_) return std::nullopt;
  return elapsedForHolder(since_, now) < quickTime ? quickLook : slowLook;
}

}  // namespace tenure::cli
