#include <algorithm>
#include <cerrno>
#include <exception>
#include <fcntl.h>
#include <optional>
#include <set>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <utility>

#include <tenure/lockcore/clock.hpp>
#include <tenure/ops/http_listener.hpp>

#include "io.hpp"
#include "listen_socket.hpp"
#include "lockcore/runtime/process_mark.hpp"
#include "lockcore/runtime/system_error.hpp"
#include "lockcore/runtime/thread.hpp"
#include "lockcore/runtime/user_code.hpp"
#include "request_session.hpp"

namespace tenure::ops {
namespace {

/// The most clients of /events.
constexpr std::size_t mostStreams = 32;

/// Connections must not use up the descriptors that the election needs.
std::size_t mostConnections(std::size_t wanted, std::size_t part) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return wanted;
  return std::clamp<std::size_t>(static_cast<std::size_t>(limit.rlim_cur) / part, 1, wanted);
}

}  // namespace

OptionFaults faultsOf(const ListenerOptions& options) {
  using std::chrono::milliseconds;
  OptionFaults faults;
  const auto check = [&](bool good, const char* field, const char* message) {
    if (!good) faults.push_back({field, message, true});
  };
  if (std::string fault = faultOfListen(options.listen); !fault.empty())
    faults.push_back({"listen", std::move(fault), true});
  for (const std::string& host : options.hosts) {
    if (std::string fault = faultOfHost(host); !fault.empty()) faults.push_back({"hosts", std::move(fault), true});
  }
  check(options.connections >= 1 && options.connections <= 10'000, "connections", "must be 1 to 10000");
  const auto within = [](milliseconds least, milliseconds time) { return time >= least && time <= maxLeaseDuration; };
  check(within(milliseconds{1}, options.requestTime), "requestTime", "must be 1 ms to 24 h");
  check(within(milliseconds{1}, options.idleTime), "idleTime", "must be 1 ms to 24 h");
  check(within(std::chrono::seconds{1}, options.stallPatience), "stallPatience", "must be 1 s to 24 h");
  return faults;
}

std::string faultOfListen(const std::string& listen) {
  const auto address = parseListen(listen);
  return address ? std::string{} : address.error().message;
}

/// All but `address_` and `mark_` is used on its thread alone.
class HttpListener::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(ListenerOptions options, ListenSocket socket)
      : options_{std::move(options)},
        most_{mostConnections(options_.connections, 4)},
        mostStreams_{mostConnections(mostStreams, 8)},
        socket_{std::move(socket)},
        address_{toString(socket_.address())},
        electors_{options_.stallPatience} {}

  void start() {
    asio::post(io_, [this] { look(); });
    thread_ = detail::startThread("tenure-http", [self = shared_from_this()] { self->work(); });
  }
  void stop() {
    io_.stop();
    detail::leaveThread(thread_);
  }
  void watch(ElectorView elector) {
    asio::post(io_, [this, elector = std::move(elector)] { electors_.watch(elector); });
  }
  void watch(ShardsView shards) {
    asio::post(io_, [this, shards = std::move(shards)] { electors_.watch(shards); });
  }
  void watch(MetricSource source) {
    asio::post(io_, [this, source = std::move(source)] { electors_.watch(source); });
  }
  [[nodiscard]] const std::string& address() const noexcept { return address_; }
  [[nodiscard]] bool isHere() const noexcept { return mark_.isHere(); }

 private:
  void work() {
    while (!io_.stopped()) {
      try {
        io_.run();
      } catch (const std::exception& error) {  // no memory: the connection concerned is lost
        options_.logger.log(LogLevel::warn, std::string{"http: "} + error.what());
      }
    }
    for (auto* const all : {&sessions_, &streams_}) {
      for (const auto& session : *all) session->end();
      all->clear();
    }
  }

  /// What fails for want of memory or descriptors is tried again at the next look.
  void look() {
    lookTimer_.expires_after(WatchedElectors::lookPeriod);
    lookTimer_.async_wait([this](error_code cancelled) {
      if (!cancelled) look();
    });
    if (!accepts_) listen();
    electors_.look();
  }

  void listen() {
    asio::co_spawn(io_, accept(), [this](const std::exception_ptr& thrown) {
      accepts_ = false;
      const auto why = whatThrown([&] {
        if (thrown) std::rethrow_exception(thrown);
      });
      if (why && std::exchange(whyNot_, why) != why)
        options_.logger.log(LogLevel::warn, "http: no connection is accepted for now: " + *why);
    });
  }

  Task<void> accept() {
    accepts_ = true;
    asio::posix::basic_stream_descriptor<Executor> listening{io_.get_executor()};
    UniqueFd own{::fcntl(socket_.descriptor(), F_DUPFD_CLOEXEC, 0)};
    if (!own) throw errnoException(errno, "no descriptor for the socket; raise the limit of open files");
    listening.assign(own.get());
    (void)own.release();
    whyNot_.reset();
    for (;;) {
      const auto [error] = co_await listening.async_wait(listening.wait_read, quietly);
      if (error) co_return;
      if (acceptOne()) continue;
      Timer pause{io_.get_executor(), std::chrono::milliseconds{20}};
      co_await pause.async_wait(quietly);
    }
  }

  /// False: not now, because there is no room or no descriptor; the client waits in the system's queue.
  bool acceptOne() {
    if (sessions_.size() >= most_ && !makeRoom()) return false;
    UniqueFd client = socket_.accept();
    if (!client) return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
    tryToServe(std::move(client));
    return true;
  }

  /// Where there is no memory, the connection is lost, and others may be served later.
  void tryToServe(UniqueFd client) noexcept {
    try {
      serve(std::move(client));
    } catch (const std::exception&) {
      return;
    }
  }

  void serve(UniqueFd client) {
    Socket socket{io_.get_executor()};
    error_code error;
    socket.assign(Protocol{socket_.family(), 0}, client.get(), error);
    if (error) return;
    (void)client.release();
    const auto session = std::make_shared<RequestSession>(std::move(socket), options_, socket_.address(), electors_,
                                                          [this](const auto& one) { return admitStream(one); });
    sessions_.insert(session);
    asio::co_spawn(io_, session->run(), [this, session](const std::exception_ptr&) {
      sessions_.erase(session);
      streams_.erase(session);
    });
  }

  /// A stream takes a place of its own kind, and gives back the one that it had: however many follow the events,
  /// /leader is answered.
  bool admitStream(const std::shared_ptr<RequestSession>& session) {
    if (streams_.size() >= mostStreams_) return false;
    sessions_.erase(session);
    if (streams_.insert(session).second && streams_.size() == 1) noteLeaders();
    return true;
  }

  /// Each look of the electors notes it too, so that clients that come back find what they have missed.
  void noteLeaders() {
    if (streams_.empty()) return;
    eventTimer_.expires_after(RequestSession::eventPeriod);
    eventTimer_.async_wait([this](error_code cancelled) {
      if (!cancelled) noteLeaders();
    });
    electors_.refresh();
    electors_.noteLeaders();
  }

  /// Closes the connection that has been idle for longest: whoever asked nothing loses nothing. Where all are at work,
  /// each gets some time, so that those who connect all the time do not drive away those who ask. Those who ask and
  /// read no answer have to go as well: otherwise a few of them would keep everybody else out.
  bool makeRoom() {
    constexpr std::chrono::milliseconds grace{200};
    const auto before = [](const RequestSession& a, const std::shared_ptr<RequestSession>& b) {
      return !b || a.waitsSince().boottime < b->waitsSince().boottime;
    };
    std::shared_ptr<RequestSession> idle, longest;
    for (const auto& session : sessions_) {
      if (before(*session, longest)) longest = session;
      if (before(*session, idle) && session->isIdle()) idle = session;
    }
    if (!idle && (!longest || elapsedForHolder(longest->waitsSince(), readClock()) < grace)) return false;
    const auto& leaves = idle ? idle : longest;
    leaves->end();
    sessions_.erase(leaves);
    return true;
  }

  const ListenerOptions options_;
  const std::size_t most_;
  const std::size_t mostStreams_;
  const ListenSocket socket_;
  const std::string address_;
  const ProcessMark mark_{};
  WatchedElectors electors_;
  std::set<std::shared_ptr<RequestSession>> sessions_{}, streams_{};
  asio::io_context io_{1};
  Timer lookTimer_{io_.get_executor()};
  Timer eventTimer_{io_.get_executor()};
  bool accepts_{false};
  std::optional<std::string> whyNot_{};  ///< as it was logged
  std::thread thread_{};
};

boost::system::result<HttpListener, OptionFaults> HttpListener::start(ListenerOptions options) {
  if (OptionFaults faults = faultsOf(options); !faults.empty()) return faults;
  auto socket = ListenSocket::open(*parseListen(options.listen));
  if (!socket) return OptionFaults{{"listen", socket.error().message}};
  const Logger logger = options.logger;
  const bool local = isLocal(socket->address());
  auto impl = std::make_shared<Impl>(std::move(options), std::move(*socket));
  impl->start();
  logger.log(local ? LogLevel::info : LogLevel::warn,
             "http: listens on " + impl->address() +
                 (local ? "" : ", which other machines may reach: any user there can read what it shows"));
  return HttpListener{std::move(impl)};
}

HttpListener::HttpListener(std::shared_ptr<Impl> impl) noexcept : impl_{std::move(impl)} {}
HttpListener::HttpListener(HttpListener&&) noexcept = default;

HttpListener& HttpListener::operator=(HttpListener&& other) noexcept {
  HttpListener gone{std::move(other)};  // swapped, so that a move to itself changes nothing
  impl_.swap(gone.impl_);
  return *this;
}

HttpListener::~HttpListener() {
  if (!impl_) return;
  impl_->isHere() ? impl_->stop() : leaveToParent(std::move(impl_));
}

void HttpListener::watch(ElectorView elector) {
  if (impl_->isHere()) impl_->watch(std::move(elector));
}

void HttpListener::watch(ShardsView shards) {
  if (impl_->isHere()) impl_->watch(std::move(shards));
}

void HttpListener::watch(MetricSource source) {
  if (impl_->isHere()) impl_->watch(std::move(source));
}

const std::string& HttpListener::address() const noexcept { return impl_->address(); }

}  // namespace tenure::ops
