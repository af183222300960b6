// What a group refuses: all faults are reported together, before anything is done.
#include <gtest/gtest.h>

#include <tenure/election/group.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>
#include <tenure/testing/manual_runtime.hpp>

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> faultFields(GroupOptions options, bool withStore = true) {
  const auto store = withStore ? makeMemoryStore(std::make_shared<ManualScheduler>()) : nullptr;
  const auto group = Group::make(std::move(options), store);
  std::vector<std::string> fields;
  if (!group) {
    for (const OptionFault& fault : group.error()) {
      EXPECT_FALSE(fault.message.empty());
      fields.push_back(fault.field);
    }
  }
  return fields;
}

using Fields = std::vector<std::string>;

TEST(Group, needsAName) { EXPECT_EQ(faultFields({}), Fields{"group"}); }

TEST(Group, namesAllFaultsTogether) {
  EXPECT_EQ(faultFields({.group = "", .candidate = {.id = "a#b", .priority = 51}, .lease = {.duration = 1ms}}, false),
            (Fields{"group", "candidate.id", "candidate.priority", "lease.duration", "store"}));
}

TEST(Group, checksTheCandidatesName) {
  const auto accepted = [](const std::string& id) {
    return faultFields({.group = "g", .candidate = {.id = id}}).empty();
  };
  EXPECT_TRUE(accepted("node-1.example"));
  EXPECT_TRUE(accepted("Zürich 3"));
  EXPECT_TRUE(accepted(std::string(200, 'x')));
  EXPECT_FALSE(accepted(std::string(201, 'x')));
  EXPECT_FALSE(accepted("a\nb"));
  EXPECT_FALSE(accepted("a\x7F"));
  EXPECT_FALSE(accepted("\xC3("));
  EXPECT_FALSE(accepted("a#b"));
}

TEST(Group, takesTheHostNameIfTheCandidateHasNone) {
  const auto group = Group::make({.group = "g"}, makeMemoryStore(std::make_shared<ManualScheduler>()));
  ASSERT_TRUE(group);
  EXPECT_FALSE(group->options().candidate.id.empty());
  EXPECT_EQ(group->name(), "g");
  EXPECT_EQ(group->key(), LeaseKey{"g"});
  EXPECT_EQ(group->timing().duration(), 10s);
}

TEST(Group, valueThrowsAllFaultsOfABadOne) {
  try {
    (void)Group::make({.candidate = {.id = "#"}}, nullptr).value();
    FAIL() << "accepted";
  } catch (const std::invalid_argument& error) {
    const std::string what = error.what();
    for (const char* part : {"group:", "candidate.id:", "store:"}) EXPECT_NE(what.find(part), what.npos) << what;
  }
}

}  // namespace
}  // namespace tenure::test
