// Belongs together with lease.pml: each rule below is one option of its process Candidate, named as its inline there.
#include "model/transitions.hpp"

#include <algorithm>

namespace tenure::test {

using std::chrono::nanoseconds;
using St = ModelState::St;
using Kind = ModelState::Kind;
using What = ModelState::Observed::What;

const LeaseAction* nextOutward(const Attempted& attempted) {
  std::size_t left = attempted.used;
  for (const LeaseAction& a : attempted.actions) {
    const bool outward = std::holds_alternative<action::SendRead>(a) || std::holds_alternative<action::SendWrite>(a) ||
                         std::holds_alternative<action::Elected>(a) || std::holds_alternative<action::Revoked>(a);
    if (outward && left-- == 0) return &a;
  }
  return nullptr;
}

bool validAt(const ModelState& state, const LeaseTiming& timing, const Instant& now) {
  return state.right && elapsedForHolder(state.right->anchor, now) < timing.validFor();
}

namespace {

/// The machine names at most this many unanswered writes; it forgets those beyond, or reads the record.
constexpr std::size_t mostNamed = 8;
constexpr std::size_t mostAcquisitions = 4;

bool holds(const ModelState& s) { return s.st == St::leading || s.st == St::draining; }
bool valid(const Attempted& a) { return validAt(a.state, a.timing, a.now); }

template <class T>
const T* takeOutward(Attempted& a) {
  const LeaseAction* next = nextOutward(a);
  const T* found = next == nullptr ? nullptr : std::get_if<T>(next);
  if (found != nullptr) ++a.used;
  return found;
}

bool takeRevoked(Attempted& a, std::initializer_list<RevokeReason> reasons) {
  const auto* revoked = takeOutward<action::Revoked>(a);
  return revoked != nullptr && std::find(reasons.begin(), reasons.end(), revoked->reason) != reasons.end();
}

/// True if the event answers the request in flight, with this kind of request and event.
template <class Reply>
const Reply* answerTo(const Attempted& a, std::initializer_list<Kind> kinds) {
  const auto* reply = std::get_if<Reply>(&a.event);
  if (a.eventTaken || reply == nullptr || !a.state.request || a.state.request->attempt != reply->attempt)
    return nullptr;
  return std::find(kinds.begin(), kinds.end(), a.state.request->kind) != kinds.end() ? reply : nullptr;
}

bool applied(const Attempted& a, std::initializer_list<Kind> kinds) {
  const auto* reply = answerTo<event::WriteReply>(a, kinds);
  return reply != nullptr && std::holds_alternative<Applied>(reply->outcome);
}

/// The record that the event shows: the result of a read, or of a conflict that contains it.
std::optional<std::optional<LeaseRecord>> shown(const Attempted& a, std::initializer_list<Kind> kinds) {
  if (const auto* read = answerTo<event::ReadReply>(a, kinds)) {
    if (!read->outcome) return std::nullopt;
    return *read->outcome;
  }
  const auto* write = answerTo<event::WriteReply>(a, kinds);
  const auto* conflict = write == nullptr ? nullptr : std::get_if<Conflict>(&write->outcome);
  if (conflict == nullptr) return std::nullopt;
  return conflict->current;
}

auto pendShown(ModelState& s, const std::optional<LeaseRecord>& record) {
  if (!record || record->holder != s.holder || record->released) return s.pend.end();
  return std::find_if(s.pend.begin(), s.pend.end(), [&](const auto& p) { return p.version == record->version; });
}

std::vector<RecordVersion> ownVersions(const ModelState& s) {
  std::vector<RecordVersion> versions;
  if (!s.ver.isNone()) versions.push_back(s.ver);
  for (const auto& p : s.pend) versions.push_back(p.version);
  return versions;
}

void forgetTerm(ModelState& s) {
  s.st = St::candidate;
  s.ver = {};
  s.pend.clear();
  s.obs = {};
  s.request.reset();
}

bool becomeLeader(Attempted& a, const Instant& since, FencingToken token, const RecordVersion& version) {
  const auto* elected = takeOutward<action::Elected>(a);
  if (elected == nullptr || elected->token != token || a.state.work) return false;
  forgetTerm(a.state);
  a.state.st = St::leading;
  a.state.right = ModelState::Right{since, token};
  a.state.ver = version;
  a.state.work = true;
  a.state.overToken = std::max(a.state.overToken, token);
  return true;
}

void observe(Attempted& a, const std::optional<LeaseRecord>& record) {
  ModelState& s = a.state;
  ModelState::Observed& obs = s.obs;
  if (!record) {
    if (obs.what != What::absent) obs = {What::absent, {}, nanoseconds{0}, nanoseconds{0}, a.now};
    return;
  }
  const bool own = record->holder == s.holder && a.written.count(record->version) > 0;
  const bool over = record->vanished && record->token <= s.overToken;
  const bool again = obs.what == What::present && obs.version == record->version;
  if (!again) obs = {What::present, record->version, record->leaseDuration, record->leaseDuration, a.now};
  if (own || over || record->released) obs.wait = nanoseconds{0};
  if (record->token.isNone()) s.overToken = std::max(s.overToken, s.topToken);
  s.topToken = std::max(s.topToken, record->token);
}

bool loseTerm(Attempted& a) {
  const bool led = a.state.st == St::leading;
  if (led && !takeRevoked(a, {RevokeReason::lost, RevokeReason::recordMissing})) return false;
  a.state.right.reset();
  forgetTerm(a.state);
  return true;
}

/// The request is not in flight any more. It may have been applied, or may still be.
void unanswered(ModelState& s, bool mayLand) {
  if (mayLand && s.request->kind != Kind::read) s.pend.push_back({s.request->version, s.request->sentAt});
  if (s.st == St::acquiring) s.st = St::candidate;
  s.request.reset();
}

void sent(Attempted& a, Kind kind, Attempt attempt, const RecordVersion& version) {
  a.state.request = ModelState::Request{kind, attempt, version, a.now};
}

const action::SendWrite* takeWrite(Attempted& a, WriteRequest::Purpose purpose) {
  const auto* write = takeOutward<action::SendWrite>(a);
  const bool fits = write != nullptr && write->request.purpose == purpose &&
                    write->request.record.holder == a.state.holder &&
                    a.written.count(write->request.record.version) == 0;
  return fits ? write : nullptr;
}

/// The condition names the versions that this holder may have left in the record, and nothing else.
bool sendOwn(Attempted& a, WriteRequest::Purpose purpose, Kind kind) {
  const auto* write = takeWrite(a, purpose);
  if (write == nullptr) return false;
  const std::vector<RecordVersion> own = ownVersions(a.state);
  std::vector<RecordVersion> named = write->request.expected;
  const auto isNamed = [&](const RecordVersion& v) { return std::find(named.begin(), named.end(), v) != named.end(); };
  const auto isOwn = [&](const RecordVersion& v) { return std::find(own.begin(), own.end(), v) != own.end(); };
  if (!std::all_of(named.begin(), named.end(), isOwn) || named.empty()) return false;
  if (a.state.pend.size() <= mostNamed && !std::all_of(own.begin(), own.end(), isNamed)) return false;
  sent(a, kind, write->attempt, write->request.record.version);
  return true;
}

// ---- actions of a candidate without an event ----

bool sendRead(Attempted& a) {
  const ModelState& s = a.state;
  const bool may = s.st == St::candidate || (holds(s) && valid(a) && !s.pend.empty());
  if (s.request || !may) return false;
  const auto* read = takeOutward<action::SendRead>(a);
  if (read == nullptr) return false;
  sent(a, Kind::read, read->attempt, {});
  return true;
}

bool sendAcquire(Attempted& a) {
  const ModelState& s = a.state;
  if (s.st != St::candidate || s.request || s.work || s.obs.what == What::unknown) return false;
  if (elapsedForChallenger(s.obs.since, a.now) < s.obs.wait) return false;
  const auto* write = takeWrite(a, WriteRequest::Purpose::acquire);
  if (write == nullptr) return false;
  std::vector<RecordVersion> seen;
  if (s.obs.what == What::present) seen.push_back(s.obs.version);
  if (write->request.expected != seen) return false;
  sent(a, Kind::acquire, write->attempt, write->request.record.version);
  a.state.st = St::acquiring;
  return true;
}

bool sendRenew(Attempted& a) {
  if (!holds(a.state) || !valid(a) || a.state.request) return false;
  return sendOwn(a, WriteRequest::Purpose::renew, Kind::renew);
}

bool sendRelease(Attempted& a) {
  if (a.state.st != St::releasing || a.state.request || a.state.work || a.state.right) return false;
  return sendOwn(a, WriteRequest::Purpose::release, Kind::release);
}

bool expire(Attempted& a) {
  if (!holds(a.state) || valid(a)) return false;
  const bool led = a.state.st == St::leading;
  if (led && !takeRevoked(a, {RevokeReason::expired, RevokeReason::storeUnreachable})) return false;
  a.state.right.reset();
  forgetTerm(a.state);
  return true;
}

bool drainTimeout(Attempted& a) {
  if (a.state.st != St::draining || !valid(a)) return false;
  forgetTerm(a.state);  // the right continues: the work may use it up
  return true;
}

bool releaseGivenUp(Attempted& a) {
  if (a.state.st != St::releasing || a.state.request) return false;
  forgetTerm(a.state);
  return true;
}

bool noAnswer(Attempted& a) {
  if (!a.state.request || (holds(a.state) && !valid(a))) return false;
  unanswered(a.state, true);
  return true;
}

// ---- actions that an event causes ----

bool stepDown(Attempted& a) {
  const bool asked =
      std::holds_alternative<event::StepDown>(a.event) || std::holds_alternative<event::WorkFailed>(a.event);
  if (a.eventTaken || !asked || a.state.st != St::leading || !valid(a)) return false;
  a.eventTaken = true;
  a.state.st = St::draining;
  return takeRevoked(a, {RevokeReason::steppedDown, RevokeReason::fatal});
}

bool workEnds(Attempted& a) {
  ModelState& s = a.state;
  if (a.eventTaken || !std::holds_alternative<event::WorkEnded>(a.event) || !s.work) return false;
  if (s.st == St::leading || (s.st == St::draining && !valid(a))) return false;
  a.eventTaken = true;
  s.work = false;
  if (s.st == St::draining) {
    s.st = St::releasing;
    s.right.reset();
  }
  return true;
}

bool seeAsCandidate(Attempted& a) {
  const auto record = shown(a, {Kind::read, Kind::acquire});
  ModelState& s = a.state;
  if (!record || (s.st != St::candidate && s.st != St::acquiring)) return false;
  a.eventTaken = true;
  const ModelState::Request request = *s.request;
  s.st = St::candidate;
  s.request.reset();
  const auto landed = pendShown(s, *record);
  const bool own = landed != s.pend.end() && elapsedForHolder(landed->sentAt, a.now) < a.timing.validFor();
  if (own && !s.work && nextOutward(a) != nullptr && std::holds_alternative<action::Elected>(*nextOutward(a))) {
    return becomeLeader(a, Instant{landed->sentAt}, (*record)->token, RecordVersion{landed->version});
  }
  if (own && !s.work && s.pend.size() <= mostAcquisitions) return false;  // it must be treated as its own
  if (request.kind == Kind::acquire) s.pend.push_back({request.version, request.sentAt});
  observe(a, *record);
  return true;
}

bool acquireApplied(Attempted& a) {
  if (a.state.st != St::acquiring || !applied(a, {Kind::acquire})) return false;
  a.eventTaken = true;
  const ModelState::Request request = *a.state.request;
  const auto& outcome = std::get<event::WriteReply>(a.event).outcome;
  if (elapsedForHolder(request.sentAt, a.now) < a.timing.validFor()) {
    return becomeLeader(a, request.sentAt, std::get<Applied>(outcome).token, request.version);
  }
  a.state.right.reset();
  forgetTerm(a.state);
  return true;
}

bool renewApplied(Attempted& a) {
  ModelState& s = a.state;
  if (!applied(a, {Kind::renew})) return false;
  if (!(holds(s) && valid(a)) && s.st != St::releasing) return false;
  a.eventTaken = true;
  s.ver = s.request->version;
  s.pend.clear();
  if (s.st != St::releasing) s.right->anchor = s.request->sentAt;
  s.request.reset();
  return true;
}

bool seeAsHolder(Attempted& a) {
  const auto record = shown(a, {Kind::read, Kind::renew});
  ModelState& s = a.state;
  if (!record || !holds(s) || !valid(a)) return false;
  a.eventTaken = true;
  unanswered(s, true);  // the model drops it: after a conflict no record has its version
  const bool own = *record && (*record)->holder == s.holder && !(*record)->released;
  const auto landed = pendShown(s, *record);
  if (own && landed != s.pend.end()) {
    s.right->anchor = landed->sentAt;
    s.ver = landed->version;
    s.pend.erase(s.pend.begin(), std::next(landed));
    return true;
  }
  if (own && (*record)->version == s.ver) return true;
  if (!loseTerm(a)) return false;
  observe(a, *record);
  return true;
}

/// A request of the term was under way when the work ended; the release waits for its answer.
bool answeredLate(Attempted& a) {
  const bool told = shown(a, {Kind::read, Kind::renew}).has_value();
  if (!told || a.state.st != St::releasing) return false;
  a.eventTaken = true;
  unanswered(a.state, true);
  return true;
}

bool releaseAnswered(Attempted& a) {
  const auto record = shown(a, {Kind::release});
  if (a.state.st != St::releasing || (!record && !applied(a, {Kind::release}))) return false;
  a.eventTaken = true;
  forgetTerm(a.state);
  if (record) observe(a, *record);
  return true;
}

/// An answer that does not show what became of the request, or says that nothing did.
bool answerTellsNothing(Attempted& a) {
  const auto* write = answerTo<event::WriteReply>(a, {Kind::acquire, Kind::renew, Kind::release});
  const auto* read = answerTo<event::ReadReply>(a, {Kind::read});
  const bool readFailed = read != nullptr && !read->outcome;
  const auto* conflict = write == nullptr ? nullptr : std::get_if<Conflict>(&write->outcome);
  const bool hidden = conflict != nullptr && !conflict->current;
  const bool unknown = write != nullptr && std::holds_alternative<Unknown>(write->outcome);
  const bool rejected = write != nullptr && std::holds_alternative<Rejected>(write->outcome);
  if (!(readFailed || hidden || unknown || rejected) || (holds(a.state) && !valid(a))) return false;
  a.eventTaken = true;
  unanswered(a.state, !rejected);
  return true;
}

/// Events that are no step of the model, and answers for which nobody waits any more.
bool ignored(Attempted& a) {
  const ModelState& s = a.state;
  const auto awaited = [&](Attempt attempt) { return s.request && s.request->attempt == attempt; };
  bool may = std::holds_alternative<event::Wakeup>(a.event) || std::holds_alternative<event::Start>(a.event) ||
             std::holds_alternative<event::StoreHint>(a.event) ||
             std::holds_alternative<event::WorkProgressed>(a.event);
  if (const auto* read = std::get_if<event::ReadReply>(&a.event)) may = !awaited(read->attempt);
  if (const auto* write = std::get_if<event::WriteReply>(&a.event)) may = !awaited(write->attempt);
  if (std::holds_alternative<event::StepDown>(a.event) || std::holds_alternative<event::WorkFailed>(a.event)) {
    may = s.st != St::leading;
  }
  if (std::holds_alternative<event::WorkEnded>(a.event)) may = s.st == St::leading || !s.work;
  if (a.eventTaken || !may) return false;
  a.eventTaken = true;
  return true;
}

}  // namespace

const std::vector<NamedRule>& modelRules() {
  static const std::vector<NamedRule> rules = {
      {"sendRead", sendRead},
      {"sendAcquire", sendAcquire},
      {"sendRenew", sendRenew},
      {"sendRelease", sendRelease},
      {"expire", expire},
      {"drainTimeout", drainTimeout},
      {"releaseGivenUp", releaseGivenUp},
      {"noAnswer", noAnswer},
      {"stepDown", stepDown},
      {"workEnds", workEnds},
      {"seeAsCandidate", seeAsCandidate},
      {"acquireApplied", acquireApplied},
      {"renewApplied", renewApplied},
      {"seeAsHolder", seeAsHolder},
      {"answeredLate", answeredLate},
      {"releaseAnswered", releaseAnswered},
      {"answerTellsNothing", answerTellsNothing},
      {"ignored", ignored},
  };
  return rules;
}

}  // namespace tenure::test
