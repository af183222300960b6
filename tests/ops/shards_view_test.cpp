// What is shown of a sharded elector.
#include <gtest/gtest.h>

#include <tenure/ops/metrics.hpp>

#include "election/ops/src/answers.hpp"
#include "election/sharded_group.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using ops::Method;

class ShardsShown : public ShardedGroup {
 protected:
  ShardsShown() : ShardedGroup{3} {}
  [[nodiscard]] ops::Answer get(std::string_view target) { return answerTo(Method::get, target, electors_); }
  [[nodiscard]] bool shows(const std::string& line) {
    return get("/metrics").body.find('\n' + line + '\n') != std::string::npos;
  }
  ops::WatchedElectors electors_{10s};
};

TEST_F(ShardsShown, EachShardIsAGroupOfItsOwnForAsLongAsItIsThere) {
  auto elector = std::make_unique<ShardedElector>(group("a", memory_), ShardListener{}, runtime());
  const ShardsView view = elector->view();
  EXPECT_FALSE(view.competes());
  electors_.watch(view);
  EXPECT_EQ(get("/readyz").status, 503) << "it does not know its shards yet";
  elector->start();
  ASSERT_TRUE(advanceUntil([&] { return elector->owned().size() == 3; }));
  EXPECT_EQ(get("/readyz").status, 200);
  EXPECT_EQ(get("/leader").status, 400) << "it is not said for which shard";
  const std::string name = view.tryElectors().value().front().group();
  EXPECT_EQ(get("/leader?group=" + name).status, 200) << name;
  EXPECT_TRUE(shows("tenure_leader{group=\"" + name + "\"} 1")) << get("/metrics").body;
  EXPECT_TRUE(shows("tenure_terms_total{group=\"" + name + "\"} 1"));
  EXPECT_NE(get("/status").body.find(name), std::string::npos);

  elector->requestStop();
  settle();
  EXPECT_FALSE(view.competes());
  EXPECT_EQ(get("/readyz").status, 503);
  destroy(std::move(elector));
  EXPECT_EQ(view.tryElectors()->size(), 0U);
  EXPECT_EQ(get("/leader").status, 503) << "nothing is left";
}

TEST_F(ShardsShown, CountsOfAShardGoOnWhenItComesBack) {
  auto elector = std::make_unique<ShardedElector>(group("a", memory_), ShardListener{}, runtime());
  const ShardsView view = elector->view();
  electors_.watch(view);
  elector->start();
  ASSERT_TRUE(advanceUntil([&] { return elector->owned().size() == 3; }));
  Candidate& b = join("b");
  ASSERT_TRUE(advanceUntil([&] { return elector->owned().size() == 2; }));
  ASSERT_TRUE(advanceUntil([&] { return view.tryElectors()->size() == 2; })) << "what is given up is not shown";
  leave(b);
  ASSERT_TRUE(advanceUntil([&] { return elector->owned().size() == 3; }));
  std::uint64_t terms = 0;
  const std::vector<ElectorView> shown = view.tryElectors().value();
  for (const ElectorView& each : shown) terms += each.counts().terms;
  EXPECT_EQ(terms, 4U) << "one shard was won twice";
  destroy(std::move(elector));
}

/// It may be gone from the list before anybody has looked at it since it ended.
TEST_F(ShardsShown, OfAShardThatWasGivenUpTheLastEventSaysThatItIsNotLed) {
  auto elector = std::make_unique<ShardedElector>(group("a", memory_), ShardListener{}, runtime());
  electors_.watch(elector->view());
  elector->start();
  ASSERT_TRUE(advanceUntil([&] { return elector->owned().size() == 3; }));
  electors_.refresh();
  electors_.noteLeaders();
  std::optional<std::uint64_t> after;
  const std::string before = electors_.events().since(after);
  join("b");
  ASSERT_TRUE(advanceUntil([&] { return elector->view().tryElectors()->size() == 2; }));
  for (int looks = 0; looks < 3; ++looks) {
    electors_.refresh();
    electors_.noteLeaders();
  }
  const std::string told = electors_.events().since(after);
  EXPECT_NE(told.find("\"leads\":false,\"fencing_token\":null,\"leader\":null}"), std::string::npos) << told;
  EXPECT_EQ(told.find("event:", 1), std::string::npos) << "once: " << told;
  std::optional<std::uint64_t> ofNewClient;
  const std::string state = electors_.events().since(ofNewClient);
  EXPECT_EQ(state.find("\"leads\":false"), std::string::npos) << state;
  EXPECT_LT(state.size(), before.size()) << "two groups are left";
  destroy(std::move(elector));
}

}  // namespace
}  // namespace tenure::test
