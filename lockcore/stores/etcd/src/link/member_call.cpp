#include "member_call.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <tenure/lockcore/runtime.hpp>

namespace tenure::etcd_store {
namespace {

using net::HttpError;
using std::chrono::nanoseconds;

/// The member cannot serve now, but another one may: it stops, or has no leader. Without a quorum etcd 3.4 answers a
/// write with 503 or 500.
bool isUnable(int status) { return status >= 500 || status == 408; }

}  // namespace

MemberCall::MemberCall(MemberLinkPtr members, Ask ask)
    : members_{std::move(members)}, ask_{std::move(ask)}, start_{now()}, tried_(members_->size(), false) {}

void MemberCall::send(std::string token, OutcomeHandler handler) {
  token_ = std::move(token);
  handler_ = std::move(handler);
  tryNext();
}

void MemberCall::sendAgain(std::string token, OutcomeHandler handler) {
  tried_[member_] = false;
  send(std::move(token), std::move(handler));
}

void MemberCall::tryNext() {
  const auto member = members_->next(tried_);
  const auto client = members_->client();
  if (!member || !client || ask_.deadline <= now()) {
    // Not inside the user's call.
    return sharedScheduler()->post([self = shared_from_this()] { self->giveUp(); });
  }
  member_ = *member;
  tried_[*member] = true;
  net::HttpRequest request{.target = ask_.path, .body = ask_.body};
  request.headers.push_back({"Content-Type", "application/json"});
  if (!token_.empty()) request.headers.push_back({"Authorization", token_});
  client->send(members_->origin(*member), std::move(request), share(),
               [self = shared_from_this()](net::HttpOutcome outcome) { self->judge(std::move(outcome)); });
}

/// About a third of the time for each member, and all that is left for the last one.
nanoseconds MemberCall::share() const {
  const nanoseconds left = ask_.deadline - now();
  const bool isLast = std::all_of(tried_.begin(), tried_.end(), [](bool one) { return one; });
  return isLast ? left : std::min(left, (ask_.deadline - start_) / 3);
}

void MemberCall::judge(net::HttpOutcome outcome) {
  if (!outcome) return noAnswer(outcome.error());
  if (isUnable(outcome->status)) return unable(std::move(*outcome));
  const std::string why = outcome->status == 200 ? members_->foreignIn(member_, outcome->body) : std::string{};
  if (!why.empty()) return foreign(why);
  members_->answered(member_);
  answer(replyOf(std::move(*outcome)));
}

Reply MemberCall::replyOf(net::HttpResponse response) const {
  return {response.status, std::move(response.body), members_->nameOf(member_), copiesOut_ || response.copiesOut};
}

void MemberCall::note(const std::string& trouble, bool isConfiguration) {
  onlyConfiguration_ = onlyConfiguration_ && isConfiguration;
  troubles_ += (troubles_.empty() ? "" : "; ") + trouble;
}

void MemberCall::noAnswer(const HttpError& error) {
  members_->failed(member_, error.message);
  copiesOut_ = copiesOut_ || error.maybeSent;
  note(error.message, error.kind == HttpError::Kind::tls);
  const bool mayGoOn = ask_.repeat == Gateway::Repeat::yes || !copiesOut_;
  if (error.kind == HttpError::Kind::cancelled || !mayGoOn) return giveUp();
  tryNext();
}

void MemberCall::unable(net::HttpResponse response) {
  const std::string trouble = members_->nameOf(member_) + ": status " + std::to_string(response.status);
  members_->failed(member_, trouble);
  unable_ = std::make_shared<Reply>(replyOf(std::move(response)));
  if (ask_.repeat == Gateway::Repeat::no) return answer(std::move(*unable_));
  copiesOut_ = true;
  note(trouble, false);
  tryNext();
}

/// Whatever the other cluster did, this one has not seen the request. But which of them is the right one is not known.
void MemberCall::foreign(const std::string& why) {
  members_->failed(member_, why);
  note(why, true);
  if (ask_.repeat == Gateway::Repeat::yes) return tryNext();
  copiesOut_ = true;
  giveUp();
}

void MemberCall::giveUp() {
  if (unable_) {
    unable_->copiesOut = copiesOut_;
    return answer(std::move(*unable_));
  }
  const bool isConfiguration = onlyConfiguration_ && !troubles_.empty();
  const std::string why = troubles_.empty() ? "the time was over before a member was asked" : troubles_;
  answer(CallFault{{isConfiguration ? ErrorClass::misconfigured : ErrorClass::transient, "no member answered: " + why},
                   copiesOut_});
}

/// The handler holds this object, perhaps as the only one.
void MemberCall::answer(Outcome outcome) {
  const auto self = shared_from_this();
  const OutcomeHandler handler = std::exchange(handler_, nullptr);
  handler(std::move(outcome));
}

}  // namespace tenure::etcd_store
