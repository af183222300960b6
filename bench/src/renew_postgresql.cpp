// A renewal through the PostgreSQL store beside the same pipeline by hand, a bare UPDATE, and advisory locks, in turns.
#include <array>
#include <functional>

#include <fmt/core.h>

#include "bench_store.hpp"
#include "benches.hpp"
#include "fleet.hpp"
#include "lockcore/port/random_draws.hpp"
#include "lockcore/runtime/system_random.hpp"
#include "stats.hpp"
#include "through_store.hpp"

namespace tenure::bench {
namespace {

struct Kind {
  const char* name;
  std::function<void(const std::string& from, const std::string& to)> renew;
  Sample sample{};
};

}  // namespace

bool benchRenewPostgresql(const Options& options) {
  fmt::print("renew: {} renewals of each kind on PostgreSQL, taken in turns\n", options.rounds);
  const std::string url = postgresqlUrl();
  const Scratch scratch;
  PostgresqlByHand hand{url};
  ThroughStore store{storeAt(url, false, scratch.path(""))};
  const ThroughStore other{storeAt(url, false, scratch.path("")), "bench by hand"};
  std::array<Kind, 5> kinds{{
      {"the same pipeline by hand, on the caller's thread",
       [&](const std::string& from, const std::string& to) { hand.pipeline(from, to); }},
      {"through the store, with its own thread",
       [&](const std::string& from, const std::string& to) { store.renew(from, to); }},
      {"the store's own messages by hand, on the caller's thread",
       [&](const std::string& from, const std::string& to) { hand.storesOwn(other.renewal(from, to)); }},
      {"a bare UPDATE with its commit",
       [&](const std::string& from, const std::string& to) { hand.bareUpdate(from, to); }},
      {"an advisory lock, taken and given back", [&](const std::string&, const std::string&) { hand.advisoryLock(); }},
  }};
  SystemRandom random;
  std::string version = "v0";
  for (int round = 0; round < options.rounds; ++round) {
    const std::string next = uuid4(random);
    // In turns and in changing order, so that a busy disk slows all equally.
    for (std::size_t n = 0; n < kinds.size(); ++n) {
      Kind& kind = kinds.at((n + static_cast<std::size_t>(round)) % kinds.size());
      const Instant from = readClock();
      kind.renew(version, next);
      kind.sample.add(static_cast<double>(elapsedForHolder(from, readClock()).count()) / 1e6);
    }
    version = next;
  }
  for (const Kind& kind : kinds) kind.sample.print(kind.name);
  return verdict("ratio of the medians", kinds[1].sample.percentile(0.5) / kinds[0].sample.percentile(0.5), 1.25, "x");
}

}  // namespace tenure::bench
