// A forked child inherits objects, but they do not belong to it.
#include "lockcore/runtime/process_mark.hpp"

#include <memory>
#include <sys/syscall.h>

#include <gtest/gtest.h>

#include "lockcore/child_process.hpp"

namespace tenure::test {
namespace {

TEST(ProcessMarkTest, isHereWhereItWasMade) {
  const ProcessMark mark;
  const ProcessMark copy = mark;
  EXPECT_TRUE(mark.isHere());
  EXPECT_TRUE(copy.isHere());
}

TEST(ProcessMarkTest, aChildsMarksAreItsOwnAndItsParentsAreNot) {
  const ProcessMark parents;
  const int wrong = inChild([&] {
    const bool before = parents.isHere();  // before the child has its own number
    const ProcessMark own;
    const ProcessMark copyOfOwn = own;
    const ProcessMark copyOfParents = parents;
    return (before ? 1 : 0) | (own.isHere() ? 0 : 2) | (copyOfOwn.isHere() ? 0 : 4) | (parents.isHere() ? 8 : 0) |
           (copyOfParents.isHere() ? 16 : 0);
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(parents.isHere());
}

TEST(ProcessMarkTest, aGrandchildOwnsNothingOfItsElders) {
  const ProcessMark grandparents;
  const int wrong = inChild([&] {
    const ProcessMark parents;
    const int ofGrandchild = inChild([&] {
      const int before = (grandparents.isHere() ? 1 : 0) | (parents.isHere() ? 2 : 0);
      const ProcessMark own;
      return before | (own.isHere() ? 0 : 4) | (grandparents.isHere() ? 8 : 0) | (parents.isHere() ? 16 : 0);
    });
    return ofGrandchild | (parents.isHere() ? 0 : 32) | (grandparents.isHere() ? 64 : 0);
  });
  EXPECT_EQ(wrong, 0);
}

TEST(ProcessMarkTest, aGrandchildOfAChildThatMadeNoneKnowsItsGrandparentsToo) {
  const ProcessMark grandparents;
  EXPECT_EQ(inChild([&] {
              return inChild([&] {
                const ProcessMark own;
                return (own.isHere() ? 0 : 1) | (grandparents.isHere() ? 2 : 0);
              });
            }),
            0);
}

TEST(ProcessMarkTest, aChildOfARawCloneIsAChild) {
  const ProcessMark parents;
  const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  ASSERT_GE(child, 0);
  if (child == 0) _exit(parents.isHere() ? 1 : 0);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(PerProcess, aChildGetsAValueOfItsOwn) {
  static detail::PerProcess<int> value;
  value.get() = 7;
  EXPECT_EQ(value.get(), 7);
  const int wrong = inChild([&] {
    const int fresh = value.get() == 0 ? 0 : 1;
    value.get() = 8;
    const int kept = value.get() == 8 ? 0 : 2;
    return fresh | kept | inChild([&] { return value.get() == 0 ? 0 : 4; });
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(value.get(), 7);
}

}  // namespace
}  // namespace tenure::test
