// What a fence for S3 takes for an answer of S3, and what not.
#include <gtest/gtest.h>

#include <tenure/adapters/s3_fence.hpp>

#include "adapters/s3/scripted_s3.hpp"
#include "object_answers.hpp"
#include "object_head.hpp"

namespace tenure {
namespace {

using s3_fence::answerOf;
using Kind = s3_fence::ObjectAnswer::Kind;
using test::ScriptedS3;

constexpr const char* place = "state";

TermStamp termOf(std::uint64_t token) { return {"billing", FencingToken{token}, "a#1"}; }

S3Fence open(const std::shared_ptr<ScriptedS3>& s3) {
  S3FenceOptions options;
  options.bucket = "b";
  return S3Fence{options, s3};
}

Kind kindOf(int status, const std::string& body) { return answerOf("there", net::HttpResponse{status, {}, body}).kind; }

TEST(S3Answers, onlyS3sOwnWordsSayThatNothingIsThere) {
  EXPECT_EQ(kindOf(404, "<Error><Code>NoSuchKey</Code></Error>"), Kind::absent);
  for (const char* body : {"", "<html><h1>Not Found</h1></html>", "<Error><Code>NoSuchKeyMarker</Code></Error>",
                           "<Error><Code>NoSuchBucket</Code></Error>", "<Error><Code>NoSuchVersion</Code></Error>"}) {
    EXPECT_EQ(kindOf(404, body), Kind::failed) << body;
  }
  for (const int status : {301, 400, 403, 410}) {
    EXPECT_EQ(kindOf(status, "<Error><Code>NoSuchKey</Code></Error>"), Kind::failed) << status;
  }
}

TEST(S3Answers, anErrorIsToldInAFewWords) {
  const std::string longest(100'000, 'x');
  const auto answer = answerOf("there", net::HttpResponse{400, {}, "<Code>" + longest + "</Code><Message>" + longest});
  EXPECT_LT(answer.error.message.size(), 500U);
}

TEST(S3Answers, anEtagIsOneAndStrong) {
  for (const char* good : {R"("9b2c")", R"("9b2c-3")", R"("")"}) EXPECT_TRUE(s3_fence::isStrongEtag(good)) << good;
  for (const char* bad : {"", "\"", "9b2c", R"(W/"9b2c")", R"("9b2c)", R"("a", "b")", R"("a","b")", "\"a b\"", "*"}) {
    EXPECT_FALSE(s3_fence::isStrongEtag(bad)) << bad;
  }
}

TEST(S3Answers, aPageOfAProxyIsNotAnObjectWithoutAToken) {
  const auto s3 = std::make_shared<ScriptedS3>();
  S3Fence fence = open(s3);
  ASSERT_TRUE(fence.write(termOf(5), {.key = place, .bytes = "one"}));
  s3->turn = [](const aws::ObjectRequest&) { return ScriptedS3::Turn{ScriptedS3::Fate::error, 404, ""}; };
  EXPECT_TRUE(fence.highestSeen(place, "billing").has_error());
  EXPECT_TRUE(fence.read(place).has_error());
}

TEST(S3Answers, aSuccessWithoutAnEtagIsLookedAfter) {
  const auto s3 = std::make_shared<ScriptedS3>();
  s3->tellsEtagOfWrites = false;
  S3Fence fence = open(s3);
  ASSERT_TRUE(fence.write(termOf(5), {.key = place, .bytes = "one"}));
  EXPECT_EQ(s3->log(), (std::vector<std::string>{"GET state", "PUT state If-None-Match", "GET state"}));
  EXPECT_EQ(fence.read(place).value()->bytes, "one");
}

TEST(S3Answers, aPointerNamesNoBytesWhoseWriteWasNotAcknowledgedByS3) {
  const auto s3 = std::make_shared<ScriptedS3>();
  s3->tellsEtagOfWrites = false;
  int swallowed = 0;
  S3Fence fence = open(s3);
  s3->turn = [&](const aws::ObjectRequest& request) {
    const bool bytes = request.method == "PUT" && request.key.starts_with("state.tenure/");
    // A proxy that says 200 and passes nothing on.
    return bytes && ++swallowed == 1 ? ScriptedS3::Turn{ScriptedS3::Fate::error, 200, ""} : ScriptedS3::Turn{};
  };
  ASSERT_TRUE(fence.write(termOf(5), {.key = place, .bytes = "one", .form = S3Form::pointer}));
  EXPECT_EQ(swallowed, 3) << "swallowed, written, there already";
  EXPECT_EQ(fence.read(place).value()->bytes, "one");
}

TEST(S3Answers, bytesOfAnotherKeyAreNotDeleted) {
  const auto s3 = std::make_shared<ScriptedS3>();
  S3Fence fence = open(s3);
  ASSERT_TRUE(fence.write(termOf(5), {.key = place, .bytes = "one", .form = S3Form::pointer}));
  s3->put("copy", s3->at(place));
  ASSERT_TRUE(fence.write(termOf(6), {.key = "copy", .bytes = "two", .form = S3Form::pointer}));
  EXPECT_EQ(fence.read(place).value()->bytes, "one");
  EXPECT_EQ(fence.read("copy").value()->bytes, "two");
}

TEST(S3Answers, aHeadHasOneSpelling) {
  const std::string good = s3_fence::toText({"0123", "", 0, "", {termOf(5)}});
  const std::string terms = good.substr(good.find(R"("terms")"), good.find(']') + 1 - good.find(R"("terms")"));
  ASSERT_TRUE(s3_fence::parseHead(good));
  const auto with = [&](const std::string& more) {
    std::string out = good;
    return out.insert(out.rfind('}'), ',' + more);
  };
  EXPECT_FALSE(s3_fence::parseHead(with(R"("terms":[])"))) << "the first one has a token";
  EXPECT_FALSE(s3_fence::parseHead(with(R"("more":"1")"))) << "a write of ours would lose it";
  EXPECT_FALSE(s3_fence::parseHead(' ' + good));
  std::string nobody = good;
  EXPECT_FALSE(s3_fence::parseHead(nobody.replace(nobody.find("a#1"), 3, ""))) << "a term without a holder";
}

}  // namespace
}  // namespace tenure
