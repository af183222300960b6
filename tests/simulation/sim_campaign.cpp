#include "simulation/sim_campaign.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

namespace tenure::test {
namespace {

class Campaign {
 public:
  Campaign(const CampaignOptions& options, const std::function<void(const CampaignState&)>& progress)
      : options_{options}, progress_{progress}, next_{options.first} {}

  CampaignState run() {
    std::vector<std::thread> threads;
    for (unsigned i = 1; i < options_.jobs; ++i) threads.emplace_back([this] { work(); });
    work();
    for (std::thread& thread : threads) thread.join();
    std::sort(state_.failures.begin(), state_.failures.end(),
              [](const Failure& a, const Failure& b) { return a.options.seed < b.options.seed; });
    return std::move(state_);
  }

 private:
  void work() {
    while (!done_) {
      const std::uint64_t seed = next_++;
      if (options_.hours == 0 && seed > options_.last) return;
      SimOptions one = options_.base;
      one.seed = seed;
      SimReport report = simulate(one);
      const bool again = options_.twice != 0 && seed % options_.twice == 0;
      if (again && simulate(one).digest != report.digest) {
        report.violations.push_back({"determinism", "the same seed did something else the second time"});
      }
      take(one, report, again);
    }
  }

  void take(const SimOptions& one, const SimReport& report, bool again) {
    const std::lock_guard lock{mutex_};
    ++state_.seeds;
    if (again) ++state_.repeated;
    state_.totals.add(report.totals);
    state_.points.add(report.points);
    if (!report.violations.empty()) {
      state_.failures.push_back({one, report.configuration, report.violations.front()});
      if (state_.failures.size() >= options_.mostFailures) done_ = true;
    }
    if (options_.hours > 0 && state_.totals.hours >= options_.hours) done_ = true;
    const auto now = std::chrono::steady_clock::now();
    if (!progress_ || (report.violations.empty() && now - told_ < std::chrono::seconds{1})) return;
    told_ = now;
    progress_(state_);
  }

  const CampaignOptions& options_;
  const std::function<void(const CampaignState&)>& progress_;
  std::atomic<std::uint64_t> next_;
  std::atomic<bool> done_{false};
  std::mutex mutex_;  // guards all below
  CampaignState state_;
  std::chrono::steady_clock::time_point told_ = std::chrono::steady_clock::now();
};

}  // namespace

CampaignState runCampaign(const CampaignOptions& options, const std::function<void(const CampaignState&)>& progress) {
  return Campaign{options, progress}.run();
}

}  // namespace tenure::test
