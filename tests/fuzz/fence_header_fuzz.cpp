// Any bytes as a Fencing-Token header, and as a Content-Digest: refused in a short sentence, or understood in one way.
#include <set>

#include <tenure/adapters/http_fence.hpp>
#include <tenure/lockcore/lease_record.hpp>

#include "adapters/gateway/src/fence_claims.hpp"
#include "fuzz_support.hpp"
#include "lockcore/port/store_checks.hpp"

namespace {

using tenure::fuzz::require;

const std::vector<tenure::FenceKey> keys{{"k", std::string(32, 's')}};

void isSound(const tenure::FenceClaim& claim) {
  require(!claim.stamp.token.isNone() && claim.stamp.token <= tenure::maxFencingToken, "a token fits its column");
  require(!claim.stamp.lease.empty() && claim.stamp.lease.size() <= tenure::maxLeaseNameBytes, "a lease has a name");
  require(tenure::isUtf8(claim.stamp.lease) && tenure::isUtf8(claim.stamp.holder), "names are UTF-8");
  require(claim.signature.empty() || claim.signature.size() == 32, "a signature has its length");
  require(!signatureHolds(claim, keys, {"", "POST", "/", ""}), "nobody guesses a signature");
}

void readsHeader(std::string_view text) {
  const auto claims = tenure::parseFenceHeader(text);
  if (!claims) return tenure::fuzz::requireTellable(claims.error().message);
  require(!claims->empty() && claims->size() <= tenure::maxFenceHeaderMembers, "a header names some leases");
  std::set<std::string> leases;
  for (const auto& claim : *claims) {
    isSound(claim);
    require(leases.insert(claim.stamp.lease).second, "a lease is named once");
    (void)tenure::httpFenceError(claim.stamp, 409, "application/problem+json", text);
  }
  // The input's spelling may be shorter than ours, so our spelling may be too long.
  if (text.size() > tenure::maxFenceHeaderBytes / 4) return;
  const auto again = tenure::parseFenceHeader(tenure::formatFenceHeader(*claims));
  require(again.has_value() && *again == *claims, "a header as it is written is the same header");
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  readsHeader(text);
  (void)tenure::digestHolds(text, text);
  return 0;
}
