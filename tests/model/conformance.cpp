#include "model/conformance.hpp"

#include <algorithm>
#include <utility>

namespace tenure::test {

using St = ModelState::St;

namespace {

/// No step of the machine consists of more steps of the model than this: a deadline, an answer, what follows, a
/// request.
constexpr int mostSteps = 5;

bool sameState(St model, LeaseState real) {
  switch (real) {
    case LeaseState::candidate:
      return model == St::candidate;
    case LeaseState::acquiring:
      return model == St::acquiring;
    case LeaseState::leading:
      return model == St::leading;
    case LeaseState::draining:
      return model == St::draining;
    case LeaseState::releasing:
      return model == St::releasing;
    case LeaseState::idle:
    case LeaseState::stopped:
      return false;
  }
  return false;
}

std::string text(const ModelState& s) {
  static constexpr const char* states[] = {"candidate", "acquiring", "leading", "draining", "releasing"};
  std::string out = std::string{states[static_cast<int>(s.st)]} + (s.right ? " right" : "") + (s.work ? " work" : "") +
                    " ver=" + s.ver.text().substr(0, 8) + " pend=";
  for (const auto& p : s.pend) out += p.version.text().substr(0, 8) + ",";
  out += " obs=" + std::to_string(static_cast<int>(s.obs.what)) + ":" + s.obs.version.text().substr(0, 8);
  if (s.request) out += " request #" + std::to_string(s.request->attempt);
  return out;
}

struct ActionText {
  std::string operator()(const action::SendRead& a) const { return " read#" + std::to_string(a.attempt); }
  std::string operator()(const action::SendWrite& a) const {
    static constexpr const char* purposes[] = {" acquire#", " renew#", " release#"};
    std::string out = purposes[static_cast<int>(a.request.purpose)] + std::to_string(a.attempt) + " if";
    for (const RecordVersion& v : a.request.expected) out += " " + v.text().substr(0, 8);
    return out;
  }
  std::string operator()(const action::Elected& a) const { return " elected(" + toString(a.token) + ")"; }
  std::string operator()(const action::Revoked& a) const { return " revoked(" + std::string{toString(a.reason)} + ")"; }
  template <class Other>
  std::string operator()(const Other& /*inward*/) const {
    return {};
  }
};

}  // namespace

Conformance::Conformance(std::string holder, const LeaseTiming& timing, std::map<std::string, int>* used)
    : timing_{timing}, used_{used} {
  ModelState fresh;
  fresh.holder = std::move(holder);
  possible_.push_back(std::move(fresh));
}

bool Conformance::matches(const Attempted& attempted, const Seen& seen) const {
  const ModelState& s = attempted.state;
  const bool explained = attempted.eventTaken && nextOutward(attempted) == nullptr;
  if (!explained || !sameState(s.st, seen.state) || s.work != seen.workRunning) return false;
  const bool valid = validAt(s, timing_, attempted.now);
  if (valid != seen.term.validAt(attempted.now)) return false;
  if ((valid && s.st == St::leading) != seen.term.leadsAt(attempted.now)) return false;
  return !valid || (s.right->anchor == seen.term.anchor && s.right->token == seen.term.token);
}

/// Extends each path by one more rule. Two paths that lead to the same state count as one.
std::vector<Attempted> Conformance::oneStepMore(const std::vector<Attempted>& paths) {
  std::vector<Attempted> longer;
  for (const Attempted& path : paths) {
    for (const NamedRule& rule : modelRules()) {
      Attempted next = path;
      if (!rule.rule(next)) continue;
      next.names.push_back(rule.name);
      const bool known = std::any_of(longer.begin(), longer.end(), [&](const Attempted& other) {
        return other.used == next.used && other.eventTaken == next.eventTaken && other.state == next.state;
      });
      if (!known) longer.push_back(std::move(next));
    }
  }
  return longer;
}

void Conformance::keep(const Attempted& path, std::vector<ModelState>& explained) {
  if (std::find(explained.begin(), explained.end(), path.state) != explained.end()) return;
  if (explained.empty() && used_ != nullptr) {
    for (const char* name : path.names) ++(*used_)[name];
  }
  explained.push_back(path.state);
}

std::string Conformance::disagreement(const Instant& now, const LeaseEvent& event, const LeaseActions& actions,
                                      const Seen& seen) {
  std::vector<Attempted> paths;
  for (const ModelState& s : possible_) paths.push_back({now, timing_, event, actions, written_, s});
  std::vector<ModelState> explained;
  for (int steps = 0; steps < mostSteps && !paths.empty(); ++steps) {
    paths = oneStepMore(paths);
    for (const Attempted& path : paths) {
      if (matches(path, seen)) keep(path, explained);
    }
  }
  if (explained.empty()) return report(now, event, actions, seen);
  possible_ = std::move(explained);
  for (const LeaseAction& a : actions) {
    if (const auto* write = std::get_if<action::SendWrite>(&a)) written_.insert(write->request.record.version);
  }
  return {};
}

std::string Conformance::report(const Instant& now, const LeaseEvent& event, const LeaseActions& actions,
                                const Seen& seen) const {
  std::string out = "event " + std::to_string(event.index()) + ":";
  for (const LeaseAction& a : actions) out += std::visit(ActionText{}, a);
  out += "; now " + std::string{toString(seen.state)} + (seen.term.validAt(now) ? ", valid" : "") +
         (seen.term.leadsAt(now) ? ", leads" : "") + "; the model was";
  for (const ModelState& s : possible_) out += " {" + text(s) + "}";
  return out;
}

}  // namespace tenure::test
