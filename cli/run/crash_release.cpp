#include "crash_release.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <poll.h>
#include <variant>

#include <tenure/config/load_group.hpp>

#include "cli/group/store_calls.hpp"
#include "cli/text/output.hpp"
#include "lockcore/port/random_draws.hpp"
#include "lockcore/runtime/system_random.hpp"

namespace tenure::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds pauseAfterError{100};

void report(const std::string& what) { tell("tenure guard: " + what + '\n'); }

/// One try; true: there is nothing more to do.
class Release {
 public:
  Release(const GroupConfig& config, NoticedTerm term)
      : key_{config.options.group},
        store_{makeStore(config.store, Logger::toStderr(LogLevel::error))},
        term_{std::move(term)} {}

  [[nodiscard]] bool tryOnce(milliseconds patience) {
    const ReadOutcome found = readNow(*store_, key_, patience);
    if (!found) return failed(found.error());
    auto write = releaseOf(key_, term_, *found, uuid4(random_));
    if (!write) return true;
    const WriteOutcome outcome = writeNow(*store_, std::move(*write), patience);
    if (const auto* rejected = std::get_if<Rejected>(&outcome)) return failed(rejected->error);
    if (const auto* unknown = std::get_if<Unknown>(&outcome)) return failed(unknown->error);
    if (std::holds_alternative<Applied>(outcome)) report("released the lease of term " + toString(term_.token));
    return std::holds_alternative<Applied>(outcome);
  }

  [[nodiscard]] const std::string& lastError() const noexcept { return lastError_; }

 private:
  bool failed(const StoreError& error) {
    lastError_ = faultText(*store_, error);
    poll(nullptr, 0, static_cast<int>(pauseAfterError.count()));
    return false;
  }

  const LeaseKey key_;
  const std::shared_ptr<LeaseStore> store_;
  const NoticedTerm term_;
  SystemRandom random_;
  std::string lastError_;
};

}  // namespace

void releaseCrashed(const std::string& configuration, const NoticedTerm& term,
                    const std::function<nanoseconds()>& left) noexcept {
  try {
    auto config = loadGroupConfigFromText(configuration, "the configuration of the supervisor").value();
    Release& release = *new Release{config, term};  // never destroyed: the store may wait for a disk
    const auto patience = [&] {
      return std::min(std::chrono::duration_cast<milliseconds>(left()), milliseconds{storePatience});
    };
    for (milliseconds now = patience(); now.count() > 0; now = patience()) {
      if (release.tryOnce(now)) return;
    }
    report("did not release the lease; it has ended by itself" +
        (release.lastError().empty() ? "" : ": " + release.lastError()));
  } catch (const std::exception& error) {
    tell(std::string{"tenure guard: cannot release the lease; it ends by itself: "} + error.what() + '\n');
  }
}

}  // namespace tenure::cli
