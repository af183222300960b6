// What is logged: each kind of error once, and that it is over.
#include "adapters/pod_label/src/routing_log.hpp"

#include <gtest/gtest.h>

namespace tenure::pod_label {
namespace {

class RoutingLogTest : public testing::Test {
 protected:
  std::vector<std::string> linesOf(const Report& report) {
    lines_.clear();
    log_.take(report, FencingToken{7});
    return lines_;
  }
  static Report errorOf(const std::string& message) { return {{}, StoreError{ErrorClass::transient, message}}; }

  std::vector<std::string> lines_{};
  RoutingLog log_{Logger{LogLevel::info, [this](LogLevel, std::string_view line) { lines_.emplace_back(line); }}};
};

using Lines = std::vector<std::string>;

TEST_F(RoutingLogTest, eachKindOfErrorIsToldOnce) {
  EXPECT_EQ(linesOf(errorOf("port 1")), (Lines{"routing: port 1. The election continues"}));
  EXPECT_EQ(linesOf(errorOf("port 2")), Lines{});
  EXPECT_EQ(linesOf(errorOf("another")), (Lines{"routing: another. The election continues"}));
  EXPECT_EQ(linesOf(errorOf("port 3")), Lines{});
  EXPECT_EQ(linesOf({}), (Lines{"routing: works again"}));
  EXPECT_EQ(linesOf({}), Lines{});
  EXPECT_EQ(linesOf(errorOf("port 4")).size(), 1U) << "it is news again";
}

TEST_F(RoutingLogTest, whatWasChangedIsTold) {
  EXPECT_EQ(linesOf({{{"b", "1", false}, {"a", "2", true}}, {}}),
            (Lines{"pod b no longer has the label of the leader",
                   "pod a has the label of the leader, with fencing token 7"}));
}

}  // namespace
}  // namespace tenure::pod_label
