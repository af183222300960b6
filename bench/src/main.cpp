// tenure-bench: measures whole processes that elect over one SQLite file. `scripts/bench` builds and runs it.
#include <algorithm>
#include <cstring>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "benches.hpp"
#include "candidate.hpp"
#include "stats.hpp"
#include "stub_server.hpp"

namespace {

using tenure::bench::Options;

constexpr const char* usage =
    R"(usage: tenure-bench BENCH [--rounds N] [--lease MS] [--heartbeat MS] [--processes N] [--seed N]
                          [--leases N] [--store STORE] [--json FILE]

  failover   SIGKILL the leader; how long until a successor is elected, crash notice off and on
  handover   stop the leader politely; how long until a successor is elected
  pause      SIGSTOP the leader for 0.1 to 3 leases; what it believes and writes after it wakes
  renew      a renewal through the store beside the same transaction written by hand
  locks      acquire and release beside the same written by hand; --processes candidates for one lock
  queue      one lock for 10 candidates in each of 1, 2, 5 and 10 processes, at most --processes: requests of a hand-over
             (--rounds: seconds)
  fence      a fenced write beside the same write without a fence
  proxy      a request through `tenure fence proxy` beside the same one without; what it holds on one core
  leases     1,000 leases in one process, or --leases (--rounds: seconds)
  heartbeat  CPU of a heartbeat on DynamoDB beside a bare POST of the same bytes (--rounds: seconds; 100, 1,000 and
             10,000 leases, at most --leases)
  crowd      10,000 leases in one process on DynamoDB, or --leases (--rounds: seconds)

Exit code 0: every figure is within its bound; 1: one is not; 2: usage.
)";

struct Bench {
  bool (*run)(const Options&);
  Options defaults;
  std::vector<std::string> otherStores{};  ///< that it measures besides SQLite
};

const std::map<std::string, Bench>& benches() {
  using namespace std::chrono_literals;
  static const std::map<std::string, Bench> all{
      {"failover",
       {tenure::bench::benchFailover, {2000ms, 500ms, 5, 50, 1, 1000, {}}, {"postgresql", "etcd", "kubernetes"}}},
      {"handover",
       {tenure::bench::benchHandover, {2000ms, 500ms, 5, 50, 1, 1000, {}}, {"postgresql", "etcd", "kubernetes"}}},
      {"pause", {tenure::bench::benchPause, {500ms, 125ms, 5, 200, 1, 1000, {}}}},
      {"renew", {tenure::bench::benchRenew, {10'000ms, 3000ms, 1, 2000, 1, 1000, {}}, {"postgresql", "etcd"}}},
      {"locks", {tenure::bench::benchLocks, {10'000ms, 3000ms, 100, 2000, 1, 1000, {}}, {"dynamodb"}}},
      {"queue", {tenure::bench::benchQueue, {10'000ms, 3000ms, 10, 10, 1, 1000, {}}, {"dynamodb"}}},
      {"fence", {tenure::bench::benchFence, {10'000ms, 3000ms, 1, 2000, 1, 1000, {}}}},
      {"leases",
       {tenure::bench::benchLeases, {10'000ms, 3000ms, 1, 60, 1, 1000, {}}, {"postgresql", "dynamodb", "etcd"}}},
#ifdef TENURE_PROGRAM
      {"proxy", {tenure::bench::benchProxy, {10'000ms, 3000ms, 1, 5000, 1, 1000, {}}}},
#endif
#ifdef TENURE_WITH_DYNAMODB
      {"heartbeat", {tenure::bench::benchHeartbeat, {10'000ms, 3000ms, 1, 15, 1, 10'000, {}}}},
      {"crowd", {tenure::bench::benchCrowd, {10'000ms, 3000ms, 1, 120, 1, 10'000, {}}}},
#endif
  };
  return all;
}

bool measures(const Bench& bench, const std::string& store) {
  const auto& others = bench.otherStores;
  return store == "sqlite" || std::find(others.begin(), others.end(), store) != others.end();
}

bool apply(Options& options, const std::string& name, const std::string& value) {
  if (name == "--rounds") {
    options.rounds = std::stoi(value);
  } else if (name == "--lease") {
    options.lease = std::chrono::milliseconds{std::stoi(value)};
  } else if (name == "--heartbeat") {
    options.heartbeat = std::chrono::milliseconds{std::stoi(value)};
  } else if (name == "--processes") {
    options.processes = std::stoi(value);
  } else if (name == "--leases") {
    options.leases = std::stoi(value);
  } else if (name == "--json") {
    options.json = value;
  } else if (name == "--store") {
    options.store = value;
  } else if (name == "--seed") {
    options.seed = std::stoull(value);
  } else {
    return false;
  }
  return true;
}

int run(const std::vector<std::string>& arguments) {
  if (!arguments.empty() && arguments[0] == "candidate") {
    return tenure::bench::runCandidate(
        tenure::bench::CandidateSettings::fromArguments({arguments.begin() + 1, arguments.end()}));
  }
#ifdef TENURE_WITH_DYNAMODB
  if (arguments.size() == 2 && arguments[0] == "stub-server") {
    return tenure::bench::runStubServer({arguments.begin() + 1, arguments.end()});
  }
#endif
  const auto bench = arguments.empty() ? benches().end() : benches().find(arguments[0]);
  bool understood = bench != benches().end() && arguments.size() % 2 == 1;
  Options options = understood ? bench->second.defaults : Options{};
  for (std::size_t i = 1; understood && i < arguments.size(); i += 2) {
    understood = apply(options, arguments[i], arguments[i + 1]);
  }
  understood = understood && measures(bench->second, options.store);
  if (!understood) {
    fmt::print(stderr, "{}", usage);
    return 2;
  }
  const bool holds = bench->second.run(options);
  if (!tenure::bench::hasFigures()) throw std::runtime_error("with these options nothing was measured");
  if (!options.json.empty()) tenure::bench::writeResults(options.json, arguments[0], holds);
  return holds ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "tenure-bench: {}\n", error.what());
    return 1;
  }
}
