// Follows one real machine with the model's transitions: each step of the machine must be a sequence of them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/transitions.hpp"

namespace tenure::test {

/// What is visible of a machine after a step.
struct Seen {
  LeaseState state;
  TermState term;
  bool workRunning;

  [[nodiscard]] static Seen of(const LeaseMachine& machine) {
    return {machine.state(), machine.term(), machine.workRunning()};
  }
};

class Conformance {
 public:
  /// The timing must have no stop margin: in the model a right has one end and not two. `used` counts how often each
  /// rule was used; it may be null.
  Conformance(std::string holder, const LeaseTiming& timing, std::map<std::string, int>* used = nullptr);

  /// Empty if the model allows what the machine did; otherwise what it did, and in which state of the model.
  [[nodiscard]] std::string disagreement(const Instant& now, const LeaseEvent& event, const LeaseActions& actions,
                                         const Seen& seen);

 private:
  [[nodiscard]] bool matches(const Attempted& attempted, const Seen& seen) const;
  [[nodiscard]] static std::vector<Attempted> oneStepMore(const std::vector<Attempted>& paths);
  void keep(const Attempted& path, std::vector<ModelState>& explained);
  [[nodiscard]] std::string report(const Instant& now, const LeaseEvent& event, const LeaseActions& actions,
                                   const Seen& seen) const;

  LeaseTiming timing_;
  std::vector<ModelState> possible_;  // the states that fit what was seen so far; usually one or two
  std::set<RecordVersion> written_;
  std::map<std::string, int>* used_;
};

}  // namespace tenure::test
