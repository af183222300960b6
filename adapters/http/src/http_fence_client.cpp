#include <tenure/adapters/http_fence.hpp>
#include <tenure/adapters/http_fence_client.hpp>

namespace tenure {

FenceResult<HttpReply> HttpFenceClient::write(const TermStamp& stamp, const HttpCall& call) const {
  if (auto refusal = refusalOf(stamp)) return *std::move(refusal);
  const HeaderLines headers = fenceHeaders(stamp, call.method, call.target, call.body, signer_ ? &*signer_ : nullptr);
  auto reply = send_(call, headers);
  if (!reply) return reply;
  if (auto refused = httpFenceError(stamp, reply->status, reply->contentType, reply->fencingToken)) {
    return *std::move(refused);
  }
  return reply;
}

}  // namespace tenure
