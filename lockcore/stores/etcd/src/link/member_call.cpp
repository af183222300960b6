#include "member_call.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <tenure/lockcore/runtime.hpp>

namespace tenure::etcd_store {
namespace {

using net::HttpError;
using std::chrono::nanoseconds;

}  // namespace

MemberCall::MemberCall(MemberLinkPtr members, Ask ask)
    : members_{std::move(members)}, ask_{std::move(ask)}, start_{now()}, tried_(members_->size(), false) {}

void MemberCall::send(std::string token, RefusesToken refusesToken, OutcomeHandler handler) {
  token_ = std::move(token);
  refusesToken_ = std::move(refusesToken);
  handler_ = std::move(handler);
  tryNext();
}

void MemberCall::sendAgain(std::string token, OutcomeHandler handler) {
  tried_[member_] = false;
  send(std::move(token), nullptr, std::move(handler));
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

/// About a third of the time for each member, and all that is left for the last one, unless another one has refused:
/// who lacks a right hears so soon, whoever is down.
nanoseconds MemberCall::share() const {
  const nanoseconds left = ask_.deadline - now();
  const bool isLast = std::all_of(tried_.begin(), tried_.end(), [](bool one) { return one; });
  return isLast && rank_ != Rank::refused ? left : std::min(left, (ask_.deadline - start_) / 3);
}

void MemberCall::judge(net::HttpOutcome outcome) {
  if (!outcome) return noAnswer(outcome.error());
  if (outcome->status != 200) return noResult(std::move(*outcome));
  const auto cluster = clusterIn(outcome->body);
  const std::string why = cluster ? members_->whyForeign(member_, *cluster)
                                  : members_->nameOf(member_) +
                                        ": its answer (status 200) names no cluster; check that the endpoint is etcd "
                                        "and nothing answers for it";
  if (!why.empty()) return notBelieved(why, cluster.has_value());
  members_->answered(member_);
  answer(replyOf(std::move(*outcome)));
}

Reply MemberCall::replyOf(net::HttpResponse response) const {
  return {response.status, std::move(response.body), members_->nameOf(member_), copiesOut_ || response.copiesOut};
}

void MemberCall::note(const std::string& error, bool isConfiguration) {
  onlyConfiguration_ = onlyConfiguration_ && isConfiguration;
  errors_ += (errors_.empty() ? "" : "; ") + error;
}

void MemberCall::noAnswer(const HttpError& error) {
  members_->failed(member_, error.message);
  allAnswered_ = false;
  copiesOut_ = copiesOut_ || error.maybeSent;
  note(error.message, error.kind == HttpError::Kind::tls);
  const bool mayGoOn = ask_.repeat == Gateway::Repeat::yes || !copiesOut_;
  if (error.kind == HttpError::Kind::cancelled || !mayGoOn) return giveUp();
  tryNext();
}

void MemberCall::noResult(net::HttpResponse response) {
  if (refusesToken_ && refusesToken_(response.status, response.body)) return answer(replyOf(std::move(response)));
  const Verdict verdict = verdictOn(response.status, response.body);
  const bool isEtcds = response.status >= 400 && verdict.told.code != 0;
  const std::string error = members_->nameOf(member_) + ": status " + std::to_string(response.status) +
                            (isEtcds ? ", code " + std::to_string(verdict.told.code) : ", which is not etcd's answer");
  members_->failed(member_, error);
  const Rank rank = !isEtcds                                      ? Rank::strange
                    : verdict.errorClass == ErrorClass::transient ? Rank::unable
                                                                  : Rank::refused;
  Reply reply = replyOf(std::move(response));
  if (ask_.repeat == Gateway::Repeat::no) return answer(std::move(reply));
  copiesOut_ = copiesOut_ || verdict.maybeApplied || reply.copiesOut;
  note(error, false);
  if (rank >= rank_) {
    rank_ = rank;
    best_ = std::make_shared<Reply>(std::move(reply));
  }
  tryNext();
}

/// Whatever another cluster did, this one has not seen the request. But which of them is the right one is not known.
/// What names no cluster may have passed the request on.
void MemberCall::notBelieved(const std::string& why, bool namesCluster) {
  members_->failed(member_, why);
  allAnswered_ = false;
  note(why, namesCluster);
  const bool mayGoOn = ask_.repeat == Gateway::Repeat::yes;
  copiesOut_ = copiesOut_ || !namesCluster || !mayGoOn;
  mayGoOn ? tryNext() : giveUp();
}

/// What is strange is told as an answer only if there is nothing else: what a status means then is a guess.
void MemberCall::giveUp() {
  if (rank_ > Rank::strange || (rank_ == Rank::strange && allAnswered_)) {
    best_->copiesOut = copiesOut_;
    return answer(std::move(*best_));
  }
  const bool isConfiguration = onlyConfiguration_ && !errors_.empty();
  const std::string why = errors_.empty() ? "the time was over before a member was asked" : errors_;
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
