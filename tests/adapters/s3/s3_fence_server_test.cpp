// The fence against a server: what the contract does not check.
#include <gtest/gtest.h>

#include <tenure/adapters/s3_fence.hpp>

#include "adapters/s3/bare_bucket.hpp"

namespace tenure {
namespace {

TermStamp stampOf(std::uint64_t token) { return {"billing", FencingToken{token}, "a#1"}; }

class S3FenceServerTest : public testing::Test {
 protected:
  [[nodiscard]] S3Fence open(const std::string& bucket, std::size_t most = 64U << 20U) const {
    S3FenceOptions options;
    options.bucket = bucket;
    options.endpoint = test::s3Endpoint();
    options.maxObject = most;
    return S3Fence{options};
  }
  test::BareBucket bucket_{test::BareBucket::freshName()};
};

TEST_F(S3FenceServerTest, aMissingBucketIsTold) {
  S3Fence fence = open(bucket_.name());
  const FenceError error = fence.write(stampOf(5), {.key = "k", .bytes = "x"}).error();
  ASSERT_NE(error.writeError(), nullptr);
  EXPECT_EQ(error.writeError()->error.errorClass, ErrorClass::misconfigured) << error.message;
  EXPECT_NE(error.message.find("NoSuchBucket"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find(bucket_.name()), std::string::npos) << error.message;
}

TEST_F(S3FenceServerTest, anObjectOfOthersIsNotOverwritten) {
  bucket_.create();
  for (const std::string bytes : {"somebody's", ""}) {
    bucket_.put("k", bytes);
    S3Fence fence = open(bucket_.name());
    const FenceError error = fence.write(stampOf(5), {.key = "k", .bytes = "x"}).error();
    ASSERT_NE(error.writeError(), nullptr) << error.message;
    EXPECT_EQ(error.writeError()->error.errorClass, ErrorClass::corrupt) << error.message;
    EXPECT_EQ(bucket_.get("k"), bytes);
  }
}

TEST_F(S3FenceServerTest, bytesOfEveryKindAndSizeComeBack) {
  bucket_.create();
  S3Fence fence = open(bucket_.name());
  std::string all(256, '\0');
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<char>(i);
  std::string large;
  while (large.size() < 3'000'000) large += all;
  for (const S3Form form : {S3Form::oneObject, S3Form::pointer}) {
    for (const std::string& bytes : {std::string{}, all, large}) {
      const auto written = fence.write(stampOf(5), {.key = "k", .bytes = bytes, .form = form});
      ASSERT_TRUE(written) << FenceError{written.error()}.message;
      const auto found = fence.read("k").value();
      ASSERT_TRUE(found.has_value());
      EXPECT_TRUE(found->bytes == bytes) << bytes.size();
      EXPECT_EQ(found->terms, std::vector<TermStamp>{stampOf(5)});
    }
  }
}

TEST_F(S3FenceServerTest, aReadThatIsLongerThanAllowedIsAnError) {
  bucket_.create();
  S3Fence writer = open(bucket_.name());
  ASSERT_TRUE(writer.write(stampOf(5), {.key = "k", .bytes = std::string(2'000'000, 'x')}));
  S3Fence reader = open(bucket_.name(), 1'000);
  const FenceError error = reader.read("k").error();
  ASSERT_NE(error.writeError(), nullptr);
  EXPECT_EQ(error.writeError()->error.errorClass, ErrorClass::misconfigured) << error.message;
  EXPECT_EQ(reader.highestSeen("k", "billing").value(), stampOf(5)) << "the head alone is short";
}

}  // namespace
}  // namespace tenure
