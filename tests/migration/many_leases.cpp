// One process that leads many leases over one store: many_leases FILE COUNT, until its stdin closes.
// The leases are <group>-0, <group>-1, ...; it prints a line on stdout for each election and each end.
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <tenure/config/group_config.hpp>
#include <tenure/config/load_group.hpp>
#include <tenure/election/leader_elector.hpp>

namespace {

tenure::Listener teller(const std::string& name) {
  return {.onElected =
              [name](const tenure::Leadership& term) {
                std::printf("elected %s %s\n", name.c_str(), toString(term.fencingToken()).c_str());
                std::fflush(stdout);
              },
          .onRevoked =
              [name](const tenure::TermEnd& why) {
                std::printf("revoked %s %s\n", name.c_str(), std::string{toString(why.reason)}.c_str());
                std::fflush(stdout);
              }};
}

std::unique_ptr<tenure::LeaderElector> candidate(const tenure::GroupConfig& config,
                                                 const std::shared_ptr<tenure::LeaseStore>& store, int number) {
  tenure::GroupOptions options = config.options;
  options.group += "-" + std::to_string(number);
  auto made =
      std::make_unique<tenure::LeaderElector>(tenure::Group::make(options, store).value(), teller(options.group));
  made->start();
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  int count = 0;
  if (argc != 3 || std::from_chars(argv[2], argv[2] + std::strlen(argv[2]), count).ec != std::errc{}) {
    std::fputs("usage: many_leases FILE COUNT\n", stderr);
    return 2;
  }
  const tenure::GroupConfig config = tenure::loadGroupConfig(argv[1]).value();
  const std::shared_ptr<tenure::LeaseStore> store = makeStore(config.store);
  std::vector<std::unique_ptr<tenure::LeaderElector>> candidates;
  for (int i = 0; i < count; ++i) candidates.push_back(candidate(config, store, i));
  while (std::getchar() != EOF) {
  }
  for (const auto& each : candidates) each->requestStop();
  return 0;
}
