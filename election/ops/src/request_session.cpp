#include "request_session.hpp"

#include <array>
#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <utility>

namespace tenure::ops {
namespace {

Method methodOf(http::verb verb) noexcept {
  switch (verb) {
    case http::verb::get:
      return Method::get;
    case http::verb::head:
      return Method::head;
    case http::verb::options:
      return Method::options;
    default:
      return Method::other;
  }
}

/// Several headers of the name are one list (RFC 9110, 5.3).
std::string acceptOf(const http::fields& header) {
  std::string out;
  const auto [from, to] = header.equal_range(http::field::accept);
  for (auto at = from; at != to; ++at) {
    if (!out.empty()) out += ',';
    out.append(at->value().data(), at->value().size());
  }
  return out;
}

/// The status for a request that could not be read; 0: there is nobody to tell.
int statusOf(const error_code& error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) return 431;
  if (error == http::error::body_limit) return 413;
  const bool ofRequest = error.category() == make_error_code(http::error::bad_version).category();
  return ofRequest && error != http::error::end_of_stream && error != http::error::partial_message ? 400 : 0;
}

}  // namespace

Task<void> RequestSession::run() {
  const auto self = shared_from_this();
  for (;;) {  // g++ 12 would await the second of two in one condition whatever the first one gives
    if (!co_await awaitFirstByte()) break;
    if (!co_await serveOne()) break;
  }
  co_await closeGently();
}

void RequestSession::end() noexcept {
  error_code ignored;
  socket_.close(ignored);
}

/// From now on, instead of an earlier limit. Only then are reads and writes cancelled.
void RequestSession::limit(std::chrono::milliseconds time) {
  timedOut_ = false;
  const std::uint64_t turn = ++timerTurn_;
  timer_.expires_after(time);
  timer_.async_wait([weak = weak_from_this(), turn](error_code cancelled) {
    const auto self = weak.lock();
    if (cancelled || !self || self->timerTurn_ != turn) return;  // it may have been queued when a new limit was set
    self->timedOut_ = true;
    error_code ignored;
    self->socket_.cancel(ignored);
  });
}

Task<bool> RequestSession::awaitFirstByte() {
  waitsSince_ = readClock();
  if (buffer_.size() > 0) co_return true;
  limit(served_ ? options_.idleTime : options_.requestTime);
  awaits_ = true;
  const auto [error, bytes] = co_await socket_.async_read_some(buffer_.prepare(4096), quietly);
  awaits_ = false;
  buffer_.commit(bytes);
  co_return !error;
}

bool RequestSession::isIdle() const noexcept {
  error_code failed;
  return awaits_ && socket_.available(failed) == 0;
}

/// Each Host counts, and that of the target.
bool RequestSession::isForUs(const http::request_header<>& request) const {
  const auto mayBe = [&](std::string_view host) { return mayAsk(host, listener_, connectedTo_, options_.hosts); };
  const auto [first, last] = request.equal_range(http::field::host);
  for (auto host = first; host != last; ++host) {
    if (!host->value().empty() && !mayBe({host->value().data(), host->value().size()})) return false;
  }
  const std::string_view authority = authorityIn({request.target().data(), request.target().size()});
  return authority.empty() || mayBe(authority);
}

Task<bool> RequestSession::serveOne() {
  limit(options_.requestTime);
  Parser parser;
  parser.header_limit(static_cast<std::uint32_t>(headerBytes));
  parser.body_limit(0);
  const auto [error, bytes] = co_await http::async_read_header(socket_, buffer_, parser, quietly);
  waitsSince_ = readClock();
  const bool late = timedOut_ && error == asio::error::operation_aborted;
  int wrong = late ? 408 : error ? statusOf(error) : 0;
  if (error && wrong == 0) co_return false;
  if (wrong == 0 && !isForUs(parser.get())) wrong = 421;
  if (wrong == 0 && !parser.is_done()) wrong = 413;  // a body follows, and nothing here takes one
  if (wrong != 0) {
    limit(std::chrono::seconds{1});
    (void)co_await send(messageOf(errorAnswer(wrong), Method::get, 11, false));
    co_return false;
  }
  served_ = true;
  const auto& request = parser.get();
  const Method method = methodOf(request.method());
  const std::string_view target{request.target().data(), request.target().size()};
  const bool keepAlive = request.keep_alive();
  const Answer answer = answerTo(method, target, electors_, acceptOf(request));
  if (answer.streams && method == Method::get) {
    if (!admit_(shared_from_this())) {
      (void)co_await send(messageOf(errorAnswer(503), method, 11, false));
      co_return false;
    }
    const auto id = request["Last-Event-ID"];
    co_return co_await stream(messageOf(answer, method, 11, false), electors_.events().numberOf({id.data(), id.size()}),
                              answer.group);
  }
  const bool sent = co_await send(messageOf(answer, method, request.version(), keepAlive));
  co_return sent&& keepAlive;
}

/// The first part is sent in this call, so the answer is as old as its computation.
Task<bool> RequestSession::send(std::string message) {
  const auto [error, bytes] = co_await asio::async_write(socket_, asio::buffer(message), quietly);
  co_return !error;
}

/// Until the client leaves, or its machine no longer acknowledges anything. A comment from time to time shows both
/// sides that the other is there.
Task<bool> RequestSession::stream(std::string head, std::optional<std::uint64_t> after, std::string group) {
  constexpr std::chrono::seconds quiet{5};
  constexpr unsigned int unacknowledgedMillis = 10'000;  // a Unix socket has no such option, and needs none
  (void)::setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledgedMillis,
                     sizeof unacknowledgedMillis);
  std::string text = std::move(head) + "retry: 1000\n\n";
  Instant sentAt = readClock();
  Timer pause{socket_.get_executor()};
  while (!clientHasLeft()) {
    text += electors_.events().since(after, group);
    if (text.empty() && elapsedForHolder(sentAt, readClock()) >= quiet) text = ":\n\n";
    if (!text.empty()) {
      limit(options_.requestTime);
      if (!co_await send(std::exchange(text, {}))) break;
      timer_.cancel();
      sentAt = readClock();
    }
    pause.expires_after(eventPeriod);
    co_await pause.async_wait(quietly);
  }
  co_return false;
}

bool RequestSession::clientHasLeft() noexcept {
  char next = 0;
  const ssize_t got = ::recv(socket_.native_handle(), &next, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

/// Where the client has sent more than was read, a mere close would let its system drop the answer.
Task<void> RequestSession::closeGently() {
  constexpr std::size_t mostDiscarded = 64U << 10U;
  error_code failed;
  socket_.shutdown(Socket::shutdown_send, failed);
  limit(std::chrono::seconds{1});
  std::array<char, 4096> piece;
  for (std::size_t read = 0; !failed && read < mostDiscarded;) {
    const auto [error, bytes] = co_await socket_.async_read_some(asio::buffer(piece), quietly);
    failed = error;
    read += bytes;
  }
  timer_.cancel();
  end();
}

}  // namespace tenure::ops
