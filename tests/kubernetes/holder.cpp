// Holds one lock in Kubernetes as often as it gets it, and prints what it claims, a line of JSON each, as
// tenure-chaos-candidate does: times are CLOCK_BOOTTIME in nanoseconds.
//
//   kubernetes_holder NAME LEASE_MS HEARTBEAT_MS       the server is that of TENURE_TEST_KUBERNETES
//
//   {"t":..,"e":"elected","token":..}
//   {"t":..,"e":"led","u":..,"token":..}     it held the lock at some instant between t and u
//   {"t":..,"e":"revoked","reason":..,"token":..}
//
// SIGTERM gives the lock back and ends it.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <tenure/config/load_group.hpp>
#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/lock_client.hpp>

#include "lockcore/port/json_text.hpp"

namespace {

using namespace tenure;
using std::chrono::milliseconds;

std::atomic<bool> ends{false};
static_assert(std::atomic<bool>::is_always_lock_free);

long long now() { return static_cast<long long>(readClock().boottime.count()); }

void tell(const char* event, long long at, const std::string& more, FencingToken token) {
  std::printf("{\"t\":%lld,\"e\":\"%s\"%s,\"token\":%s}\n", at, event, more.c_str(), toString(token).c_str());
  std::fflush(stdout);
}

void hold(Lock lock) {
  const FencingToken token = lock.fencingToken();
  tell("elected", now(), "", token);
  while (!ends) {
    const long long before = now();
    if (!lock.isHeld()) break;
    tell("led", before, ",\"u\":" + std::to_string(now()), token);
    std::this_thread::sleep_for(milliseconds{5});
  }
  const auto loss = lock.loss();
  std::string reason;
  appendQuoted(reason, loss ? loss->detail : "its own end");
  tell("revoked", now(), ",\"reason\":" + reason, token);
  static_cast<void>(lock.release());
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) return 2;
  std::signal(SIGTERM, [](int) { ends = true; });
  const char* file = std::getenv("TENURE_TEST_KUBERNETES");  // NOLINT(concurrency-mt-unsafe)
  if (file == nullptr) return 2;
  LockClientOptions options;
  options.candidate = "tenure";
  options.lease.duration = milliseconds{std::atoi(arguments[2])};
  options.lease.heartbeat = milliseconds{std::atoi(arguments[3])};
  options.logger = Logger::toStderr(LogLevel::warn);
  LockClient client{makeKubernetesStore(kubernetesOptionsFrom(file, "tenure").value(), options.logger), options};
  while (!ends) {
    auto lock = client.acquire({arguments[1]}, {.waitFor = milliseconds{500}});
    if (lock) hold(std::move(*lock));
  }
  return 0;
}
