// One candidate is elected, on the store that a YAML file names, then stops.
#include <chrono>
#include <cstdio>
#include <future>

#include <tenure/config/load_group.hpp>
#include <tenure/election/leader_elector.hpp>

int main() {
  const auto group =
      tenure::loadGroupFromText("group: consumer\nstore: { type: sqlite, path: ./consumer.db }\n", "consumer.yaml");
  if (!group) return std::fputs("the group is refused\n", stderr), 3;
  std::promise<void> elected;
  tenure::LeaderElector elector{*group, {.onElected = [&](const tenure::Leadership&) { elected.set_value(); }}};
  elector.start();
  if (elected.get_future().wait_for(std::chrono::seconds{30}) != std::future_status::ready) return 1;
  std::puts("elected");
  return elector.stop() == tenure::ReleaseResult::released ? 0 : 2;
}
