// The text by which stores keep the name of a successor.
#include "lockcore/port/successor_text.hpp"

#include <gtest/gtest.h>

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

constexpr FencingToken ourTerm{42};

TEST(SuccessorText, isReadBackAsWritten) {
  for (const Successor& successor :
       {Successor{"b", 0ms}, Successor{"billing b", 3'333ms}, Successor{"ü 1 2", maxRecordLease}}) {
    EXPECT_EQ(successorFrom(successorText(successor, ourTerm), ourTerm), successor) << successor.name;
  }
  EXPECT_EQ(successorText({"billing b", 3'333ms}, ourTerm), "42 3333 billing b");
  EXPECT_EQ(successorText({}, ourTerm), "");
}

/// An older release leaves it behind when it acquires the lease, and anybody may write anything.
TEST(SuccessorText, ofAnotherTermOrWithoutSenseNamesNobody) {
  for (const char* text :
       {"", "42", "42 ", "42 3333", "42 3333 ", "41 3333 b", "43 3333 b", "42 -1 b", "42 x b", "42 604800001 b",
        "42 99999999999 b", "x 3333 b", "42 3333 b#1", "42 3333 b\n", " 42 3333 b", "42  3333 b", "42 3333 \xFF"}) {
    EXPECT_EQ(successorFrom(text, ourTerm), Successor{}) << text;
  }
}

TEST(SuccessorText, isNoAttributeOfTheUsers) {
  LeaseRecord record;
  record.token = ourTerm;
  record.attributes = {{"a", "1"}};
  record.successor = {"b", 1s};
  auto stored = attributesWithSuccessor(record);
  EXPECT_EQ(stored, (std::map<std::string, std::string>{{"a", "1"}, {"tenureSuccessor", "42 1000 b"}}));
  LeaseRecord read;
  read.token = ourTerm;
  read.attributes = stored;
  takeSuccessor(read);
  EXPECT_EQ(read, record);
  read.token = ourTerm.next();
  read.attributes = stored;
  takeSuccessor(read);
  EXPECT_EQ(read.successor, Successor{});
  EXPECT_EQ(read.attributes, record.attributes) << "nor is that of another term";
}

}  // namespace
}  // namespace tenure::test
