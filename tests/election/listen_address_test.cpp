// Which texts say where to listen.
#include "election/src/listen_address.hpp"

#include <gtest/gtest.h>

namespace tenure::test {
namespace {

std::string faultOfListen(const std::string& text) {
  const auto address = parseListen(text);
  return address ? std::string{} : address.error().message;
}

TEST(ListenAddress, ReadsAndWritesEachKind) {
  for (const std::string text :
       {"127.0.0.1:9200", "0.0.0.0:1", "[::1]:9200", "[fe80::1]:65535", "unix:/run/a.sock", "127.0.0.1:0"}) {
    const auto address = parseListen(text);
    ASSERT_TRUE(address) << address.error().message;
    EXPECT_EQ(toString(*address), text);
    EXPECT_EQ(faultOfListen(text), "");
  }
}

TEST(ListenAddress, RefusesWhatIsNone) {
  for (const std::string text : {"", ":", "9200", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
                                 "127.0.0.1: 80", "::1:9200", "[::1]", "[127.0.0.1]:80", "host.example:80",
                                 "localhost:9200", "1.2.3:80", "unix:", "unix:run/a.sock", "/run/a.sock"}) {
    EXPECT_NE(faultOfListen(text), "") << text;
  }
  EXPECT_NE(faultOfListen("localhost:9200").find("127.0.0.1:9200"), std::string::npos);
  EXPECT_NE(faultOfListen("unix:/" + std::string(107, 'x')).find("107"), std::string::npos);
  EXPECT_EQ(faultOfListen("unix:/" + std::string(106, 'x')), "");
}

TEST(ListenAddress, KnowsWhatOnlyThisMachineReaches) {
  for (const char* text : {"127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "unix:/x"}) {
    EXPECT_TRUE(isLocal(*parseListen(text))) << text;
  }
  for (const char* text : {"0.0.0.0:1", "10.0.0.1:1", "[::]:1"}) {
    EXPECT_FALSE(isLocal(*parseListen(text))) << text;
  }
}

}  // namespace
}  // namespace tenure::test
