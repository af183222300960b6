#include "simulation/sim_report.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <unistd.h>

namespace tenure::test {
namespace {

std::string jsonText(std::string_view text) {
  std::string out{'"'};
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out += '"';
}

std::string fixed(double value, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

}  // namespace

Colours Colours::forOutput(int descriptor) {
  if (isatty(descriptor) == 0 || std::getenv("NO_COLOR") != nullptr) return {};
  return {"\x1b[31m", "\x1b[32m", "\x1b[0m"};
}

std::string commitText() {
  constexpr const char* command = "git -C '" TENURE_SOURCE_DIR "' describe --always --dirty 2>/dev/null";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe{popen(command, "re"), pclose};
  std::array<char, 100> line{};
  if (!pipe || std::fgets(line.data(), static_cast<int>(line.size()), pipe.get()) == nullptr) return "unknown";
  std::string text{line.data()};
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.empty() ? "unknown" : text;
}

std::string summaryText(const CampaignState& state, double seconds) {
  const SimTotals& t = state.totals;
  std::ostringstream out;
  out << state.seeds << " seeds, " << fixed(t.hours, 1) << " simulated hours (" << fixed(t.hours / 8760, 3)
      << " years) in " << fixed(seconds, 1) << " s, " << fixed(t.hours / std::max(seconds, 0.001), 0) << " h/s\n"
      << fixed(t.leases, 0) << " leases long, " << t.acquisitions << " acquisitions, " << t.renewals << " renewals, "
      << t.ambiguous << " ambiguous writes, " << t.requests << " requests, " << t.steps << " steps, " << t.crashes
      << " crashes, " << t.pauses << " pauses\n"
      << "slowest leader after the faults ended: " << fixed(t.slowestHeal, 2) << " longest leases\n"
      << state.repeated << " seeds run twice, " << state.failures.size() << " failures\n";
  return out.str();
}

std::vector<std::string> missedPoints(const PointCounts& points) {
  std::vector<std::string> missed;
  for (std::size_t i = 0; i < simPoints; ++i) {
    const auto point = static_cast<SimPoint>(i);
    if (points.of(point) == 0) missed.emplace_back(toString(point));
  }
  return missed;
}

std::string campaignJson(const CampaignState& state, double seconds, const std::string& commit) {
  const SimTotals& t = state.totals;
  std::ostringstream out;
  out << "{\n  \"commit\": " << jsonText(commit) << ",\n  \"seeds\": " << state.seeds
      << ",\n  \"simulated_hours\": " << fixed(t.hours, 2) << ",\n  \"seconds\": " << fixed(seconds, 2)
      << ",\n  \"hours_per_second\": " << fixed(t.hours / std::max(seconds, 0.001), 1)
      << ",\n  \"leases\": " << fixed(t.leases, 0) << ",\n  \"acquisitions\": " << t.acquisitions
      << ",\n  \"renewals\": " << t.renewals << ",\n  \"ambiguous_writes\": " << t.ambiguous
      << ",\n  \"requests\": " << t.requests << ",\n  \"steps\": " << t.steps << ",\n  \"crashes\": " << t.crashes
      << ",\n  \"pauses\": " << t.pauses << ",\n  \"slowest_heal_in_longest_leases\": " << fixed(t.slowestHeal, 3)
      << ",\n  \"seeds_run_twice\": " << state.repeated << ",\n  \"failures\": [";
  for (std::size_t i = 0; i < state.failures.size(); ++i) {
    const Failure& f = state.failures[i];
    out << (i > 0 ? "," : "") << "\n    {\"seed\": " << f.options.seed
        << ", \"oracle\": " << jsonText(f.violation.oracle) << ", \"what\": " << jsonText(f.violation.text)
        << ", \"replay\": " << jsonText(replayCommand(f.options)) << "}";
  }
  out << (state.failures.empty() ? "],\n" : "\n  ],\n") << "  \"sometimes\": {";
  for (std::size_t i = 0; i < simPoints; ++i) {
    const auto point = static_cast<SimPoint>(i);
    out << (i > 0 ? "," : "") << "\n    " << jsonText(toString(point)) << ": " << state.points.of(point);
  }
  out << "\n  }\n}\n";
  return out.str();
}

std::string failureText(const Failure& failure, const std::string& commit) {
  return "seed " + std::to_string(failure.options.seed) + " at commit " + commit +
         "\n  broke:   " + failure.violation.oracle + ": " + failure.violation.text +
         "\n  world:   " + failure.configuration + "\n  replay:  " + replayCommand(failure.options) + '\n';
}

double medianSeed(const std::vector<MutantKill>& kills, std::uint64_t mostSeeds) {
  std::vector<std::uint64_t> seeds;
  for (const MutantKill& kill : kills) seeds.push_back(kill.seed == 0 ? mostSeeds + 1 : kill.seed);
  if (seeds.empty()) return 0;
  std::sort(seeds.begin(), seeds.end());
  const std::size_t half = seeds.size() / 2;
  const auto upper = static_cast<double>(seeds[half]);
  return seeds.size() % 2 == 1 ? upper : (static_cast<double>(seeds[half - 1]) + upper) / 2;
}

std::string mutantsJson(const std::vector<MutantKill>& kills, std::uint64_t mostSeeds, const std::string& commit) {
  const auto killed = std::count_if(kills.begin(), kills.end(), [](const MutantKill& kill) { return kill.seed != 0; });
  std::ostringstream out;
  out << "{\n  \"commit\": " << jsonText(commit) << ",\n  \"mutants\": " << kills.size()
      << ",\n  \"killed\": " << killed << ",\n  \"most_seeds\": " << mostSeeds
      << ",\n  \"median_first_seed\": " << fixed(medianSeed(kills, mostSeeds), 1) << ",\n  \"table\": [";
  for (std::size_t i = 0; i < kills.size(); ++i) {
    const MutantKill& kill = kills[i];
    out << (i > 0 ? "," : "") << "\n    {\"mutant\": " << jsonText(kill.info->name)
        << ", \"invariant\": " << jsonText(kill.info->invariant) << ", \"what\": " << jsonText(kill.info->what)
        << ", \"first_seed\": " << kill.seed << ", \"oracle\": " << jsonText(kill.violation.oracle)
        << ", \"seen\": " << jsonText(kill.violation.text) << ", \"seconds\": " << fixed(kill.seconds, 2) << "}";
  }
  out << "\n  ]\n}\n";
  return out.str();
}

}  // namespace tenure::test
