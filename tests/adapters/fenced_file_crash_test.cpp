// A fenced file with a fault at every system call of every operation: an error, the end of the process, a power
// failure.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "adapters/file/src/file_writer.hpp"
#include "adapters/model_disk.hpp"

namespace tenure {
namespace {

using file_fence::FileWriter;
using test::ModelDisk;
using test::ProcessEnds;

const std::string path = "dir/ledger";

TermStamp termStamp(std::uint64_t token) { return {"billing", FencingToken{token}, "holder-" + std::to_string(token)}; }

struct Operation {
  bool replaces;
  std::uint64_t token;
  std::string bytes;
};

/// Appends and replacements in every order of two and three, with rising tokens.
const std::vector<Operation> script{{false, 1, "first line\n"}, {false, 1, "second line\n"},
                                    {true, 2, "replaced\n"},    {true, 3, "again, longer than that\n"},
                                    {false, 3, "appended\n"},   {true, 4, "short\n"},
                                    {false, 5, "last line\n"}};

struct Content {
  std::string bytes;
  std::uint64_t token{0};

  [[nodiscard]] Content after(const Operation& operation) const {
    return {operation.replaces ? operation.bytes : bytes + operation.bytes, operation.token};
  }
  friend bool operator==(const Content&, const Content&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Content& content) {
    return out << '"' << content.bytes << "\" with token " << content.token;
  }
};

FenceResult<void> perform(FileWriter& writer, const Operation& operation) {
  return operation.replaces ? writer.replace(termStamp(operation.token), operation.bytes)
                            : writer.append(termStamp(operation.token), operation.bytes);
}

/// Contents that were never put in place; they have the same length as the file.
std::vector<std::string> contentsBeside(const ModelDisk& disk) {
  std::vector<std::string> left;
  for (const std::string& name : disk.names()) {
    if (name.starts_with(path + ".fence.") && !name.ends_with(".lock") && !name.ends_with(".next"))
      left.push_back(name);
  }
  return left;
}

/// The accepted content, as a new process finds it.
Content found(ModelDisk& disk) {
  FileWriter reader{disk, path, {}};
  if (const auto fault = reader.open()) return {"not to be opened: " + fault->message};
  EXPECT_EQ(contentsBeside(disk), std::vector<std::string>{})
      << "whoever opens the file clears what a killed writer left";
  const auto bytes = reader.read();
  if (bytes.has_error()) return {"not to be read: " + FenceError{bytes.error()}.message};
  const auto seen = reader.highestSeen("billing").value();
  return {*bytes, seen ? seen->token.value() : 0};
}

enum class Then { goOn, restart, powerFails };

/// Plays the script with one fault at system call number `call`. With `andPower` a second fault follows, a power
/// failure at any later call. False once there are not that many calls.
bool play(ModelDisk::Mishap mishap, Then then, int call, std::uint64_t seed, bool andPower = false) {
  ModelDisk disk;
  test::SeededRandom random{seed};
  Content accepted;               // the content that must be there
  std::vector<Content> possible;  // contents that may be there instead: writes with an unknown outcome
  auto writer = std::make_unique<FileWriter>(disk, path, FencedFileOptions{});
  auto other = std::make_unique<FileWriter>(disk, path, FencedFileOptions{});  // of a process without a fault at first
  EXPECT_FALSE(writer->open() || other->open());
  disk.arm(mishap, call);
  for (const Operation& operation : script) {
    bool ended = false;
    std::optional<FenceError> fault;
    try {
      const auto done = perform(*writer, operation);
      if (done.has_error()) fault = done.error();
    } catch (const ProcessEnds&) {
      ended = true;
    }
    const Content next = accepted.after(operation);
    if (!ended && !fault) {
      accepted = next;
      possible.clear();
      continue;
    }
    // Without an answer, or with "may be written", both are possible. With "not written" the content must not be there.
    if (ended || (fault->writeError() != nullptr && fault->writeError()->mayBeWritten)) possible.push_back(next);
    if (then == Then::restart) disk.restart();
    if (std::exchange(andPower, false)) {
      // The other process continues from what it finds, without opening anything again.
      possible.push_back(accepted);
      accepted = {other->read().value(), other->highestSeen("billing").value().value_or(termStamp(0)).token.value()};
      writer.swap(other);
      then = Then::powerFails;
      disk.arm(ModelDisk::Mishap::end, static_cast<int>(random.below(40)));
      continue;
    }
    if (then == Then::powerFails) disk.failPower(random);
    const Content now = found(disk);
    EXPECT_TRUE(now == accepted || std::find(possible.begin(), possible.end(), now) != possible.end())
        << "call " << call << " of \"" << operation.bytes << "\": found " << now << ", accepted was " << accepted;
    if (testing::Test::HasFailure()) return true;
    accepted = now;
    possible.clear();
    writer = std::make_unique<FileWriter>(disk, path, FencedFileOptions{});
    EXPECT_FALSE(writer->open());
    if (accepted.token > 1) {
      EXPECT_TRUE(writer->append(termStamp(accepted.token - 1), "stale\n").has_error());
    }
  }
  const bool struck = disk.struck();
  disk.arm(ModelDisk::Mishap::none, 0);
  EXPECT_EQ(found(disk), accepted);
  if (!struck) return false;
  // Once more, without any fault: nothing that the kernel has not written yet was needed.
  if (then == Then::powerFails) {
    disk.failPower(random);
    EXPECT_EQ(found(disk), accepted);
  }
  return true;
}

TEST(FencedFileCrash, anErrorAtAnySystemCallLeavesTheContentOfBeforeOrAfter) {
  int calls = 0;
  while (play(ModelDisk::Mishap::error, Then::goOn, calls, 1) && !HasFailure()) ++calls;
  EXPECT_GT(calls, 80);
}

TEST(FencedFileCrash, aKillAtAnySystemCallLeavesTheContentOfBeforeOrAfter) {
  int calls = 0;
  while (play(ModelDisk::Mishap::end, Then::restart, calls, 1) && !HasFailure()) ++calls;
  EXPECT_GT(calls, 80);
}

TEST(FencedFileCrash, aPowerFailureAtAnySystemCallLeavesTheContentOfBeforeOrAfter) {
  for (std::uint64_t seed = 1; seed <= 50 && !HasFailure(); ++seed) {
    int calls = 0;
    while (play(ModelDisk::Mishap::end, Then::powerFails, calls, seed) && !HasFailure()) ++calls;
    EXPECT_GT(calls, 80);
  }
}

TEST(FencedFileCrash, aKillAndThenAPowerFailureLeaveTheContentOfBeforeOrAfter) {
  for (std::uint64_t seed = 1; seed <= 400 && !HasFailure(); ++seed) {
    for (int call = 0; call < 120 && !HasFailure(); ++call) {
      (void)play(ModelDisk::Mishap::end, Then::restart, call, seed, true);
    }
  }
}

TEST(FencedFileCrash, anErrorAndThenAPowerFailureLeavesTheContentOfBeforeOrAfter) {
  for (std::uint64_t seed = 1; seed <= 30 && !HasFailure(); ++seed) {
    int calls = 0;
    while (play(ModelDisk::Mishap::error, Then::powerFails, calls, seed) && !HasFailure()) ++calls;
  }
}

// After a failed sync the kernel may have dropped what it could not write, and the next sync says that all is well.
TEST(FencedFileCrash, aWriteWhoseSyncFailedIsNeverCalledDone) {
  int syncs = 0;
  for (int call = 0;; ++call) {
    ModelDisk disk;
    FileWriter writer{disk, path, {}};
    ASSERT_FALSE(writer.open());
    for (const Operation& operation : script) ASSERT_TRUE(perform(writer, operation).has_value());
    ASSERT_TRUE(writer.replace(termStamp(6), "before\n").has_value());
    disk.arm(ModelDisk::Mishap::error, call);
    const bool done = writer.append(termStamp(6), "after\n").has_value();
    if (!disk.struck()) break;
    if (!disk.syncFailed()) continue;
    ++syncs;
    EXPECT_FALSE(done) << "call " << call;
  }
  EXPECT_GE(syncs, 4) << "of the directory before and after, of the content and of the fence";
}

/// A rename that failed may have happened all the same. So what it needs stays, and the next writer decides.
TEST(FencedFileCrash, aReplacementThatFailedBeforeItsRenameLeavesNothing) {
  const std::vector<std::string> whole{path, path + ".fence", path + ".fence.lock"};
  int failed = 0;
  for (int call = 0;; ++call) {
    ModelDisk disk;
    FileWriter writer{disk, path, {}};
    ASSERT_FALSE(writer.open());
    ASSERT_TRUE(writer.append(termStamp(1), "line\n").has_value());
    disk.arm(ModelDisk::Mishap::error, call, ENOSPC);
    const auto done = writer.replace(termStamp(2), "a new content\n");
    if (!disk.struck()) break;
    if (!done.has_error()) continue;
    const FenceError fault = done.error();
    if (fault.writeError()->mayBeWritten || fault.message.find("renaming the fence") != std::string::npos) continue;
    EXPECT_EQ(disk.names(), whole) << "call " << call << ": " << fault.message;
    ++failed;
  }
  EXPECT_GT(failed, 10);
}

TEST(FencedFileCrash, theFirstOpeningMayBeCutOffAnywhere) {
  for (int call = 0;; ++call) {
    ModelDisk disk;
    disk.arm(ModelDisk::Mishap::end, call);
    bool ended = false;
    try {
      FileWriter writer{disk, path, {}};
      (void)writer.open();
    } catch (const ProcessEnds&) {
      ended = true;
    }
    disk.restart();
    disk.arm(ModelDisk::Mishap::none, 0);
    ASSERT_EQ(found(disk), Content{}) << "call " << call;
    if (!ended) break;
  }
}

}  // namespace
}  // namespace tenure
