// The client's own certificate: servers that demand one, and files that cannot be used.
#include <fstream>
#include <stdexcept>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "net/stream_calls.hpp"

namespace tenure::test {
namespace {

using net::HttpClient;

class HttpClientCertificate : public testing::Test {
 protected:
  HttpClientCertificate() {
    writeCertificate(client_, certificate_);
    writeKey(client_, key_);
  }

  void expectRefused(const net::HttpClientOptions& options, const std::string& words) const {
    try {
      (void)HttpClient::make(options);
      FAIL() << words;
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string{error.what()}.find(words), std::string::npos) << error.what();
      EXPECT_EQ(std::string{error.what()}.find("sesame"), std::string::npos) << error.what();
    }
  }

  TestAuthority authority_{};
  TempDir directory_{};
  Identity client_{authority_.issue({"DNS:client.test"})};
  std::string certificate_{directory_.file("client.pem")};
  std::string key_{directory_.file("client.key")};
};

TEST_F(HttpClientCertificate, isShownToAServerThatDemandsOne) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TestServer server{
        [](Peer& peer) {
          while (!peer.readRequest().empty()) peer.write(chunkedHead + chunk("a\n") + "0\r\n\r\n");
        },
        {.identity = authority_.issue({"IP:127.0.0.1"}), .newestTls = version, .clientCa = authority_.caFile()}};
    const auto with = HttpClient::make({.caFile = authority_.caFile(), .certificate = certificate_, .key = key_});
    for (int i = 0; i < 3; ++i) {
      const auto outcome = call(*with, tlsAt(server.port()));
      ASSERT_TRUE(outcome) << outcome.error().message;
      EXPECT_EQ(outcome->body, "a\n");
    }
    HeardStream heard;
    const auto stream = with->stream(tlsAt(server.port()), {}, {}, heard.handlers());
    EXPECT_TRUE(heard.end());
    EXPECT_EQ(heard.lines(), std::vector<std::string>{"a"});
    const auto without = HttpClient::make({.caFile = authority_.caFile()});
    EXPECT_FALSE(call(*without, tlsAt(server.port())));
    const TestAuthority stranger;
    const Identity other = stranger.issue({"DNS:client.test"});
    const std::string otherCertificate = directory_.file("other.pem");
    const std::string otherKey = directory_.file("other.key");
    writeCertificate(other, otherCertificate);
    writeKey(other, otherKey);
    const auto strange =
        HttpClient::make({.caFile = authority_.caFile(), .certificate = otherCertificate, .key = otherKey});
    EXPECT_FALSE(call(*strange, tlsAt(server.port())));
  }
}

TEST_F(HttpClientCertificate, filesThatCannotBeUsed) {
  const std::string absent = directory_.file("absent");
  const std::string wrong = directory_.file("wrong");
  std::ofstream{wrong} << "nothing\n";
  const std::string otherKey = directory_.file("other.key");
  writeKey(authority_.issue({"DNS:client.test"}), otherKey);
  const std::string encrypted = directory_.file("encrypted.key");
  writeKey(client_, encrypted, "sesame");
  expectRefused({.certificate = absent, .key = key_}, "client certificate " + absent + " cannot be read: No such file");
  expectRefused({.certificate = wrong, .key = key_}, "client certificate " + wrong + ": no certificate can be read");
  expectRefused({.certificate = certificate_, .key = absent},
                "key " + absent + " of the client certificate cannot be read: No such file");
  expectRefused({.certificate = certificate_, .key = wrong}, "no private key can be read from it");
  expectRefused({.certificate = certificate_, .key = otherKey},
                "belongs to another certificate than client certificate " + certificate_);
  expectRefused({.certificate = certificate_, .key = encrypted}, "it is encrypted");
  expectRefused({.certificate = certificate_}, "its key is missing");
  expectRefused({.key = key_}, "the certificate is missing");
  EXPECT_NO_THROW((void)HttpClient::make({.certificate = certificate_, .key = key_}));
}

/// Nobody writes into the pipe, so who opens it in the usual way waits for ever.
TEST_F(HttpClientCertificate, aPipeIsRefusedAndNotWaitedFor) {
  const std::string pipe = directory_.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  expectRefused({.caFile = pipe}, "CA file " + pipe + " is not a regular file");
  expectRefused({.certificate = pipe, .key = key_}, "client certificate " + pipe + " is not a regular file");
  expectRefused({.certificate = certificate_, .key = pipe},
                "key " + pipe + " of the client certificate is not a regular file");
}

}  // namespace
}  // namespace tenure::test
