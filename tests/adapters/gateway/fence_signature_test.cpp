#include <gtest/gtest.h>

#include "adapters/gateway/src/fence_claims.hpp"

namespace tenure {
namespace {

const TermStamp stamp{"billing", FencingToken{42}, "a#1"};
const FenceKey oldKey{"2026-10", std::string(32, 'o')};
const FenceKey newKey{"2026-11", std::string(32, 'n')};
const SignedParts parts{"ledger", "POST", "/ledger?x=1", "sha-256=:AAAA:"};

TEST(FenceSignature, isTheHmacThatTheReferenceSays) {
  // python3: hmac.new(b"o"*32, b"".join(b"%d:%s," % (len(t), t) for t in [b"tenure-fence-2", b"ledger",
  //          b"billing", b"42", b"a#1", b"POST", b"/ledger?x=1", b"sha-256=:AAAA:"]), "sha256").hexdigest()
  const FenceClaim claim = signClaim(stamp, oldKey, parts);
  std::string hex;
  for (const char c : claim.signature) {
    char pair[3];
    std::snprintf(pair, sizeof pair, "%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
    hex += pair;
  }
  EXPECT_EQ(hex, "2f00886b706157750623cfd8ec45b4313c33fa06d4cac19bb5f9c9f615084f77");
  EXPECT_EQ(claim.keyId, "2026-10");
}

TEST(FenceSignature, coversEachPart) {
  const FenceClaim claim = signClaim(stamp, newKey, parts);
  const std::vector<FenceKey> keys{newKey};
  EXPECT_TRUE(signatureHolds(claim, keys, parts));
  EXPECT_FALSE(signatureHolds(claim, keys, {"other", parts.method, parts.target, parts.contentDigest}));
  EXPECT_FALSE(signatureHolds(claim, keys, {parts.audience, "PUT", parts.target, parts.contentDigest}));
  EXPECT_FALSE(signatureHolds(claim, keys, {parts.audience, parts.method, "/ledger?x=2", parts.contentDigest}));
  EXPECT_FALSE(signatureHolds(claim, keys, {parts.audience, parts.method, parts.target, ""}));
  for (const TermStamp& other :
       {TermStamp{"billin", FencingToken{42}, "ga#1"}, TermStamp{"x", FencingToken{42}, "a#1"},
        TermStamp{"billing", FencingToken{43}, "a#1"}, TermStamp{"billing", FencingToken{42}, "b#1"}}) {
    EXPECT_FALSE(signatureHolds({other, claim.keyId, claim.signature}, keys, parts)) << other.lease;
  }
  for (std::size_t bit = 0; bit < 8 * claim.signature.size(); ++bit) {
    FenceClaim forged = claim;
    forged.signature[bit / 8] = static_cast<char>(forged.signature[bit / 8] ^ (1 << bit % 8));
    ASSERT_FALSE(signatureHolds(forged, keys, parts)) << bit;
  }
  EXPECT_FALSE(signatureHolds({stamp, claim.keyId, claim.signature.substr(1)}, keys, parts));
  EXPECT_FALSE(signatureHolds({stamp}, keys, parts));
}

TEST(FenceSignature, aKeyIsChangedWhileBothAreKnown) {
  const FenceClaim byOld = signClaim(stamp, oldKey, parts);
  const FenceClaim byNew = signClaim(stamp, newKey, parts);
  EXPECT_TRUE(signatureHolds(byOld, {oldKey, newKey}, parts));
  EXPECT_TRUE(signatureHolds(byNew, {oldKey, newKey}, parts));
  EXPECT_FALSE(signatureHolds(byOld, {newKey}, parts));
  EXPECT_FALSE(signatureHolds({stamp, newKey.id, byOld.signature}, {oldKey, newKey}, parts));
}

TEST(FenceSignature, keysThatAreTooWeakAreNamed) {
  EXPECT_TRUE(faultsOf(std::vector<FenceKey>{oldKey, newKey}).empty());
  EXPECT_EQ(
      faultsOf({FenceKey{"a b", std::string(32, 'x')}, FenceKey{"k", "short"}, FenceKey{"k", std::string(32, 'x')}}),
      (std::vector<std::string>{"key 1: its id is not 1 to 64 of A-Z a-z 0-9 . _ -",
                                "key 2: its secret is shorter than 32 bytes",
                                "key 3: an earlier key has the same id"}));
}

TEST(FenceSignature, aKeyIsReadFromItsLine) {
  EXPECT_EQ(parseFenceKey("k-1  AAECAw=="), (FenceKey{"k-1", std::string{"\0\1\2\3", 4}}));
  for (const char* bad : {"", "k", "k ", " AAEC", "k AAE", "k AAEC AAEC", "k! AAEC", "k AAE\n"}) {
    EXPECT_FALSE(parseFenceKey(bad)) << bad;
  }
  EXPECT_EQ(parseFenceKey("AZaz09._- AAEC").value().id, "AZaz09._-");
  for (const char* beside : {"@ AAEC", "[ AAEC", "` AAEC", "{ AAEC", "/ AAEC", ": AAEC"}) {
    EXPECT_FALSE(parseFenceKey(beside)) << beside;
  }
}

TEST(FenceSignature, theDigestIsOfTheBody) {
  EXPECT_EQ(contentDigestOf(""), "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:");
  EXPECT_TRUE(digestHolds(contentDigestOf("pay"), "pay"));
  EXPECT_FALSE(digestHolds(contentDigestOf("pay"), "pay "));
  EXPECT_TRUE(digestHolds("md5=:AAAA:, " + contentDigestOf("pay"), "pay"));
  EXPECT_FALSE(digestHolds(contentDigestOf("pay") + ", " + contentDigestOf("pay2"), "pay"));
  for (const char* bad : {"", "sha-256", "sha-256=pay", "md5=:AAAA:", "sha-256=::"}) {
    EXPECT_FALSE(digestHolds(bad, "pay")) << bad;
  }
}

TEST(FenceSignature, theHeadersOfARequest) {
  EXPECT_EQ(fenceHeaders(stamp, "POST", "/x", "pay"), (HeaderLines{{"Fencing-Token", R"(billing=42;holder="a#1")"}}));
  const FenceSigner signer{newKey, "ledger"};
  const HeaderLines lines = fenceHeaders(stamp, "POST", "/x", "pay", &signer);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1].first, "Content-Digest");
  const auto claims = parseFenceHeader(lines[0].second).value();
  EXPECT_TRUE(signatureHolds(claims.front(), {newKey}, {"ledger", "POST", "/x", lines[1].second}));
  EXPECT_EQ(fenceHeaders(stamp, "GET", "/x", "", &signer).size(), 1U);
}

}  // namespace
}  // namespace tenure
