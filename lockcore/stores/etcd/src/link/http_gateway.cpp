#include "http_gateway.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenure/lockcore/runtime.hpp>

#include "lockcore/net/http_client.hpp"
#include "lockcore/runtime/call_permit.hpp"
#include "lockcore/runtime/process_mark.hpp"
#include "lockcore/stores/etcd/src/errors.hpp"
#include "lockcore/stores/etcd/src/gateway.hpp"
#include "member_call.hpp"
#include "member_link.hpp"
#include "user_token.hpp"

namespace tenure::etcd_store {

/// A stream from one member, from the moment when it is asked for.
/// Shared by the user's handle and what works for it. While the token is asked for, there is no stream yet.
class MemberStream : public std::enable_shared_from_this<MemberStream> {
 public:
  /// How long a member may take to accept it.
  static constexpr std::chrono::seconds patience{5};

  MemberStream(MemberLinkPtr members, std::shared_ptr<UserToken> user, StreamHandlers handlers);

  void open(net::HttpRequest request, std::chrono::nanoseconds silence);
  /// Nothing is called any more. Waits for a handler that runs on another thread.
  void end();

 private:
  void begin(const UserToken::Shown& token, net::HttpRequest request, std::chrono::nanoseconds silence);
  void line(std::size_t member, std::string_view text);
  [[nodiscard]] std::string whyEnded(std::size_t member, const UserToken::Shown& token,
                                     const net::HttpOutcome& outcome);
  void tellEnd(const std::string& why);

  const MemberLinkPtr members_;
  const std::shared_ptr<UserToken> user_;
  const StreamHandlers handlers_;
  CallPermit permit_{};
  bool begun_{false};  ///< a line has come; used on the client's thread only
  std::mutex mutex_{};
  bool gone_{false};                ///< guarded by the mutex, as the next one
  std::shared_ptr<void> stream_{};  ///< keeps this object; end() breaks the circle
};

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

/// The next stream goes to another member: this one may have lost the others. But where nothing is written, a healthy
/// stream is silent too, and calls tell whether its member works.
std::string MemberStream::whyEnded(std::size_t member, const UserToken::Shown& token, const net::HttpOutcome& outcome) {
  const std::string where = members_->nameOf(member);
  std::string why = where + " has ended the stream";
  const bool wasSilent = begun_ && !outcome && outcome.error().kind == net::HttpError::Kind::timeout;
  if (!outcome) {
    why = outcome.error().message;
  } else if (outcome->status / 100 != 2) {
    why = where + " did not accept the stream (status " + std::to_string(outcome->status) + ", code " +
          std::to_string(toldIn(outcome->body).code) + ")";
  }
  // The gateway puts a stream's error into another body than a call's.
  if (outcome && (outcome->status == 401 || user_->isRefused(token, outcome->status, outcome->body))) {
    user_->forget(token.number);
  } else if (!wasSilent) {
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

namespace {

/// A page of a listing may have a hundred leases of the largest data, written in base64 twice.
constexpr std::size_t longestReply = 128U << 20U;

/// One request with the user's token, and a second one if that was refused.
class UserCall : public std::enable_shared_from_this<UserCall> {
 public:
  UserCall(std::shared_ptr<UserToken> user, std::shared_ptr<MemberCall> call, OutcomeHandler handler)
      : user_{std::move(user)}, call_{std::move(call)}, handler_{std::move(handler)} {}

  void begin() {
    user_->whenKnown(call_->deadline(), [self = shared_from_this()](const StoreResult<UserToken::Shown>& token) {
      if (token.has_error()) return self->handler_(CallFault{token.error(), false});
      const auto refusesToken = [user = self->user_, shown = *token](int status, const std::string& body) {
        return user->isRefused(shown, status, body);
      };
      self->call_->send(token->text, refusesToken, [self, refusesToken, shown = *token](Outcome outcome) {
        if (!outcome || !refusesToken(outcome->status, outcome->body)) return self->handler_(std::move(outcome));
        self->user_->forget(shown.number);
        self->again();
      });
    });
  }

 private:
  void again() {
    user_->whenKnown(call_->deadline(), [self = shared_from_this()](const StoreResult<UserToken::Shown>& token) {
      if (token.has_error()) return self->handler_(CallFault{token.error(), self->call_->copiesOut()});
      self->call_->sendAgain(token->text, [self](Outcome outcome) { self->handler_(std::move(outcome)); });
    });
  }

  const std::shared_ptr<UserToken> user_;
  const std::shared_ptr<MemberCall> call_;
  const OutcomeHandler handler_;
};

class StreamHandle {
 public:
  explicit StreamHandle(std::shared_ptr<MemberStream> stream) : stream_{std::move(stream)} {}
  ~StreamHandle() {
    if (mark_.isHere()) {
      stream_->end();
    } else {
      leaveToParent(std::move(stream_));  // the thread that could end a call exists only there
    }
  }
  StreamHandle(const StreamHandle&) = delete;
  StreamHandle& operator=(const StreamHandle&) = delete;

 private:
  const ProcessMark mark_{};
  std::shared_ptr<MemberStream> stream_;
};

class HttpGateway final : public Gateway {
 public:
  HttpGateway(const EtcdStoreOptions& options, Logger logger)
      : members_{std::make_shared<MemberLink>(options.endpoints, logger)},
        user_{std::make_shared<UserToken>(members_, options.user, options.passwordFile)},
        client_{net::HttpClient::make(clientOptions(options, std::move(logger)))} {
    members_->use(client_);
  }

  void call(std::string_view path, std::string body, nanoseconds timeout, Repeat repeat,
            OutcomeHandler handler) override {
    if (!mark_.isHere()) return answerInChild(std::move(handler));
    const nanoseconds deadline = now() + std::min<nanoseconds>(timeout, std::chrono::hours{24});
    auto call =
        std::make_shared<MemberCall>(members_, MemberCall::Ask{std::string{path}, std::move(body), deadline, repeat});
    std::make_shared<UserCall>(user_, std::move(call), std::move(handler))->begin();
  }

  std::shared_ptr<void> stream(std::string_view path, std::string body, nanoseconds silence,
                               StreamHandlers handlers) override {
    if (!mark_.isHere()) return nullptr;
    net::HttpRequest request{.target = std::string{path}, .body = std::move(body)};
    request.headers = {{"Content-Type", "application/json"}, {"Grpc-Metadata-hasleader", "true"}};
    const auto stream = std::make_shared<MemberStream>(members_, user_, std::move(handlers));
    stream->open(std::move(request), silence);
    return std::make_shared<StreamHandle>(stream);
  }

  std::string describe() const override { return members_->describe(); }

 private:
  /// The threads of the gateway exist only in the parent.
  static void answerInChild(OutcomeHandler handler) {
    sharedScheduler()->post([handler = std::move(handler)] {
      handler(CallFault{{ErrorClass::misconfigured,
                         "this process is a forked child of the one that made the store; make a store here"},
                        false});
    });
  }

  const ProcessMark mark_{};
  const MemberLinkPtr members_;
  const std::shared_ptr<UserToken> user_;
  const std::shared_ptr<net::HttpClient> client_;
};

}  // namespace

net::HttpClientOptions clientOptions(const EtcdStoreOptions& options, Logger logger) {
  // etcd's client judges NO_PROXY by its first endpoint alone; here each is judged by itself.
  return {.caFile = options.caFile,
          .certificate = options.certificate,
          .key = options.key,
          .proxy = net::ProxySettings::ofProcess(net::ProxyRules::grpc),
          .maxReply = longestReply,
          .logger = std::move(logger)};
}

std::shared_ptr<Gateway> makeHttpGateway(const EtcdStoreOptions& options, Logger logger) {
  return std::make_shared<HttpGateway>(options, std::move(logger));
}

}  // namespace tenure::etcd_store
