// Which member is asked next.
#include "lockcore/stores/etcd/src/link/members.hpp"

#include <gtest/gtest.h>

namespace tenure::etcd_store {
namespace {

using namespace std::chrono_literals;

TEST(EtcdMembers, theOneThatAnsweredLastComesFirst) {
  Members members{3};
  EXPECT_EQ(members.next({false, false, false}, 0s), 0U);
  members.answered(1);
  EXPECT_EQ(members.next({false, false, false}, 0s), 1U);
  EXPECT_EQ(members.next({false, true, false}, 0s), 2U);
  EXPECT_EQ(members.next({false, true, true}, 0s), 0U);
  EXPECT_EQ(members.next({true, true, true}, 0s), std::nullopt);
}

TEST(EtcdMembers, oneThatFailedIsLeftForAWhile) {
  Members members{2};
  members.failed(0, 10s);
  EXPECT_EQ(members.next({false, false}, 10s), 1U);
  EXPECT_EQ(members.next({false, false}, 10s + Members::pause - 1ns), 1U);
  EXPECT_EQ(members.next({false, false}, 10s + Members::pause), 0U);
  members.failed(0, 20s);
  members.answered(0);
  EXPECT_EQ(members.next({false, false}, 20s), 0U);
}

TEST(EtcdMembers, ifAllFailedTheOldestFailureComesFirst) {
  Members members{3};
  members.failed(1, 10s);
  members.failed(0, 11s);
  members.failed(2, 12s);
  EXPECT_EQ(members.next({false, false, false}, 12s), 1U);
  EXPECT_EQ(members.next({false, true, false}, 12s), 0U);
}

}  // namespace
}  // namespace tenure::etcd_store
