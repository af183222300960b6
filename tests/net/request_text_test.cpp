#include "lockcore/net/request_text.hpp"

#include <string>

#include <gtest/gtest.h>

namespace tenure::net {
namespace {

std::string textOf(const HttpRequest& request, const Origin& origin = {true, "a.test", 443}) {
  std::string out;
  appendRequest(out, {origin}, "agent/1", request);
  return out;
}

TEST(RequestText, standardPortsAreLeftOut) {
  EXPECT_NE(textOf({}).find("\r\nHost: a.test\r\n"), std::string::npos);
  EXPECT_NE(textOf({}, {false, "a.test", 80}).find("\r\nHost: a.test\r\n"), std::string::npos);
  EXPECT_NE(textOf({}, {false, "a.test", 443}).find("\r\nHost: a.test:443\r\n"), std::string::npos);
  EXPECT_NE(textOf({}, {true, "::1", 443}).find("\r\nHost: [::1]\r\n"), std::string::npos);
}

/// curl and Go keep it in the field, and servers differ in what they make of it; AWS signs the field.
TEST(RequestText, theDotAtTheEndOfANameIsLeftOut) {
  EXPECT_NE(textOf({}, {true, "a.test.", 443}).find("\r\nHost: a.test\r\n"), std::string::npos);
  EXPECT_NE(textOf({}, {true, "a.test.", 8443}).find("\r\nHost: a.test:8443\r\n"), std::string::npos);
  std::string connect;
  appendConnect(connect, {{true, "a.test.", 443}, Proxy{"p.test", 80, {}}}, "");
  EXPECT_EQ(connect.find("CONNECT a.test.:443 HTTP/1.1\r\n"), 0U) << "the proxy looks it up";
}

TEST(RequestText, theCallersFramingIsLeftOut) {
  const std::string text = textOf({"POST",
                                   "/",
                                   {{"host", "x"},
                                    {"CONTENT-LENGTH", "99"},
                                    {"Transfer-Encoding", "chunked"},
                                    {"connection", "close"},
                                    {"user-agent", "mine"}},
                                   "ab"});
  EXPECT_EQ(
      text,
      "POST / HTTP/1.1\r\nHost: a.test\r\nuser-agent: mine\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nab");
}

TEST(RequestText, aBodyThatIsExpectedIsCounted) {
  EXPECT_NE(textOf({"POST", "/", {}, ""}).find("Content-Length: 0\r\n"), std::string::npos);
  EXPECT_NE(textOf({"PUT", "/", {}, ""}).find("Content-Length: 0\r\n"), std::string::npos);
  EXPECT_EQ(textOf({"GET", "/", {}, ""}).find("Content-Length"), std::string::npos);
}

TEST(RequestText, faultsNameTheHeaderAndNotItsValue) {
  EXPECT_EQ(requestFault({"POST", "/", {{"A-b_c", "any \t thing"}}, std::string{"\r\n\0", 3}}), "");
  EXPECT_NE(requestFault({"POST", "/", {{"Secret", "geheim\n"}}, ""}).find("Secret"), std::string::npos);
  EXPECT_EQ(requestFault({"POST", "/", {{"Secret", "geheim\n"}}, ""}).find("geheim"), std::string::npos);
  EXPECT_NE(requestFault({"POST", "/", {{"", "x"}}, ""}), "");
  EXPECT_NE(requestFault({"POST", "http://x/", {}, ""}), "");
  EXPECT_NE(requestFault({"POST", "/a\r\nHost: x", {}, ""}), "");
}

}  // namespace
}  // namespace tenure::net
