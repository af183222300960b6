// Values of keys: what is written is read again, and what this release does not write is corrupt.
#include "lockcore/stores/etcd/src/record_codec.hpp"

#include <gtest/gtest.h>

#include "contract/store_calls.hpp"

namespace tenure::etcd_store {
namespace {

const std::string storeName = "etcd";
const LeaseKey billing{"billing"};
const std::string billingKey = "/tenure/lease/billing";
const Place place{storeName, billing, billingKey};

StoredRecord fullRecord() {
  StoredRecord stored{contract::recordOf("host \"1\"\n")};
  stored.record.token = FencingToken{7};
  stored.record.released = true;
  stored.record.data = std::string{"\0\xff x", 4};
  stored.record.attributes = {{"zone", "eu"}, {"isReleased", "no"}};
  stored.stepDown = FencingToken{7};
  return stored;
}

TEST(EtcdRecordCodec, readsWhatItWrites) {
  const StoredRecord written = fullRecord();
  const auto read = recordFrom(place, textOf(written));
  ASSERT_TRUE(read.has_value());
  EXPECT_TRUE(*read == written);
  const Counter counter{FencingToken{9}, std::chrono::milliseconds{250}};
  EXPECT_EQ(*counterFrom(place, textOf(counter)), counter);
}

TEST(EtcdRecordCodec, theFormOfTheValuesIsFixed) {
  StoredRecord stored{{.holder = "h", .version = RecordVersion{"v"}, .leaseDuration = std::chrono::seconds{1}}};
  stored.record.token = FencingToken{3};
  EXPECT_EQ(textOf(stored),
            R"({"tenureLayout":1,"ownerName":"h","leaseDuration":1000,"recordVersionNumber":"v","tenureToken":3,)"
            R"("tenureAcquiredMillis":0,"tenureRenewedMillis":0})");
  EXPECT_EQ(textOf(Counter{FencingToken{3}, std::chrono::seconds{1}}),
            R"({"tenureLayout":1,"tenureToken":3,"tenureOpenLease":1000})");
}

TEST(EtcdRecordCodec, whatIsNotUnderstoodIsCorruptAndNamed) {
  const std::vector<std::string> bad{
      "",
      "x",
      "[]",
      "{}",
      R"({"tenureLayout":2,"ownerName":"h","leaseDuration":1000,"recordVersionNumber":"v","tenureToken":3})",
      R"({"tenureLayout":1,"leaseDuration":1000,"recordVersionNumber":"v","tenureToken":3})",
      R"({"tenureLayout":1,"ownerName":"","leaseDuration":1000,"recordVersionNumber":"v","tenureToken":3})",
      R"({"tenureLayout":1,"ownerName":"h","leaseDuration":0,"recordVersionNumber":"v","tenureToken":3})",
      R"({"tenureLayout":1,"ownerName":"h","leaseDuration":"1000","recordVersionNumber":"v","tenureToken":3})",
      R"({"tenureLayout":1,"ownerName":"h","leaseDuration":604800001,"recordVersionNumber":"v","tenureToken":3})",
      R"({"tenureLayout":1,"ownerName":"h","leaseDuration":1000,"tenureToken":3})",
      R"({"tenureLayout":1,"ownerName":"h","leaseDuration":1000,"recordVersionNumber":"v"})",
      R"({"tenureLayout":1,"ownerName":"h","leaseDuration":1000,"recordVersionNumber":"v","tenureToken":0})",
      R"({"tenureLayout":1,"ownerName":"h","leaseDuration":1000,"recordVersionNumber":"v","tenureToken":9007199254740992})",
      R"({"tenureLayout":1,"ownerName":"h","leaseDuration":1000,"recordVersionNumber":"v","tenureToken":3,"isReleased":1})",
      R"({"tenureLayout":1,"ownerName":"h","leaseDuration":1000,"recordVersionNumber":"v","tenureToken":3,"data":"%"})",
      R"({"tenureLayout":1,"ownerName":"h","leaseDuration":1000,"recordVersionNumber":"v","tenureToken":3,"data":"Zh=="})",
      R"({"tenureLayout":1,"ownerName":"h","leaseDuration":1000,"recordVersionNumber":"v","tenureToken":3,"more":1})",
      R"({"tenureLayout":1,"ownerName":"h","leaseDuration":1000,"recordVersionNumber":"v","tenureToken":3,"tenureAttributes":{"a":1}})"};
  for (const std::string& text : bad) {
    const auto read = recordFrom(place, text);
    ASSERT_TRUE(read.has_error()) << text;
    EXPECT_EQ(read.error().errorClass, ErrorClass::corrupt);
    EXPECT_NE(read.error().message.find(billingKey), std::string::npos) << read.error().message;
  }
  for (const char* text :
       {"", "7", R"({"tenureToken":3})", R"({"tenureLayout":1,"tenureToken":-1,"tenureOpenLease":0})"}) {
    EXPECT_TRUE(counterFrom(place, text).has_error()) << text;
  }
}

TEST(EtcdRecordCodec, tokensAreShownAsTheyAreStored) {
  const auto shown = tokensFrom(place, textOf(fullRecord()), R"({"tenureLayout":1,"tenureToken":99999999999999999})");
  ASSERT_TRUE(shown.has_value());
  EXPECT_EQ(shown->counter, "99999999999999999");
  EXPECT_EQ(shown->copy, "7");
  EXPECT_TRUE(shown->released);
  EXPECT_EQ(tokensFrom(place, std::nullopt, "rubbish")->counter, "rubbish");
  EXPECT_TRUE(tokensFrom(place, "rubbish", std::nullopt).has_error());
}

TEST(EtcdRecordCodec, aLeaseOfAllTimeIsTheLongestOneToAnOperator) {
  const auto leaseOf = [](const std::string& open) {
    return tokensFrom(place, std::nullopt, R"({"tenureLayout":1,"tenureToken":1,"tenureOpenLease":)" + open + '}')
        ->lease;
  };
  EXPECT_EQ(leaseOf("10000"), std::chrono::milliseconds{10'000});
  EXPECT_EQ(leaseOf("-1"), std::chrono::milliseconds{0});
  for (const char* open : {"604800001", "9223372036854775807", "18446744073709551615", "1e300"}) {
    EXPECT_EQ(leaseOf(open), maxRecordLease) << open;
  }
}

TEST(EtcdRecordCodec, aCorrectionKeepsTheRest) {
  const auto read = recordFrom(place, corrected(textOf(fullRecord()), FencingToken{5}, "w"));
  ASSERT_TRUE(read.has_value());
  StoredRecord expected = fullRecord();
  expected.record.token = FencingToken{5};
  expected.record.version = RecordVersion{"w"};
  expected.record.livenessFile.reset();
  expected.stepDown = {};
  EXPECT_TRUE(*read == expected);
}

}  // namespace
}  // namespace tenure::etcd_store
