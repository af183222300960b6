#include "simulation/sim_shrink.hpp"

#include <algorithm>
#include <sstream>

namespace tenure::test {
namespace {

class Shrinker {
 public:
  Shrinker(SimOptions options, unsigned mostTries) : most_{mostTries}, best_{options, simulate(options), 1} {}

  Shrunk run() {
    bool smaller = true;
    while (smaller && best_.tries < most_) smaller = shorter() | fewerCandidates() | fewerFaults();
    return std::move(best_);
  }

 private:
  bool attempt(const SimOptions& options) {
    if (best_.tries >= most_) return false;
    ++best_.tries;
    SimReport report = simulate(options);
    if (report.violations.empty()) return false;
    best_.options = options;
    best_.report = std::move(report);
    return true;
  }
  bool shorter() {
    bool any = false;
    for (unsigned leases = best_.options.leases / 2; leases > 0; leases = leases / 2) {
      SimOptions options = best_.options;
      options.leases = leases;
      if (!attempt(options)) break;
      any = true;
    }
    return any;
  }
  bool fewerCandidates() {
    const std::size_t most = best_.options.candidates == 0 ? 6 : best_.options.candidates;
    for (std::size_t count = 2; count < most; ++count) {
      SimOptions options = best_.options;
      options.candidates = count;
      if (attempt(options)) return true;
    }
    return false;
  }
  /// First halves, then single kinds.
  bool fewerFaults() {
    bool any = false;
    for (std::size_t width = faultKinds / 2; width > 0; width /= 2) {
      for (std::size_t from = 0; from < faultKinds; from += width) {
        SimOptions options = best_.options;
        for (std::size_t i = from; i < std::min(from + width, faultKinds); ++i) options.allowed.reset(i);
        if (options.allowed != best_.options.allowed) any = attempt(options) || any;
      }
    }
    return any;
  }

  unsigned most_;
  Shrunk best_;
};

std::string trimmed(const std::string& text) {
  const std::size_t from = text.find_first_not_of(" \t\r");
  return from == std::string::npos ? "" : text.substr(from, text.find_last_not_of(" \t\r") - from + 1);
}

template <class Enum>
bool named(const std::string& text, Enum last, Enum& out) {
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    if (toString(static_cast<Enum>(i)) != text) continue;
    out = static_cast<Enum>(i);
    return true;
  }
  return false;
}

bool numeric(const std::string& text) {
  return !text.empty() && text.size() < 20 && text.find_first_not_of("0123456789") == std::string::npos;
}

/// An empty text: it was understood.
std::string apply(const std::string& name, const std::string& value, SimOptions& options) {
  const bool isNumber = numeric(value);
  if (name == "seed" && isNumber) return options.seed = std::stoull(value), "";
  if (name == "candidates" && isNumber) return options.candidates = std::stoull(value), "";
  if (name == "leases" && isNumber) return options.leases = static_cast<unsigned>(std::stoul(value)), "";
  if (name == "mode" && named(value, SimMode::liveness, options.mode)) return "";
  if (name == "store" && named(value, StoreKind::kubernetes, options.store)) return "";
  if (name == "faults") {
    std::string unknown;
    const auto faults = faultsFrom(value, unknown);
    if (!faults) return "unknown fault \"" + unknown + "\"";
    options.allowed = *faults;
    return "";
  }
  return "not understood: " + name + " = " + value;
}

}  // namespace

Shrunk shrink(SimOptions options, unsigned mostTries) { return Shrinker{options, mostTries}.run(); }

std::string regressionText(const SimOptions& options, const std::string& comment) {
  std::ostringstream out;
  out << "# " << comment << "\nseed = " << options.seed << "\nmode = " << toString(options.mode)
      << "\nstore = " << toString(options.store) << "\ncandidates = " << options.candidates
      << "\nleases = " << options.leases << "\nfaults = " << toString(options.allowed) << '\n';
  return out.str();
}

std::string readRegression(const std::string& text, SimOptions& options) {
  std::istringstream lines{text};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const std::size_t equals = line.find('=');
    const std::string name = trimmed(line.substr(0, equals));
    const std::string value = equals == std::string::npos ? "" : trimmed(line.substr(equals + 1));
    const std::string fault = apply(name, value, options);
    if (!fault.empty()) return "line " + std::to_string(number) + ": " + fault;
  }
  return "";
}

}  // namespace tenure::test
