#include "pool.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "request_text.hpp"
#include "text.hpp"

namespace tenure::net {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::seconds aheadLimit{10};  // for a connection that no call waits for
/// After this many calls in a row without an answer in time, no copies are sent. A holder makes about six calls in one
/// lease. They get shorter towards the end of the lease, and copies are most valuable then.
constexpr int silentCalls = 8;
constexpr milliseconds firstPause{250};
constexpr milliseconds longestPause{10'000};

void answer(std::unique_ptr<Call> call, HttpOutcome outcome) {
  const HttpHandler handler = std::move(call->handler);
  call.reset();
  handler(std::move(outcome));
}

}  // namespace

Pool::Pool(const Surroundings& around, const Origin& origin)
    : around_{around}, route_{chooseRoute(origin, around.options.proxy)}, pause_{firstPause} {}

Pool::~Pool() {
  for (const auto& connection : all_) connection->close();
}

void Pool::submit(std::unique_ptr<Call> call) {
  lastCall_ = around_.alarms.now();
  if (auto error = errorOf(*call)) return answer(std::move(call), std::move(*error));
  call->keeper = this;
  call->number = ++calls_;
  if (waiting_.empty()) {
    if (Connection* connection = takeIdle()) return serve(std::move(call), *connection);
  }
  around_.alarms.set(*call, call->deadline);
  Call& waiter = *call;
  waiter.place = waiting_.insert(waiting_.end(), std::move(call));
  dialWhatIsMissing();
}

std::optional<HttpError> Pool::errorOf(const Call& call) const {
  const auto unsent = [&](HttpError::Kind kind, const std::string& why) {
    return HttpError{kind, false, toString(route_.origin) + ": " + why};
  };
  if (call.deadline <= lastCall_) {
    return unsent(HttpError::Kind::timeout, "timed out after " + millis(call.timeout) + " before the call's turn came");
  }
  if (!route_.fault.empty()) return unsent(HttpError::Kind::connect, route_.fault);
  const std::string fault = requestFault(call.request);
  if (!fault.empty()) return unsent(HttpError::Kind::protocol, "the request cannot be sent: " + fault);
  return std::nullopt;
}

void Pool::keepReady(std::size_t connections) {
  lastCall_ = around_.alarms.now();
  wanted_ = std::min(connections, around_.options.maxConnections);
  dialWhatIsMissing();
}

void Pool::doubt() {
  const auto address = std::exchange(answeredBy_, std::nullopt);
  if (!address || !around_.book.putLast(route_.host(), *address)) return;
  for (Connection* connection : std::vector{idle_}) {
    if (connection->address() == address) drop(*connection);
  }
  dialWhatIsMissing();
}

std::vector<std::unique_ptr<Call>> Pool::closeAll() {
  std::vector<std::unique_ptr<Call>> calls;
  while (!waiting_.empty()) calls.push_back(takeWaiting(waiting_.begin()));
  for (const auto& connection : all_) {
    const bool maybeSent = connection->maybeSent();
    connection->close();
    if (Call* call = connection->takeCall()) call->maybeSent |= maybeSent;
  }
  while (!carried_.empty()) calls.push_back(takeCarried(*carried_.front()));
  wanted_ = 0;
  idle_.clear();
  opening_.clear();
  all_.clear();
  return calls;
}

void Pool::due(Call& call) {
  if (around_.alarms.now() >= call.deadline) return expire(call);
  repeat(call);
}

void Pool::serve(std::unique_ptr<Call> call, Connection& connection) {
  Call& carried = *call;
  carried.place = carried_.insert(carried_.end(), std::move(call));
  carried.carriers.push_back(&connection);
  connection.exchange(carried);
  around_.alarms.set(carried, nextDue(carried));
}

/// Copies are sent only on idle connections: a copy is not worth a new connection, and takes none from a waiting call.
/// They are sent only while the line lets something through: a server that answers nobody must not get many times the
/// requests.
///
/// If other calls are made meanwhile, the last idle connection is left for them (I12). Otherwise a request that the
/// server does not answer would take all connections.
void Pool::repeat(Call& call) {
  const std::size_t left = calls_ > call.number ? 1 : 0;
  const bool may = silent_ < silentCalls && idle_.size() > left;
  Connection* connection = may && call.carriers.size() <= around_.options.maxLate ? takeIdle() : nullptr;
  if (connection != nullptr) {
    call.carriers.push_back(connection);
    connection->exchange(call);
  }
  around_.alarms.set(call, nextDue(call));
}

std::chrono::nanoseconds Pool::nextDue(const Call& call) const {
  const std::chrono::nanoseconds pause = call.request.repeatAfter;
  if (pause.count() <= 0) return call.deadline;
  return std::min(call.deadline, around_.alarms.now() + std::max(pause, quickest_ * 2));
}

std::unique_ptr<Call> Pool::takeCarried(Call& call) {
  auto owned = std::move(*call.place);
  carried_.erase(owned->place);
  return owned;
}

/// If there are too many late connections, the one that has been late for longest is closed first: it is the least
/// likely to become useful again.
void Pool::letGo(const std::vector<Connection*>& carriers) {
  for (Connection* connection : carriers) {
    static_cast<void>(connection->takeCall());
    connection->letGo(around_.options.latePatience);
  }
  for (std::size_t over = late() - std::min(late(), around_.options.maxLate); over > 0; --over) {
    Connection* oldest = nullptr;
    for (const auto& one : all_) {
      if (one->isLate() && (oldest == nullptr || one->askedAt() < oldest->askedAt())) oldest = one.get();
    }
    drop(*oldest);
  }
}

std::size_t Pool::late() const {
  return static_cast<std::size_t>(
      std::count_if(all_.begin(), all_.end(), [](const auto& one) { return one->isLate(); }));
}

void Pool::expire(Call& call) {
  const std::string where = toString(route_.origin) + ": timed out after " + millis(call.timeout) + " ";
  if (call.carriers.empty()) {
    HttpError error{HttpError::Kind::timeout, false, where + whatCallsWaitFor()};
    for (Connection* connection : opening_) {
      if (connection->dialledFor < call.number) connection->failedACall = true;
    }
    return answer(takeWaiting(call.place), std::move(error));
  }
  const auto sent = [](const Connection* one) { return one->maybeSent(); };
  const bool maybeSent = call.maybeSent || std::any_of(call.carriers.begin(), call.carriers.end(), sent);
  HttpError error{HttpError::Kind::timeout, maybeSent, where + call.carriers.front()->doing()};
  if (silent_ < silentCalls) ++silent_;
  auto owned = takeCarried(call);
  letGo(owned->carriers);
  dialWhatIsMissing();
  answer(std::move(owned), std::move(error));
}

std::string Pool::whatCallsWaitFor() const {
  std::string text = opening_.empty() ? "while waiting for one of " + std::to_string(all_.size()) +
                                            " connections, all of which are in use"
                                      : opening_.front()->doing();
  return lastFailure_.empty() ? text : text + "; the last attempt to connect failed: " + lastFailure_;
}

void Pool::opened(Connection& connection) {
  std::erase(opening_, &connection);
  lastFailure_.clear();
  serveOrRest(connection);
}

/// Calls go on waiting as long as another connection may serve them. One whose reply is late may never be free again.
void Pool::openFailed(Connection& connection, const HttpError& error) {
  const std::uint64_t dialledFor = connection.dialledFor;
  drop(connection);
  lastFailure_ = error.message;
  pauseAhead();
  if (late() < all_.size()) return;
  std::vector<std::unique_ptr<Call>> failed;
  while (!waiting_.empty() && waiting_.front()->number <= dialledFor) failed.push_back(takeWaiting(waiting_.begin()));
  dialWhatIsMissing();
  for (auto& call : failed) answer(std::move(call), HttpError{error});
}

void Pool::pauseAhead() {
  if (wanted_ <= all_.size() || alarmIsSet()) return;
  around_.alarms.set(*this, around_.alarms.now() + pause_);
  pause_ = std::min(pause_ * 2, longestPause);
}

void Pool::answered(Connection& connection, HttpOutcome outcome) {
  if (outcome) pause_ = firstPause;
  if (outcome) answeredBy_ = connection.address();
  Call* call = connection.takeCall();
  std::unique_ptr<Call> owned;
  if (call != nullptr) {
    std::erase(call->carriers, &connection);
    if (outcome) {
      silent_ = 0;  // not for late answers: a server that always answers too late must not get more requests
      // The estimate rises slowly and falls at once, because a slow answer may come from a copy that was sent again by
      // TCP.
      const std::chrono::nanoseconds took = around_.alarms.now() - connection.askedAt();
      quickest_ = quickest_.count() == 0 ? took : std::min(took, quickest_ + quickest_ / 8);
      outcome->copiesOut = call->maybeSent || !call->carriers.empty();
    } else {
      HttpError error = outcome.error();
      error.maybeSent = call->maybeSent = call->maybeSent || error.maybeSent;
      outcome = std::move(error);
    }
    // A fault on one connection says nothing about the copies on others.
    if (outcome || call->carriers.empty()) owned = takeCarried(*call);
    if (owned && !outcome && silent_ < silentCalls) ++silent_;
    if (owned) letGo(std::exchange(owned->carriers, {}));
  }
  if (connection.isIdle()) {
    serveOrRest(connection);
  } else {
    drop(connection);
    dialWhatIsMissing();
  }
  if (owned) answer(std::move(owned), std::move(outcome));  // last, because the handler may do anything
}

/// A peer may accept connections and end them unused (a balancer without servers). It must not be dialled in an endless
/// loop.
void Pool::lost(Connection& connection) {
  const bool endedUnused = connection.used() == 0 && !connection.isPastIdleTime();
  drop(connection);
  if (endedUnused) pauseAhead();
  dialWhatIsMissing();
}

void Pool::serveOrRest(Connection& connection) {
  if (waiting_.empty()) {
    idle_.push_back(&connection);
  } else if (!connection.isAlive()) {  // it has ended, or has unexpected bytes
    drop(connection);
    dialWhatIsMissing();
  } else {
    serve(takeWaiting(waiting_.begin()), connection);
  }
}

Connection* Pool::takeIdle() {
  while (!idle_.empty()) {
    Connection& connection = *idle_.back();
    if (connection.isAlive()) {
      idle_.pop_back();
      return &connection;
    }
    drop(connection);
  }
  return nullptr;
}

std::unique_ptr<Call> Pool::takeWaiting(CallList::iterator place) {
  auto call = std::move(*place);
  waiting_.erase(place);
  return call;
}

/// A connection that is opened ahead may hang (lost packets, a peer that stands still) for longer than calls have time.
/// Not all calls wait for it: once one call has run out of time because of it, the next call gets a connection of its
/// own.
///
/// For each late reply that is still awaited, one more connection is opened ahead: the line loses packets, and copies
/// need connections.
std::size_t Pool::missing() const {
  const auto hopeful = static_cast<std::size_t>(
      std::count_if(opening_.begin(), opening_.end(), [](const Connection* one) { return !one->failedACall; }));
  const std::size_t forCalls = waiting_.size() - std::min(waiting_.size(), hopeful);
  const bool ahead = !alarmIsSet() && around_.alarms.now() - lastCall_ < around_.options.idleTimeout;
  const std::size_t awaited = late();
  const std::size_t ready = all_.size() - awaited;
  const std::size_t forLater = ahead && wanted_ > 0 ? wanted_ + awaited - std::min(wanted_ + awaited, ready) : 0;
  return std::min(std::max(forCalls, forLater), around_.options.maxConnections - all_.size());
}

void Pool::dialWhatIsMissing() {
  for (std::size_t left = missing(); left > 0; --left) {
    dial(waiting_.empty() ? around_.alarms.now() + aheadLimit : waiting_.back()->deadline);
  }
}

void Pool::dial(std::chrono::nanoseconds deadline) {
  const auto connection = std::make_shared<Connection>(around_, route_, *this);
  connection->dialledFor = calls_;
  all_.push_back(connection);
  opening_.push_back(connection.get());
  connection->open(deadline);
}

void Pool::drop(Connection& connection) {
  connection.close();
  std::erase(idle_, &connection);
  std::erase(opening_, &connection);
  std::erase_if(all_, [&](const auto& one) { return one.get() == &connection; });
}

}  // namespace tenure::net
