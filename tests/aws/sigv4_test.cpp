#include "lockcore/aws/sigv4.hpp"

#include <fstream>
#include <iterator>
#include <sstream>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "lockcore/aws/json_signer.hpp"
#include "lockcore/aws/text.hpp"

namespace tenure::aws {
namespace {

namespace json = boost::json;
using std::chrono::seconds;

json::array vectors() {
  std::ifstream file{TENURE_SIGV4_VECTORS};
  return json::parse(std::string{std::istreambuf_iterator<char>{file}, {}}).as_array();
}

std::string textOf(const json::value& object, const char* name) { return std::string{object.at(name).as_string()}; }

/// The suite's own format of requests: header lines may continue in the next line.
SignableRequest parseRequest(const std::string& text, std::string& body) {
  SignableRequest out;
  std::istringstream in{text};
  std::string line;
  std::getline(in, line);
  const std::size_t space = line.find(' ');
  out.method = line.substr(0, space);
  out.target = line.substr(space + 1, line.rfind(' ') - space - 1);
  while (std::getline(in, line) && !line.empty()) {
    if (line.front() == ' ') {
      out.headers.back().value += '\n' + line;
    } else {
      const std::size_t colon = line.find(':');
      out.headers.push_back({line.substr(0, colon), line.substr(colon + 1)});
    }
  }
  body.assign(std::istreambuf_iterator<char>{in}, {});
  return out;
}

struct Case {
  Keys keys;
  Scope scope;
  std::string date;
  SignableRequest request;
};

Case caseFrom(const json::value& vector) {
  const json::value& context = vector.at("context");
  const json::value& credentials = context.at("credentials");
  Case out;
  out.keys = {textOf(credentials, "access_key_id"), textOf(credentials, "secret_access_key"), {}};
  if (const auto* token = credentials.as_object().if_contains("token")) out.keys.sessionToken = token->as_string();
  out.date = amzDate(parseIsoTime(textOf(context, "timestamp")).value());
  out.scope = {out.date.substr(0, 8), textOf(context, "region"), textOf(context, "service")};
  std::string body;
  out.request = parseRequest(textOf(vector, "request"), body);
  out.request.normalizePath = context.at("normalize").as_bool();
  out.request.bodyHash = hex(sha256({body}));
  out.request.headers.push_back({"X-Amz-Date", out.date});
  if (context.at("sign_body").as_bool()) out.request.headers.push_back({"x-amz-content-sha256", out.request.bodyHash});
  const auto* omit = context.as_object().if_contains("omit_session_token");
  if (!out.keys.sessionToken.empty() && (omit == nullptr || !omit->as_bool())) {
    out.request.headers.push_back({"X-Amz-Security-Token", out.keys.sessionToken});
  }
  return out;
}

TEST(SigV4, agreesWithEveryVectorOfAws) {
  const json::array all = vectors();
  ASSERT_EQ(all.size(), 38U);
  for (const json::value& vector : all) {
    SCOPED_TRACE(textOf(vector, "name"));
    const Case one = caseFrom(vector);
    const CanonicalRequest canonical = canonicalRequest(one.request);
    EXPECT_EQ(canonical.text, textOf(vector, "canonicalRequest"));
    EXPECT_EQ(stringToSign(one.date, one.scope, canonical.text), textOf(vector, "stringToSign"));
    EXPECT_EQ(authorization(one.keys, one.date, one.scope, canonical),
              "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=" +
                  canonical.signedHeaders + ", Signature=" + textOf(vector, "signature"));
  }
}

TEST(SigV4, hmacAgreesWithRfc4231) {
  EXPECT_EQ(hex(HmacKey{std::string(20, '\x0b')}("Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex(HmacKey{"Jefe"}("what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(HmacKey{std::string(131, '\xaa')}("Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

std::string valueOf(const net::HttpRequest& request, std::string_view name) {
  for (const auto& header : request.headers) {
    if (header.name == name) return header.value;
  }
  return {};
}

TEST(JsonSigner, signsAsTheGeneralFunctionDoes) {
  const net::Origin origins[]{{true, "dynamodb.eu-central-1.amazonaws.com", 443}, {false, "::1", 8000}};
  const Keys keys[]{{"AKIA1", "one", ""}, {"AKIA2", "two", "token=="}, {"AKIA2", "three", "token=="}};
  for (const net::Origin& origin : origins) {
    for (const std::string path : {"/", "/local/dynamo?a=b&A=c d"}) {
      const JsonSigner signer{origin, path, "eu-central-1", "dynamodb", "application/x-amz-json-1.0"};
      for (const Keys& key : keys) {
        for (const seconds now : {seconds{1'795'262'400}, seconds{1'795'262'400 + 86'400}}) {
          const net::HttpRequest quick = signer.sign(key, now, "DynamoDB_20120810.GetItem", R"({"a":1})");
          net::HttpRequest slow{"POST", path, {}, R"({"a":1})"};
          slow.headers = {{"Content-Type", "application/x-amz-json-1.0"},
                          {"X-Amz-Target", "DynamoDB_20120810.GetItem"}};
          signRequest(slow, origin, key, "eu-central-1", "dynamodb", now);
          EXPECT_EQ(valueOf(quick, "Authorization"), valueOf(slow, "Authorization"));
          EXPECT_EQ(valueOf(quick, "X-Amz-Date"), valueOf(slow, "X-Amz-Date"));
          EXPECT_EQ(valueOf(quick, "X-Amz-Security-Token"), key.sessionToken);
          EXPECT_EQ(quick.body, slow.body);
        }
      }
    }
  }
}

/// On the processor: what others do meanwhile does not count.
std::chrono::nanoseconds timeOfThisThread() {
  timespec time{};
  EXPECT_EQ(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time), 0);
  return seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

TEST(JsonSigner, costsMicroseconds) {
  const JsonSigner signer{{}, "/", "eu-central-1", "dynamodb", "application/x-amz-json-1.0"};
  const Keys keys{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", std::string(400, 't')};
  const std::string body(500, 'x');
  constexpr int rounds = 20'000;
  const auto begin = timeOfThisThread();
  std::size_t sum = 0;
  for (int i = 0; i < rounds; ++i)
    sum += signer.sign(keys, seconds{1'795'262'400}, "DynamoDB_20120810.UpdateItem", body).headers.size();
  const std::chrono::duration<double, std::micro> each = (timeOfThisThread() - begin) / rounds;
  EXPECT_EQ(sum, 5U * rounds);
  RecordProperty("microseconds", std::to_string(each.count()));
  std::printf("one signature: %.2f us\n", each.count());
  // A processor may be many times slower; the test checks only the order of magnitude.
  EXPECT_LT(each.count(), 200.0);
}

}  // namespace
}  // namespace tenure::aws
