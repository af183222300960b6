#include "stream.hpp"

#include <algorithm>
#include <utility>

#include "request_text.hpp"
#include "text.hpp"

namespace tenure::net {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds longestLimit = std::chrono::hours{24 * 365};  // keeps sums of times in range

/// Whether the end of the body was told. Otherwise it is the end of the connection, which may come at any place.
bool isFramed(const HttpResponse& response) {
  return !response.header("content-length").empty() || sameText(response.header("transfer-encoding"), "chunked");
}

Stream::Ask checked(Stream::Ask ask) {
  StreamLimits& limits = ask.limits;
  limits.accept = std::min(limits.accept, longestLimit);
  limits.silence = std::min(limits.silence, longestLimit);
  limits.longest = limits.longest.count() > 0 ? std::min(limits.longest, longestLimit) : longestLimit;
  return ask;
}

}  // namespace

Stream::Stream(const Surroundings& around, Ask ask, std::function<void()> over)
    : around_{around},
      ask_{checked(std::move(ask))},
      route_{chooseRoute(ask_.origin, around.options.proxy)},
      over_{std::move(over)},
      lines_{ask_.limits.longestLine} {}

Stream::~Stream() {
  if (connection_) connection_->close();
}

void Stream::open() {
  start_ = around_.alarms.now();
  const std::string fault = requestFault(ask_.request);
  if (!route_.fault.empty()) return fail(HttpError::Kind::connect, route_.fault);
  if (!fault.empty()) return fail(HttpError::Kind::protocol, "the request cannot be sent: " + fault);
  connection_ = std::make_shared<Connection>(around_, route_, *this);
  connection_->open(start_ + std::min(ask_.limits.accept, ask_.limits.longest));
}

void Stream::opened(Connection& connection) {
  connection.stream(ask_.request);
  setAlarm();
}

void Stream::openFailed(Connection& /*connection*/, const HttpError& error) { end(error); }

void Stream::lost(Connection& /*connection*/) {
  fail(HttpError::Kind::closed, "the connection ended before the request was sent");
}

void Stream::arrived(Connection& /*connection*/, std::string_view part) {
  lastPart_ = around_.alarms.now();
  if (lastPart_ - start_ >= ask_.limits.longest) return onAlarm();
  if (!accepted_) {
    accepted_ = true;
    setAlarm();
  } else if (part.empty()) {
    return;  // a piece of framing: a peer that sends nothing else is silent
  }
  doubted_ = false;
  const auto state = lines_.feed(part, [this](std::string_view line) { return give(line); });
  if (state != LineSplitter::State::tooLong) return;
  fail(HttpError::Kind::tooLarge,
       "a line of the stream is longer than " + std::to_string(ask_.limits.longestLine) + " bytes");
}

/// False: the handle was destroyed, maybe by the handler itself, so that nothing more is wanted. The order to drop the
/// stream is on its way.
bool Stream::give(std::string_view line) {
  bool wanted = false;
  ask_.listener->permit.call([&] {
    wanted = true;
    ask_.listener->handlers.onLine(line);
  });
  return wanted;
}

void Stream::answered(Connection& /*connection*/, HttpOutcome outcome) {
  const bool streamed = outcome && outcome->status / 100 == 2;
  if (!streamed || lines_.rest().empty()) return end(std::move(outcome));
  if (!isFramed(*outcome)) return fail(HttpError::Kind::closed, "the connection ended inside a line of the stream");
  if (give(lines_.rest())) end(std::move(outcome));
}

void Stream::setAlarm() {
  const nanoseconds next = accepted_ ? lastPart_ + ask_.limits.silence : start_ + ask_.limits.accept;
  around_.alarms.set(*this, std::min(next, start_ + ask_.limits.longest));
}

/// The alarm is not moved with each part. Only when it comes is the time checked.
void Stream::onAlarm() {
  const nanoseconds now = around_.alarms.now();
  if (now - start_ >= ask_.limits.longest) {
    return fail(HttpError::Kind::timeout,
                "the stream has lasted for " + millis(ask_.limits.longest) + ", which is the longest that was allowed");
  }
  if (!accepted_) {
    return fail(HttpError::Kind::timeout, "timed out after " + millis(ask_.limits.accept) + " " + connection_->doing());
  }
  if (now - lastPart_ < ask_.limits.silence) return setAlarm();
  // A handler may have taken so long that what has arrived meanwhile was not read yet.
  if (!std::exchange(doubted_, true)) return around_.alarms.set(*this, now);
  fail(HttpError::Kind::timeout, "nothing has come on the stream for " + millis(ask_.limits.silence));
}

void Stream::drop() {
  if (std::exchange(ended_, true)) return;
  around_.alarms.clear(*this);
  if (connection_) connection_->close();
  over_();
}

void Stream::cancel() { fail(HttpError::Kind::cancelled, "the client was closed"); }

void Stream::fail(HttpError::Kind kind, const std::string& why) {
  const bool maybeSent = accepted_ || (connection_ && connection_->maybeSent());
  end(HttpError{kind, maybeSent, toString(route_.origin) + ": " + why});
}

void Stream::end(HttpOutcome outcome) {
  if (ended_) return;
  const auto listener = ask_.listener;
  drop();
  listener->permit.call([&] { listener->handlers.onEnd(std::move(outcome)); });
}

}  // namespace tenure::net
