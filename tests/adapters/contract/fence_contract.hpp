// The contract of a fenced resource (tenure::FencedWriter) as a test suite, for our adapters and for yours.
//
// To test an adapter of your own, write one file and link it with `tenure::fence_contract`, which brings a main():
//
//   #include "adapters/contract/fence_contract.hpp"
//
//   namespace tenure::contract {
//   const FenceUnderTest mine = registerFence(
//       {.name = "Mine",
//        .make = [] { return std::make_unique<MyResource>(); },
//        .open = [](const std::string& address) { return std::make_unique<MyHandle>(address); }});
//   INSTANTIATE_TEST_SUITE_P(Mine, FenceContract, testing::Values(mine), fenceName);
//   INSTANTIATE_TEST_SUITE_P(Mine, FenceRaceContract, testing::Values(mine), fenceName);
//   INSTANTIATE_TEST_SUITE_P(Mine, FenceFreezeContract, testing::Values(mine), fenceName);
//   }
//
// FenceContract checks call by call. FenceRaceContract lets two processes write with rising and stale tokens and kills
// them in the middle. FenceFreezeContract stops a process (SIGSTOP) between its check and its write, and wakes it after
// a successor has written. The other processes are the same test program, started again: they find the adapter by its
// registered name. All three judge by what FencedResource::entries() reads, and that must not go through the adapter.
//
// TENURE_FENCE_RACE_WRITES (2,000) and TENURE_FENCE_FREEZES (5) set how long the latter two run. If there are more
// writes than FenceUnderTest::writesOfOneRace, they are made in several races, each on a resource of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/adapters/fenced_writer.hpp>
#include <tenure/lockcore/fence.hpp>

#include "adapters/contract/fence_judge.hpp"

namespace tenure::contract {

/// The lease of all writes that the suites make, unless a test is about several.
inline constexpr const char* contractLease = "contract";

/// The adapter on one resource, as a process would use it. Used by one thread.
class FenceHandle {
 public:
  virtual ~FenceHandle() = default;

  /// Adds an entry to the contents of the resource, through the adapter: `entry` with the stamp's token and holder.
  /// Entries are [a-z0-9-]+ and differ. A resource that holds only one value keeps a history for the judge.
  ///
  /// If `inside` is not empty, it is called once, at a place between the adapter's check and the end of the write where
  /// this process can be paused (FenceUnderTest::pausesInside). Adapters that leave both to one request of a server
  /// have no such place, and ignore it.
  ///
  /// It waits for other writers for about 200 ms and no longer; then it answers with a transient error.
  [[nodiscard]] virtual FenceResult<void> write(const TermStamp& stamp, const std::string& entry,
                                                const std::function<void()>& inside) = 0;

  /// The same through the adapter's call that takes a term.
  [[nodiscard]] virtual FenceResult<void> writeUnder(const FencedTerm& term, const std::string& entry) = 0;

  /// The same write without a fence. With it the suites prove that they would notice a stale write. True if written.
  [[nodiscard]] virtual bool writeBare(const TermStamp& stamp, const std::string& entry) = 0;

  /// What the fence remembers; see ReadableFence.
  [[nodiscard]] virtual FenceResult<std::optional<TermStamp>> highestSeen(const std::string& lease) = 0;
};

/// A fresh resource without entries, for one test; deleted with the object. Created and used on the test's thread only.
class FencedResource {
 public:
  virtual ~FencedResource() = default;

  /// The text with which FenceUnderTest::open reaches it from another process. No blanks, no newline.
  [[nodiscard]] virtual std::string address() const = 0;

  /// All entries in the order in which the resource accepted them, read without the adapter: by another connection,
  /// from the file's bytes, from the server's log. May be called while others write; the result was true at one moment.
  [[nodiscard]] virtual std::vector<FencedEntry> entries() = 0;

  /// Makes the fence remember exactly this, as an operator would, with the resource's own tools: an old release or a
  /// damage may have left a token above maxFencingToken. False if this is impossible while there are handles.
  [[nodiscard]] virtual bool plant(const TermStamp& /*memory*/) { return false; }
};

struct FenceUnderTest {
  std::string name;  ///< letters and digits
  std::function<std::unique_ptr<FencedResource>()> make;
  /// Also called in other processes, in which `make` was never called. Throws an exception that the test shows.
  std::function<std::unique_ptr<FenceHandle>(const std::string& address)> open;
  bool pausesInside{false};         ///< whether FenceHandle::write calls `inside`
  std::uint64_t raceWrites{2'000};  ///< fewer for a resource with slow writes, unless the environment says more
  /// More are made as several races, each on a fresh resource: for a resource that gets slower the more it contains.
  std::uint64_t writesOfOneRace{1'000'000};

  friend std::ostream& operator<<(std::ostream& out, const FenceUnderTest& fence) { return out << fence.name; }
};

/// To be called when the program starts, before main().
FenceUnderTest registerFence(FenceUnderTest fence);

/// Names the instances of a suite.
[[nodiscard]] inline std::string fenceName(const testing::TestParamInfo<FenceUnderTest>& info) {
  return info.param.name;
}

class FenceContract : public testing::TestWithParam<FenceUnderTest> {
 protected:
  FenceContract() : resource_{GetParam().make()}, one_{open()}, two_{open()} {}

  [[nodiscard]] FencedResource& resource() { return *resource_; }
  [[nodiscard]] std::unique_ptr<FenceHandle> open() { return GetParam().open(resource_->address()); }
  [[nodiscard]] FenceHandle& one() { return *one_; }
  [[nodiscard]] FenceHandle& two() { return *two_; }
  void dropHandles() {
    one_.reset();
    two_.reset();
  }

 private:
  std::unique_ptr<FencedResource> resource_;
  std::unique_ptr<FenceHandle> one_, two_;
};

class FenceRaceContract : public testing::TestWithParam<FenceUnderTest> {};
class FenceFreezeContract : public testing::TestWithParam<FenceUnderTest> {};

}  // namespace tenure::contract
