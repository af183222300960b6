#include "scan_price.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

#include <tenure/lockcore/runtime.hpp>

namespace tenure::dynamodb_store {
namespace {

using std::chrono::nanoseconds;

/// After so many listings the table holds what the group writes, and their mean distance is known.
constexpr int manyListings = 10;
/// Listings that are further apart cost less than a heartbeat does, or are a person's.
constexpr std::chrono::minutes rarely{1};
constexpr std::size_t mostPrefixes = 64;
constexpr double secondsOfMonth = 30.0 * 24 * 3600;
/// On demand, us-east-1, since November 2024: https://aws.amazon.com/dynamodb/pricing/on-demand/
constexpr double dollarsOfMillionReads = 0.125;

/// 64800000 -> "64,800,000"
std::string grouped(double number) {
  std::string digits = std::to_string(static_cast<std::uint64_t>(std::llround(number)));
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

/// Rounded to so many decimals.
std::string decimal(double number, unsigned decimals) {
  std::string digits = std::to_string(std::llround(number * std::pow(10.0, decimals)));
  digits.insert(0, std::string(decimals + 1 - std::min<std::size_t>(digits.size(), decimals + 1), '0'));
  return digits.insert(digits.size() - decimals, ".");
}

}  // namespace

void ScanPrice::listed(const std::string& prefix, const Instant& start, std::optional<double> units) {
  if (!tells_ || prefix.empty()) return;
  nanoseconds interval{};
  {
    const std::lock_guard lock{mutex_};
    if (told_) return;
    if (series_.size() >= mostPrefixes) series_.clear();
    Series& series = series_[prefix];
    if (series.count == 0) series.first = start;
    if (++series.count <= manyListings) return;
    interval = elapsedForHolder(series.first, start) / (series.count - 1);
    if (interval > rarely || interval.count() <= 0) {
      series.count = 0;
      return;
    }
    told_ = true;
  }
  logger_.log(LogLevel::warn, where_ + ": " + scanPriceText(prefix, interval, units));
}

std::string scanPriceText(const std::string& prefix, nanoseconds interval, std::optional<double> units) {
  const double seconds = std::chrono::duration<double>(interval).count();
  const double listings = secondsOfMonth / seconds;
  std::string text = "the leases \"" + prefix + "...\" are listed about every " + decimal(seconds, 1) +
                     " s, and each time the whole table is read (Scan), because it has no sort key. ";
  if (units) {
    const double all = listings * *units;
    text += "This takes " + decimal(*units, 1) + " read units each time, " + grouped(all) + " in 30 days: about " +
            decimal(all * dollarsOfMillionReads / 1e6, 2) + " $";
  } else {
    text += "This takes a read unit for each 4 KB of the table " + grouped(listings) +
            " times in 30 days; each million of them is about 0.125 $";
  }
  return text +
         " for each candidate (on demand, us-east-1). In a table with a sort key (store.sort_key) only the group "
         "is read; see docs/sharding.md, What it costs on DynamoDB";
}

}  // namespace tenure::dynamodb_store
