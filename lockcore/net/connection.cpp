#include "connection.hpp"

#include <algorithm>
#include <utility>

#include "request_text.hpp"

namespace tenure::net {

namespace {

constexpr std::size_t memoryKept = 65536;

void clearAndTrim(std::string& text) {
  text.clear();
  if (text.capacity() > memoryKept) text.shrink_to_fit();
}

}  // namespace

bool Connection::isAlive() {
  if (showsOldCertificate()) return false;
  for (;;) {
    cipher_.clear();
    const auto peek = wire_->peek(cipher_);
    if (peek == Wire::Peek::nothing) return true;
    // Bytes that nobody asked for are normal only with TLS (tickets, key updates).
    if (peek == Wire::Peek::end || (!tls_ && !outer_)) return false;
    plain_.clear();
    std::string received;
    received.swap(cipher_);
    if (outer_ && !unwrap(received)) return false;
    if (!tls_ && !received.empty()) return false;
    if (!tls_) continue;
    const auto state = tls_->read(received, plain_, cipher_);
    flush();
    if (state != TlsSession::State::more || !plain_.empty()) return false;
  }
}

/// A connection that serves call after call is never opened anew, so the files are looked at here too.
bool Connection::showsOldCertificate() const {
  if (!tls_ && !outer_) return false;
  around_.tls().look(around_.alarms.now());
  return (tls_ && tls_->showsOldCertificate()) || (outer_ && outer_->showsOldCertificate());
}

void Connection::exchange(Call& call) {
  call_ = &call;
  const std::size_t most = call_->request.maxReply, all = around_.options.maxReply;
  reader_.expect(call_->request.method == "HEAD", most == 0 ? all : std::min(most, all));
  send(call_->request);
}

void Connection::stream(const HttpRequest& request) {
  streams_ = true;
  reader_.expectStream(around_.options.maxReply);
  send(request);
}

void Connection::send(const HttpRequest& request) {
  step_ = Step::busy;
  askedAt_ = around_.alarms.now();
  takenBefore_ = wire_->taken();
  clearAndTrim(plain_);
  appendRequest(plain_, route_, around_.options.userAgent, request);
  if (!tls_) return put(plain_);
  clearAndTrim(cipher_);
  const bool good = tls_->write(plain_, cipher_);
  flush();
  if (!good) failLater(HttpError::Kind::tls, tls_->why());
}

void Connection::letGo(std::chrono::nanoseconds patience) {
  call_ = nullptr;
  around_.alarms.set(*this, around_.alarms.now() + patience);
}

void Connection::close() noexcept {
  step_ = Step::closed;
  around_.alarms.clear(*this);
  if (wire_) wire_->close();
}

bool Connection::maybeSent() const noexcept { return step_ == Step::busy && wire_->taken() > takenBefore_; }

void Connection::onBytes(std::string_view bytes) {
  const auto self = shared_from_this();  // if the owner drops this object, it must live until this call ends
  if (step_ == Step::proxyHandshake) return greetProxy(bytes);
  if (!outer_) return deliver(bytes);
  std::string inside{bytes};
  const bool goesOn = unwrap(inside);
  if (!inside.empty()) deliver(inside);
  if (!goesOn && step_ != Step::closed) onEnd(outer_->why());
}

/// Of the outer TLS stream; what it answers is sent. False: it has ended.
bool Connection::unwrap(std::string& bytes) {
  std::string plain, answer;
  const auto state = outer_->read(bytes, plain, answer);
  if (!answer.empty()) wire_->write(answer);
  bytes = std::move(plain);
  return state == TlsSession::State::more;
}

void Connection::put(std::string_view bytes) {
  if (!outer_) return wire_->write(bytes);
  std::string wrapped;
  const bool good = outer_->write(bytes, wrapped);
  if (!wrapped.empty()) wire_->write(wrapped);
  if (!good) failLater(HttpError::Kind::tls, outer_->why());
}

void Connection::deliver(std::string_view bytes) {
  if (step_ == Step::tunnel) return readTunnel(bytes);
  if (step_ == Step::handshake) {
    // If a fault is still to be reported, there is no session.
    if (tls_) shakeHands(bytes);
    if (step_ != Step::idle && step_ != Step::busy) return;
    bytes = {};  // bytes that came with the end of the handshake are in the session already
  }
  if (tls_) return readTls(bytes);
  readReply(bytes);
}

void Connection::readTls(std::string_view bytes) {
  std::string plain;
  cipher_.clear();
  const auto state = tls_->read(bytes, plain, cipher_);
  ended_ = state != TlsSession::State::more;
  flush();
  if (!plain.empty()) readReply(plain);
  if (step_ == Step::closed || state == TlsSession::State::more) return;
  streamEnded(state == TlsSession::State::ended, tls_->why());
}

void Connection::readReply(std::string_view bytes) {
  if (step_ == Step::idle) return owner_.lost(*this);  // an answer without a request
  if (step_ != Step::busy || later_) return;
  const auto state = reader_.feed(bytes);
  if (streams_ && !giveAPart()) return;
  switch (state) {
    case ReplyReader::State::more:
      return;
    case ReplyReader::State::done:
      return replyDone();
    case ReplyReader::State::failed:
      return fail(reader_.failure(), peer() + ": " + reader_.why());
  }
}

/// False: the owner has closed the connection.
bool Connection::giveAPart() {
  if (reader_.streams()) owner_.arrived(*this, reader_.takePart());
  return step_ == Step::busy;
}

void Connection::replyDone() {
  // A server may answer before it has read the whole request. Then it would take the rest of it for the next request.
  const bool goesOn = !streams_ && reader_.mayGoOn() && !wire_->sending() && !ended_;
  lastUsed_ = around_.alarms.now();
  ++used_;
  if (goesOn) {
    step_ = Step::idle;
  } else {
    close();
  }
  owner_.answered(*this, reader_.take());
}

void Connection::onEnd(const std::string& why) {
  const auto self = shared_from_this();
  if (later_) return;  // the first fault says more
  const std::string reason = why.empty() ? "the peer closed it" : why;
  switch (step_) {
    case Step::connect:
      return addressFailed(why);
    case Step::proxyHandshake:
    case Step::tunnel:
      return peerFailed(HttpError::Kind::connect,
                        proxyText() + " ended the connection instead of answering (" + reason + ")");
    case Step::handshake:
      return peerFailed(HttpError::Kind::tls, peer() + ": the connection ended in the TLS handshake (" + reason +
                                                  "); check that TLS 1.2 or later is spoken on this port");
    default:
      // Without TLS's own end marker, anybody on the way could cut a reply short.
      return streamEnded(why.empty() && !tls_ && !outer_, reason);
  }
}

void Connection::streamEnded(bool whole, const std::string& why) {
  if (step_ == Step::idle) return owner_.lost(*this);
  if (step_ != Step::busy) return;
  if (reader_.end() == ReplyReader::State::done && whole) {
    close();
    return owner_.answered(*this, reader_.take());
  }
  const std::string cut = reader_.received() == 0 ? "the connection ended before a reply came" : reader_.why();
  const bool oursRefused = tls_ && tls_->isOursRefused();
  fail(oursRefused ? HttpError::Kind::tls : HttpError::Kind::closed,
       peer() + ": " + cut + (why.empty() ? "" : " (" + why + ")"));
}

void Connection::fail(HttpError::Kind kind, const std::string& text) {
  HttpError error{kind, maybeSent(), toString(route_.origin) + ": " + text};
  const bool asked = step_ == Step::busy;
  close();
  if (!asked) return owner_.openFailed(*this, error);
  owner_.answered(*this, std::move(error));
}

void Connection::flush() {
  if (!cipher_.empty()) put(cipher_);
}

std::string Connection::proxyText() const {
  return "the proxy " + toString(*route_.proxy) + " (" + route_.proxy->source + ")";
}

std::string Connection::peer() const {
  std::string text = next_ == 0 ? route_.host() : withPort(addresses_[next_ - 1], route_.port());
  return route_.proxy ? text + " (a proxy)" : text;
}

std::string Connection::doing() const {
  switch (step_) {
    case Step::lookup:
      return "while looking up the name " + route_.host();
    case Step::connect:
      return "while connecting to " + peer();
    case Step::proxyHandshake:
      return "in the TLS handshake with " + proxyText();
    case Step::tunnel:
      return "while waiting for " + proxyText();
    case Step::handshake:
      return "in the TLS handshake with " + peer();
    case Step::busy:
      if (wire_->sending()) return "while sending the request to " + peer();
      if (reader_.received() == 0) return "while waiting for the reply of " + peer();
      return "while reading the reply of " + peer() + " (" + std::to_string(reader_.received()) + " bytes had come)";
    case Step::idle:
    case Step::closed:
      break;
  }
  return "between two requests";
}

}  // namespace tenure::net
