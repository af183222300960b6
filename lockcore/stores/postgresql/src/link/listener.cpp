#include "listener.hpp"

#include <algorithm>
#include <utility>

#include "lockcore/runtime/system_random.hpp"

namespace tenure::postgresql_store {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds firstRetry{100};
constexpr milliseconds longestRetry{10'000};
constexpr milliseconds connectTime{5'000};
constexpr milliseconds testTime{1'000};
constexpr std::chrono::minutes poolerPause{5};
constexpr std::chrono::seconds restPause{30};

struct FreeNotification {
  void operator()(PGnotify* notification) const noexcept { PQfreemem(notification); }
};

std::string freshNonce() { return "tenure-test-" + std::to_string(SystemRandom{}.next()); }

}  // namespace

Listener::Listener(Surroundings& around, const Settings& settings, const std::string& passwordFile, std::string channel,
                   const Watchers& watchers, Notify notify)
    : around_{around},
      channel_{std::move(channel)},
      watchers_{watchers},
      notify_{std::move(notify)},
      attempt_{around, settings, passwordFile},
      wait_{around.makeWait()},
      again_{around.alarms, [this] { open(); }},
      untested_{around.alarms, [this] { testFailed(); }},
      rest_{around.alarms,
            [this] {
              if (watchers_.empty()) stop();
            }},
      nextPause_{firstRetry} {}

void Listener::start() {
  rest_.clear();
  if (!connection_ && !attempt_.isBusy() && !again_.isSet()) open();
}

void Listener::mayRest() {
  if (watchers_.empty() && !rest_.isSet()) rest_.setIn(restPause);
}

void Listener::stop() {
  attempt_.stop();
  again_.clear();
  rest_.clear();
  disconnect();
}

void Listener::disconnect() noexcept {
  life_ = std::make_shared<int>();
  untested_.clear();
  wait_->release();
  connection_.reset();
  listens_ = false;
}

void Listener::open() {
  attempt_.begin(connectTime, [this](Connected connected) { opened(std::move(connected)); });
}

void Listener::opened(Connected connected) {
  if (const auto* failure = std::get_if<ConnectFailure>(&connected)) return lost(failure->text);
  connection_ = std::get<ConnectionHandle>(std::move(connected));
  PQsetNoticeReceiver(
      connection_.get(), [](void*, const PGresult*) {}, nullptr);
  const std::unique_ptr<char, decltype(&PQfreemem)> name{
      PQescapeIdentifier(connection_.get(), channel_.data(), channel_.size()), &PQfreemem};
  if (name) listen_ = std::string{"LISTEN "} + name.get();
  const bool sent = name && PQsetnonblocking(connection_.get(), 1) == 0 && send(listen_);
  if (!sent) return lost(lastErrorOf(connection_.get()));
  wait_->take(PQsocket(connection_.get()));
  wait();
}

bool Listener::send(const std::string& sql) {
  return PQsendQuery(connection_.get(), sql.c_str()) == 1 && PQflush(connection_.get()) == 0;
}

void Listener::wait() {
  wait_->untilReadable([this, weak = std::weak_ptr{life_}] {
    if (!weak.expired()) readable();
  });
}

void Listener::readable() {
  if (PQconsumeInput(connection_.get()) == 0) return lost(lastErrorOf(connection_.get()));
  takeResults();
  if (connection_) takeNotifications();
  if (connection_) wait();
}

/// Changes between the call of watch() and LISTEN, or between two connections, were not heard. What follows LISTEN
/// may be refused.
void Listener::takeResults() {
  while (connection_ && PQisBusy(connection_.get()) == 0) {
    const ResultHandle result{PQgetResult(connection_.get())};
    if (!result) return;
    if (listens_) continue;
    if (PQresultStatus(result.get()) != PGRES_COMMAND_OK) return lost(serverErrorOf(result.get()).message);
    listens_ = true;
    watchers_.hintAll();
    test();
  }
}

void Listener::takeNotifications() {
  using Notification = std::unique_ptr<PGnotify, FreeNotification>;
  while (const Notification one{PQnotifies(connection_.get())}) {
    if (one->extra == nonce_) {
      testPassed();
    } else {
      watchers_.hint(one->extra);
    }
  }
}

void Listener::test() {
  nonce_ = freshNonce();
  notify_(nonce_, [this, weak = std::weak_ptr{life_}](bool done) {
    if (!weak.expired()) testSent(done);
  });
}

void Listener::testSent(bool done) {
  if (nonce_.empty()) return;  // it has arrived already
  if (!done) return lost("the test notification could not be sent");
  untested_.setIn(testTime);
}

void Listener::testPassed() {
  nonce_.clear();
  untested_.clear();
  nextPause_ = firstRetry;
  if (reportedError_ || reportedPooler_) {
    around_.logger.log(LogLevel::info, "PostgreSQL: notifications on channel " + channel_ + " arrive again");
  }
  reportedError_ = reportedPooler_ = false;
  liftIdleLimit();
}

/// This connection is idle by its nature, and a role's limit would end it again and again. Not before the test has
/// passed: a pooler would give the connection to others with this setting. LISTEN is repeated only because
/// pg_stat_activity shows the last statement, by which people know what the connection is for.
void Listener::liftIdleLimit() {
  constexpr int firstWithLimit = 140'000;
  if (PQserverVersion(connection_.get()) < firstWithLimit) return;
  // A connection that cannot send is found out by its next read.
  (void)send("SET idle_session_timeout = 0; " + listen_);
}

void Listener::testFailed() {
  disconnect();
  if (!std::exchange(reportedPooler_, true)) {
    around_.logger.log(LogLevel::warn,
                       "PostgreSQL: notifications on channel " + channel_ +
                           " do not arrive, as behind a pooler in transaction mode; candidates poll instead, and a "
                           "release is noticed later. Set the option listen to a direct connection string");
  }
  again_.setIn(poolerPause);
}

void Listener::lost(const std::string& why) {
  disconnect();
  if (!std::exchange(reportedError_, true)) {
    around_.logger.log(LogLevel::warn,
                       "PostgreSQL: no connection for notifications: " + why + "; candidates poll until there is one");
  }
  again_.setIn(nextPause_);
  nextPause_ = std::min<std::chrono::nanoseconds>(nextPause_ * 2, longestRetry);
}

}  // namespace tenure::postgresql_store
