#include "proxy.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <sys/resource.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "client_table.hpp"
#include "io.hpp"
#include "lockcore/runtime/system_error.hpp"
#include "session.hpp"

namespace tenure::gateway {
namespace {

using Acceptor = asio::basic_socket_acceptor<tcp, Executor>;

/// `127.0.0.1:8080`, `[::1]:8080`.
std::string textOf(const tcp::endpoint& endpoint) {
  const std::string host = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? '[' + host + ']' : host) + ':' + std::to_string(endpoint.port());
}

/// Why nobody can listen there, and what to do.
std::string whyNotListening(const error_code& error, const tcp::endpoint& endpoint) {
  const std::string where = textOf(endpoint);
  if (error == asio::error::address_in_use) {
    return "port " + std::to_string(endpoint.port()) + " is taken: another process listens on " + where +
           " (ss -ltnp shows which); give --listen another port";
  }
  if (error == asio::error::access_denied) {
    return "this user may not listen on " + where +
           "; ports below 1024 need CAP_NET_BIND_SERVICE, or give --listen a higher one";
  }
  if (error == error_code{EADDRNOTAVAIL, boost::system::system_category()}) {
    return "this machine has no address " + endpoint.address().to_string() +
           "; give --listen one that it has, or 0.0.0.0";
  }
  return "cannot listen on " + where + ": " + errnoText(error);
}

/// Empty if it listens; otherwise whyNotListening().
std::string listenOn(Acceptor& acceptor, const Address& address) {
  error_code error;
  const tcp::endpoint endpoint{asio::ip::make_address(address.host, error), address.port};
  if (!error) acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address{true}, error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  return error ? whyNotListening(error, endpoint) : std::string{};
}

/// Raises this process's limit of open files as far as it may, and returns what the limit is then; empty: not known.
std::optional<rlim_t> raiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::nullopt;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);  // if that fails, the limit that is read next has not changed
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? std::optional{limit.rlim_cur} : std::nullopt;
}

/// As many clients as are wanted, or fewer, so that there are file descriptors for all of them; at least one.
std::size_t mostClients(std::size_t wanted, const Logger& logger) {
  constexpr rlim_t ofClient = 2;  // its own connection, and one to the service
  constexpr rlim_t ofRest = 32;   // the listener, the fence's files, and the like
  const std::optional<rlim_t> limit = raiseFileLimit();
  if (!limit || *limit >= ofClient * wanted + ofRest) return wanted;
  const rlim_t left = std::max(*limit, ofRest) - ofRest;
  const auto most = static_cast<std::size_t>(std::max<rlim_t>(left / ofClient, 1));
  logger.log(LogLevel::warn, "the limit of open files, " + std::to_string(*limit) + ", leaves room for " +
                                 std::to_string(most) + " clients, not " + std::to_string(wanted) +
                                 "; raise it (ulimit -n, LimitNOFILE of the service)");
  return most;
}

class Proxy {
 public:
  Proxy(const Settings& settings, HttpFence& fence, const Logger& logger, ProxyCounts& counts, const StopSignals& stops)
      : settings_{settings},
        shared_{io_.get_executor(), settings_, fence, logger, counts},
        clients_{mostClients(settings_.limits.connections, logger)},
        stops_{stops},
        signals_{io_, stops.descriptor} {}
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;
  ~Proxy() { signals_.release(); }  // the descriptor is the caller's, so it stays open

  /// Empty if it listens.
  [[nodiscard]] std::string listen() { return listenOn(acceptor_, settings_.listen); }
  [[nodiscard]] std::string address() const { return textOf(acceptor_.local_endpoint()); }

  [[nodiscard]] ProxyEnd run() {
    asio::co_spawn(io_, accept(), asio::detached);
    waitForSignal();
    io_.run();
    // Requests without a token do not count: no later term waits for their end.
    const bool cutOff = clients_.hasFenced();
    shared_.fence.close();  // while there is an executor for the answers to waiting requests
    return cutOff ? ProxyEnd::cutOff : ProxyEnd::clean;
  }

 private:
  Task<void> accept() {
    for (;;) {
      auto [error, socket] = co_await acceptor_.async_accept(quietly);
      if (!acceptor_.is_open()) co_return;
      if (error) {  // no descriptors are left; some are freed when clients leave
        Timer pause{io_.get_executor(), std::chrono::milliseconds{50}};
        co_await pause.async_wait(quietly);
        continue;
      }
      serve(std::move(socket));
    }
  }

  void serve(Stream::socket_type socket) {
    error_code gone;
    const tcp::endpoint client = socket.remote_endpoint(gone);
    if (gone) return;
    const std::string group = ClientTable::groupOf(client.address());
    if (!clients_.makeRoom(group)) {
      asio::co_spawn(io_, sendAway(Stream{std::move(socket)}, textOf(client)), asio::detached);
      return;
    }
    const auto session = std::make_shared<Session>(Stream{std::move(socket)}, shared_, textOf(client), group);
    clients_.add(session, group);
    asio::co_spawn(io_, session->run(), [this, session](const std::exception_ptr& thrown) {
      if (thrown) shared_.logger.log(LogLevel::error, "a client's connection ended by an unexpected error");
      clients_.remove(session);
      if (stopping_ && clients_.empty()) finishStop();
    });
  }

  /// Waits for nothing from the client: its connection is not in the table, so it is never closed to make room.
  Task<void> sendAway(Stream stream, std::string client) {
    const HttpProblem problem = proxyProblem(503, "not-now", "Too many connections", "try again");
    shared_.noteProblem(problem, client);
    (void)co_await writeProblem(stream, problem, /*keepAlive=*/false, /*head=*/false);
  }

  void waitForSignal() {
    signals_.async_wait(asio::posix::descriptor_base::wait_read, [this](error_code cancelled) {
      if (cancelled) return;
      if (!stops_.next()) return waitForSignal();  // there was no signal after all
      if (stopping_) return io_.stop();            // the second signal
      waitForSignal();                             // before beginStop(), which cancels it if there are no clients
      beginStop();
    });
  }

  /// From here on every step is one towards the return of io_.run(): the clients leave, and the last one's end is
  /// finishStop(). Two time limits see to it that they do. When the first is over, requests without a token are ended.
  /// Those with one get more time, because the next proxy on this state file has to wait if one of them is cut off.
  void beginStop() {
    stopping_ = true;
    acceptor_.close();
    shared_.upstream.close();
    clients_.stopAll();
    if (clients_.empty()) return finishStop();
    stopTimer_.expires_after(settings_.limits.drain);
    stopTimer_.async_wait([this](error_code cancelled) {
      if (cancelled) return;
      clients_.endUnfenced();  // an event stream never ends by itself
      stopTimer_.expires_after(settings_.limits.service);
      stopTimer_.async_wait([this](error_code allHaveLeft) {
        if (!allHaveLeft) io_.stop();
      });
    });
  }

  /// Cancels all that io_.run() still waits for.
  void finishStop() {
    signals_.cancel();
    stopTimer_.cancel();
    shared_.upstream.close();  // again: the last requests have given their connections back since beginStop()
  }

  const Settings settings_;
  asio::io_context io_{1};  ///< before all that uses its executor, so that it ends last
  Shared shared_;
  ClientTable clients_;
  Acceptor acceptor_{io_.get_executor()};
  const StopSignals& stops_;
  asio::posix::stream_descriptor signals_;
  Timer stopTimer_{io_.get_executor()};
  bool stopping_{false};
};

}  // namespace

bool isAddress(const std::string& host) {
  error_code error;
  (void)asio::ip::make_address(host, error);
  return !error;
}

ProxyEnd runProxy(const Settings& settings, HttpFence& fence, const Logger& logger, ProxyCounts& counts,
                  const StopSignals& stops, const std::function<void(const std::string& address)>& listening) {
  Proxy proxy{settings, fence, logger, counts, stops};
  if (const std::string fault = proxy.listen(); !fault.empty()) {
    logger.log(LogLevel::error, fault);
    return ProxyEnd::cannotListen;
  }
  listening(proxy.address());
  return proxy.run();
}

}  // namespace tenure::gateway
