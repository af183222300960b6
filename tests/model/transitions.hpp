// The steps of a candidate in lease.pml once more, as functions on what the candidate can know. The two belong
// together: change both, or neither.
//
// The model counts in ticks and names versions by their place; here versions are the real ones, and of time only two
// questions are left: is the right over, has the observation lasted for the lease. What the model's candidate may do or
// leave, the real one may: a rule says what is allowed, never that it must happen now.
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
  struct Unanswered {  // pend, pendAge
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
  FencingToken overToken{};  // over: the highest of a term that it knows to have ended
  FencingToken topToken{};   // top: of the last record with a token that it saw
  std::optional<Request> request{};

  friend bool operator==(const ModelState&, const ModelState&) = default;
};

/// One step as it is tried: the state changes only if the rule allows it, and then what the machine did outwards (a
/// request, Elected, Revoked) is used up in order.
struct Attempted {
  const Instant& now;
  const LeaseTiming& timing;
  const LeaseEvent& event;
  const LeaseActions& actions;
  const std::set<RecordVersion>& written;  // by this life, in earlier steps
  ModelState state;
  std::size_t used{0};               // of the actions
  bool eventTaken{false};            // the event was an input of a rule, or was rightly ignored
  std::vector<const char*> names{};  // of the rules
};

/// Tells whether the rule allows it; false leaves `attempted` in no particular state.
using Rule = bool (*)(Attempted& attempted);

struct NamedRule {
  const char* name;
  Rule rule;
};

/// All steps of a candidate. Those of the store, the network and the clocks are the test's environment.
[[nodiscard]] const std::vector<NamedRule>& modelRules();

/// The next outward action from `used` on, or null: SendRead, SendWrite, Elected, Revoked.
[[nodiscard]] const LeaseAction* nextOutward(const Attempted& attempted);

[[nodiscard]] bool validAt(const ModelState& state, const LeaseTiming& timing, const Instant& now);

}  // namespace tenure::test
