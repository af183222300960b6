#include "user_token.hpp"

#include <algorithm>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "lockcore/port/quoted_text.hpp"
#include "lockcore/runtime/regular_file.hpp"
#include "lockcore/stores/etcd/src/errors.hpp"
#include "member_call.hpp"

namespace tenure::etcd_store {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t longestTold = 300;
constexpr int codeUnknown = 2;
constexpr int codeInvalidArgument = 3;
constexpr int codePermissionDenied = 7;
constexpr int codeFailedPrecondition = 9;
constexpr int codeUnauthenticated = 16;
constexpr std::string_view oldRevision = "auth: revision in header is old";

/// Empty: there is none.
std::string tokenIn(const std::string& body) {
  boost::system::error_code ec;
  const boost::json::value parsed = boost::json::parse(body, ec);
  const auto* token = !ec && parsed.is_object() ? parsed.get_object().if_contains("token") : nullptr;
  if (token == nullptr || !token->is_string()) return {};
  return {token->get_string().data(), token->get_string().size()};
}

}  // namespace

UserToken::UserToken(MemberLinkPtr members, std::string user, std::string passwordFile)
    : members_{std::move(members)},
      user_{std::move(user)},
      passwordFile_{std::move(passwordFile)},
      scheduler_{sharedScheduler()} {}

void UserToken::whenKnown(nanoseconds deadline, Continuation goOn) {
  std::unique_lock lock{mutex_};
  if (user_.empty() || known_) {
    Shown shown = token_;
    lock.unlock();
    return goOn(std::move(shown));
  }
  const std::uint64_t waiting = ++lastWaiting_;
  waiting_.push_back({waiting, std::move(goOn)});
  const bool begins = !std::exchange(authenticating_, true);
  lock.unlock();
  expire(waiting, deadline - now());
  if (begins) authenticate();
}

void UserToken::expire(std::uint64_t waiting, nanoseconds left) {
  scheduler_->post([weak = weak_from_this(), waiting, left] {
    const auto self = weak.lock();
    if (!self) return;
    self->scheduler_->schedule(std::max(left, nanoseconds{0}), [weak, waiting] {
      if (const auto late = weak.lock()) late->timeOut(waiting);
    });
  });
}

void UserToken::timeOut(std::uint64_t waiting) {
  Continuation goOn;
  {
    const std::lock_guard lock{mutex_};
    const auto found =
        std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& one) { return one.number == waiting; });
    if (found == waiting_.end()) return;
    goOn = std::move(found->goOn);
    waiting_.erase(found);
  }
  goOn(StoreError{ErrorClass::transient, "timed out while the cluster checked user " + inQuotes(user_)});
}

/// The file is read each time, so a new password counts after the first rejection.
void UserToken::authenticate() {
  const auto password = passwordIn(passwordFile_);
  if (!password) {
    // Not inside the user's call.
    return scheduler_->post([self = shared_from_this(), fault = password.error()] { self->finish(fault); });
  }
  const boost::json::object body{{"name", user_}, {"password", *password}};
  const auto call = std::make_shared<MemberCall>(
      members_,
      MemberCall::Ask{"/v3/auth/authenticate", boost::json::serialize(body), now() + patience, Gateway::Repeat::yes});
  call->send({}, nullptr, [self = shared_from_this()](const Outcome& outcome) { self->judge(outcome); });
}

void UserToken::judge(const Outcome& outcome) {
  if (!outcome) return finish(outcome.error().error);
  if (outcome->status == 200) {
    if (std::string token = tokenIn(outcome->body); !token.empty()) return finish(std::move(token));
  }
  const int code = toldIn(outcome->body).code;
  // The cluster asks for no users (yet).
  if (outcome->status >= 400 && code == codeFailedPrecondition) return finish(std::string{});
  if (outcome->status == 400 && code == 0) {
    return finish(StoreError{ErrorClass::misconfigured,
                             outcome->member + " did not look at user " + inQuotes(user_) + ": " +
                                 inQuotes(outcome->body.substr(0, longestTold)) +
                                 "; in a cluster with users, the client's certificate must have no common name"});
  }
  const bool refused = outcome->status == 400 || outcome->status == 401 || outcome->status == 403;
  const std::string what =
      refused ? "refused user " + inQuotes(user_) + "; check the user, and the password in " + passwordFile_
              : "could not check user " + inQuotes(user_);
  finish(StoreError{refused ? ErrorClass::credentials : ErrorClass::transient,
                    outcome->member + " " + what + " (status " + std::to_string(outcome->status) + ", code " +
                        std::to_string(code) + ")"});
}

void UserToken::finish(StoreResult<std::string> token) {
  std::vector<Waiting> waiting;
  Shown shown;
  {
    const std::lock_guard lock{mutex_};
    authenticating_ = false;
    waiting.swap(waiting_);
    if (token.has_value()) {
      known_ = true;
      token_ = {std::move(*token), token_.number + 1};
      shown = token_;
    }
  }
  for (const Waiting& one : waiting) {
    one.goOn(token.has_error() ? StoreResult<Shown>{token.error()} : StoreResult<Shown>{shown});
  }
}

/// Only an error of etcd's counts, because what was refused is sent again. Code 3 with 400: the token is older than a
/// change of users or roles (a signed one), or there is none. Up to 3.5.1 the gateway had no code for the former: it
/// answers 500 with code 2, as it does for what it may have carried out, so there the words alone prove that the
/// request was refused before it was looked at. They are compared as a whole.
bool UserToken::isRefused(const Shown& shown, int status, std::string_view body) const {
  if (user_.empty() || status < 400) return false;
  const Told told = toldIn(body);
  if (told.code == codeUnauthenticated) return true;
  if (status == 500 && told.code == codeUnknown && told.message == oldRevision) return true;
  return (status == 400 && told.code == codeInvalidArgument) ||
         (shown.text.empty() && told.code == codePermissionDenied);
}

void UserToken::forget(std::uint64_t number) {
  const std::lock_guard lock{mutex_};
  if (number == token_.number) known_ = false;
}

}  // namespace tenure::etcd_store
