// The examples that AWS publishes for S3:
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
#include <gtest/gtest.h>

#include "lockcore/aws/object_requests.hpp"
#include "lockcore/aws/sigv4.hpp"
#include "lockcore/aws/text.hpp"

namespace tenure::aws {
namespace {

const Keys exampleKeys{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", {}};
const net::Url s3Endpoint{{true, "s3.amazonaws.com", 443}, "/"};

std::string signatureOf(const ObjectRequest& what) {
  SignedRequest made = unsignedRequest(s3Endpoint, what, Addressing::virtualHost);
  EXPECT_EQ(made.origin.host, "examplebucket.s3.amazonaws.com");
  signS3Request(made.request, made.origin, exampleKeys, "us-east-1", parseIsoTime("2013-05-24T00:00:00Z").value());
  const std::string authorization = made.request.headers.back().value;
  EXPECT_TRUE(authorization.starts_with(
      "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders="))
      << authorization;
  return authorization.substr(authorization.rfind('=') + 1);
}

TEST(SigV4OfS3, agreesWithThePublishedGetObject) {
  EXPECT_EQ(signatureOf({"GET", "examplebucket", "test.txt", {}, {{"Range", "bytes=0-9"}}, {}}),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(SigV4OfS3, agreesWithThePublishedPutObject) {
  EXPECT_EQ(signatureOf({"PUT",
                         "examplebucket",
                         "test$file.text",
                         {},
                         {{"Date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
                         "Welcome to Amazon S3."}),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST(SigV4OfS3, agreesWithThePublishedQueries) {
  EXPECT_EQ(signatureOf({"GET", "examplebucket", {}, "lifecycle", {}, {}}),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  EXPECT_EQ(signatureOf({"GET", "examplebucket", {}, "max-keys=2&prefix=J", {}, {}}),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(SigV4OfS3, signsTheKeyEncodedOnceAndWithoutTidyingIt) {
  const SignedRequest made = unsignedRequest(
      s3Endpoint, {"GET", "examplebucket", "a/../b//c d+e%f?g=1&h\xC3\xA9~", {}, {}, {}}, Addressing::virtualHost);
  EXPECT_EQ(made.request.target, "/a/../b//c%20d%2Be%25f%3Fg%3D1%26h%C3%A9~");
  SignableRequest rules{"GET", made.request.target, {{"Host", "x"}}, "hash"};
  rules.normalizePath = false;
  rules.encodePath = false;
  EXPECT_EQ(canonicalRequest(rules).text, "GET\n" + made.request.target + "\n\nhost:x\n\nhost\nhash");
}

struct Place {
  std::string host;
  std::string target;
  friend bool operator==(const Place&, const Place&) = default;
};

Place placeOf(const std::string& endpoint, const std::string& bucket, Addressing addressing = {}) {
  const SignedRequest made =
      unsignedRequest(net::parseUrl(endpoint).value(), {"GET", bucket, "k/1", {}, {}, {}}, addressing);
  return {made.origin.host, made.request.target};
}

TEST(ObjectRequests, nameTheBucketByHostAtAwsAndByPathElsewhere) {
  const std::string aws = "https://s3.eu-central-1.amazonaws.com";
  EXPECT_EQ(placeOf(aws, "b"), (Place{"b.s3.eu-central-1.amazonaws.com", "/k/1"}));
  EXPECT_EQ(placeOf(aws, "b.dot"), (Place{"s3.eu-central-1.amazonaws.com", "/b.dot/k/1"}));
  EXPECT_EQ(placeOf("http://127.0.0.1:9000", "b"), (Place{"127.0.0.1", "/b/k/1"}));
  EXPECT_EQ(placeOf("https://store.example/s3", "b"), (Place{"store.example", "/s3/b/k/1"}));
  EXPECT_EQ(placeOf(aws, "b", Addressing::path), (Place{"s3.eu-central-1.amazonaws.com", "/b/k/1"}));
  EXPECT_EQ(placeOf("https://store.example", "b", Addressing::virtualHost), (Place{"b.store.example", "/k/1"}));
}

TEST(ObjectRequests, theBucketItselfHasNoKey) {
  const ObjectRequest listing{"GET", "b", {}, "versions=", {}, {}};
  EXPECT_EQ(unsignedRequest(s3Endpoint, listing, Addressing::path).request.target, "/b?versions=");
  EXPECT_EQ(unsignedRequest(s3Endpoint, listing, Addressing::virtualHost).request.target, "/?versions=");
}

}  // namespace
}  // namespace tenure::aws
