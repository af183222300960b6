#include "proxy.hpp"

#include <csignal>
#include <set>
#include <sys/resource.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/signal_set.hpp>

#include "io.hpp"
#include "output.hpp"
#include "session.hpp"

namespace tenure::cli::fence_proxy {
namespace {

using Acceptor = asio::basic_socket_acceptor<tcp, Executor>;

/// Two descriptors a client, and some for the files.
void raiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

class Proxy {
 public:
  Proxy(const Settings& settings, HttpFence& fence)
      : settings_{settings}, fence_{fence}, upstream_{io_.get_executor(), settings_}, signals_{io_, SIGTERM, SIGINT} {}

  [[nodiscard]] std::string listen() {
    const auto address = asio::ip::make_address(settings_.listen.host);
    const tcp::endpoint endpoint{address, settings_.listen.port};
    acceptor_.open(endpoint.protocol());
    acceptor_.set_option(tcp::acceptor::reuse_address{true});
    acceptor_.bind(endpoint);
    acceptor_.listen();
    const auto local = acceptor_.local_endpoint();
    const std::string host = local.address().to_string();
    return (local.address().is_v6() ? '[' + host + ']' : host) + ':' + std::to_string(local.port());
  }

  [[nodiscard]] bool run() {
    asio::co_spawn(io_, accept(), asio::detached);
    waitForSignal();
    io_.run();
    return sessions_.empty();
  }

 private:
  Task<void> accept() {
    for (;;) {
      auto [error, socket] = co_await acceptor_.async_accept(quietly);
      if (!acceptor_.is_open()) co_return;
      if (error) {  // no descriptors: some come back when clients go
        Timer pause{io_.get_executor(), std::chrono::milliseconds{50}};
        co_await pause.async_wait(quietly);
        continue;
      }
      if (sessions_.size() >= settings_.limits.connections) {
        asio::co_spawn(io_, sendAway(Stream{std::move(socket)}), asio::detached);
        continue;
      }
      const auto session = std::make_shared<Session>(Stream{std::move(socket)}, fence_, upstream_, settings_);
      sessions_.insert(session);
      asio::co_spawn(io_, session->run(), [this, session](const std::exception_ptr& thrown) {
        if (thrown) complain("a client's connection ended by an unexpected error");
        sessions_.erase(session);
        if (stopping_ && sessions_.empty()) finish();
      });
    }
  }

  /// In one piece, without waiting for anything of the client's.
  static Task<void> sendAway(Stream stream) {
    const HttpRefusal refusal = proxyProblem(503, "not-now", "Too many connections", "try again");
    (void)co_await writeRefusal(stream, refusal, false, false);
  }

  void waitForSignal() {
    signals_.async_wait([this](error_code cancelled, int) {
      if (cancelled) return;
      if (stopping_) return io_.stop();
      waitForSignal();  // before stop(), which takes it back if there is nothing to wait for
      stop();
    });
  }

  void stop() {
    stopping_ = true;
    acceptor_.close();
    upstream_.close();
    const auto sessions = sessions_;
    for (const auto& session : sessions) session->stop();
    if (sessions_.empty()) return finish();
    limit_.expires_after(settings_.limits.drain + settings_.limits.service);
    limit_.async_wait([this](error_code cancelled) {
      if (!cancelled) io_.stop();
    });
  }

  void finish() {
    signals_.cancel();
    limit_.cancel();
    upstream_.close();
  }

  const Settings settings_;
  HttpFence& fence_;
  asio::io_context io_{1};
  Upstream upstream_;
  Acceptor acceptor_{io_.get_executor()};
  asio::signal_set signals_;
  Timer limit_{io_.get_executor()};
  std::set<std::shared_ptr<Session>> sessions_{};
  bool stopping_{false};
};

}  // namespace

bool runProxy(const Settings& settings, HttpFence& fence,
              const std::function<void(const std::string& address)>& listening) {
  raiseDescriptorLimit();
  std::signal(SIGPIPE, SIG_IGN);
  Proxy proxy{settings, fence};
  listening(proxy.listen());
  return proxy.run();
}

}  // namespace tenure::cli::fence_proxy
