// Requests of a security review, byte for byte, judged by the bytes that the service received. The service must be able
// to read them in only one way, and no write may arrive without its own token.
#include <algorithm>
#include <cctype>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <boost/asio/read.hpp>
#include <gtest/gtest.h>

#include "adapters/gateway/http_connection.hpp"
#include "adapters/gateway/proxy_process.hpp"
#include "adapters/gateway/raw_service.hpp"
#include "support/temp_dir.hpp"

namespace tenure {
namespace {

using namespace std::string_literals;
using boost::asio::ip::tcp;
using test::HttpConnection;
using test::ProxyProcess;
using test::RawService;

const std::string token = "Fencing-Token: billing=5\r\n";
const std::string post = "POST /x HTTP/1.1\r\nHost: h\r\n" + token;
const std::string chunks = "\r\n2\r\nxy\r\n0\r\n\r\n";

struct Case {
  const char* name;
  std::string bytes;
  std::set<unsigned> answers;  ///< 0: the connection ends without one
  bool forwarded{false};
  std::string body{};  ///< as the service reads it
};

std::ostream& operator<<(std::ostream& out, const Case& one) { return out << one.name; }

/// The parts of one request as the service received them. They are not read with Beast, because the proxy uses Beast
/// itself.
struct Received {
  std::string head;  ///< including the empty line
  std::string body;

  [[nodiscard]] std::vector<std::string> values(const std::string& name) const {
    std::vector<std::string> out;
    for (std::size_t at = head.find("\r\n") + 2; at + 2 < head.size();) {
      const std::size_t end = head.find("\r\n", at);
      const std::string line = head.substr(at, end - at);
      std::string key = line.substr(0, line.find(':'));
      std::transform(key.begin(), key.end(), key.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      if (key == name)
        out.push_back(line.substr(std::min(line.find_first_not_of(' ', line.find(':') + 1), line.size())));
      at = end + 2;
    }
    return out;
  }
  [[nodiscard]] std::string method() const { return head.substr(0, head.find(' ')); }
};

/// Checks each way in which a simple service may misread a head.
void expectPlain(const Received& one) {
  const auto lengths = one.values("content-length");
  const auto codings = one.values("transfer-encoding");
  EXPECT_LE(lengths.size() + codings.size(), 1U) << one.head;
  for (const std::string& length : lengths) {
    EXPECT_TRUE(std::all_of(length.begin(), length.end(), [](char c) { return c >= '0' && c <= '9'; })) << length;
  }
  for (const std::string& coding : codings) EXPECT_EQ(coding, "chunked");
  EXPECT_LE(one.values("host").size(), 1U) << one.head;
  EXPECT_LE(one.values("fencing-token").size(), 1U) << one.head;
  EXPECT_TRUE(one.values("connection").empty() && one.values("upgrade").empty()) << one.head;
  EXPECT_EQ(one.head.find('\0'), std::string::npos);
  for (std::size_t at = 0; at < one.head.size(); ++at) {
    const char before = at == 0 ? '\0' : one.head[at - 1];
    EXPECT_EQ(one.head[at] == '\n', before == '\r') << one.head;
  }
  const bool readsOnly = one.body.empty() && (one.method() == "GET" || one.method() == "HEAD");
  EXPECT_TRUE(readsOnly || one.values("fencing-token").size() == 1) << "a write without a token: " << one.head;
}

class RawRequests : public testing::TestWithParam<Case> {
 protected:
  /// Reads requests as a simple service would, and answers.
  void serve(tcp::socket& socket, const std::string& bytes) {
    const std::size_t end = bytes.find("\r\n\r\n") + 4;
    Received one{bytes.substr(0, end), bytes.substr(end)};
    boost::system::error_code error;
    const auto more = [&](std::size_t wanted) {
      if (one.body.size() >= wanted) return;
      const std::size_t had = one.body.size();
      one.body.resize(wanted);
      boost::asio::read(socket, boost::asio::buffer(one.body.data() + had, wanted - had), error);
    };
    if (const auto length = one.values("content-length"); !length.empty()) more(std::stoul(length.front()));
    if (!one.values("transfer-encoding").empty()) {
      while (!error && !one.body.ends_with("0\r\n\r\n")) more(one.body.size() + 1);
    }
    {
      const std::lock_guard lock{mutex_};
      (error ? cut_ : received_).push_back(one);
    }
    (void)RawService::send(socket, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
  }

  std::mutex mutex_;
  std::vector<Received> received_, cut_;  ///< guarded by mutex_
  RawService service_{[this](RawService&, tcp::socket& socket, const std::string& bytes) { serve(socket, bytes); }};
  const test::TempDir directory_;
  ProxyProcess proxy_{service_.port(),
                      {"--lease", "billing", "--memory", directory_.file("fence.db"), "--client-timeout", "300ms"}};
};

TEST_P(RawRequests, isForwardedInOneReadingOrNotAtAll) {
  const Case& one = GetParam();
  HttpConnection connection{proxy_.port()};
  (void)connection.sendRaw(one.bytes);
  const auto answer = connection.read(one.bytes.starts_with("HEAD"));
  const unsigned status = answer ? answer->result_int() : 0;
  EXPECT_TRUE(one.answers.contains(status)) << status << " for\n" << one.bytes.substr(0, 500);
  const std::lock_guard lock{mutex_};
  ASSERT_EQ(received_.size(), one.forwarded ? 1U : 0U);
  for (const Received& request : received_) {
    expectPlain(request);
    EXPECT_EQ(request.body, one.body);
  }
}

std::string many(int fields) {
  std::string out;
  for (int i = 0; i < fields; ++i) out += "A: b\r\n";
  return out;
}

const std::string two = "Content-Length: 2\r\n\r\nxy";
const std::string none = "Content-Length: 0\r\n";

// clang-format off
const std::vector<Case> cases{
    {"LengthAndCoding", post + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", {400}},
    {"CodingAndLength", post + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n", {400}},
    {"TwoEqualLengths", post + "Content-Length: 2\r\n" + two, {400}},
    {"TwoLengths", post + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nxyz", {400}},
    {"ListOfEqualLengths", post + "Content-Length: 2, 2\r\n\r\nxy", {400}},
    {"ListOfLengths", post + "Content-Length: 2, 3\r\n\r\nxyz", {400}},
    {"LengthWithSign", post + "Content-Length: +2\r\n\r\nxy", {400}},
    {"LengthInHex", post + "Content-Length: 0x2\r\n\r\nxy", {400}},
    {"LengthWithZeros", post + "Content-Length: 002\r\n\r\nxy", {400}},
    {"EmptyLength", post + "Content-Length: \r\n\r\nxy", {400}},
    {"CodingAfterTab", post + "Transfer-Encoding:\tchunked\r\n" + chunks, {200}, true, "2\r\nxy\r\n0\r\n\r\n"},
    {"CodingAfterVerticalTab", post + "Transfer-Encoding:\x0b" "chunked\r\n" + chunks, {400, 501}},
    {"CodingTwice", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n" + chunks, {400}},
    {"Identity", post + "Transfer-Encoding: identity\r\n" + two, {400, 501}},
    {"CodingInCapitals", post + "Transfer-Encoding: CHUNKED\r\n" + chunks, {200}, true, "2\r\nxy\r\n0\r\n\r\n"},
    {"CodingWithComma", post + "Transfer-Encoding: chunked,\r\n" + chunks, {400, 501}},
    {"BlankBeforeColon", post + "Transfer-Encoding : chunked\r\n" + chunks, {400}},
    {"CodingWithUnderscore", post + "Transfer_Encoding: chunked\r\n" + two, {400}},
    {"LengthWithUnderscore", post + "Content_Length: 35\r\n" + two, {400}},
    {"TokenWithUnderscore", "GET /x HTTP/1.1\r\nHost: h\r\nFencing_Token: billing=99\r\n\r\n", {400}},
    {"TwoExpectations", post + "Expect: 100-continue\r\nExpect: x\r\n" + two, {417}},
    {"TwoDigests", post + "Content-Digest: sha-256=:AA==:\r\nContent-Digest: sha-256=:AA==:\r\n" + two, {400}},
    {"HostWithTwoPorts", "POST /x HTTP/1.1\r\nHost: h:80:90\r\n" + token + two, {400}},
    {"HostWithQuote", "POST /x HTTP/1.1\r\nHost: h\";x=<y>\r\n" + token + two, {400}},
    {"EmptyHost", "POST /x HTTP/1.1\r\nHost: \r\n" + token + two, {400}},
    {"HostInBrackets", "POST /x HTTP/1.1\r\nHost: [::1]:80\r\n" + token + two, {200}, true, "xy"},
    {"ManyFields", post + many(101) + two, {431}},
    {"FieldsEnough", post + many(90) + two, {200}, true, "xy"},
    {"CodingInHttp10", "POST /x HTTP/1.0\r\n" + token + "Transfer-Encoding: chunked\r\n" + chunks, {400}},
    {"BareLineFeeds", "POST /x HTTP/1.1\nHost: h\nFencing-Token: billing=5\nContent-Length: 2\n\nxy", {400}},
    {"OneBareLineFeed", "POST /x HTTP/1.1\r\nHost: h\r\nA: b\n" + token + two, {400}},
    {"BareCarriageReturn", "POST /x HTTP/1.1\r\nHost: h\r\nA: b\r" + token + two, {400}},
    {"NulInValue", post + "A: a\0b\r\n"s + two, {400}},
    {"NulInTarget", "POST /x\0y HTTP/1.1\r\nHost: h\r\n"s + token + two, {400}},
    {"AnotherHostInTarget", "POST http://other.example/x HTTP/1.1\r\nHost: h\r\n" + token + two, {400}},
    {"NoHost", "POST /x HTTP/1.1\r\n" + token + two, {400}},
    {"TwoHosts", "POST /x HTTP/1.1\r\nHost: a\r\nHost: b\r\n" + token + two, {400}},
    {"Tunnel", "CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n", {501}},
    {"WebSocket", "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", {501}},
    {"OfferOfHttp2", "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\n\r\n", {200}, true},
    {"Expectation", post + "Expect: 100-continue\r\n" + two, {200}, true, "xy"},
    {"OtherExpectation", post + "Expect: 200-ok\r\n" + two, {417}},
    {"TokenInTrailer", "POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTrailer: Fencing-Token\r\n\r\n2\r\nxy\r\n0\r\n" + token + "\r\n", {428}},
    {"TrailerBesides", post + "Transfer-Encoding: chunked\r\n\r\n2\r\nxy\r\n0\r\nX-Admin: 1\r\n\r\n", {200}, true, "2\r\nxy\r\n0\r\n\r\n"},
    {"ChunkExtension", post + "Transfer-Encoding: chunked\r\n\r\n2;a=b\r\nxy\r\n0\r\n\r\n", {200}, true, "2\r\nxy\r\n0\r\n\r\n"},
    {"ChunksWithLineFeeds", post + "Transfer-Encoding: chunked\r\n\r\n2\nxy\n0\n\n", {0}},
    {"NegativeChunk", post + "Transfer-Encoding: chunked\r\n\r\n-2\r\nxy\r\n0\r\n\r\n", {400}},
    {"HugeChunk", post + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nxy\r\n0\r\n\r\n", {400}},
    {"ChunkInHex", post + "Transfer-Encoding: chunked\r\n\r\n0x2\r\nxy\r\n0\r\n\r\n", {400}},
    {"BadChunkAfterAGoodOne", post + "Transfer-Encoding: chunked\r\n\r\n2\r\nxy\r\nzz\r\n", {400}},
    {"TwoTokens", "POST /x HTTP/1.1\r\nHost: h\r\n" + none + token + token + "\r\n", {400}},
    {"ConnectionNamesToken", "POST /x HTTP/1.1\r\nHost: h\r\n" + none + "Connection: Fencing-Token\r\n" + token + "\r\n", {400}},
    {"ConnectionNamesTokenToo", "POST /x HTTP/1.1\r\nHost: h\r\n" + none + "Connection: close, fencing-token\r\n" + token + "\r\n", {400}},
    {"ConnectionNamesCoding", post + "Connection: transfer-encoding\r\nTransfer-Encoding: chunked\r\n" + chunks, {400}},
    {"ConnectionNamesDigest", post + "Connection: Content-Digest, Authorization\r\nAuthorization: s\r\nContent-Digest: x\r\n" + none + "\r\n", {400}},
    {"TokenTooGreat", "POST /x HTTP/1.1\r\nHost: h\r\n" + none + "Fencing-Token: billing=1000000000000000000000000000000\r\n\r\n", {400}},
    {"NegativeToken", "POST /x HTTP/1.1\r\nHost: h\r\n" + none + "Fencing-Token: billing=-1\r\n\r\n", {400}},
    {"ForeignTokenBesides", "POST /x HTTP/1.1\r\nHost: h\r\n" + none + "Fencing-Token: other=9, billing=5\r\n\r\n", {200}, true},
    {"GetWithBody", "GET /x HTTP/1.1\r\nHost: h\r\n" + two, {428}},
    {"GetWithARequestInItsBody", "GET /x HTTP/1.1\r\nHost: h\r\nContent-Length: 31\r\n\r\nPOST /y HTTP/1.1\r\nHost: h\r\n\r\n\r\n\r\n", {428}},
    {"MethodInSmallLetters", "get /x HTTP/1.1\r\nHost: h\r\n\r\n", {428}},
    {"UnknownMethod", "GETX /x HTTP/1.1\r\nHost: h\r\n\r\n", {428}},
    {"Trace", "TRACE /x HTTP/1.1\r\nHost: h\r\n\r\n", {428}},
    {"Http2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {400}},
    {"Http12", "GET /x HTTP/1.2\r\nHost: h\r\n\r\n", {400}},
    {"Http09", "GET /\r\n\r\n", {400}},
    {"EmptyLinesBefore", "\r\n\r\nGET /x HTTP/1.1\r\nHost: h\r\n\r\n", {400}},
    {"LongHeader", "GET / HTTP/1.1\r\nHost: h\r\nA: " + std::string(1'000'000, 'a') + "\r\n\r\n", {0, 431}},
};
// clang-format on

INSTANTIATE_TEST_SUITE_P(Review, RawRequests, testing::ValuesIn(cases),
                         [](const testing::TestParamInfo<Case>& of) { return std::string{of.param.name}; });

}  // namespace
}  // namespace tenure
