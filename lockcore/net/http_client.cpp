#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <tenure/lockcore/asio.hpp>

#include "client_hooks.hpp"
#include "lockcore/runtime/process_mark.hpp"
#include "lockcore/runtime/thread.hpp"
#include "pool.hpp"
#include "stream.hpp"
#include "transport.hpp"

namespace tenure::net {
namespace {

namespace asio = boost::asio;
using std::chrono::nanoseconds;

constexpr nanoseconds longestTimeout = std::chrono::hours{24};  // keeps sums of times in range

/// The data of the thread. The thread shares its ownership, so that a client may be destroyed by its own handler.
class Core : public std::enable_shared_from_this<Core> {
 public:
  Core(HttpClientOptions options, ClientHooks hooks)
      : options_{checked(std::move(options))}, lookup_{std::move(hooks.lookup)} {
    const TlsFiles files{options_.caFile, options_.certificate,     options_.key,
                         options_.caText, options_.certificateText, options_.keyText};
    for (const std::string* one :
         {&files.caFile, &files.certificate, &files.key, &files.caText, &files.certificateText, &files.keyText}) {
      if (!one->empty() && !tls_) tls_ = TlsContext::make(files, options_.logger);
    }
  }

  void start() {
    book_ = std::make_unique<AddressBook>(
        alarms_,
        AddressBook::Options{lookup_, options_.resolveEvery, [weak = weak_from_this()](std::function<void()> task) {
                               if (const auto core = weak.lock()) asio::post(core->loop_, std::move(task));
                             }});
    around_ = std::make_unique<Surroundings>(
        Surroundings{options_, alarms_, *dialer_, *book_, [this]() -> TlsContext& { return tls(); }});
  }

  struct Command {
    Origin origin{};
    std::unique_ptr<Call> call{};
    std::unique_ptr<Stream::Ask> stream{};
    std::uint64_t number{0};  ///< of the stream that begins, or without `stream` of the one that ends
    std::size_t connections{0};
    bool doubts{false};
  };

  void push(Command command) {
    bool first = false;
    {
      const std::lock_guard lock{mutex_};
      first = inbox_.empty();
      inbox_.push_back(std::move(command));
    }
    // The thread takes all commands at once, so only the first one has to wake it.
    if (first) asio::post(loop_, [this] { takeCommands(); });
  }

  void run() {
    loop_.run();
    cancelAll();
  }

  void stop() {
    asio::post(loop_, [this] { loop_.stop(); });
  }

 private:
  static HttpClientOptions checked(HttpClientOptions options) {
    options.maxConnections = std::max<std::size_t>(options.maxConnections, 1);
    options.maxLate = std::min(options.maxLate, options.maxConnections / 2);
    return options;
  }

  TlsContext& tls() {
    if (!tls_) tls_ = TlsContext::make({}, options_.logger);
    return *tls_;
  }

  void takeCommands() {
    {
      const std::lock_guard lock{mutex_};
      commands_.swap(inbox_);
    }
    for (Command& command : commands_) carryOut(command);
    commands_.clear();
  }

  void carryOut(Command& command) {
    if (command.stream) return begin(command.number, std::move(*command.stream));
    if (command.number != 0) {
      if (const auto found = streams_.find(command.number); found != streams_.end()) found->second->drop();
      return;
    }
    Pool& pool = pools_.try_emplace(command.origin, *around_, command.origin).first->second;
    if (command.doubts) {
      pool.doubt();
    } else if (command.call) {
      pool.submit(std::move(command.call));
    } else {
      pool.keepReady(command.connections);
    }
  }

  void begin(std::uint64_t number, Stream::Ask ask) {
    auto stream = std::make_shared<Stream>(*around_, std::move(ask), [this, number] {
      const auto found = streams_.find(number);
      // It still runs: the next turn of the loop destroys it. If there is none, it must not outlive the alarms.
      over_.push_back(std::move(found->second));
      streams_.erase(found);
      asio::post(loop_, [this] { over_.clear(); });
    });
    streams_.emplace(number, stream);
    stream->open();
  }

  void cancelAll() {
    std::vector<std::pair<Origin, std::unique_ptr<Call>>> calls;
    std::vector<Stream::Ask> unheard;
    const auto collect = [&](Command& command) {
      if (command.call) calls.emplace_back(command.origin, std::move(command.call));
      if (command.stream) unheard.push_back(std::move(*command.stream));
    };
    for (auto& [origin, pool] : pools_) {
      for (auto& call : pool.closeAll()) calls.emplace_back(origin, std::move(call));
    }
    std::for_each(commands_.begin(), commands_.end(), collect);
    commands_.clear();
    {
      const std::lock_guard lock{mutex_};
      std::for_each(inbox_.begin(), inbox_.end(), collect);
      inbox_.clear();
    }
    while (!streams_.empty()) streams_.begin()->second->cancel();
    for (auto& [origin, call] : calls) {
      const HttpHandler handler = std::move(call->handler);
      const bool maybeSent = call->maybeSent;
      call.reset();
      handler(HttpError{HttpError::Kind::cancelled, maybeSent, toString(origin) + ": the client was closed"});
    }
    for (const Stream::Ask& ask : unheard) {
      ask.listener->permit.call([&] {
        ask.listener->handlers.onEnd(
            HttpError{HttpError::Kind::cancelled, false, toString(ask.origin) + ": the client was closed"});
      });
    }
  }

  const HttpClientOptions options_;
  const Lookup lookup_;

  std::mutex mutex_;  ///< guards the inbox
  std::vector<Command> inbox_{};

  // Used on the client's thread only. Later members use earlier ones.
  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{loop_.get_executor()};
  AlarmQueue alarms_{makeAsioScheduler(loop_.get_executor())};
  std::unique_ptr<TlsContext> tls_{};
  std::unique_ptr<Dialer> dialer_{makeTcpDialer(loop_)};
  std::unique_ptr<AddressBook> book_{};
  std::unique_ptr<Surroundings> around_{};
  std::map<Origin, Pool> pools_{};
  std::map<std::uint64_t, std::shared_ptr<Stream>> streams_{};
  std::vector<std::shared_ptr<Stream>> over_{};
  std::vector<Command> commands_{};
};

/// What a user holds of a stream.
class StreamHandle {
 public:
  StreamHandle(std::weak_ptr<Core> core, std::uint64_t number, std::shared_ptr<StreamListener> listener)
      : core_{std::move(core)}, number_{number}, listener_{std::move(listener)} {}
  ~StreamHandle() {
    if (!mark_.isHere()) return;  // in a forked child there is no thread to wait for
    listener_->permit.revoke();
    if (const auto core = core_.lock()) core->push({.number = number_});
  }
  StreamHandle(const StreamHandle&) = delete;
  StreamHandle& operator=(const StreamHandle&) = delete;

 private:
  const ProcessMark mark_{};
  const std::weak_ptr<Core> core_;
  const std::uint64_t number_;
  const std::shared_ptr<StreamListener> listener_;
};

class Client final : public HttpClient {
 public:
  explicit Client(std::shared_ptr<Core> core)
      : core_{std::move(core)}, thread_{detail::startThread("tenure-net", [kept = core_] { kept->run(); })} {}

  ~Client() override {
    if (mark_.isHere()) {
      core_->stop();
      detail::leaveThread(thread_);
    } else {
      thread_.detach();  // in a forked child there is no thread to wait for
    }
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void send(const Origin& origin, HttpRequest request, nanoseconds timeout, HttpHandler handler) override {
    const nanoseconds limited = std::min(timeout, longestTimeout);
    const std::shared_ptr<Core> kept = core_;  // the handler may destroy the client before this call is over
    kept->push({.origin = origin,
                .call = std::make_unique<Call>(std::move(request), std::move(handler), timeout,
                                               readClock().boottime + limited)});
  }

  std::shared_ptr<void> stream(const Origin& origin, HttpRequest request, const StreamLimits& limits,
                               StreamHandlers handlers) override {
    const std::uint64_t number = ++streams_;
    const auto listener = std::make_shared<StreamListener>();
    listener->handlers = std::move(handlers);
    auto handle = std::make_shared<StreamHandle>(core_, number, listener);
    core_->push({.stream = std::make_unique<Stream::Ask>(Stream::Ask{origin, std::move(request), limits, listener}),
                 .number = number});
    return handle;
  }

  void doubt(const Origin& origin) override { core_->push({.origin = origin, .doubts = true}); }

  void preconnect(const Origin& origin, std::size_t connections) override {
    core_->push({.origin = origin, .connections = connections});
  }

 private:
  const ProcessMark mark_{};
  std::shared_ptr<Core> core_;
  std::atomic<std::uint64_t> streams_{0};  ///< how many were asked for
  std::thread thread_;
};

}  // namespace

std::shared_ptr<HttpClient> makeHttpClient(HttpClientOptions options, ClientHooks hooks) {
  auto core = std::make_shared<Core>(std::move(options), std::move(hooks));
  core->start();
  return std::make_shared<Client>(std::move(core));
}

std::shared_ptr<HttpClient> HttpClient::make(HttpClientOptions options) {
  return makeHttpClient(std::move(options), {});
}

}  // namespace tenure::net
