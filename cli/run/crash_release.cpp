#include "crash_release.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <poll.h>
#include <utility>
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

void reportRelease(const std::string& what) { tell("tenure guard: " + what + '\n'); }

}  // namespace

class CrashRelease::Attempts {
 public:
  Attempts(const std::string& configuration, NoticedTerm term)
      : config_{loadGroupConfigFromText(configuration, "the configuration of the supervisor").value()},
        store_{makeStore(config_.store, Logger::toStderr(LogLevel::error))},
        term_{std::move(term)} {
    found_ = readNow(*store_, key_);
  }

  /// True: there is nothing more to do.
  [[nodiscard]] bool tryOnce(milliseconds patience) {
    if (!found_) found_ = readNow(*store_, key_, patience);
    const ReadOutcome found = *std::exchange(found_, std::nullopt);
    if (!found) return failed(found.error());
    auto write = releaseOf(key_, term_, *found, uuid4(random_));
    if (!write && !*found) reportRelease("found no record of the lease in " + store_->describe());
    if (!write) return true;
    const WriteOutcome outcome = writeNow(*store_, std::move(*write), patience);
    if (const auto* rejected = std::get_if<Rejected>(&outcome)) return failed(rejected->error);
    if (const auto* unknown = std::get_if<Unknown>(&outcome)) return failed(unknown->error);
    if (std::holds_alternative<Applied>(outcome)) reportRelease("released the lease of term " + toString(term_.token));
    return std::holds_alternative<Applied>(outcome);
  }

  [[nodiscard]] const std::string& lastError() const noexcept { return lastError_; }

 private:
  bool failed(const StoreError& error) {
    lastError_ = faultText(*store_, error);
    poll(nullptr, 0, static_cast<int>(pauseAfterError.count()));
    return false;
  }

  const GroupConfig config_;
  const LeaseKey key_{config_.options.group};
  const std::shared_ptr<LeaseStore> store_;
  const NoticedTerm term_;
  SystemRandom random_;
  std::optional<ReadOutcome> found_;  ///< the condition of the next write; empty: it is read first
  std::string lastError_;
};

CrashRelease::CrashRelease(const std::string& configuration, const NoticedTerm& term)
    : prepared_{std::async(std::launch::async | std::launch::deferred,
                           [configuration, term] { return std::make_shared<Attempts>(configuration, term); })} {}

void CrashRelease::release(const std::function<nanoseconds()>& left) noexcept {
  try {
    if (prepared_.wait_for(left()) == std::future_status::timeout) {
      return reportRelease("did not release the lease, which has expired: the store has not answered");
    }
    static std::shared_ptr<Attempts> attempts;  // kept if it hangs: this process ends by exitAtOnce
    attempts = prepared_.get();
    const auto patience = [&] {
      return std::min(std::chrono::duration_cast<milliseconds>(left()), milliseconds{storePatience});
    };
    for (milliseconds now = patience(); now.count() > 0; now = patience()) {
      if (!attempts->tryOnce(now)) continue;
      // The store's end sends what the candidates are to be told; on PostgreSQL a NOTIFY, which takes a commit.
      static const auto ended = std::async(std::launch::async | std::launch::deferred, [] { attempts.reset(); });
      ended.wait_for(std::min(patience(), milliseconds{500}));
      return;
    }
    reportRelease("did not release the lease, which has expired" +
                  (attempts->lastError().empty() ? "" : ": " + attempts->lastError()));
  } catch (const std::exception& error) {
    tell(std::string{"tenure guard: cannot release the lease, which will expire: "} + error.what() + '\n');
  }
}

}  // namespace tenure::cli
