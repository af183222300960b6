#include "exchange.hpp"

#include <algorithm>
#include <sys/socket.h>

#include "forwarding.hpp"

namespace tenure::gateway {

namespace {

// In this file no condition with a temporary stands beside a co_await: g++ 12 destroys such temporaries twice.
HttpProblem problemAfter(const error_code& error) {
  constexpr std::string_view unknown = "it is not known whether it has done what the request asks for";
  if (error == beast::error::timeout) {
    return proxyProblem(504, "service-timeout", "The service did not answer in time", unknown);
  }
  return proxyProblem(502, "service-closed", "The service gave no answer", unknown);
}

/// The other side closed the connection. A time-out is something else: the service may still be working.
bool saysClosed(const error_code& error) {
  return error == http::error::end_of_stream || error == asio::error::connection_reset ||
         error == asio::error::broken_pipe || error == asio::error::eof;
}

/// Many servers leave such a body unread, and then take it for the next request: another client would get the answer to
/// it. POST, PUT and PATCH are the methods that have bodies.
bool mayLeaveBodyUnread(http::verb method) noexcept {
  return method != http::verb::post && method != http::verb::put && method != http::verb::patch;
}

/// The parser ignores codings before "chunked", or instead of it, and leaves them to its caller. They must be refused
/// here: the field is not forwarded, so without it the client would take the coded bytes for the body.
bool isCodingKnown(const http::fields& answer) {
  const auto lines = answer.equal_range(http::field::transfer_encoding);
  return std::all_of(lines.first, lines.second,
                     [](const auto& line) { return beast::iequals(line.value(), "chunked"); });
}

void endByReset(Stream& stream, bool resets) {
  error_code ignored;
  stream.socket().set_option(asio::socket_base::linger{resets, 0}, ignored);
}

}  // namespace

/// The part that may be called from another thread, and after the exchange has ended. Only the io thread uses
/// `exchange`.
struct Exchange::Link {
  Exchange* exchange;
};

Exchange::Exchange(Client client, Shared& shared, FencePass pass)
    : client_{client},
      shared_{shared},
      upstream_{shared.upstream},
      limits_{shared.settings.limits},
      pass_{std::move(pass)},
      isFenced_{pass_.fenced()},
      drainTimer_{client.stream.get_executor()},
      link_{std::make_shared<Link>(Link{this})} {}

Exchange::~Exchange() {
  link_->exchange = nullptr;
  connection_.reset();  // before the pass ends
}

void Exchange::watchPass() {
  if (!pass_.fenced()) return;
  pass_.onOvertaken([link = link_, executor = client_.stream.get_executor()] {
    asio::post(executor, [link] {
      if (link->exchange != nullptr) link->exchange->overtaken();
    });
  });
}

void Exchange::overtaken() {
  overtaken_ = true;
  if (readsClient_ || (writesClient_ && connection_))
    client_.stream.cancel();  // a slow client must not delay the later term
  cutOffAfter(limits_.drain);
}

/// However the connection ends before the service has answered, also if this process is killed: it is reset, and what
/// this machine has not sent yet is dropped. With an ordinary close the kernel would go on sending the request, for
/// minutes if the service is frozen, and beside requests of a later term. What the service's machine has already
/// received cannot be taken back.
void Exchange::resetAtClose(bool resets) {
  if (connection_) endByReset(connection_->stream, resets);
}

/// The connection is closed, not cancelled: a service that streams without a pause leaves no waiting operation that
/// could be cancelled. The pass ends here, whatever this coroutine waits for; its operations on the closed stream fail
/// one after the other.
void Exchange::cutOff() {
  cutOff_ = true;
  resetAtClose(true);
  if (connection_) connection_->stream.close();
  pass_ = FencePass{};
}

void Exchange::endIfUnfenced() {
  if (isFenced_) return;
  cutOff();
  client_.stream.close();
}

/// If the client has gone, nobody waits for the answer, so the service need not go on for long. But a client that has
/// only closed its sending side looks the same, so the service still gets `limits_.client` of time. A request with a
/// pass is not cut off like this, because the service is already working on it.
void Exchange::watchClient() {
  if (isFenced_) return;
  client_.stream.socket().async_wait(tcp::socket::wait_read, [link = link_](error_code error) {
    if (!error && link->exchange != nullptr) link->exchange->clientSpoke();
  });
}

void Exchange::clientSpoke() {
  char byte = 0;
  const auto got = ::recv(client_.stream.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))) return;  // its next request
  cutOffAfter(limits_.client);
}

void Exchange::cutOffAfter(std::chrono::milliseconds time) {
  drainTimer_.expires_after(time);
  drainTimer_.async_wait([link = link_](error_code cancelled) {
    if (!cancelled && link->exchange != nullptr) link->exchange->cutOff();
  });
}

/// The service is done with this request.
void Exchange::done(bool reusable) {
  if (connection_ && reusable && mayReuse_ && !cutOff_) upstream_.giveBack(std::move(connection_));
  connection_.reset();
  pass_ = FencePass{};
}

/// The request in the form in which the service gets it.
Exchange::Request Exchange::toForward(RequestParser& parser, const std::string& body) {
  const bool wasChunked = parser.get().chunked();
  Request request{std::move(parser.get().base())};
  removeHopByHop(request.base());
  useOriginForm(request.base());
  request.erase(http::field::expect);
  request.version(11);
  // A request of HTTP/1.0 may lack this field, and HTTP/1.1 requires it.
  if (request.count(http::field::host) == 0) request.set(http::field::host, textOf(shared_.settings.upstream));
  mayReuse_ = (parser.is_done() && body.empty()) || !mayLeaveBodyUnread(method_);
  if (!mayReuse_) request.keep_alive(false);
  request.insert(http::field::via, "1.1 tenure-fence");
  if (wasChunked && parser.is_done()) request.content_length(body.size());
  if (wasChunked && !parser.is_done()) request.chunked(true);
  return request;
}

Task<bool> Exchange::run(RequestParser& parser, std::string body, bool keepAlive) {
  method_ = parser.get().method();
  keepAlive_ = keepAlive;
  const bool toHttp10 = parser.get().version() < 11;
  watchPass();
  watchClient();
  Request request = toForward(parser, body);

  // The first piece is read before a connection is taken. While a client takes its time for its body, a service may
  // close an idle connection, or send on it something that is no answer to this request.
  const bool inPieces = !parser.is_done();
  std::size_t first = 0;
  if (inPieces) {
    const auto got = co_await readClient(parser);
    if (!got) co_return co_await endUnsent("nothing of it has reached the service");
    first = *got;
  }

  error_code ended;  // of the connection that was tried before
  connection_ = co_await upstream_.connection();
  for (bool again = true; connection_ && !cutOff_; again = false) {
    if (isFenced_) resetAtClose(true);
    const bool whole = !inPieces && body.empty();
    const bool reused = connection_->used;
    const bool sent = inPieces ? co_await sendPieces(parser, request, first) : co_await sendWhole(request, body);
    if (!sent) {
      co_await drain();
      co_return co_await endUnsent("it is not known what the service has done with the part before that");
    }
    const error_code error = co_await readHead();
    if (!error) co_return co_await relay(toHttp10);
    // Most likely the service closed the connection while it was idle, and has seen nothing of the request. It may also
    // have ended after it had read it.
    const bool closedBefore =
        saysClosed(error) && reused && again && whole && isIdempotent(method_) && !response_->got_some();
    if (!closedBefore || overtaken_) {
      done(false);
      const HttpProblem problem = problemAfter(error);
      co_return co_await answer(problem);
    }
    ended = error;
    connection_ = co_await upstream_.newConnection();
  }
  done(false);
  clientBodyLeft_ = !parser.is_done();
  const HttpProblem problem =
      ended     ? problemAfter(ended)
      : cutOff_ ? proxyProblem(503, "not-now", "A later term waits", "nothing of the request has reached the service")
                : proxyProblem(502, "service-unreachable", "The service cannot be reached",
                               "nothing of the request has reached it");
  co_return co_await answer(problem);
}

Task<bool> Exchange::sendWhole(Request& request, const std::string& body) {
  request.body().data = body.empty() ? nullptr : const_cast<char*>(body.data());
  request.body().size = body.size();
  request.body().more = false;
  http::request_serializer<http::buffer_body> serializer{request};
  connection_->stream.expires_after(limits_.service);
  const auto [error, bytes] = co_await http::async_write(connection_->stream, serializer, quietly);
  requestSent_ = !error;  // on an error the service may still have answered
  co_return true;
}

Task<std::optional<std::size_t>> Exchange::readClient(RequestParser& parser) {
  std::size_t got = 0;
  while (got == 0 && !parser.is_done()) {
    parser.get().body().data = piece_.data();
    parser.get().body().size = piece_.size();
    client_.stream.expires_after(limits_.client);
    readsClient_ = true;
    auto [error, bytes] = co_await http::async_read_some(client_.stream, client_.buffer, parser, quietly);
    readsClient_ = false;
    if (error == http::error::need_buffer) error = {};
    if (error || (overtaken_ && !parser.is_done())) {
      if (!overtaken_ && isFaultOfRequest(error)) badBody_ = error;
      (badBody_ ? clientBodyLeft_ : clientGone_) = true;
      co_return std::nullopt;
    }
    got = piece_.size() - parser.get().body().size;
  }
  co_return got;
}

/// `first`: the length of the piece that is already in piece_. False if the client did not send the whole body.
Task<bool> Exchange::sendPieces(RequestParser& parser, Request& request, std::size_t first) {
  http::request_serializer<http::buffer_body> serializer{request};
  for (std::size_t got = first;;) {
    request.body().data = got == 0 ? nullptr : piece_.data();
    request.body().size = got;
    request.body().more = !parser.is_done();
    connection_->stream.expires_after(limits_.service);
    auto [broken, written] = co_await http::async_write(connection_->stream, serializer, quietly);
    if (broken == http::error::need_buffer) broken = {};
    if (broken) {
      clientBodyLeft_ = !parser.is_done();
      co_return true;  // there may be an answer: a service that refuses a body stops reading it
    }
    if (parser.is_done()) break;
    const auto next = co_await readClient(parser);
    if (!next) co_return false;
    got = *next;
  }
  requestSent_ = true;
  co_return true;
}

Task<error_code> Exchange::readHead() {
  for (;;) {
    response_.emplace();
    response_->header_limit(static_cast<std::uint32_t>(mostServiceHeaderBytes));
    response_->body_limit(boost::none);
    if (method_ == http::verb::head) response_->skip(true);
    connection_->stream.expires_after(limits_.service);
    const auto [error, bytes] =
        co_await http::async_read_header(connection_->stream, connection_->buffer, *response_, quietly);
    if (error) co_return error;
    const unsigned status = response_->get().result_int();
    if (status == 101) co_return http::error::bad_status;
    if (fieldsOf(response_->get().base()) > mostServiceFields) co_return http::error::header_limit;
    if (!isCodingKnown(response_->get().base())) co_return http::error::bad_transfer_encoding;
    if (status >= 200) co_return error_code{};  // else an interim answer; the final one is a separate message
  }
}

/// After an incomplete request: the service sees the end of the connection, and has the drain time to finish.
Task<void> Exchange::drain() {
  error_code ignored;
  connection_->stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
  connection_->stream.expires_after(limits_.drain);
  for (;;) {
    const auto [error, bytes] = co_await connection_->stream.async_read_some(asio::buffer(piece_), quietly);
    if (error) co_return;
  }
}

/// The client did not send the whole body. One that broke the rules of chunks is still there, and is told so.
Task<bool> Exchange::endUnsent(std::string_view service) {
  done(false);
  if (!badBody_) co_return false;
  const HttpProblem problem = badRequest(badBody_, std::string{bodyNotUnderstood} + "; " + std::string{service});
  co_return co_await answer(problem);
}

Task<bool> Exchange::relay(bool toHttp10) {
  shared_.counts.add("forwarded");
  const ResponseParser& parser = *response_;
  upstreamKeepsAlive_ = parser.get().keep_alive();
  const bool noBody = hasNoBody(method_, parser.get().result_int());
  const bool unmeasured = !noBody && (parser.chunked() || !parser.content_length());
  http::response<http::buffer_body> response{std::move(response_->get().base())};
  removeHopByHop(response.base());
  response.erase(std::string{fenceHeaderName});  // so that only a fence's rejection has this header
  response.version(toHttp10 ? 10 : 11);
  if (unmeasured && !toHttp10) response.chunked(true);
  // The end of the connection is the end of the body then, so a body that is not whole must end by a reset.
  const bool endsBody = unmeasured && toHttp10;
  if (endsBody) endByReset(client_.stream, true);
  const bool close = !keepAlive_ || clientBodyLeft_ || clientGone_ || endsBody;
  response.keep_alive(!close);
  const bool relayed = co_await relayBody(response);
  if (endsBody && !relayed && responded_) client_.stream.close();
  if (endsBody) endByReset(client_.stream, false);
  co_return relayed && !close;
}

Task<std::pair<error_code, std::size_t>> Exchange::readPiece() {
  if (response_->is_done()) co_return std::pair<error_code, std::size_t>{};
  response_->get().body().data = piece_.data();
  response_->get().body().size = piece_.size();
  connection_->stream.expires_after(limits_.service);
  auto [error, bytes] = co_await http::async_read_some(connection_->stream, connection_->buffer, *response_, quietly);
  if (error == http::error::need_buffer) error = {};
  co_return std::pair<error_code, std::size_t>{error, piece_.size() - response_->get().body().size};
}

/// True if the client received all of it. Reads to the end of the service's answer even if the client has gone.
Task<bool> Exchange::relayBody(http::response<http::buffer_body>& response) {
  http::response_serializer<http::buffer_body> serializer{response};
  const bool noBody = hasNoBody(method_, response.result_int());
  // A stream of events may pause before its first one, and its client must learn of the answer at once.
  const bool pauses = connection_->buffer.size() == 0 && !response_->is_done() && !response_->content_length();
  if (pauses && !noBody && !clientGone_) {
    response.body().data = nullptr;
    response.body().more = true;
    client_.stream.expires_after(limits_.client);
    writesClient_ = true;
    const auto [failed, bytes] = co_await http::async_write_header(client_.stream, serializer, quietly);
    writesClient_ = false;
    responded_ = true;
    clientGone_ = bool{failed};
  }
  for (bool last = false; !last;) {
    const auto [broken, got] = co_await readPiece();
    if (broken) {
      done(false);
      if (responded_) co_return false;  // the client gets an incomplete answer
      const HttpProblem problem = problemAfter(broken);
      co_return co_await answer(problem);
    }
    last = response_->is_done();
    if (isFenced_ && last && requestSent_) resetAtClose(false);
    if (last) done(requestSent_ && upstreamKeepsAlive_ && !response_->need_eof());
    if (overtaken_ && !last) clientGone_ = true;
    if (clientGone_ && !isFenced_) {
      done(false);
      co_return false;
    }
    if (clientGone_ || (got == 0 && !last)) continue;
    response.body().data = got == 0 ? nullptr : piece_.data();
    response.body().size = got;
    response.body().more = !last;
    client_.stream.expires_after(limits_.client);
    error_code error;
    writesClient_ = true;
    if (noBody) {
      const auto [failed, bytes] = co_await http::async_write_header(client_.stream, serializer, quietly);
      error = failed;
    } else {
      const auto [failed, bytes] = co_await http::async_write(client_.stream, serializer, quietly);
      error = failed;
    }
    writesClient_ = false;
    responded_ = true;
    if (error && error != http::error::need_buffer) clientGone_ = true;
  }
  co_return !clientGone_;
}

Task<bool> Exchange::answer(const HttpProblem& problem) {
  shared_.noteProblem(problem, client_.name);
  const bool keep = keepAlive_ && !clientBodyLeft_ && !clientGone_;
  if (clientGone_) co_return false;
  co_return co_await writeProblem(client_.stream, problem, keep, method_ == http::verb::head);
}

Task<bool> writeProblem(Stream& stream, const HttpProblem& problem, bool keepAlive, bool head) {
  http::response<http::string_body> response{static_cast<http::status>(problem.status), 11};
  for (const auto& [name, value] : problem.headers) response.set(name, value);
  response.keep_alive(keepAlive);
  response.body() = problem.body;
  response.prepare_payload();
  if (head) response.body().clear();
  stream.expires_after(std::chrono::seconds{10});
  const auto [error, bytes] = co_await http::async_write(stream, response, quietly);
  co_return !error && keepAlive;
}

}  // namespace tenure::gateway
