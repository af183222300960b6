#include "connection_attempt.hpp"

#include <algorithm>
#include <utility>

#include "lockcore/port/ascii_text.hpp"

namespace tenure::postgresql_store {
namespace {

/// Five digits and capitals. No severity, which may be translated, has a digit.
bool isSqlState(const std::string& text) {
  return text.size() == 5 && std::any_of(text.begin(), text.end(), isDigit) &&
         std::all_of(text.begin(), text.end(), [](char c) { return isDigit(c) || isUpper(c); });
}

/// libpq keeps the SQLSTATE of a refused connection to itself. With PQERRORS_VERBOSE it writes `FATAL:  28P01: ...`.
std::string sqlStateIn(const std::string& text) {
  for (std::size_t at = text.find(": "); at != std::string::npos; at = text.find(": ", at + 1)) {
    std::string code = text.substr(at + 2, 5);
    if (isSqlState(code) && text.compare(at + 7, 2, ": ") == 0) return code;
  }
  return {};
}

/// What PQERRORS_VERBOSE says besides is the server's source file.
std::string withoutLocation(const std::string& text) {
  const auto at = text.find(" LOCATION: ");
  return text.substr(0, at);
}

/// There is no code for errors of a certificate.
bool isAboutCertificates(ConnStatusType stage, const std::string& text) {
  return stage == CONNECTION_SSL_STARTUP &&
         (text.find("certificate") != std::string::npos || text.find("SSL was required") != std::string::npos);
}

/// Verification is tenure's default, and not libpq's, so the text says where it comes from.
const char* remedyOf(const std::string& text) {
  if (text.find("SSL was required") != std::string::npos)
    return "; where store.sslmode says nothing, a host that is given by name is verified (verify-full): the server "
           "needs TLS";
  return "; store.sslrootcert names the authorities that are trusted (system: those of this system, with verify-full)";
}

}  // namespace

void Dial::begin(const Settings& settings) {
  connection_ = startConnecting(settings);
  if (connection_) {
    PQsetErrorVerbosity(connection_.get(), PQERRORS_VERBOSE);
    PQsetNoticeReceiver(
        connection_.get(), [](void*, const PGresult*) {}, nullptr);
  }
  if (!connection_ || PQstatus(connection_.get()) == CONNECTION_BAD) {
    around_.scheduler.post([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->finish();
    });
    return;
  }
  next(PGRES_POLLING_WRITING);
}

/// The socket may have been replaced in each step, even by one with the same number, so each wait takes it anew.
void Dial::next(PostgresPollingStatusType wanted) {
  wait_->take(PQsocket(connection_.get()));
  const auto ready = [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->step();
  };
  if (wanted == PGRES_POLLING_WRITING) {
    wait_->untilWritable(ready);
  } else {
    wait_->untilReadable(ready);
  }
}

void Dial::step() {
  wait_->release();
  stage_ = PQstatus(connection_.get());
  const PostgresPollingStatusType wanted = PQconnectPoll(connection_.get());
  if (wanted == PGRES_POLLING_READING || wanted == PGRES_POLLING_WRITING) return next(wanted);
  finish();
}

void Dial::finish() {
  const Done done = std::exchange(done_, nullptr);
  if (!connection_ || PQstatus(connection_.get()) != CONNECTION_OK) return done(failure());
  PQsetErrorVerbosity(connection_.get(), PQERRORS_DEFAULT);
  done(std::move(connection_));
}

ConnectFailure Dial::failure() const {
  if (!connection_) return {.text = "out of memory"};
  ConnectFailure failure{.text = lastErrorOf(connection_.get())};
  const std::string state = sqlStateIn(failure.text);
  failure.text = withoutLocation(failure.text);
  if (failure.text.empty()) failure.text = "the connection was refused without a reason";
  if (!state.empty()) failure.serverError = {"FATAL", state, failure.text};
  if (PQconnectionNeedsPassword(connection_.get()) != 0) {
    failure.cause = JobReply::Cause::credentials;
    failure.text += "; put the password into store.password_file, store.passfile, a service file or PGPASSWORD";
  } else if (!state.empty()) {
    failure.cause = causeOf(state);
  } else if (isAboutCertificates(stage_, failure.text)) {
    failure.cause = JobReply::Cause::misconfigured;
    failure.text += remedyOf(failure.text);
  }
  return failure;
}

void ConnectionAttempt::begin(std::chrono::nanoseconds time, Done done) {
  done_ = std::move(done);
  time_ = time;
  tried_ = 0;
  failure_.reset();
  destination_ = destinationOf(settings_, passwordFile_);
  if (!destination_.fault.empty()) {
    return finish(ConnectFailure{destination_.fault, {}, JobReply::Cause::misconfigured});
  }
  if (!destination_.passwordFault.empty()) {
    return finish(ConnectFailure{destination_.passwordFault, {}, JobReply::Cause::credentials});
  }
  first_ %= destination_.hosts.size();
  tryHost();
}

void ConnectionAttempt::stop() {
  around_.alarms.clear(*this);
  step_ = std::make_shared<int>();
  dial_.reset();
  done_ = nullptr;
}

void ConnectionAttempt::tryHost() {
  host_ = destination_.hosts[(first_ + tried_) % destination_.hosts.size()];
  addresses_.clear();
  step_ = std::make_shared<int>();
  if (host_.needsLookup()) {
    lookUp(host_);
  } else {
    tryAddress();
  }
}

void ConnectionAttempt::wait(bool isLast) {
  waiting_ = isLast ? time_ : time_ / 2;
  around_.alarms.set(*this, around_.now() + waiting_);
}

/// libpq would look the name up itself, and block.
void ConnectionAttempt::lookUp(const Host& host) {
  wait(tried_ + 1 == destination_.hosts.size());
  around_.book.find(host.name, [this, weak = std::weak_ptr{step_}, host](const net::LookupResult& result) {
    if (!weak.expired()) found(host, result);
  });
}

void ConnectionAttempt::found(const Host& host, const net::LookupResult& result) {
  step_ = std::make_shared<int>();
  if (!result) {
    note({result.error().why, {}, JobReply::Cause::misconfigured});
    return nextHost();
  }
  host_ = host;
  addresses_ = *result;
  tryAddress();
}

void ConnectionAttempt::tryAddress() {
  if (!addresses_.empty()) host_.address = net::toString(addresses_.front());
  step_ = std::make_shared<int>();
  wait(tried_ + 1 == destination_.hosts.size() && addresses_.size() <= 1);
  dial_ = std::make_shared<Dial>(around_, [this, weak = std::weak_ptr{step_}](Connected connected) {
    if (!weak.expired()) answered(std::move(connected));
  });
  dial_->begin(settingsFor(destination_, host_));
}

void ConnectionAttempt::answered(Connected connected) {
  step_ = std::make_shared<int>();
  if (std::holds_alternative<ConnectionHandle>(connected)) {
    first_ = (first_ + tried_) % destination_.hosts.size();
    return finish(std::move(connected));
  }
  auto& failure = std::get<ConnectFailure>(connected);
  const bool lacksPassword = failure.cause == JobReply::Cause::credentials && failure.serverError.sqlState.empty();
  if (lacksPassword && !destination_.passfileFault.empty()) {
    failure.text += "; " + std::exchange(destination_.passfileFault, {});  // once is enough for several hosts
  }
  note(std::move(failure));
  nextAddress();
}

void ConnectionAttempt::onAlarm() {
  const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(waiting_).count();
  const std::string where = toString(std::vector<Host>{host_});
  note({(dial_ ? "no answer from " + where : "no answer to the lookup of the name " + host_.name) + " within " +
            std::to_string(waited) + " ms",
        {},
        JobReply::Cause::transient});
  nextAddress();
}

void ConnectionAttempt::nextAddress() {
  dial_.reset();
  if (!addresses_.empty()) {
    around_.book.putLast(host_.name, addresses_.front());
    addresses_.erase(addresses_.begin());
    if (!addresses_.empty()) return tryAddress();
    around_.book.doubt(host_.name);
  }
  nextHost();
}

void ConnectionAttempt::nextHost() {
  dial_.reset();
  if (++tried_ < destination_.hosts.size()) return tryHost();
  finish(std::move(*failure_));
}

/// An error that may pass at one server makes the whole attempt worth repeating soon.
void ConnectionAttempt::note(ConnectFailure failure) {
  failure.text = inOneLine(failure.text.c_str());
  if (failure_) {
    failure.text = failure_->text + "; " + failure.text;
    if (failure_->cause == JobReply::Cause::transient) failure.cause = JobReply::Cause::transient;
    if (failure.serverError.sqlState.empty()) failure.serverError = failure_->serverError;
  }
  failure_ = std::move(failure);
}

void ConnectionAttempt::finish(Connected connected) {
  const Done done = std::exchange(done_, nullptr);
  stop();
  done(std::move(connected));
}

}  // namespace tenure::postgresql_store
