#include "dial.hpp"

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

/// There is no code for trouble with a certificate.
bool isAboutCertificates(ConnStatusType stage, const std::string& text) {
  return stage == CONNECTION_SSL_STARTUP &&
         (text.find("certificate") != std::string::npos || text.find("SSL was required") != std::string::npos);
}

/// Verification is tenure's default, and not libpq's, so the text says where it comes from.
const char* remedyOf(const std::string& text) {
  if (text.find("SSL was required") != std::string::npos)
    return "; where store.sslmode says nothing, a host that is given by name is verified (verify-full): the server "
           "needs TLS";
  return "; store.sslrootcert names the authorities that are trusted (system: those of this system)";
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
  ConnectFailure failure{.text = troubleOf(connection_.get())};
  const std::string state = sqlStateIn(failure.text);
  failure.text = withoutLocation(failure.text);
  if (failure.text.empty()) failure.text = "the connection was refused without a reason";
  if (!state.empty()) failure.complaint = {"FATAL", state, failure.text};
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

}  // namespace tenure::postgresql_store
