#include "member_stream.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "lockcore/stores/etcd/src/errors.hpp"

namespace tenure::etcd_store {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t longestLine = 4U << 20U;

}  // namespace

MemberStream::MemberStream(MemberLinkPtr members, std::shared_ptr<UserToken> user, StreamHandlers handlers)
    : members_{std::move(members)}, user_{std::move(user)}, handlers_{std::move(handlers)} {}

void MemberStream::open(net::HttpRequest request, nanoseconds silence) {
  user_->whenKnown(now() + patience, [self = shared_from_this(), silence, request = std::move(request)](
                                         const StoreResult<UserToken::Shown>& token) mutable {
    if (token.has_error()) return self->tellEnd(token.error().message);
    self->begin(*token, std::move(request), silence);
  });
}

void MemberStream::begin(const UserToken::Shown& token, net::HttpRequest request, nanoseconds silence) {
  const auto client = members_->client();
  if (!client) return tellEnd("the store was closed");
  const std::size_t member = members_->next(std::vector<bool>(members_->size(), false)).value_or(0);
  if (!token.text.empty()) request.headers.push_back({"Authorization", token.text});
  const net::StreamLimits limits{.accept = std::min<nanoseconds>(silence, patience),
                                 .silence = silence,
                                 .longest = {},
                                 .longestLine = longestLine};
  net::StreamHandlers handlers{[self = shared_from_this(), member](std::string_view text) { self->line(member, text); },
                               [self = shared_from_this(), member, token](const net::HttpOutcome& outcome) {
                                 self->tellEnd(self->whyEnded(member, token, outcome));
                               }};
  auto stream = client->stream(members_->origin(member), std::move(request), limits, std::move(handlers));
  const std::lock_guard lock{mutex_};
  if (!gone_) stream_.swap(stream);
}

/// The first line tells whose it is. One that is not etcd's is passed on: whoever reads it says what is wrong with it.
void MemberStream::line(std::size_t member, std::string_view text) {
  if (!std::exchange(begun_, true)) {
    const auto cluster = clusterIn(text);
    if (!cluster) members_->failed(member, "its stream does not begin as one of etcd's");
    const std::string why = cluster ? members_->whyForeign(member, *cluster) : std::string{};
    if (!why.empty()) {
      members_->failed(member, why);
      tellEnd(why);
      return end();
    }
  }
  permit_.call([&] { handlers_.onLine(text); });
}

/// The next stream goes to another member: this one may have lost the others.
std::string MemberStream::whyEnded(std::size_t member, const UserToken::Shown& token, const net::HttpOutcome& outcome) {
  const std::string where = members_->nameOf(member);
  std::string why = where + " has ended the stream";
  if (!outcome) {
    why = outcome.error().message;
  } else if (outcome->status / 100 != 2) {
    why = where + " did not accept the stream (status " + std::to_string(outcome->status) + ", code " +
          std::to_string(toldIn(outcome->body).code) + ")";
  }
  // The gateway puts a stream's error into another body than a call's.
  if (outcome && (outcome->status == 401 || user_->isRefused(token, outcome->status, outcome->body))) {
    user_->forget(token.number);
  } else {
    members_->failed(member, why);
  }
  return why;
}

void MemberStream::tellEnd(const std::string& why) {
  permit_.call([&] { handlers_.onEnd(why); });
}

void MemberStream::end() {
  permit_.revoke();
  std::shared_ptr<void> stream;
  const std::lock_guard lock{mutex_};
  gone_ = true;
  stream_.swap(stream);
}

}  // namespace tenure::etcd_store
