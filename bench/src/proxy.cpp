// Measures what `tenure fence proxy` adds to a request, and how many requests it serves on one core.
#include <algorithm>
#include <optional>
#include <sched.h>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/core.h>

#include <tenure/lockcore/clock.hpp>

#include "benches.hpp"
#include "fleet.hpp"
#include "http_calls.hpp"
#include "proxy_process.hpp"
#include "stats.hpp"
#include "stub_server.hpp"

namespace tenure::bench {
namespace {

using std::chrono::milliseconds;

const std::string readRequest = "GET /ledger HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n";

std::string writeRequest(std::uint64_t token) {
  return fmt::format(
      "POST /ledger HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench\r\nAccept: */*\r\n"
      "Content-Type: application/json\r\nFencing-Token: bench={};holder=\"billing-1#5f2c9a71\"\r\n"
      "Content-Length: 46\r\n\r\nan entry of some forty bytes, as ledgers have.",
      token);
}

double millisFor(HttpCaller& caller, const std::string& request) {
  const Instant from = readClock();
  caller.call(request);
  return static_cast<double>(elapsedForHolder(from, readClock()).count()) / 1e6;
}

/// Sends one request at a time, direct and through the proxy in turns and in changing order.
bool compareLatency(const StubServer& service, const FenceProxyProcess& proxy, int rounds) {
  HttpCaller direct{service.port()};
  HttpCaller fenced{proxy.port()};
  Sample directReads;
  Sample fencedReads;
  Sample directWrites;
  Sample fencedWrites;
  Sample firstWrites;
  std::uint64_t token = 0;
  for (int i = 0; i < rounds; ++i) {
    if (i % 20 == 0) firstWrites.add(millisFor(fenced, writeRequest(++token)));
    const std::string write = writeRequest(token);
    for (const bool bare : {i % 2 == 0, i % 2 != 0}) {
      HttpCaller& caller = bare ? direct : fenced;
      (bare ? directReads : fencedReads).add(millisFor(caller, readRequest));
      (bare ? directWrites : fencedWrites).add(millisFor(caller, write));
    }
  }
  directReads.print("GET, direct");
  fencedReads.print("GET without a token, through the proxy");
  directWrites.print("POST, direct");
  fencedWrites.print("POST of the latest term, through the proxy");
  firstWrites.print("first POST of a later term, whose token is put on the disk");
  const bool reads =
      verdict("GET: the proxy adds, p50", fencedReads.percentile(0.5) - directReads.percentile(0.5), 0.2, "ms");
  return verdict("POST: the proxy adds, p50", fencedWrites.percentile(0.5) - directWrites.percentile(0.5), 0.2, "ms") &&
         reads;
}

/// Keeps this process and its service off the proxy's core. Empty: the machine has only one core.
std::optional<int> leaveOneCore() {
  cpu_set_t all;
  if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < 2) return std::nullopt;
  int last = CPU_SETSIZE - 1;
  while (!CPU_ISSET(static_cast<std::size_t>(last), &all)) --last;
  CPU_CLR(static_cast<std::size_t>(last), &all);
  return sched_setaffinity(0, sizeof all, &all) == 0 ? std::optional{last} : std::nullopt;
}

struct Throughput {
  std::vector<double> direct{};
  std::vector<double> fenced{};
  std::vector<double> micros{};  ///< CPU time of the proxy for each request
};

double medianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

bool measureThroughput(const StubServer& service, const FenceProxyProcess& proxy, const std::string& name,
                       const std::string& request, int connections, milliseconds span) {
  constexpr int turns = 5;
  Throughput all;
  for (int turn = 0; turn < turns; ++turn) {
    all.direct.push_back(requestsPerSecond(service.port(), request, connections, span));
    const double before = proxy.cpuSeconds();
    const double rate = requestsPerSecond(proxy.port(), request, connections, span);
    all.fenced.push_back(rate);
    all.micros.push_back((proxy.cpuSeconds() - before) * 1e6 * 1e3 / (rate * static_cast<double>(span.count())));
  }
  const std::string what = fmt::format("{}, {} connections", name, connections);
  figure(what + ", direct", medianOf(all.direct), "requests/s");
  figure(what + ", through the proxy", medianOf(all.fenced), "requests/s");
  figure(what + ", CPU of the proxy", medianOf(all.micros), "us/request");
  return verdict(what + ": time for 20,000 requests, proxy on one core", 20'000 / medianOf(all.fenced), 1, "s");
}

}  // namespace

bool benchProxy(const Options& options) {
  fmt::print("proxy: {} requests of each kind, taken in turns; then as many as go through it on one core\n",
             options.rounds);
  const Scratch scratch;
  bool holds = false;
  {
    const StubServer service{milliseconds{0}};
    const FenceProxyProcess proxy{service.port(), scratch.path("latency.db"), std::nullopt};
    holds = compareLatency(service, proxy, options.rounds);
  }
  const std::optional<int> core = leaveOneCore();
  if (!core) fmt::print("  there is one core: the proxy shares it with its client and its service\n");
  const StubServer service{milliseconds{0}};  // inherits the other cores
  const FenceProxyProcess proxy{service.port(), scratch.path("throughput.db"), core};
  const milliseconds span{options.rounds / 5};
  for (const int connections : {16, 64}) {
    holds &= measureThroughput(service, proxy, "GET", readRequest, connections, span);
    holds &= measureThroughput(service, proxy, "POST", writeRequest(1), connections, span);
  }
  return holds;
}

}  // namespace tenure::bench
