// A fenced file on a real disk, and which texts of its fence are accepted.
#include <fcntl.h>
#include <fstream>
#include <future>
#include <sstream>
#include <string>
#include <sys/file.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <tenure/adapters/fenced_file.hpp>

#include "adapters/file/src/fence_state.hpp"
#include "support/temp_dir.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;
using file_fence::FenceState;
using file_fence::parseFenceState;
using file_fence::toText;

TermStamp stamp(std::uint64_t token, std::string holder = "a#1") {
  return {"billing", FencingToken{token}, std::move(holder)};
}

class FencedFileTest : public testing::Test {
 protected:
  [[nodiscard]] FencedFile open() const { return FencedFile::open(path_, {.lockTimeout = 20ms}).value(); }
  [[nodiscard]] std::string bytes(const std::string& suffix = "") const {
    std::ostringstream out;
    out << std::ifstream{path_ + suffix, std::ios::binary}.rdbuf();
    return out.str();
  }
  void put(const std::string& text, const std::string& suffix = "", std::ios::openmode mode = std::ios::trunc) const {
    std::ofstream{path_ + suffix, std::ios::binary | mode} << text;
  }

  const test::TempDir directory_;
  const std::string path_ = directory_.file("ledger");
};

TEST_F(FencedFileTest, appendsAndReplacesUnderOneFence) {
  FencedFile file = open();
  EXPECT_EQ(file.read().value(), "");
  EXPECT_TRUE(file.append(stamp(5), "one\n").has_value());
  EXPECT_TRUE(file.append(stamp(5), "two\n").has_value());
  EXPECT_EQ(bytes(), "one\ntwo\n");
  EXPECT_TRUE(file.replace(stamp(6), "new\n").has_value());
  EXPECT_EQ(bytes(), "new\n");
  EXPECT_TRUE(file.append(stamp(5), "stale\n").has_error());
  EXPECT_TRUE(file.replace(stamp(5), "stale\n").has_error());
  EXPECT_TRUE(file.append(stamp(6), "three\n").has_value());
  EXPECT_EQ(file.read().value(), "new\nthree\n");
  EXPECT_EQ(bytes(), "new\nthree\n") << "nothing but the content is in the file";
}

TEST_F(FencedFileTest, waitsForOthersNoLongerThanItsLockTimeout) {
  FencedFile file = open();
  EXPECT_TRUE(file.append(stamp(5), "one\n").has_value());
  const int held = ::open((path_ + ".fence.lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  const Instant start = readClock();
  EXPECT_TRUE(file.append(stamp(5), "two\n").has_error());
  const auto waited = elapsedForHolder(start, readClock());
  EXPECT_GE(waited, 20ms);
  EXPECT_LT(waited, 10s);
  EXPECT_TRUE(file.read().has_error());
  ::close(held);
  EXPECT_TRUE(file.append(stamp(5), "two\n").has_value());
}

TEST_F(FencedFileTest, waitsForOthersForTheLongestTimeThatThereIs) {
  FencedFile file = FencedFile::open(path_, {.lockTimeout = std::chrono::milliseconds::max()}).value();
  const int held = ::open((path_ + ".fence.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  auto written = std::async(std::launch::async, [&] { return file.append(stamp(5), "one\n"); });
  EXPECT_EQ(written.wait_for(50ms), std::future_status::timeout);
  ::close(held);
  EXPECT_TRUE(written.get().has_value());
}

TEST_F(FencedFileTest, takesAnExistingFileAsItsContent) {
  put("from before\n");
  FencedFile file = open();
  EXPECT_TRUE(file.append(stamp(1), "and now\n").has_value());
  EXPECT_EQ(bytes(), "from before\nand now\n");
}

TEST_F(FencedFileTest, cutsOffWhatWasNeverAccepted) {
  FencedFile file = open();
  EXPECT_TRUE(file.append(stamp(5), "one\n").has_value());
  put("tw", "", std::ios::app);  // as left by a writer that is killed in the middle
  EXPECT_EQ(open().read().value(), "one\n");
  put("two\nthr", "", std::ios::app);
  EXPECT_TRUE(file.append(stamp(5), "four\n").has_value());
  EXPECT_EQ(bytes(), "one\nfour\n");
}

TEST_F(FencedFileTest, refusesAFileThatIsShorterThanWhatWasAccepted) {
  FencedFile file = open();
  EXPECT_TRUE(file.append(stamp(5), "one\ntwo\n").has_value());
  ASSERT_EQ(truncate(path_.c_str(), 4), 0);
  for (const auto& result : {file.append(stamp(6), "three\n"), file.replace(stamp(6), "three\n")}) {
    ASSERT_TRUE(result.has_error());
    const FenceError error = result.error();
    EXPECT_EQ(error.writeError()->error.errorClass, ErrorClass::corrupt) << error.message;
    EXPECT_NE(error.message.find("has 4 bytes, but 8 were accepted"), std::string::npos) << error.message;
  }
  EXPECT_EQ(bytes(), "one\n");
}

TEST_F(FencedFileTest, failsClosedWithoutItsFence) {
  FencedFile file = open();
  EXPECT_TRUE(file.append(stamp(5), "one\n").has_value());
  const std::string good = bytes(".fence");
  for (const std::string& bad : {std::string{}, std::string{"tenure-fence 1\n"}, good + "x", good.substr(1),
                                 std::string(100, '\0'), good.substr(0, good.size() - 3)}) {
    put(bad, ".fence");
    const auto refused = file.append(stamp(6), "two\n");
    ASSERT_TRUE(refused.has_error());
    EXPECT_EQ(FenceError{refused.error()}.writeError()->error.errorClass, ErrorClass::corrupt);
    EXPECT_TRUE(FencedFile::open(path_).has_error());
  }
  ASSERT_EQ(unlink((path_ + ".fence").c_str()), 0);
  const auto gone = file.append(stamp(6), "two\n");
  ASSERT_TRUE(gone.has_error());
  EXPECT_EQ(FenceError{gone.error()}.writeError()->error.errorClass, ErrorClass::misconfigured);
  put(good, ".fence");
  EXPECT_TRUE(file.append(stamp(6), "two\n").has_value());
  EXPECT_EQ(bytes(), "one\ntwo\n");
}

TEST_F(FencedFileTest, refusesPathsThatCannotBe) {
  for (const std::string& bad : {std::string{}, directory_.path().string(), directory_.path().string() + "/",
                                 directory_.file("no/such/file"), std::string{"a\0b", 3}}) {
    const auto refused = FencedFile::open(bad);
    ASSERT_TRUE(refused.has_error()) << bad;
    EXPECT_EQ(FenceError{refused.error()}.writeError()->error.errorClass, ErrorClass::misconfigured)
        << FenceError{refused.error()}.message;
  }
}

// The next release must understand what this one has left, so the text is a stored format.
TEST(FenceState, hasTheTextThatEarlierReleasesWrote) {
  const std::string text =
      "tenure-fence 1\n"
      "content 7 42 appended\n"
      "lease pay%2froll 41 host%23ab\n"
      "sum b52774cbd9a65686\n";
  const FenceState state{7, 42, false, {{"pay/roll", {FencingToken{41}, "host#ab"}}}};
  EXPECT_EQ(toText(state), text);
  EXPECT_EQ(parseFenceState(text), state);
}

TEST(FenceState, comesBackFromItsText) {
  FenceState state{12, 3456, true, {}};
  EXPECT_EQ(parseFenceState(toText(state)), state);
  state.leases["billing"] = {FencingToken{7}, "host-7#ab"};
  state.leases[" odd\n% \xF0\x9F\x98\x80 lease"] = {FencingToken{9'223'372'036'854'775'807U}, " \n%00"};
  EXPECT_EQ(parseFenceState(toText(state)), state);
  EXPECT_EQ(toText({1, 2, false, {{"billing", {FencingToken{7}, "a#1"}}}}).substr(0, 55),
            "tenure-fence 1\ncontent 1 2 appended\nlease billing 7 a%2");
}

TEST(FenceState, namesStandInTheFileAsPeopleWriteThem) {
  const auto lineOf = [](const std::string& lease) {
    const std::string text = toText({1, 2, false, {{lease, {FencingToken{7}, "a"}}}});
    const std::size_t begin = text.find("lease ");
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  EXPECT_EQ(lineOf("azAZ09-_."), "lease azAZ09-_. 7 a");
  EXPECT_EQ(lineOf("`{@[/:"), "lease %60%7b%40%5b%2f%3a 7 a");
}

TEST(FenceState, noCutAndNoChangedByteIsTaken) {
  const std::string text = toText({12, 3456, true, {{"billing", {FencingToken{7}, "host-7#ab"}}}});
  for (std::size_t at = 0; at < text.size(); ++at) {
    EXPECT_EQ(parseFenceState(text.substr(0, at)), std::nullopt) << at;
    for (const char flip : {'\x01', '\x80', '\x10'}) {
      std::string changed = text;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      EXPECT_EQ(parseFenceState(changed), std::nullopt) << at;
    }
  }
}

}  // namespace
}  // namespace tenure
