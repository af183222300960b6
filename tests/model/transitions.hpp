// The steps of a candidate in lease.pml once more, as functions of what the candidate can know. The two must stay the
// same: change both, or neither.
//
// The model counts in ticks and names versions by their position. Here the versions are the real ones, and only two
// questions about time are left: is the right over, and has the observation lasted for the lease. If the model's
// candidate may do or omit something, so may the real one: a rule says what is allowed, never that it must happen now.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lockcore/lease/lease_machine.hpp"

namespace tenure::test {

/// The arrays of lease.pml, for one candidate.
struct ModelState {
  enum class St { candidate, acquiring, leading, draining, releasing };
  struct Right {  // age, tok
    Instant anchor;
    FencingToken token;
    friend bool operator==(const Right&, const Right&) = default;
  };
  struct Unanswered {  // pend, pendAge in the model
    RecordVersion version;
    Instant sentAt;
    friend bool operator==(const Unanswered&, const Unanswered&) = default;
  };
  struct Observed {  // obs, obsAge
    enum class What { unknown, absent, present };
    What what{What::unknown};
    RecordVersion version{};
    std::chrono::nanoseconds lease{0};  // what the record states, or has stated
    std::chrono::nanoseconds wait{0};
    Instant since{};
    friend bool operator==(const Observed&, const Observed&) = default;
  };
  enum class Kind { read, acquire, renew, release };
  struct Request {  // rq, rage, reqv
    Kind kind;
    Attempt attempt;
    RecordVersion version;
    Instant sentAt;
    friend bool operator==(const Request&, const Request&) = default;
  };

  std::string holder;
  St st{St::candidate};
  std::optional<Right> right{};
  bool work{false};
  RecordVersion ver{};
  std::vector<Unanswered> pend{};
  Observed obs{};
  FencingToken overToken{};  // over: the highest token of a term that it knows to have ended
  FencingToken topToken{};   // top: the token of the last record with one that it saw
  std::optional<Request> request{};

  friend bool operator==(const ModelState&, const ModelState&) = default;
};

/// One step that is tried. The state changes only if the rule allows it. Then the outward actions of the machine (a
/// request, Elected, Revoked) are used up in order.
struct Attempted {
  const Instant& now;
  const LeaseTiming& timing;
  const LeaseEvent& event;
  const LeaseActions& actions;
  const std::set<RecordVersion>& written;  // that this life wrote in earlier steps
  ModelState state;
  std::size_t used{0};               // number of actions used so far
  bool eventTaken{false};            // the event was an input of a rule, or was rightly ignored
  std::vector<const char*> names{};  // of the rules
};

/// Returns whether the rule allows the step; false leaves `attempted` in an undefined state.
using Rule = bool (*)(Attempted& attempted);

struct NamedRule {
  const char* name;
  Rule rule;
};

/// All steps of a candidate. The test's environment has those of the store, the network and the clocks.
[[nodiscard]] const std::vector<NamedRule>& modelRules();

/// The next outward action from `used` on, or null: SendRead, SendWrite, Elected, Revoked.
[[nodiscard]] const LeaseAction* nextOutward(const Attempted& attempted);

[[nodiscard]] bool validAt(const ModelState& state, const LeaseTiming& timing, const Instant& now);

}  // namespace tenure::test
