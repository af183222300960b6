#include "http_gateway.hpp"

#include <algorithm>
#include <utility>

#include <tenure/lockcore/runtime.hpp>

#include "lockcore/net/http_client.hpp"
#include "lockcore/runtime/process_mark.hpp"
#include "member_call.hpp"
#include "member_link.hpp"
#include "member_stream.hpp"
#include "user_token.hpp"

namespace tenure::etcd_store {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t longestReply = 16U << 20U;

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
