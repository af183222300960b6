// Which requests the fence proxy may send a second time, and which answers have no body.
#include <gtest/gtest.h>

#include "adapters/gateway/proxy/forwarding.hpp"

namespace tenure::gateway {
namespace {

TEST(FenceProxyForwarding, onlyIdempotentMethodsMayBeSentAgain) {
  for (const http::verb method :
       {http::verb::get, http::verb::head, http::verb::options, http::verb::put, http::verb::delete_}) {
    EXPECT_TRUE(isIdempotent(method)) << method;
  }
  for (const http::verb method : {http::verb::post, http::verb::patch, http::verb::connect, http::verb::unknown}) {
    EXPECT_FALSE(isIdempotent(method)) << method;
  }
}

TEST(FenceProxyForwarding, answersToHeadAndTwoStatusesHaveNoBody) {
  EXPECT_TRUE(hasNoBody(http::verb::head, 200));
  EXPECT_TRUE(hasNoBody(http::verb::get, 204));
  EXPECT_TRUE(hasNoBody(http::verb::get, 304));
  EXPECT_FALSE(hasNoBody(http::verb::get, 200));
  EXPECT_FALSE(hasNoBody(http::verb::post, 404));
}

}  // namespace
}  // namespace tenure::gateway
