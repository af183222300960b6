#include <string>

#include <gtest/gtest.h>

#include "lockcore/net/http_client.hpp"

namespace tenure::net {
namespace {

TEST(Url, isTakenApart) {
  struct Case {
    std::string text;
    Url url;
  };
  for (const Case& c : {
           Case{"https://dynamodb.eu-central-1.amazonaws.com",
                {{true, "dynamodb.eu-central-1.amazonaws.com", 443}, "/"}},
           Case{"http://localhost:8000/", {{false, "localhost", 8000}, "/"}},
           Case{"HTTP://Example.COM/A/b?C=d", {{false, "example.com", 80}, "/A/b?C=d"}},
           Case{"https://[::1]:9/x", {{true, "::1", 9}, "/x"}},
           Case{"https://[FE80::1]", {{true, "fe80::1", 443}, "/"}},
           Case{"https://api.Test.:8/", {{true, "api.test.", 8}, "/"}},
           Case{"http://169.254.169.254?a=@", {{false, "169.254.169.254", 80}, "/?a=@"}},
       }) {
    const auto url = parseUrl(c.text);
    ASSERT_TRUE(url) << c.text << ": " << url.error().message;
    EXPECT_EQ(*url, c.url) << c.text;
  }
}

TEST(Url, whatIsWrongIsRefused) {
  for (const char* text : {"",
                           "example.com",
                           "ftp://a",
                           "https://",
                           "https:///x",
                           "http://./",
                           "http://a../",
                           "http://a:",
                           "http://a:0",
                           "http://a:65536",
                           "http://a:8x",
                           "http://a b/",
                           "http://a/\n",
                           "http://a/#f",
                           "http://[::1",
                           "http://[a]/",
                           "http://[1.2.3.4]/",
                           "http://[::1]x",
                           "http://::1/",
                           "http://ex%41mple/",
                           "http://a/\xC3\xA4",
                           "https://a:-1"}) {
    EXPECT_FALSE(parseUrl(text)) << text;
  }
}

TEST(Url, aPasswordIsInNoMessage) {
  for (const char* text : {"https://me:geheim@host/", "ftp://me:geheim@host/", "https://me:geheim@host/#f",
                           "https://me:geheim@ho st", "https://me:geheim@host:x"}) {
    const auto url = parseUrl(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().message.find("geheim"), std::string::npos) << url.error().message;
  }
}

TEST(Url, whatWouldBreakALineIsInNoMessage) {
  EXPECT_NE(parseUrl("example.com").error().message.find("example.com"), std::string::npos);
  for (const std::string& text : {std::string{"a\nb"}, std::string{"\x1b[2J"}, std::string(3000, 'x')}) {
    const std::string message = parseUrl(text).error().message;
    EXPECT_EQ(message, "the URL does not begin with https:// or http://");
  }
}

TEST(Url, originsAreShownWithTheirPort) {
  EXPECT_EQ(toString(Origin{true, "a.b", 443}), "https://a.b:443");
  EXPECT_EQ(toString(Origin{false, "::1", 80}), "http://[::1]:80");
}

}  // namespace
}  // namespace tenure::net
