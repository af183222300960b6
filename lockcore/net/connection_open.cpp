// How a connection is opened; connection.cpp has what it does after that.
#include <exception>
#include <utility>

#include "connection.hpp"
#include "request_text.hpp"

namespace tenure::net {

namespace {

constexpr std::size_t mostOfTunnelReply = 65536;

std::string tunnelHint(int status) {
  if (status == 407) return "; give user and password in the proxy's URL";
  return "; check what the proxy allows, and whether it is needed for this host";
}

}  // namespace

void Connection::open(std::chrono::nanoseconds deadline) {
  step_ = Step::lookup;
  deadline_ = deadline;
  around_.alarms.set(*this, deadline);
  around_.book.find(route_.host(), [weak = weak_from_this()](const LookupResult& result) {
    const auto self = weak.lock();
    if (self && self->step_ == Step::lookup) self->found(result);
  });
}

void Connection::found(const LookupResult& result) {
  if (!result) return failLater(HttpError::Kind::resolve, result.error().why);
  addresses_ = *result;
  dialNext();
}

/// Each address gets an equal share of the remaining time, so that a silent one leaves time for the others.
void Connection::dialNext() {
  step_ = Step::connect;
  const auto now = around_.alarms.now();
  const auto left = static_cast<std::int64_t>(addresses_.size() - next_);
  around_.alarms.set(*this, now + (deadline_ - now) / left);
  wire_ = around_.dialer.dial(addresses_[next_++], route_.port(), *this);
}

void Connection::addressFailed(const std::string& why) {
  const IpAddress address = addresses_[next_ - 1];
  around_.book.putLast(route_.host(), address);
  failures_ += (failures_.empty() ? "" : ", ") + withPort(address, route_.port()) + " (" + why + ")";
  wire_->close();
  if (next_ < addresses_.size()) return dialNext();
  around_.book.doubt(route_.host());
  const bool late = around_.alarms.now() >= deadline_;
  fail(late ? HttpError::Kind::timeout : HttpError::Kind::connect,
       allFaults() + "; check the address, and that this machine can reach it");
}

std::string Connection::allFaults() const {
  if (failures_.empty()) return faults_;
  return (faults_.empty() ? "" : faults_ + "; ") + "no connection to " + (route_.proxy ? "the proxy at " : "") +
         failures_ + (route_.proxy ? ", which " + route_.proxy->source + " names" : "");
}

/// It accepts connections, but is not what is asked for, or fails: another machine may have the address by now.
/// The next one may be the service.
void Connection::peerFailed(HttpError::Kind kind, const std::string& text) {
  around_.book.putLast(route_.host(), addresses_[next_ - 1]);
  faults_ += (faults_.empty() ? "" : "; ") + text;
  if (next_ == addresses_.size()) return fail(kind, allFaults());
  wire_->close();
  outer_.reset();
  tls_.reset();
  dialNext();
}

/// A peer that accepts and then says nothing leaves time for the others. It gets more than an equal share: a name may
/// have eight addresses, all of them far away, and a handshake takes longer than a connection.
void Connection::onOpen() {
  const auto self = shared_from_this();
  if (!route_.origin.tls && !route_.proxy) return ready();
  const auto now = around_.alarms.now();
  const bool isLast = next_ == addresses_.size();
  around_.alarms.set(*this, isLast ? deadline_ : now + (deadline_ - now) / 2);
  if (!route_.proxy) return startTls();
  if (!route_.proxy->tls) return behindProxy();
  step_ = Step::proxyHandshake;
  outer_ = sessionWith(route_.proxy->host, route_.proxy->port);
  if (outer_) greetProxy({});
}

void Connection::greetProxy(std::string_view bytes) {
  if (!outer_ || later_) return;
  std::string answer;
  const auto state = outer_->handshake(bytes, answer);
  if (!answer.empty()) wire_->write(answer);
  if (state == TlsSession::State::failed) {
    return peerFailed(HttpError::Kind::tls, proxyText() + ": " + outer_->why());
  }
  if (state == TlsSession::State::ready) behindProxy();
}

/// Asks for the tunnel, if the proxy does not take each request itself.
void Connection::behindProxy() {
  if (!route_.tunnels) return ready();
  step_ = Step::tunnel;
  reader_.expect(true, mostOfTunnelReply);
  plain_.clear();
  appendConnect(plain_, route_, around_.options.userAgent);
  put(plain_);
}

void Connection::readTunnel(std::string_view bytes) {
  const auto state = reader_.feed(bytes);
  if (state == ReplyReader::State::more) return;
  const std::string proxy = proxyText();
  if (state == ReplyReader::State::failed) return peerFailed(HttpError::Kind::connect, proxy + ": " + reader_.why());
  const int status = reader_.take().status;
  if (status / 100 != 2) {
    return peerFailed(HttpError::Kind::connect,
                      proxy + " refused the tunnel with status " + std::to_string(status) + tunnelHint(status));
  }
  if (!route_.origin.tls) return ready();
  startTls();
}

/// Null: it cannot be made, which is reported later.
std::unique_ptr<TlsSession> Connection::sessionWith(const std::string& host, std::uint16_t port) {
  try {
    return around_.tls().session(host, port);
  } catch (const std::exception& error) {
    failLater(HttpError::Kind::tls, error.what());
    return nullptr;
  }
}

void Connection::startTls() {
  step_ = Step::handshake;
  const std::string& name = around_.options.serverName;
  tls_ = sessionWith(name.empty() ? route_.origin.host : name, route_.origin.port);
  if (tls_) shakeHands({});
}

void Connection::shakeHands(std::string_view bytes) {
  cipher_.clear();
  const auto state = tls_->handshake(bytes, cipher_);
  flush();
  if (state == TlsSession::State::failed) return peerFailed(HttpError::Kind::tls, peer() + ": " + tls_->why());
  if (state == TlsSession::State::ready) ready();
}

void Connection::ready() {
  step_ = Step::idle;
  lastUsed_ = around_.alarms.now();
  around_.alarms.set(*this, lastUsed_ + around_.options.idleTimeout);
  owner_.opened(*this);
}

bool Connection::isPastIdleTime() const noexcept {
  return lastUsed_ + around_.options.idleTimeout <= around_.alarms.now();
}

void Connection::failLater(HttpError::Kind kind, const std::string& text) {
  later_ = std::make_unique<HttpError>(HttpError{kind, maybeSent(), text});
  around_.alarms.set(*this, {});
}

void Connection::onAlarm() {
  const auto self = shared_from_this();
  if (later_) {
    const auto error = std::move(later_);
    return fail(error->kind, error->message);
  }
  const auto now = around_.alarms.now();
  switch (step_) {
    case Step::idle:
    case Step::busy:
      if (isLate()) return owner_.lost(*this);
      // The alarm is not moved with each call. Only when it comes is the idle time checked.
      if (step_ == Step::idle && isPastIdleTime()) return owner_.lost(*this);
      return around_.alarms.set(*this, (step_ == Step::idle ? lastUsed_ : now) + around_.options.idleTimeout);
    case Step::connect:
      return addressFailed("no answer in its share of the time");
    case Step::proxyHandshake:
    case Step::tunnel:
    case Step::handshake:
      return peerFailed(HttpError::Kind::timeout, "timed out " + doing());
    case Step::lookup:
      return fail(HttpError::Kind::timeout, "timed out " + doing());
    case Step::closed:
      return;
  }
}

}  // namespace tenure::net
