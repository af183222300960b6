// The fence's contract on moto's S3: once for objects with a head, once for pointers.
#include <algorithm>
#include <iomanip>
#include <map>
#include <sstream>
#include <utility>

#include <tenure/adapters/s3_fence.hpp>

#include "adapters/contract/fence_contract.hpp"
#include "adapters/s3/bare_bucket.hpp"
#include "adapters/s3/src/object_write.hpp"

namespace tenure::contract {
namespace {

static_assert(FencedWriter<S3Fence, const S3Put>);

constexpr const char* ledger = "the/ledger +$%\xC3\xA9.txt";

std::string lineOf(const TermStamp& stamp, const std::string& entry) {
  return toString(stamp.token) + ' ' + entry + ' ' + stamp.holder;
}

S3FenceOptions optionsFor(const std::string& bucket) {
  S3FenceOptions options;
  options.bucket = bucket;
  options.endpoint = test::s3Endpoint();
  return options;
}

class S3Handle final : public FenceHandle {
 public:
  S3Handle(const std::string& bucket, S3Form form)
      : bucket_{bucket}, form_{form}, store_{optionsFor(bucket), clientOf()}, fence_{optionsFor(bucket)} {}

  FenceResult<void> write(const TermStamp& stamp, const std::string& entry,
                          const std::function<void()>& inside) override {
    const S3Put what = entryOf(stamp, entry);
    if (!inside) return fence_.write(stamp, what);
    s3_fence::ObjectWrite write{store_, stamp, what};
    write.inside = [&, first = true]() mutable {
      if (std::exchange(first, false)) inside();
    };
    return write.run();
  }
  FenceResult<void> writeUnder(const FencedTerm& term, const std::string& entry) override {
    return fence_.write(term, entryOf(term.stamp(), entry));
  }
  /// The same bytes under the same key, without a condition.
  bool writeBare(const TermStamp& stamp, const std::string& entry) override {
    const std::string line = lineOf(stamp, entry);
    s3_fence::ObjectHead head{entry, {}, line.size(), {}, {stamp}};
    bucket_.put(ledger, s3_fence::toText(head) + line);
    return true;
  }
  FenceResult<std::optional<TermStamp>> highestSeen(const std::string& lease) override {
    return fence_.highestSeen(ledger, lease);
  }

 private:
  static std::shared_ptr<aws::ObjectClient> clientOf() {
    aws::JsonClientOptions options;
    options.endpoint = test::s3Endpoint();
    return aws::makeObjectClient(std::move(options));
  }
  [[nodiscard]] S3Put entryOf(const TermStamp& stamp, const std::string& entry) const {
    return {.key = ledger, .bytes = lineOf(stamp, entry), .form = form_};
  }

  test::BareBucket bucket_;
  S3Form form_;
  s3_fence::ObjectStore store_;
  S3Fence fence_;
};

/// A bucket that keeps all versions of the object: the history is S3's own, in its own order.
class S3Resource final : public FencedResource {
 public:
  S3Resource() {
    bucket_.create();
    bucket_.keepVersions();
  }

  std::string address() const override { return bucket_.name(); }

  std::vector<FencedEntry> entries() override {
    std::vector<std::string> versions = versionsNewestFirst();
    std::reverse(versions.begin(), versions.end());
    for (std::size_t i = known_.size(); i < versions.size(); ++i) known_.push_back(entryIn(versions[i]));
    return known_;
  }

 private:
  std::vector<std::string> versionsNewestFirst() {
    std::vector<std::string> out;
    std::string more;
    do {
      const std::string listing = bucket_.get({}, "versions=&prefix=the%2F" + more);
      for (const auto& [key, version] : test::BareBucket::versionsIn(listing)) {
        if (key == ledger)
          out.push_back(version);
        else
          dataVersions_.insert_or_assign(key, version);
      }
      const auto key = test::BareBucket::textsIn(listing, "NextKeyMarker");
      const auto version = test::BareBucket::textsIn(listing, "NextVersionIdMarker");
      more = key.empty() ? "" : "&key-marker=" + encoded(key.front()) + "&version-id-marker=" + version.front();
    } while (!more.empty());
    return out;
  }
  static std::string encoded(const std::string& text) {
    std::ostringstream out;
    for (const char c : text) out << '%' << std::hex << std::setw(2) << std::setfill('0') << (c & 0xff);
    return out.str();
  }

  /// The bytes of a pointer are deleted when it is replaced; the bucket still has that version.
  FencedEntry entryIn(const std::string& version) {
    const std::string written = bucket_.get(ledger, "versionId=" + version);
    const auto found = s3_fence::parseHead(written).value();
    const std::string& data = found.head.data;
    const std::string line =
        data.empty() ? written.substr(found.length) : bucket_.get(data, "versionId=" + dataVersions_.at(data));
    const std::size_t first = line.find(' ');
    const std::size_t second = line.find(' ', first + 1);
    return {FencingToken{std::stoull(line)}, line.substr(second + 1), line.substr(first + 1, second - first - 1)};
  }

  test::BareBucket bucket_{test::BareBucket::freshName()};
  std::vector<FencedEntry> known_;
  std::map<std::string, std::string> dataVersions_;
};

FenceUnderTest s3(std::string name, S3Form form) {
  return {.name = std::move(name),
          .make = [] { return std::make_unique<S3Resource>(); },
          .open = [form](const std::string& address) { return std::make_unique<S3Handle>(address, form); },
          .pausesInside = true,
          .raceWrites = 120,
          .writesOfOneRace = 500};  // moto gets slower with each version of an object
}

const FenceUnderTest object = registerFence(s3("S3Object", S3Form::oneObject));
const FenceUnderTest pointer = registerFence(s3("S3Pointer", S3Form::pointer));

INSTANTIATE_TEST_SUITE_P(S3, FenceContract, testing::Values(object, pointer), fenceName);
INSTANTIATE_TEST_SUITE_P(S3, FenceRaceContract, testing::Values(object, pointer), fenceName);
INSTANTIATE_TEST_SUITE_P(S3, FenceFreezeContract, testing::Values(object, pointer), fenceName);

}  // namespace
}  // namespace tenure::contract
