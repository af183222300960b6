#include "reply_reader.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include <boost/beast/http/basic_parser.hpp>
#include <boost/version.hpp>

namespace tenure::net {

namespace http = boost::beast::http;
using boost::beast::error_code;
using View = boost::beast::string_view;

class ReplyReader::Parser final : public http::basic_parser<false> {
 public:
  Parser(HttpResponse& out, std::size_t most, bool isStream) : out_{out}, most_{most}, isStream_{isStream} {
    eager(true);
    header_limit(static_cast<std::uint32_t>(std::min<std::size_t>(most, std::numeric_limits<std::uint32_t>::max())));
    body_limit(boost::none);  // the reader itself counts all bytes, including the framing
  }

  [[nodiscard]] bool streams() const { return isStream_ && is_header_done() && isAccepted(); }

 private:
  void on_request_impl(http::verb /*method*/, View /*name*/, View /*target*/, int /*version*/,
                       error_code& /*ec*/) override {}
  void on_response_impl(int code, View /*reason*/, int /*version*/, error_code& ec) override {
    out_.status = code;
    if (code < 100) ec = http::error::bad_status;  // Beast accepts any three digits
  }
  void on_field_impl(http::field /*field*/, View name, View value, error_code& /*ec*/) override {
    if (streams()) return;  // trailers without end must not take memory
    out_.headers.push_back({std::string{name.data(), name.size()}, std::string{value.data(), value.size()}});
  }
#if BOOST_VERSION >= 109000
  /// Before 1.90 on_field_impl() was called for trailers too (boostorg/beast#3042).
  void on_trailer_field_impl(http::field field, View name, View value, error_code& ec) override {
    on_field_impl(field, name, value, ec);
  }
#endif
  void on_header_impl(error_code& ec) override {
    if (isStream_ && isAccepted()) return;
    if (const auto length = content_length(); length && *length > most_) ec = http::error::body_limit;
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>& length, error_code& /*ec*/) override {
    if (length && !(isStream_ && isAccepted())) out_.body.reserve(static_cast<std::size_t>(*length));
  }
  std::size_t on_body_impl(View body, error_code& /*ec*/) override {
    out_.body.append(body.data(), body.size());
    return body.size();
  }
  void on_chunk_header_impl(std::uint64_t /*size*/, View /*extensions*/, error_code& /*ec*/) override {}
  std::size_t on_chunk_body_impl(std::uint64_t /*remain*/, View body, error_code& ec) override {
    return on_body_impl(body, ec);
  }
  void on_finish_impl(error_code& /*ec*/) override {}

  [[nodiscard]] bool isAccepted() const { return out_.status / 100 == 2; }

  HttpResponse& out_;
  std::size_t most_;
  bool isStream_;
};

struct ReplyReader::Impl {
  HttpResponse response{};
  std::optional<Parser> parser{};
  std::string pending{};  ///< bytes that the parser wants to see again together with the next ones
  bool hasNoBody{false};
  bool isStream{false};
  std::size_t most{0};
  std::size_t received{0};
  HttpError::Kind failure{HttpError::Kind::protocol};
  std::string why{};

  void restart() {
    response = {};
    response.headers.reserve(12);
    parser.emplace(response, most, isStream);
    parser->skip(hasNoBody);
  }

  void expect(bool none, std::size_t limit) {
    hasNoBody = none;
    most = limit;
    received = 0;
    pending.clear();
    restart();
  }

  State add(std::string_view bytes) {
    if (pending.empty()) return parse(bytes);
    pending.append(bytes);
    return parse(pending);
  }

  State fail(HttpError::Kind kind, std::string text) {
    failure = kind;
    why = std::move(text);
    return State::failed;
  }

  State failBy(const error_code& ec) {
    if (ec == http::error::header_limit || ec == http::error::body_limit) return tooLarge();
    return fail(HttpError::Kind::protocol, "the peer does not answer in HTTP/1.1 (" + ec.message() + ")");
  }

  State tooLarge() {
    return fail(HttpError::Kind::tooLarge, "the reply is longer than " + std::to_string(most) + " bytes");
  }

  State parse(std::string_view bytes) {
    while (!bytes.empty()) {
      error_code ec;
      bytes.remove_prefix(parser->put(boost::asio::const_buffer{bytes.data(), bytes.size()}, ec));
      if (ec == http::error::need_more) break;
      if (ec) return failBy(ec);
      if (!parser->is_done()) continue;
      if (response.status == 101) return fail(HttpError::Kind::protocol, "the peer switches to another protocol");
      if (response.status >= 200) break;
      restart();
    }
    // One of the arguments may point into `pending`.
    std::string rest{bytes};
    pending.swap(rest);
    return parser->is_done() ? State::done : State::more;
  }
};

ReplyReader::ReplyReader() : impl_{std::make_unique<Impl>()} {}
ReplyReader::~ReplyReader() = default;

void ReplyReader::expect(bool hasNoBody, std::size_t most) {
  impl_->isStream = false;
  impl_->expect(hasNoBody, most);
}

void ReplyReader::expectStream(std::size_t most) {
  impl_->isStream = true;
  impl_->expect(false, most);
}

ReplyReader::State ReplyReader::feed(std::string_view bytes) {
  impl_->received += bytes.size();
  if (!impl_->isStream) return impl_->received > impl_->most ? impl_->tooLarge() : impl_->add(bytes);
  // One piece may hold the head and more of the body than a head may have.
  const State state = impl_->add(bytes);
  if (state == State::failed) return state;
  const std::size_t kept = impl_->parser->streams() ? impl_->pending.size() : impl_->received;
  return kept > impl_->most ? impl_->tooLarge() : state;
}

ReplyReader::State ReplyReader::end() {
  error_code ec;
  if (impl_->parser->is_header_done()) impl_->parser->put_eof(ec);
  if (impl_->parser->is_done() && !ec) return State::done;
  return impl_->fail(HttpError::Kind::closed, "the connection ended after " + std::to_string(impl_->received) +
                                                  " bytes of the reply, before the reply was whole");
}

bool ReplyReader::streams() const { return impl_->parser->streams(); }
std::string ReplyReader::takePart() { return std::exchange(impl_->response.body, {}); }
HttpResponse ReplyReader::take() { return std::move(impl_->response); }
bool ReplyReader::mayGoOn() const { return impl_->parser->keep_alive() && impl_->pending.empty(); }
HttpError::Kind ReplyReader::failure() const { return impl_->failure; }
const std::string& ReplyReader::why() const { return impl_->why; }
std::size_t ReplyReader::received() const { return impl_->received; }

}  // namespace tenure::net
