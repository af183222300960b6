#include "session.hpp"

#include <utility>

namespace tenure::postgresql_store {
namespace {

constexpr std::chrono::seconds rollBackPatience{5};

/// A server that takes no writes, or that is in recovery and so refuses the functions of its write-ahead log.
bool isNoPrimary(const std::string& sqlState) { return sqlState == "25006" || sqlState == "55000"; }

}  // namespace

Session::Session(Surroundings& around, Owner& owner, ConnectionHandle connection, const StatementText& text,
                 std::string commitMode)
    : around_{around},
      owner_{owner},
      text_{text},
      commitMode_{std::move(commitMode)},
      connection_{std::move(connection)},
      rollBackTime_{around.alarms, [this] { lose("no answer to ROLLBACK"); }} {}

void Session::begin() {
  const auto hear = [](void* session, const PGresult* result) {
    auto& self = *static_cast<Session*>(session);
    const std::string severity = serverErrorOf(result).severity;
    if (severity == "FATAL" || severity == "PANIC") self.saidEnd_ = true;
    if (self.account_) self.account_->notice(*result);
  };
  PQsetNoticeReceiver(connection_.get(), hear, this);
  const bool ready = PQsetnonblocking(connection_.get(), 1) == 0 && PQenterPipelineMode(connection_.get()) == 1;
  if (!ready) return lose(lastErrorOf(connection_.get()));
  wait_->take(PQsocket(connection_.get()));
  listen();
  becomeFree();
}

void Session::becomeFree() {
  freeSince_ = around_.now();
  owner_.sessionIsFree(*this);
}

/// It reads all the time, also between jobs, so that the end of the connection is noticed.
void Session::listen() {
  wait_->untilReadable([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->readable();
  });
}

/// The first reading may give the server's FATAL, and only the next one the end behind it. A FATAL that nobody asked
/// for is heard as a notice, once libpq has looked at what it read (PQisBusy).
bool Session::looksAlive() {
  for (int reading = 0; reading < 2; ++reading) {
    if (PQconsumeInput(connection_.get()) == 0) return false;
  }
  static_cast<void>(PQisBusy(connection_.get()));
  return !saidEnd_ && PQstatus(connection_.get()) == CONNECTION_OK &&
         PQtransactionStatus(connection_.get()) == PQTRANS_IDLE;
}

void Session::run(std::unique_ptr<QueuedJob> queued) {
  queued_ = std::move(queued);
  settings_ = transactionSettings(commitMode_, queued_->due - around_.now(), queued_->job.lockWait);
  account_.emplace(
      statements_.in(messagesOf(queued_->job, text_, settingsText(PQserverVersion(connection_.get())), settings_)));
  if (!queueAll()) return lose("the request could not be sent: " + lastErrorOf(connection_.get()));
  flush();
}

void Session::warmUp(std::unique_ptr<QueuedJob> queued) {
  warm_ = true;
  run(std::move(queued));
}

bool Session::queue(const Message& message) {
  PGconn* const to = connection_.get();
  const char* const name = message.name.c_str();
  if (message.part == Message::Part::prepare) return PQsendPrepare(to, name, message.sql.data(), 0, nullptr) == 1;
  std::vector<const char*> values;
  if (message.values != nullptr) {
    for (const Value& value : *message.values) values.push_back(value ? value->c_str() : nullptr);
  }
  const int count = static_cast<int>(values.size());
  if (*name != '\0') return PQsendQueryPrepared(to, name, count, values.data(), nullptr, nullptr, 0) == 1;
  return PQsendQueryParams(to, message.sql.data(), count, nullptr, values.data(), nullptr, nullptr, 0) == 1;
}

/// Each message counts before it is queued, because libpq may send it at once.
bool Session::queueAll() {
  const auto& messages = account_->messages();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) return false;
    account_->queued(i + 1);
    if (!queue(messages[i])) return false;
  }
  return PQpipelineSync(connection_.get()) == 1;
}

void Session::flush() {
  const int rest = PQflush(connection_.get());
  if (rest < 0) return lose(lastErrorOf(connection_.get()));
  if (rest == 0 || waitsToWrite_) return;
  waitsToWrite_ = true;
  wait_->untilWritable([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || !self->connection_) return;
    self->waitsToWrite_ = false;
    self->flush();
  });
}

/// What arrived before the end of the connection still counts.
void Session::readable() {
  if (!connection_) return;
  const bool intact = PQconsumeInput(connection_.get()) != 0;
  drain();
  if (!connection_) return;
  dropNotifications();
  if (!intact || PQstatus(connection_.get()) != CONNECTION_OK) return lose(lastErrorOf(connection_.get()));
  flush();
  if (connection_) listen();
}

/// Behind a pooler, the server's side of the connection may listen for somebody else. libpq keeps what nobody takes. To
/// look for one makes it read all that has come, so between jobs nothing else gathers either.
void Session::dropNotifications() {
  while (PGnotify* const one = PQnotifies(connection_.get())) PQfreemem(one);
}

/// In pipeline mode a null stands behind the answer to each message; two in a row mean that there is no further one.
void Session::drain() {
  for (int nulls = 0; connection_ && (account_ || rollingBack_) && nulls < 2;) {
    if (PQisBusy(connection_.get()) != 0) return;
    const ResultHandle result{PQgetResult(connection_.get())};
    nulls = result ? 0 : nulls + 1;
    if (result && PQresultStatus(result.get()) == PGRES_PIPELINE_SYNC) {
      synced();
    } else if (account_ && result) {
      account_->take(*result);
    } else if (account_) {
      account_->next();
    }
  }
}

/// A connection in a failed transaction must leave it before it is used again.
void Session::synced() {
  rollingBack_ = false;
  rollBackTime_.clear();
  std::unique_ptr<QueuedJob> queued = std::move(queued_);
  std::optional<JobAccount> account = std::exchange(account_, std::nullopt);
  const bool wasNoPrimary = account && isNoPrimary(account->errorState());
  if (account) statements_.learn(*account, PQbackendPID(connection_.get()));
  served_ = served_ || account;
  const PGTransactionStatusType state = PQtransactionStatus(connection_.get());
  if (wasNoPrimary) {
    lose("the server takes no writes", true);
  } else if (state == PQTRANS_IDLE) {
    becomeFree();
  } else if (state == PQTRANS_INERROR && queued) {
    rollBack();
  } else {
    lose("the transaction did not end");
  }
  if (queued) answer(std::move(queued), account->reply());
}

void Session::rollBack() {
  rollingBack_ = true;
  rollBackTime_.setIn(rollBackPatience);
  const bool sent = queue({Message::Part::commit, "ROLLBACK"}) && PQpipelineSync(connection_.get()) == 1;
  if (!sent) return lose(lastErrorOf(connection_.get()));
  flush();
}

std::pair<std::unique_ptr<QueuedJob>, JobReply> Session::close(const std::string& why) {
  wait_->release();
  rollBackTime_.clear();
  rollingBack_ = false;
  connection_.reset();
  JobReply reply = account_ ? account_->reply() : JobReply{};
  account_.reset();
  reply.why = why;
  reply.cause = JobReply::Cause::transient;
  return {std::move(queued_), std::move(reply)};
}

void Session::lose(const std::string& why, bool wasNoPrimary) {
  const auto self = shared_from_this();  // the owner drops it
  auto [queued, reply] = close(why);
  owner_.sessionIsLost(*this, wasNoPrimary);
  if (queued) answer(std::move(queued), std::move(reply));
}

}  // namespace tenure::postgresql_store
