#include "election/stage.hpp"

#include <algorithm>
#include <stdexcept>

#include <tenure/lockcore/candidate_id.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>

#include "lockcore/port/log_line.hpp"
#include "support/seeded_random.hpp"

namespace tenure::test {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

Listener Record::terms() {
  Listener listener;
  listener.onElected = [this](const Leadership& term) {
    {
      const std::lock_guard lock{mutex_};
      term_ = term;
    }
    add("elected " + toString(term.fencingToken()));
  };
  listener.onRevoked = [this](const TermEnd& why) {
    {
      const std::lock_guard lock{mutex_};
      why_ = why;
    }
    add("revoked " + toString(why.token) + ' ' + std::string{toString(why.reason)});
  };
  return listener;
}

Listener Record::notices() {
  Listener listener;
  listener.onInDoubt = [this](const Doubt&) { add("in doubt"); };
  listener.onRenewed = [this](const Renewal& renewal) {
    add("renewed " + toString(renewal.token) + (renewal.afterDoubt ? " after doubt" : ""));
  };
  listener.onLeaderChanged = [this](const std::optional<LeaderInfo>& leader) {
    add(leader ? "leader " + std::string{nameOf(leader->holder)} + ' ' + toString(leader->token) : "nobody leads");
  };
  return listener;
}

void Record::add(std::string line) {
  const std::lock_guard lock{mutex_};
  lines_.push_back(std::move(line));
}

std::vector<std::string> Record::lines() const {
  const std::lock_guard lock{mutex_};
  return lines_;
}

int Record::count(const std::string& prefix) const {
  const std::lock_guard lock{mutex_};
  const auto begins = [&](const std::string& line) { return line.starts_with(prefix); };
  return static_cast<int>(std::count_if(lines_.begin(), lines_.end(), begins));
}

Leadership Record::term() const {
  const std::lock_guard lock{mutex_};
  return term_.value();
}

TermEnd Record::why() const {
  const std::lock_guard lock{mutex_};
  return why_.value();
}

void PumpedDelete::operator()(LeaderElector* elector) const {
  std::unique_ptr<LeaderElector> owned{elector};
  stage->drive<bool>([&] { return owned.reset(), true; }, milliseconds{10});
}

Stage::Stage() : memory{makeMemoryStore(clock)} {}

Stage::~Stage() { settle(); }

Group Stage::group(const std::string& name, std::shared_ptr<LeaseStore> store, const Adjust& adjust) {
  GroupOptions options{.group = key.name, .candidate = {.id = name}};
  options.lease = {.duration = milliseconds{3000}, .heartbeat = milliseconds{1000}};
  if (adjust) adjust(options);
  Logger logger = Logger::ofRecords(LogLevel::trace, [log = log_](const LogRecord& record) {
    const std::lock_guard lock{log->mutex};
    log->lines.emplace_back(record.line);
    if (record.event != LogEvent::message) log->events.push_back(logLine(LogFormat::logfmt, "", record));
  });
  return Group::make(std::move(options), std::move(store), std::move(logger)).value();
}

Runtime Stage::runtime() {
  Runtime out = ManualRuntime::runtime();
  out.random = std::make_unique<SeededRandom>(++seed_);
  return out;
}

Candidate Stage::candidateWith(const std::string& name, Listener listener, const Adjust& adjust) {
  return make(name, std::move(listener), adjust, runtime());
}

Candidate Stage::threaded(const std::string& name, Listener listener, const Adjust& adjust) {
  Runtime own = runtime();
  own.executor = {};
  return make(name, std::move(listener), adjust, std::move(own));
}

Candidate Stage::make(const std::string& name, Listener listener, const Adjust& adjust, Runtime where) {
  auto store = std::make_shared<FaultStore>(memory, clock);
  auto elector = std::make_unique<LeaderElector>(group(name, store, adjust), std::move(listener), std::move(where));
  return {std::move(store), nullptr, {elector.release(), PumpedDelete{this}}};
}

Candidate Stage::candidate(const std::string& name, const Adjust& adjust) {
  const auto record = std::make_shared<Record>();
  Candidate made = candidateWith(name, record->terms(), adjust);
  made.record = record;
  return made;
}

Candidate Stage::leader(const std::string& name, const Adjust& adjust) {
  Candidate made = candidate(name, adjust);
  made->start();
  if (!advanceUntil([&] { return made->isLeader() && made.record->count("elected") == 1; })) {
    throw std::runtime_error{name + " does not lead"};
  }
  return made;
}

ReleaseResult Stage::stop(const Candidate& candidate, nanoseconds perRound) {
  return drive<ReleaseResult>([&] { return candidate.elector->stop(); }, perRound);
}

std::optional<LeaseRecord> Stage::stored() {
  std::optional<LeaseRecord> record;
  memory->read(key, {}, [&](const ReadOutcome& outcome) { record = outcome.value(); });
  settle();
  return record;
}

void Stage::usurp(const std::string& holder) {
  const auto present = stored();
  WriteRequest request{key, WriteRequest::Purpose::acquire, {}, {}};
  if (present) request.expected = {present->version};
  request.record.holder = holder;
  request.record.version = RecordVersion{"written-by-" + holder};
  request.record.leaseDuration = milliseconds{3000};
  std::optional<WriteOutcome> answer;
  memory->write(std::move(request), {}, [&](WriteOutcome outcome) { answer = std::move(outcome); });
  settle();
  if (!std::holds_alternative<Applied>(answer.value())) throw std::runtime_error{"the usurper was refused"};
}

std::vector<std::string> Stage::events() const {
  const std::lock_guard lock{log_->mutex};
  return log_->events;
}

bool Stage::logged(const std::string& part) const {
  const std::lock_guard lock{log_->mutex};
  return std::any_of(log_->lines.begin(), log_->lines.end(),
                     [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

}  // namespace tenure::test
