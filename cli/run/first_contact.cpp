#include "first_contact.hpp"

#include <algorithm>

namespace tenure::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

/// Errors are not announced, so they have to be polled: often at first, when somebody watches the start.
constexpr seconds quickTime{5};
constexpr milliseconds quickLook{50};
constexpr milliseconds slowLook{1'000};
constexpr std::chrono::minutes longestPause{10};

bool reads(const LeaseStatus& status) { return status.leaderSeenAgo.count() >= 0; }
bool lacksSchema(const LeaseStatus& status) { return status.schema && status.schema->has_error(); }

/// A read alone is no contact. A candidate that may only read would wait behind a leader for ever, and its missing
/// rights would be reported only when they are needed. An error of credentials in the check of the schema is different
/// if a read was answered: then only that check is refused (DynamoDB's DescribeTable), and elections work without it.
bool isContact(const LeaseStatus& status) {
  if (status.terms > 0) return true;
  if (!reads(status) || !status.schema) return false;
  return !lacksSchema(status) || status.schema->error().errorClass == ErrorClass::credentials;
}

std::optional<StoreError> obstacle(const LeaseStatus& status) {
  if (lacksSchema(status) && (reads(status) || !status.lastError)) return status.schema->error();
  return status.lastError;
}

}  // namespace

std::optional<FirstContact::Advice> FirstContact::look(const Instant& now, const LeaseStatus& status) {
  if (made_) return std::nullopt;
  made_ = isContact(status);
  if (made_) return std::nullopt;
  const std::optional<StoreError> error = obstacle(status);
  const std::string cause = error ? error->message : std::string{};
  const nanoseconds waited = elapsedForHolder(since_, now);
  if (error && error->permanent) return Advice{Advice::Kind::giveUp, cause, waited};
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
