// The smallest real use: one candidate is elected on a store in memory, then stops.
#include <chrono>
#include <future>
#include <iostream>

#include <tenure/election/leader_elector.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>
#include <tenure/lockcore/version.hpp>

int main() {
  const auto group = tenure::Group::make({.group = "consumer"}, tenure::makeMemoryStore()).value();
  std::promise<tenure::FencingToken> elected;
  tenure::LeaderElector elector{
      group, {.onElected = [&](const tenure::Leadership& term) { elected.set_value(term.fencingToken()); }}};
  elector.start();
  auto token = elected.get_future();
  if (token.wait_for(std::chrono::seconds{30}) != std::future_status::ready || !elector.isLeader()) return 1;
  std::cout << "tenure " << tenure::version << ": term " << token.get() << " on " << elector.status().store << '\n';
  return elector.stop() == tenure::ReleaseResult::released ? 0 : 2;
}
