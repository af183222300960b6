// Any bytes as a server's answer to a fence for S3, as ETag and object or as an error. The result is a complete head of
// our own, or "nothing" in S3's own words, or a fault. An answer that was not understood never means "no token", and
// nothing is written because of it.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include <tenure/adapters/s3_fence.hpp>

#include "adapters/s3/src/object_answers.hpp"
#include "adapters/s3/src/object_head.hpp"
#include "fuzz_support.hpp"

namespace {

using namespace tenure;
using namespace tenure::s3_fence;
using tenure::fuzz::require;
using Kind = ObjectAnswer::Kind;

const std::string key = "state";
const TermStamp stamp{"billing", FencingToken{5}, "a#1"};

/// Implemented a second time, from RFC 9110.
bool oneStrongEtag(std::string_view etag) {
  return etag.size() > 1 && etag.starts_with('"') && etag.find_first_of("\" ", 1) == etag.size() - 1;
}

void isSound(const FoundHead& found, std::string_view text) {
  const std::string_view line = text.substr(0, found.length);
  require(found.length <= longestHead && line.ends_with('\n') && line.find('\n') == line.size() - 1,
          "a head is a line");
  require(toText(found.head) == line, "a head has one spelling");
  for (const std::string_view other : {line, line.substr(0, line.size() - 1), line.substr(0, line.size() / 2)}) {
    const auto again = parseHead(other);
    require(again.has_value() == (other.size() == line.size()), "a head that is cut off is none");
    require(!again || again->head == found.head, "a head as it is written is the same head");
  }
  for (const TermStamp& term : found.head.terms) {
    require(!errorOf(term), "a term is one under which something can be written");
    require(seenIn(found.head, term.lease) == term, "a lease is named once");
  }
  require(line.find(R"("lease":"billing")") == std::string_view::npos || seenIn(found.head, "billing").has_value(),
          "a lease that is named has its token");
}

void judge(const net::HttpResponse& response) {
  const ObjectAnswer answer = answerOf("server, bucket b, key k", response);
  const int status = response.status;
  const bool success = status >= 200 && status < 300;
  require((answer.kind == Kind::done) == success, "a success, and nothing else, is a success");
  if (success) return;
  tenure::fuzz::requireTellable(answer.error.message);
  require(answer.kind != Kind::absent || (status == 404 && textIn(response.body, "Code") == "NoSuchKey"),
          "that nothing is there is said by S3 itself");
  const bool serverFailed = status >= 500 && status != 501;
  require(answer.maybeDone == serverFailed && (!serverFailed || answer.kind == Kind::again),
          "an answer of a failed server is no proof that nothing happened");
}

/// Answers each read and each write of the key as the input says; refuses the probe's writes as it must.
class Server final : public aws::ObjectClient {
 public:
  Server(net::HttpResponse read, net::HttpResponse written)
      : read_{std::move(read)}, written_{std::move(written)}, head_{parseHead(read_.body)} {}

  [[nodiscard]] std::string describe() const override { return "server"; }
  [[nodiscard]] bool hasNothing() const { return answerOf("", read_).kind == Kind::absent; }
  [[nodiscard]] bool hasHead() const { return read_.status / 100 == 2 && head_ && oneStrongEtag(read_.header("ETag")); }
  [[nodiscard]] const ObjectHead& head() const { return head_->head; }

  void call(aws::ObjectRequest request, std::chrono::nanoseconds, aws::ObjectHandler handler) override {
    if (request.key.starts_with(key + ".tenure/") && request.method == "PUT") {
      return handler(net::HttpResponse{200, {{"ETag", "\"bytes\""}}, {}});
    }
    if (request.key != key && request.method == "PUT") return handler(net::HttpResponse{412, {}, {}});
    require(request.method != "DELETE" || request.key.starts_with(key + ".tenure/"),
            "only bytes of the key are deleted");
    if (request.method == "PUT") judgeWrite(request);
    handler(request.method == "PUT" ? written_ : read_);
  }

 private:
  void judgeWrite(const aws::ObjectRequest& request) const {
    const auto next = parseHead(request.body);
    require(next.has_value() && seenIn(next->head, stamp.lease) == stamp, "what is written bears its token");
    const auto& condition = request.headers.back();
    if (condition.name == "If-None-Match") return require(hasNothing(), "an object is made where there is none");
    require(condition.name == "If-Match" && hasHead(), "what is there is replaced if it was understood");
    require(condition.value == read_.header("ETag"), "and only that");
    require(!termError(stamp, seenIn(head(), stamp.lease)), "a later term is not overwritten");
    require(next->head.replaces == head().write, "a head tells which one it replaces");
    for (const TermStamp& term : head().terms) {
      require(term.lease == stamp.lease || seenIn(next->head, term.lease) == term, "terms of other leases stay");
    }
  }

  const net::HttpResponse read_, written_;
  const std::optional<FoundHead> head_;
};

void throughTheFence(const std::shared_ptr<Server>& server, S3Form form, const net::HttpResponse& written) {
  S3FenceOptions options;
  options.bucket = "b";
  options.timeout = std::chrono::milliseconds{5};  // less than the first pause: no time to repeat after an error
  S3Fence fence{options, server};
  const auto seen = fence.highestSeen(key, stamp.lease);
  if (seen) {
    require(server->hasNothing() || server->hasHead(), "what is not understood is not taken for no token");
    require(*seen == (server->hasHead() ? seenIn(server->head(), stamp.lease) : std::nullopt),
            "the token that is there");
  } else {
    tenure::fuzz::requireTellable(FenceError{seen.error()}.message);
  }
  if (const auto object = fence.read(key); object && *object) {
    require(server->hasHead() && (*object)->terms == server->head().terms, "bytes come with their terms");
    require((*object)->bytes.size() == server->head().size, "bytes are as many as the head tells");
  }
  const auto result = fence.write(stamp, {.key = key, .bytes = "x", .form = form});
  require(!result || (written.status == 200 && written.body.empty() && oneStrongEtag(written.header("ETag"))),
          "a write is acknowledged by status 200, an ETag of its own and no body");
}

constexpr std::array statuses{200, 206, 404, 200, 404, 301, 400, 403, 408, 409, 412, 416, 429, 500, 501, 503};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tenure::fuzz::Choices choices{data, size};
  const int status = statuses.at(choices.next() % statuses.size());
  const std::uint8_t shape = choices.next();
  const std::string_view text = choices.rest();
  const std::size_t line = std::min(text.find('\n'), text.size());
  const std::string etag{text.substr(0, line)};
  const std::string body{text.substr(std::min(line + 1, text.size()))};
  if (const auto found = parseHead(body)) isSound(*found, body);
  const net::HttpResponse read{status, {{"ETag", etag}}, body};
  judge(read);
  // Mostly a success: a condition that does not hold costs a pause.
  const int writtenStatus = shape % 16 == 15 ? 412 : shape % 16 == 14 ? 202 : 200;
  const net::HttpResponse written{
      writtenStatus, {{"ETag", shape % 2 == 0 ? "\"new\"" : etag}}, shape % 32 < 24 ? std::string{} : body};
  throughTheFence(std::make_shared<Server>(read, written), shape % 4 < 2 ? S3Form::oneObject : S3Form::pointer,
                  written);
  return 0;
}
