#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/timex.h>

#include <fmt/format.h>

#include "machine.hpp"

namespace tenure::cli::doctor {

std::optional<std::string> MachineTree::text(const std::string& path) const {
  std::ifstream in{root_ + path};
  if (!in) return std::nullopt;
  std::string text{std::istreambuf_iterator<char>{in}, {}};
  if (in.bad()) return std::nullopt;
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

namespace {

/// The first processor's flags with a space around each.
std::string processorFlags(const std::string& text) {
  const std::size_t begin = text.find("\nflags\t");
  if (begin == std::string::npos) return {};
  const std::size_t colon = text.find(':', begin);
  return text.substr(colon + 1, text.find('\n', colon) - colon - 1) + ' ';
}

}  // namespace

ClockMark markClocks() noexcept { return {readClock(), wallClockMillisForDisplay()}; }

void compareClocks(const ClockMark& from, const ClockMark& to, ClockFacts& facts) {
  const nanoseconds raw = to.at.raw - from.at.raw;
  const nanoseconds monotonic = to.at.monotonic - from.at.monotonic;
  facts.span = raw;
  facts.ratePpm =
      raw.count() == 0 ? 0 : static_cast<double>((monotonic - raw).count()) / static_cast<double>(raw.count()) * 1e6;
  // The wall clock goes on while the machine sleeps, as CLOCK_BOOTTIME does.
  facts.wallStep = milliseconds{to.wallMillis - from.wallMillis} - (to.at.boottime - from.at.boottime);
  facts.suspended = to.at.boottime - to.at.monotonic;
}

void readMachine(const MachineTree& tree, ClockFacts& facts) {
  facts.source = tree.text("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  for (const char* name : {"sys_vendor", "product_name"}) {
    const auto text = tree.text(std::string{"/sys/class/dmi/id/"} + name);
    if (text && !text->empty()) facts.machine += (facts.machine.empty() ? "" : " ") + *text;
  }
  const std::string flags = processorFlags(tree.text("/proc/cpuinfo").value_or(""));
  if (flags.empty()) return;  // other processors than x86 have no such line
  const auto has = [&](const char* flag) { return flags.find(fmt::format(" {} ", flag)) != std::string::npos; };
  facts.steadyTsc = has("constant_tsc") && has("nonstop_tsc");
  facts.isVirtual = has("hypervisor");
}

std::optional<KernelClock> readKernelClock() {
  timex clock{};
  const int state = adjtimex(&clock);
  if (state < 0) return std::nullopt;
  // The frequency is in 2^-16 ppm. A tick is 10,000 us long where nobody changed it: each us is 100 ppm.
  const double frequency = static_cast<double>(clock.freq) / 65536.0;
  const double tick = static_cast<double>(clock.tick - 10'000) * 100.0;
  return KernelClock{state != TIME_ERROR && (clock.status & STA_UNSYNC) == 0, frequency + tick};
}

}  // namespace tenure::cli::doctor
