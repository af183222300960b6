// A small HTTP server that shows a process's electors: to load balancers, to Prometheus, to people.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <boost/system/result.hpp>

#include <tenure/election/elector_view.hpp>
#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_options.hpp>
#include <tenure/lockcore/logger.hpp>
#include <tenure/ops/metrics.hpp>

namespace tenure::ops {

struct ListenerOptions {
  /// `127.0.0.1:9200`, `[::1]:9200`, `unix:/run/billing.sock` (absolute, at most 107 bytes). Port 0: the system
  /// chooses. Any client that reaches the address may read all pages, and there is no encryption. An address that
  /// other machines reach, such as `0.0.0.0:9200`, is for trusted networks. The pages show no secrets.
  std::string listen{};
  /// Names and addresses, without ports, that a request's header Host may have in addition to loopback's and the
  /// address to which it was sent; others get 421. Empty: a listener on loopback knows no further ones, so that no web
  /// page reads it under another name (DNS rebinding), and any other listener accepts every Host.
  std::vector<std::string> hosts{};
  /// The most connections at a time, 1..10'000; fewer where the limit of open files is low. For one more, a connection
  /// is closed: the one that is idle for longest, or, where none is idle, the one that has waited longest for the rest
  /// of a request or for an answer to be taken, but not before 200 ms.
  std::size_t connections{64};
  std::chrono::milliseconds requestTime{5'000};  ///< for a request and its answer; 1 ms .. 24 h
  std::chrono::milliseconds idleTime{60'000};    ///< between two requests; 1 ms .. 24 h
  /// /livez answers 503 once the renewal thread has been stuck for this long while the process ran. 1 s .. 24 h.
  std::chrono::milliseconds stallPatience{10'000};
  Logger logger{};
};

/// Without a side effect. Empty: there is none.
[[nodiscard]] TENURE_API OptionFaults faultsOf(const ListenerOptions& options);

/// The fault of an address and what is allowed; empty: none. It does not check whether the address is free.
[[nodiscard]] TENURE_API std::string faultOfListen(const std::string& listen);

/// Serves on its own thread, `tenure-http`, until it is destroyed. docs/operations.md describes the paths. Answers
/// are computed when they are written, and no answer waits for a lock of an elector, so each is true and comes in time
/// even if every other thread of the process hangs.
///
/// Its descriptors are not inherited by programs that the process executes. In a forked child it does nothing.
///
/// Threads: any. Move-only; a moved-from listener may only be destroyed or assigned to.
class TENURE_API HttpListener {
 public:
  /// Listens when it returns. A fault's field is `listen` where the address cannot be used; its message says why, and
  /// what to do.
  [[nodiscard]] static boost::system::result<HttpListener, OptionFaults> start(ListenerOptions options);

  /// Closes the connections, and waits for the thread. A Unix socket is removed.
  ~HttpListener();
  HttpListener(HttpListener&&) noexcept;
  HttpListener& operator=(HttpListener&&) noexcept;

  /// Shows this elector from now on, instead of an earlier one of the same group.
  void watch(ElectorView elector);
  /// Shows the shards that this elector leads or competes for: each is a separate group, such as `billing/7`.
  void watch(ShardsView shards);
  /// /metrics asks this source too from now on, for as long as the listener lives.
  void watch(MetricSource source);

  /// The address as in the options, with the port that the system chose.
  [[nodiscard]] const std::string& address() const noexcept;

 private:
  class Impl;
  explicit HttpListener(std::shared_ptr<Impl> impl) noexcept;
  std::shared_ptr<Impl> impl_;
};

}  // namespace tenure::ops
