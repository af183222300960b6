#include "job_counts.hpp"

#include <utility>

namespace tenure::cli {

std::vector<ops::MetricFamily> JobCounts::families(const std::string& group) const {
  constexpr std::array<const char*, outcomes> words{"succeeded", "failed", "signalled"};
  const ops::MetricLabels labels{{"group", group}};
  ops::MetricFamily starts = ops::familyOf("tenure_job_starts");
  starts.samples = {{"_total", labels, static_cast<double>(starts_.load())}};
  ops::MetricFamily running = ops::familyOf("tenure_job_running");
  running.samples = {{"", labels, running_.load() ? 1.0 : 0.0}};
  ops::MetricFamily exits = ops::familyOf("tenure_job_exits");
  for (std::size_t i = 0; i < words.size(); ++i) {
    ops::MetricLabels own = labels;
    own.emplace_back("outcome", words[i]);
    exits.samples.push_back({"_total", std::move(own), static_cast<double>(exits_[i].load())});
  }
  return {std::move(starts), std::move(running), std::move(exits)};
}

}  // namespace tenure::cli
