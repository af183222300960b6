// What a fence for S3 does with each answer of the server, and what it requests.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include <gtest/gtest.h>

#include <tenure/adapters/s3_fence.hpp>

#include "adapters/s3/scripted_s3.hpp"
#include "adapters/s3/src/object_head.hpp"
#include "adapters/s3/src/object_write.hpp"
#include "lockcore/port/store_checks.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;
using test::ScriptedS3;
using Fate = ScriptedS3::Fate;
using Turn = ScriptedS3::Turn;

constexpr const char* key = "state";
constexpr const char* probeKey = ".tenure-fence-probe";

TermStamp stamp(std::uint64_t token, std::string holder = "a#1") {
  return {"billing", FencingToken{token}, std::move(holder)};
}

class S3FenceTest : public testing::Test {
 protected:
  [[nodiscard]] S3Fence open() const {
    S3FenceOptions options;
    options.bucket = "b";
    options.timeout = timeout_;
    return S3Fence{options, s3_};
  }
  static S3Put put(std::string bytes, S3Form form = S3Form::oneObject) {
    return {.key = key, .bytes = std::move(bytes), .form = form};
  }
  [[nodiscard]] static std::string told(const FenceResult<void>& result) {
    return result ? "written" : FenceError{result.error()}.message;
  }
  [[nodiscard]] std::string bytesAt(S3Fence& fence) const {
    const auto found = fence.read(key).value();
    return found ? found->bytes : "(none)";
  }
  /// The next writes of `key`, this many, have this outcome.
  void nextWrites(int count, const Turn& fate) {
    s3_->turn = [count, fate](const aws::ObjectRequest& request) mutable {
      return request.method == "PUT" && request.key == key && count-- > 0 ? fate : Turn{};
    };
  }
  [[nodiscard]] int writesSent() const {
    const auto log = s3_->log();
    return static_cast<int>(std::count_if(log.begin(), log.end(),
                                          [](const std::string& line) { return line.starts_with("PUT state If"); }));
  }

  /// A write until its time is over, with this outcome for all its requests. On a machine without time for this
  /// process, the time may be over before the first request; then it tries once more.
  [[nodiscard]] FenceError failedAfterSending(S3Fence& fence, const S3Put& what, const Turn& fate) {
    for (;;) {
      const int before = writesSent();
      nextWrites(1'000'000, fate);
      const auto result = fence.write(stamp(5), what);
      if (result) throw std::runtime_error{"it was written"};
      if (writesSent() > before) return result.error();
    }
  }

  std::chrono::milliseconds timeout_{20'000};
  std::shared_ptr<ScriptedS3> s3_{std::make_shared<ScriptedS3>()};
};

TEST_F(S3FenceTest, equalBytesOfALaterTermHaveAnotherETag) {
  // A former leader has compared and is paused inside its write. The later term writes exactly the same bytes. If the
  // token were stored beside the bytes, the ETag would not change, and the late write would succeed.
  s3_fence::ObjectStore store{{.bucket = "b"}, s3_};
  S3Fence later = open();
  ASSERT_EQ(told(later.write(stamp(5), put("same"))), "written");
  const TermStamp former = stamp(5);
  const S3Put what = put("late");
  s3_fence::ObjectWrite write{store, former, what};
  write.inside = [&, first = true]() mutable {
    if (!std::exchange(first, false)) return;
    ASSERT_EQ(told(later.write(stamp(6, "b#2"), put("same"))), "written");
  };
  const auto refused = write.run();
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(*FenceError{refused.error()}.stale(), (StaleToken{FencingToken{5}, FencingToken{6}}));
  EXPECT_EQ(bytesAt(later), "same");
}

TEST_F(S3FenceTest, furtherWritesOfATermAreOneRequest) {
  S3Fence fence = open();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(told(fence.write(stamp(5), put("x" + std::to_string(i)))), "written");
  EXPECT_EQ(s3_->log(), (std::vector<std::string>{"GET state", "PUT state If-None-Match", "PUT state If-Match",
                                                  "PUT state If-Match"}));
}

TEST_F(S3FenceTest, aLostReplyIsResolvedByTheIdInTheHead) {
  S3Fence fence = open();
  nextWrites(1, {Fate::servedButLost});
  EXPECT_EQ(told(fence.write(stamp(5), put("one"))), "written");
  EXPECT_EQ(writesSent(), 1) << "it was there, so it is not sent again";
  nextWrites(1, {Fate::lost});
  EXPECT_EQ(told(fence.write(stamp(5), put("two"))), "written");
  EXPECT_EQ(writesSent(), 3);
  EXPECT_EQ(bytesAt(fence), "two");
}

TEST_F(S3FenceTest, aFailedServerIsNotBelieved) {
  S3Fence fence = open();
  nextWrites(1, {Fate::servedButLost, 500, "InternalError"});
  EXPECT_EQ(told(fence.write(stamp(5), put("one"))), "written");
  EXPECT_EQ(writesSent(), 1);
  EXPECT_EQ(bytesAt(fence), "one");
}

TEST_F(S3FenceTest, aLostWriteThatWasReplacedAtOnceWasAcceptedYet) {
  S3Fence fence = open();
  S3Fence later = open();
  ASSERT_EQ(told(later.write(stamp(4), put("old"))), "written");
  s3_->turn = [&, first = true](const aws::ObjectRequest& request) mutable {
    // Before the fence reads what became of its write, a later term has written.
    if (request.method == "GET" && s3_->at(key).find("mine") != std::string::npos && std::exchange(first, false)) {
      EXPECT_EQ(told(later.write(stamp(6, "b#2"), put("newer"))), "written");
    }
    const bool mine = request.method == "PUT" && request.body.ends_with("mine");
    return mine ? Turn{Fate::servedButLost} : Turn{};
  };
  EXPECT_EQ(told(fence.write(stamp(5), put("mine"))), "written") << "the head says which write it replaced";
  EXPECT_EQ(bytesAt(fence), "newer");
}

TEST_F(S3FenceTest, aLostWriteAfterWhichOthersWroteTwiceIsInDoubt) {
  S3Fence fence = open();
  S3Fence other = open();
  ASSERT_EQ(told(other.write(stamp(5), put("old"))), "written");
  s3_->turn = [&, first = true](const aws::ObjectRequest& request) mutable {
    if (request.method == "GET" && s3_->at(key).find("mine") != std::string::npos && std::exchange(first, false)) {
      EXPECT_EQ(told(other.write(stamp(5), put("x"))), "written");
      EXPECT_EQ(told(other.write(stamp(5), put("y"))), "written");
    }
    const bool mine = request.method == "PUT" && request.body.ends_with("mine");
    return mine ? Turn{Fate::servedButLost} : Turn{};
  };
  const auto result = fence.write(stamp(5), put("mine"));
  ASSERT_TRUE(result.has_error());
  EXPECT_TRUE(FenceError{result.error()}.writeError()->mayBeWritten);
  EXPECT_EQ(bytesAt(fence), "y") << "it is not written over what came after it";
}

TEST_F(S3FenceTest, conflictsAndThrottlingAreRepeated) {
  S3Fence fence = open();
  for (const Turn& fate : {Turn{Fate::error, 409, "ConditionalRequestConflict"}, Turn{Fate::error, 412, {}},
                           Turn{Fate::error, 503, "SlowDown"}, Turn{Fate::error, 429, "TooManyRequests"}}) {
    nextWrites(2, fate);
    EXPECT_EQ(told(fence.write(stamp(5), put(fate.code + "!"))), "written");
    EXPECT_EQ(bytesAt(fence), fate.code + "!");
  }
}

TEST_F(S3FenceTest, aServerThatStaysAwayEndsTheCallInDoubt) {
  ASSERT_EQ(told(open().write(stamp(5), put("one"))), "written");
  timeout_ = 200ms;
  S3Fence fence = open();
  for (const Turn& fate : {Turn{Fate::lost}, Turn{Fate::error, 500, "InternalError"}}) {
    const FenceError error = failedAfterSending(fence, put("two"), fate);
    EXPECT_EQ(error.writeError()->error.errorClass, ErrorClass::transient) << error.message;
    EXPECT_TRUE(error.writeError()->mayBeWritten) << error.message;
  }
  const FenceError error = failedAfterSending(fence, put("two"), {Fate::error, 412, "PreconditionFailed"});
  EXPECT_FALSE(error.writeError()->mayBeWritten) << error.message;
}

TEST_F(S3FenceTest, aWriteIsNotRepeatedOnceItsTermIsOver) {
  S3Fence fence = open();
  bool valid = true;
  const FencedTerm term{stamp(5), [&] { return valid; }, {}};
  s3_->turn = [&](const aws::ObjectRequest& request) {
    if (request.method != "PUT" || request.key != key) return Turn{};
    valid = false;
    return Turn{Fate::error, 409, "ConditionalRequestConflict"};
  };
  const auto refused = fence.write(term, put("one"));
  EXPECT_NE(FenceError{refused.error()}.over(), nullptr) << told(refused);
  EXPECT_EQ(writesSent(), 1);
  valid = true;
  s3_->turn = [&](const aws::ObjectRequest& request) {
    if (request.method != "PUT" || request.key != key) return Turn{};
    valid = false;
    return Turn{Fate::lost};
  };
  const FenceError doubt = fence.write(term, put("one")).error();
  ASSERT_NE(doubt.writeError(), nullptr) << "something was sent: " << doubt.message;
  EXPECT_TRUE(doubt.writeError()->mayBeWritten);
}

TEST_F(S3FenceTest, aServerThatIgnoresConditionsIsRefused) {
  for (const bool match : {true, false}) {
    s3_ = std::make_shared<ScriptedS3>();
    (match ? s3_->honoursIfMatch : s3_->honoursIfNoneMatch) = false;
    S3Fence fence = open();
    const FenceError error = fence.write(stamp(5), put("one")).error();
    ASSERT_NE(error.writeError(), nullptr);
    EXPECT_EQ(error.writeError()->error.errorClass, ErrorClass::misconfigured);
    EXPECT_NE(error.message.find(match ? "ignores If-Match" : "ignores If-None-Match"), std::string::npos)
        << error.message;
    EXPECT_EQ(s3_->keys(), std::vector<std::string>{probeKey}) << "nothing but the probe was written";
  }
}

TEST_F(S3FenceTest, aServerWithoutConditionsIsToldFromOneThatFails) {
  s3_->turn = [](const aws::ObjectRequest&) { return Turn{Fate::error, 501, "NotImplemented"}; };
  S3Fence fence = open();
  const FenceError error = fence.write(stamp(5), put("one")).error();
  EXPECT_EQ(error.writeError()->error.errorClass, ErrorClass::misconfigured);
  EXPECT_FALSE(error.writeError()->mayBeWritten);
  s3_->turn = [](const aws::ObjectRequest&) { return Turn{Fate::error, 403, "AccessDenied"}; };
  EXPECT_EQ(FenceError{fence.write(stamp(5), put("one")).error()}.writeError()->error.errorClass,
            ErrorClass::credentials);
  s3_->turn = [](const aws::ObjectRequest&) { return Turn{Fate::error, 404, "NoSuchBucket"}; };
  EXPECT_EQ(FenceError{fence.write(stamp(5), put("one")).error()}.writeError()->error.errorClass,
            ErrorClass::misconfigured);
  s3_->turn = {};
  EXPECT_EQ(told(fence.write(stamp(5), put("one"))), "written") << "an error is not remembered";
}

TEST_F(S3FenceTest, anObjectWithoutAHeadFailsClosed) {
  S3Fence fence = open();
  ASSERT_EQ(told(fence.write(stamp(5), put("one"))), "written");
  const std::string good = s3_->at(key);
  for (const std::string& foreign : {std::string{}, std::string{"hello\n"}, good.substr(0, 40),
                                     std::string{R"({"tenure-fence":2})"} + '\n', '[' + good}) {
    s3_->put(key, foreign);
    S3Fence other = open();
    const FenceError error = other.write(stamp(9), put("two")).error();
    ASSERT_NE(error.writeError(), nullptr) << error.message;
    EXPECT_EQ(error.writeError()->error.errorClass, ErrorClass::corrupt) << foreign;
    EXPECT_TRUE(other.read(key).has_error());
    EXPECT_EQ(s3_->at(key), foreign) << "not overwritten";
  }
  s3_->put(key, good + "more");
  EXPECT_EQ(FenceError{fence.read(key).error()}.writeError()->error.errorClass, ErrorClass::corrupt)
      << "longer than told";
}

TEST_F(S3FenceTest, aPointerNamesBytesThatLieByThemselves) {
  S3Fence fence = open();
  ASSERT_EQ(told(fence.write(stamp(5), put("one", S3Form::pointer))), "written");
  const auto head = s3_fence::parseHead(s3_->at(key)).value();
  EXPECT_TRUE(head.head.data.starts_with("state.tenure/0000000000000000005-")) << head.head.data;
  EXPECT_EQ(s3_->at(head.head.data), "one") << "as they are";
  EXPECT_EQ(head.length, s3_->at(key).size());
  EXPECT_EQ(bytesAt(fence), "one");

  ASSERT_EQ(told(fence.write(stamp(5), put("two", S3Form::pointer))), "written");
  EXPECT_EQ(s3_->at(head.head.data), "") << "what was replaced is deleted";
  EXPECT_EQ(bytesAt(fence), "two");
  EXPECT_TRUE(fence.write(stamp(4), put("stale", S3Form::pointer)).has_error());
  EXPECT_EQ(s3_->keys().size(), 3U) << "a refused write leaves nothing behind: the probe, the head, the bytes";
  ASSERT_EQ(told(fence.write(stamp(6), put("three"))), "written");
  EXPECT_EQ(s3_->keys().size(), 2U);
  EXPECT_EQ(bytesAt(fence), "three") << "the forms may change at one key";
}

TEST_F(S3FenceTest, aLostReplyToThePointersBytesDoesNoHarm) {
  S3Fence fence = open();
  s3_->turn = [first = true](const aws::ObjectRequest& request) mutable {
    const bool bytes = request.method == "PUT" && request.key.starts_with("state.tenure/");
    return bytes && std::exchange(first, false) ? Turn{Fate::servedButLost} : Turn{};
  };
  EXPECT_EQ(told(fence.write(stamp(5), put("one", S3Form::pointer))), "written");
  EXPECT_EQ(bytesAt(fence), "one");
  for (const std::string& line : s3_->log()) {
    EXPECT_TRUE(!line.starts_with("PUT") || line.find(" If-") != std::string::npos) << line << ": no condition";
  }
}

TEST_F(S3FenceTest, bytesOfAWriteInDoubtAreKept) {
  timeout_ = 200ms;
  S3Fence fence = open();
  EXPECT_TRUE(failedAfterSending(fence, put("one", S3Form::pointer), {Fate::lost}).writeError()->mayBeWritten);
  EXPECT_EQ(s3_->keys().size(), 2U) << "the request that names them may arrive yet";
}

TEST_F(S3FenceTest, aReaderMeetsAWriterBetweenItsTwoRequests) {
  S3Fence fence = open();
  S3Fence reader = open();
  ASSERT_EQ(told(fence.write(stamp(5), put("one", S3Form::pointer))), "written");
  s3_->turn = [&, first = true](const aws::ObjectRequest& request) mutable {
    const bool readsBytes = request.method == "GET" && request.key != key;
    if (readsBytes && std::exchange(first, false)) {
      EXPECT_EQ(told(fence.write(stamp(5), put("two", S3Form::pointer))), "written");
    }
    return Turn{};
  };
  EXPECT_EQ(bytesAt(reader), "two");
}

TEST_F(S3FenceTest, aDeletedObjectHasNoMemory) {
  S3Fence fence = open();
  ASSERT_EQ(told(fence.write(stamp(5), put("one"))), "written");
  s3_->remove(key);
  EXPECT_EQ(bytesAt(fence), "(none)");
  EXPECT_EQ(told(fence.write(stamp(4), put("two"))), "written") << "documented: what is deleted has no memory";
}

TEST_F(S3FenceTest, whatCannotBeFencedIsRefusedBeforeItIsSent) {
  S3Fence fence = open();
  const auto misused = [&](const S3Put& what) {
    const FenceError error = fence.write(stamp(5), what).error();
    EXPECT_EQ(error.writeError()->error.errorClass, ErrorClass::misconfigured) << error.message;
    EXPECT_FALSE(error.writeError()->mayBeWritten);
  };
  misused({.key = ""});
  misused({.key = "\xFF"});
  misused({.key = std::string(1'025, 'k')});
  misused({.key = std::string(965, 'k'), .form = S3Form::pointer});
  misused({.key = probeKey});
  misused({.key = key, .bytes = std::string((64U << 20U) + 1, 'x')});
  EXPECT_TRUE(s3_->log().empty());
  EXPECT_EQ(told(fence.write(stamp(5), {.key = std::string(964, 'k'), .form = S3Form::pointer})), "written");
  EXPECT_THROW((S3Fence{S3FenceOptions{}, s3_}), std::invalid_argument);
}

TEST(ObjectHead, survivesOddNamesAndRefusesWhatIsBroken) {
  const s3_fence::ObjectHead head{
      "0123", "", 7, "d/\"\n\xC3\xA9", {stamp(5), {"it's \"odd\"\n", maxFencingToken, "b\\"}}};
  const std::string text = s3_fence::toText(head);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  EXPECT_EQ(s3_fence::parseHead(text + "bytes\n").value().head, head);
  EXPECT_EQ(s3_fence::parseHead(text).value().length, text.size());
  for (std::size_t cut = 0; cut < text.size(); ++cut) {
    EXPECT_FALSE(s3_fence::parseHead(text.substr(0, cut))) << cut;
  }
  for (const auto& [good, bad] :
       std::vector<std::pair<std::string, std::string>>{{"\"5\"", "\"05\""},
                                                        {"\"5\"", "5"},
                                                        {"\"5\"", "\"-5\""},
                                                        {"\"5\"", "\"1000000000000000000000000000000\""},
                                                        {"\"7\"", "\"x\""},
                                                        {"\"0123\"", "\"\""},
                                                        {"fence\":1", "fence\":2"},
                                                        {"it's \\\"odd\\\"\\n", "billing"}}) {
    std::string broken = text;
    ASSERT_NE(broken.find(good), std::string::npos) << good;
    broken.replace(broken.find(good), good.size(), bad);
    EXPECT_FALSE(s3_fence::parseHead(broken)) << broken;
  }
}

}  // namespace
}  // namespace tenure
