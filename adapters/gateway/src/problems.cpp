#include "problems.hpp"

#include <tenure/adapters/http_fence.hpp>

#include "fence_claims.hpp"
#include "lockcore/port/json_text.hpp"

namespace tenure {
namespace http_fence {
namespace {

/// A JSON string with its quotes; the text is UTF-8.
std::string jsonText(std::string_view text) {
  std::string out;
  appendQuoted(out, text);
  return out;
}

/// The members that every problem has (RFC 9457). The object is not closed, because others may follow.
std::string openProblem(int status, std::string_view kind, std::string_view title, std::string_view detail) {
  return "{\"type\":\"urn:tenure:fence:" + std::string{kind} + "\",\"title\":" + jsonText(title) +
         ",\"status\":" + std::to_string(status) + ",\"detail\":" + jsonText(detail);
}

/// `body`: a whole problem.
HttpProblem answerWith(int status, std::string body) {
  return {status, {{"Content-Type", "application/problem+json"}, {"Cache-Control", "no-store"}}, std::move(body)};
}

}  // namespace

HttpProblem problem(int status, std::string_view kind, std::string_view title, std::string_view detail) {
  HttpProblem out = answerWith(status, openProblem(status, kind, title, detail) + "}\n");
  if (status == 503) out.headers.emplace_back("Retry-After", "1");
  return out;
}

HttpProblem problemFor(const FenceError& error, const TermStamp& mine, const std::optional<TermStamp>& seen,
                       int staleStatus) {
  // The fence could not find out whether the term is over, or cannot say which one has ended it.
  if (error.writeError() != nullptr || !seen) {
    return problem(503, "not-now", "The fence cannot let the request pass now", error.message);
  }
  const bool stale = error.stale() != nullptr;  // otherwise ForeignTerm: TermOver is no answer of a gate
  std::string body =
      openProblem(staleStatus, stale ? "stale-token" : "foreign-term",
                  stale ? "The term of this request is over" : "The token belongs to another holder", error.message);
  body += ",\"lease\":" + jsonText(mine.lease) + ",\"token\":" + toString(mine.token) +
          ",\"highestSeen\":" + toString(seen->token);
  if (!seen->holder.empty()) body += ",\"holder\":" + jsonText(seen->holder);
  HttpProblem out = answerWith(staleStatus, std::move(body) + "}\n");
  out.headers.emplace_back(fenceHeaderName, formatFenceHeader(*seen));  // for httpFenceError() of the client
  return out;
}

}  // namespace http_fence

std::optional<FenceError> httpFenceError(const TermStamp& mine, int status, std::string_view type,
                                         std::string_view tokenHeader) {
  // A service may have answers like these. Only a fence also names the highest term of the request's own lease.
  if ((status != 409 && status != 412) || !type.starts_with("application/problem+json")) return std::nullopt;
  const auto claims = parseFenceHeader(tokenHeader);
  if (!claims || claims->size() != 1 || claims->front().stamp.lease != mine.lease) return std::nullopt;
  return termError(mine, claims->front().stamp);
}

FenceResult<HttpReply> HttpFenceClient::write(const TermStamp& stamp, const HttpCall& call) const {
  if (auto error = errorOf(stamp)) return *std::move(error);  // a wrong stamp: nothing is sent
  const HeaderLines headers = fenceHeaders(stamp, call.method, call.target, call.body, signer_ ? &*signer_ : nullptr);
  auto reply = send_(call, headers);
  if (!reply) return reply;
  if (auto refused = httpFenceError(stamp, reply->status, reply->contentType, reply->fencingToken)) {
    return *std::move(refused);
  }
  return reply;
}

}  // namespace tenure
