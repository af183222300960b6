#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lockcore/net/proxy.hpp"

namespace tenure::net {
namespace {

struct Case {
  std::string rule;
  std::string host;
  std::uint16_t port;
  bool covered;
};

TEST(NoProxy, table) {
  const std::vector<Case> cases = {
      {"*", "anything", 1, true},
      {"", "a.test", 443, false},
      {"a.test", "a.test", 443, true},
      {"a.test", "A.Test", 443, true},
      {"A.TEST", "a.test", 443, true},
      {"a.test", "a.test.", 443, false},
      {"a.test.", "a.test", 443, false},
      {"a.test", "b.a.test", 443, true},
      {"a.test", "ba.test", 443, false},
      {"a.test", "a.test.other", 443, false},
      {".a.test", "b.a.test", 443, true},
      {".a.test", "c.b.a.test", 443, true},
      {".a.test", "a.test", 443, false},
      {".a.test", "ba.test", 443, false},
      {"*.a.test", "b.a.test", 443, true},
      {"*.a.test", "a.test", 443, false},
      {"a.test:8000", "a.test", 8000, true},
      {"a.test:8000", "a.test", 443, false},
      {".a.test:8000", "b.a.test", 8000, true},
      {"10.1.2.3", "10.1.2.3", 80, true},
      {"10.1.2.3", "10.1.2.4", 80, false},
      {"10.1.2.3:80", "10.1.2.3", 80, true},
      {"10.1.2.3:80", "10.1.2.3", 81, false},
      {"10.0.0.0/8", "10.200.3.4", 80, true},
      {"10.0.0.0/8", "11.0.0.1", 80, false},
      {"10.16.0.0/12", "10.31.255.255", 80, true},
      {"10.16.0.0/12", "10.32.0.0", 80, false},
      {"0.0.0.0/0", "1.2.3.4", 80, true},
      {"0.0.0.0/0", "fd00::1", 80, false},
      {"10.0.0.0/8", "::ffff:10.1.2.3", 80, true},
      {"::ffff:10.1.2.3", "10.1.2.3", 80, true},
      {"10.0.0.0/33", "10.0.0.1", 80, false},
      {"10.0.0.0/x", "10.0.0.1", 80, false},
      {"0.0.0.0/0", "a.test", 80, false},
      {"fd00::1", "fd00::1", 80, true},
      {"[fd00::1]", "fd00::1", 80, false},
      {"[fd00::1]:8000", "fd00::1", 8000, true},
      {"[fd00::1]:8000", "fd00::1", 80, false},
      {"fd00::/8", "fd12::5", 80, true},
      {"fd00::/8", "fe80::5", 80, false},
      {"2.3.4", "1.2.3.4", 80, false},
      {"", "localhost", 80, true},
      {"", "my.localhost", 80, false},
      {"", "127.9.9.9", 80, true},
      {"", "::1", 80, true},
      {"", "::ffff:127.0.0.1", 80, true},
      {"", "128.0.0.1", 80, false},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(NoProxy{c.rule}.covers(c.host, c.port), c.covered) << c.rule << " / " << c.host << ":" << c.port;
  }
  EXPECT_TRUE(NoProxy{"x.test, a.test ,"}.covers("a.test", 443));
}

}  // namespace
}  // namespace tenure::net
