// The addresses of the service's name. getaddrinfo() blocks for as long as the machine's resolver takes, so it runs on
// a thread that nobody waits for.
#pragma once

#include <chrono>
#include <memory>
#include <set>
#include <vector>

#include <tenure/lockcore/clock.hpp>

#include "io.hpp"
#include "settings.hpp"

namespace tenure::gateway {

using Endpoints = std::vector<tcp::endpoint>;

/// Used on the one thread only. All callers at the same time share one look-up. A look-up that hangs is not waited for:
/// after `Limits::connect` another may begin beside it, at most `mostHanging` in all, and callers get the addresses
/// that were known before.
class NameLookup {
 public:
  NameLookup(const Executor& executor, Address name, std::chrono::milliseconds patience);
  ~NameLookup();
  NameLookup(const NameLookup&) = delete;
  NameLookup& operator=(const NameLookup&) = delete;

  /// Answers within the patience; empty if no address is known. A numeric address needs no look-up.
  [[nodiscard]] Task<Endpoints> find();

 private:
  struct Link;
  static constexpr std::chrono::seconds kept{1};
  static constexpr int mostHanging = 8;

  void start();
  void take(Endpoints found);

  Executor executor_;
  const Address name_;
  const std::chrono::milliseconds patience_;
  Endpoints known_{};
  Instant knownSince_{};
  Instant startedAt_{};
  int running_{0};
  std::set<Timer*> waiting_{};
  const std::shared_ptr<Link> link_;
};

}  // namespace tenure::gateway
