#include "session.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>

#include <tenure/adapters/http_beast.hpp>

#include "forwarding.hpp"

namespace tenure::gateway {
namespace {

/// How much of a refused request's body is read to keep the connection; reading more is not worth it.
constexpr std::size_t mostDiscarded = 64U << 10U;

constexpr std::string_view goOn = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

/// A verdict that comes later, from another thread, perhaps when nobody waits for it any more.
struct Session::Waiting {
  explicit Waiting(const Executor& executor) : timer{executor} {}
  Timer timer;
  std::optional<HttpVerdict> verdict{};
  bool abandoned{false};
};

Task<void> Session::run() {
  const auto self = shared_from_this();
  error_code ignored;
  stream_.socket().set_option(tcp::no_delay{true}, ignored);
  while (!stopping_) {
    if (!co_await waitForRequest()) break;
    if (!co_await handleOne()) break;
  }
  co_await closeGently();
}

void Session::stop() {
  stopping_ = true;
  if (silentSince_) stream_.cancel();
}

void Session::endIfUnfenced() {
  if (exchange_ != nullptr) exchange_->endIfUnfenced();
}

bool Session::isFenced() const noexcept { return exchange_ != nullptr && exchange_->isFenced(); }

void Session::makeRoom() {
  stopping_ = true;
  stream_.close();
}

/// The time limit of a request begins with its first byte; the limit of the pause between two requests ends with it. A
/// new connection gets the shorter limit, because its client is expected to send at once.
Task<bool> Session::waitForRequest() {
  silentSince_ = readClock();
  if (buffer_.size() > 0) co_return true;
  const Limits& limits = shared_.settings.limits;
  stream_.expires_after(hasServed_ ? limits.idle : limits.client);
  const auto [error, bytes] = co_await stream_.async_read_some(buffer_.prepare(4096), quietly);
  if (error) co_return false;
  buffer_.commit(bytes);
  co_return true;
}

Task<bool> Session::handleOne() {
  RequestParser parser;
  parser.header_limit(static_cast<std::uint32_t>(shared_.settings.limits.headerBytes));
  parser.body_limit(boost::none);
  stream_.expires_after(shared_.settings.limits.client);
  const auto [error, bytes] = co_await http::async_read_header(stream_, buffer_, parser, quietly);
  if (error) {
    const HttpProblem problem = badRequest(error, "it is not HTTP/1.1");
    if (isFaultOfRequest(error)) (void)co_await refuseAndClose(problem);
    co_return false;
  }
  silentSince_.reset();
  hasServed_ = true;
  // A client of HTTP/1.0 does not know interim answers.
  expectsContinue_ = parser.get().version() == 11 && parser.get().count(http::field::expect) != 0;
  if (const auto problem = problemOfShape(parser.get().base())) co_return co_await refuseAndClose(*problem);
  co_return co_await forward(parser);
}

Task<bool> Session::refuseAndClose(const HttpProblem& problem) {
  shared_.noteProblem(problem, client_);
  (void)co_await writeProblem(stream_, problem, false, false);
  co_return false;
}

Task<bool> Session::forward(RequestParser& parser) {
  std::string body;
  HeldBytes held{shared_, group_};
  if (shared_.settings.readsBodies && !parser.is_done() && parser.get().count(std::string{fenceHeaderName}) != 0) {
    const auto early = shared_.fence.problemByHead(fencedRequest(parser.get()));
    if (early) co_return co_await refuse(parser, *early);
    auto read = co_await readBody(parser, held);
    if (!read) co_return false;
    body = *std::move(read);
  }
  HttpVerdict verdict = co_await admit(parser, shared_.settings.readsBodies ? &body : nullptr);
  if (const auto* problem = std::get_if<HttpProblem>(&verdict)) co_return co_await refuse(parser, *problem);
  if (expectsContinue_ && !parser.is_done() && buffer_.size() == 0) {
    stream_.expires_after(shared_.settings.limits.client);
    const auto [error, bytes] = co_await asio::async_write(stream_, asio::buffer(goOn), quietly);
    if (error) co_return false;
  }
  const bool keepAlive = parser.get().keep_alive() && !stopping_;
  Exchange exchange{{stream_, buffer_, client_}, shared_, std::move(std::get<FencePass>(verdict))};
  exchange_ = &exchange;
  const bool good = co_await exchange.run(parser, std::move(body), keepAlive);
  exchange_ = nullptr;
  co_return good;
}

Task<std::optional<std::string>> Session::readBody(RequestParser& parser, HeldBytes& held) {
  if (expectsContinue_) {
    (void)co_await asio::async_write(stream_, asio::buffer(goOn), quietly);
  }
  std::string body;
  std::array<char, 4096> piece;
  const RequestHead head = parser.get().base();
  stream_.expires_after(shared_.settings.limits.service);  // for all of it: it uses memory that others need
  while (!parser.is_done()) {
    parser.get().body().data = piece.data();
    parser.get().body().size = piece.size();
    auto [error, bytes] = co_await http::async_read_some(stream_, buffer_, parser, quietly);
    if (error && error != http::error::need_buffer) {
      const HttpProblem problem = badRequest(error, bodyNotUnderstood);
      if (isFaultOfRequest(error)) (void)co_await refuseAndClose(problem);
      co_return std::nullopt;
    }
    const std::size_t got = piece.size() - parser.get().body().size;
    if (body.size() + got > shared_.settings.limits.signedBodyBytes) {
      const HttpProblem problem = proxyProblem(413, "body-too-large", "The body of a signed request is too large",
                                               "it is read whole to check its digest; see --signed-body-limit");
      (void)co_await refuseAndClose(problem);
      co_return std::nullopt;
    }
    if (!held.add(got)) {
      const HttpProblem problem =
          proxyProblem(503, "not-now", "Too many signed bodies are being read", "send the request again");
      (void)co_await refuseAndClose(problem);
      co_return std::nullopt;
    }
    body.append(piece.data(), got);
  }
  parser.get().base() = head;  // the parser adds trailers, which are no headers (RFC 9110, section 6.5.1)
  co_return body;
}

Task<HttpVerdict> Session::admit(const RequestParser& parser, const std::string* body) {
  const auto waiting = std::make_shared<Waiting>(stream_.get_executor());
  const auto executor = stream_.get_executor();
  auto verdict = shared_.fence.admit(fencedRequest(parser.get(), body), [waiting, executor](HttpVerdict later) {
    asio::post(executor, [waiting, late = std::make_shared<HttpVerdict>(std::move(later))] {
      if (waiting->abandoned) return;  // a pass that nobody takes ends here
      waiting->verdict = std::move(*late);
      waiting->timer.cancel();
    });
  });
  if (verdict) co_return std::move(*verdict);
  // Every request that this one waits for ends within this time, unless the limits are set so that it does not.
  waiting->timer.expires_after(shared_.settings.limits.service + shared_.settings.limits.drain);
  while (!waiting->verdict) {
    const auto [cancelled] = co_await waiting->timer.async_wait(quietly);
    if (!cancelled) break;
  }
  waiting->abandoned = true;
  if (waiting->verdict) co_return std::move(*waiting->verdict);
  co_return proxyProblem(503, "not-now", "Requests of the term before are still under way", "send the request again");
}

Task<bool> Session::refuse(RequestParser& parser, const HttpProblem& problem) {
  shared_.noteProblem(problem, client_);
  silentSince_ = readClock();  // a client that sends an unwanted body makes room for others
  const bool head = parser.get().method() == http::verb::head;
  const bool wanted = parser.get().keep_alive() && !stopping_;
  // A client that waits for our answer before it sends the body will not send it now.
  bool clean = parser.is_done();
  if (!clean && !expectsContinue_) clean = co_await discardBody(parser);
  co_return co_await writeProblem(stream_, problem, wanted && clean, head);
}

Task<bool> Session::discardBody(RequestParser& parser) {
  std::array<char, 4096> piece;
  stream_.expires_after(shared_.settings.limits.client);  // for all of it: reading it helps nobody
  for (std::size_t read = 0; !parser.is_done() && read < mostDiscarded;) {
    parser.get().body().data = piece.data();
    parser.get().body().size = piece.size();
    const auto [error, bytes] = co_await http::async_read_some(stream_, buffer_, parser, quietly);
    if (error && error != http::error::need_buffer) co_return false;
    read += bytes;
  }
  co_return parser.is_done();
}

/// Bytes that a client has sent and that nobody has read would reset the connection, and our last answer would be lost.
Task<void> Session::closeGently() {
  error_code ignored;
  stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  std::array<char, 4096> piece;
  stream_.expires_after(std::chrono::seconds{1});
  for (std::size_t read = 0; !ignored && read < mostDiscarded;) {
    const auto [error, bytes] = co_await stream_.async_read_some(asio::buffer(piece), quietly);
    if (error) break;
    read += bytes;
  }
  stream_.close();
}

}  // namespace tenure::gateway
