// Who leads, and where: copies that serve compete and state their address; a client follows the leader and never leads.
#include <exception>
#include <iostream>
#include <optional>
#include <string_view>
#include <syncstream>

#include <tenure/config/load_group.hpp>
#include <tenure/election/leader_elector.hpp>
#include <tenure/election/leader_follower.hpp>
#include <tenure/lockcore/candidate_id.hpp>

namespace {

/// Callbacks come on threads of the library; an osyncstream keeps their lines whole.
std::osyncstream say() { return std::osyncstream{std::cout}; }

/// A copy that serves. Its address is in the group's file; a leader writes it into its record.
void serve(const tenure::Group& group) {
  tenure::LeaderElector elector{group, {.onElected = [](const tenure::Leadership& term) {
                                  say() << "leads under token " << term.fencingToken() << std::endl;
                                }}};
  elector.start();
  tenure::waitForStopSignal();
  say() << "stopped (" << elector.stop() << ")" << std::endl;
}

/// What a client does with the news. They may be old when they come, so a request carries the token: a copy that does
/// not lead under it refuses the request.
void tell(const std::optional<tenure::LeaderInfo>& leader) {
  if (!leader) {
    say() << "no leader" << std::endl;
  } else if (leader->address.empty()) {
    say() << tenure::nameOf(leader->holder) << " leads, and has not said where" << std::endl;
  } else {
    say() << "ask " << leader->address << " for the leader of term " << leader->token << std::endl;
  }
}

void follow(const tenure::Group& group) {
  tenure::LeaderFollower follower{group, tell};
  follower.start();
  tenure::waitForStopSignal();
  follower.stop();
}

}  // namespace

int main(int argc, char** argv) try {
  const tenure::Group group = tenure::loadGroup(argc > 1 ? argv[1] : "group.yaml").value();
  const bool serves = argc > 2 && std::string_view{argv[2]} == "serve";
  if (serves) {
    serve(group);
  } else {
    follow(group);
  }
} catch (const std::exception& error) {
  std::cerr << "follow_leader: " << error.what() << '\n';
  return 1;
}
