// Measures what asking "do I lead?" costs, compared with the bare clock reads that it needs.
#include <memory>
#include <thread>

#include <benchmark/benchmark.h>

#include <tenure/election/leader_elector.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>

namespace {

using namespace tenure;

/// An elector that leads; made once for all benchmarks.
LeaderElector& leader() {
  static LeaderElector elector{Group::make({"bench"}, makeMemoryStore()).value()};
  static const bool started = [] {
    elector.start();
    while (!elector.isLeader()) std::this_thread::yield();
    return true;
  }();
  static_cast<void>(started);
  return elector;
}

void threeClockReads(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(readClock());
}
BENCHMARK(threeClockReads);

void isLeader(benchmark::State& state) {
  const LeaderElector& elector = leader();
  for (auto _ : state) {
    bool leads = elector.isLeader();
    benchmark::DoNotOptimize(leads);
    if (!leads) state.SkipWithError("it does not lead");
  }
}
BENCHMARK(isLeader)->ThreadRange(1, 2);

void fencingToken(benchmark::State& state) {
  const LeaderElector& elector = leader();
  for (auto _ : state) {
    auto token = elector.fencingToken();
    benchmark::DoNotOptimize(token);
    if (!token) state.SkipWithError("it does not lead");
  }
}
BENCHMARK(fencingToken);

}  // namespace

BENCHMARK_MAIN();
