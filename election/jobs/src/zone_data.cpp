#include "zone_data.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tenure {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::local_seconds;
using std::chrono::seconds;
using std::chrono::sys_seconds;

std::int64_t signedNumber(std::string_view bigEndian) {
  std::uint64_t number = (static_cast<unsigned char>(bigEndian.front()) & 0x80U) != 0 ? ~std::uint64_t{0} : 0;
  for (const char byte : bigEndian) number = number << 8U | static_cast<unsigned char>(byte);
  return static_cast<std::int64_t>(number);
}

/// A header and how many of each there are in the block after it.
struct Header {
  static constexpr std::size_t size = 44;
  char version{};
  std::size_t utMarks{}, standardMarks{}, leapSeconds{}, changes{}, types{}, letters{};

  [[nodiscard]] static std::optional<Header> in(std::string_view file) {
    if (file.size() < size || !file.starts_with("TZif")) return std::nullopt;
    const auto count = [&](std::size_t place) {
      return static_cast<std::uint32_t>(signedNumber(file.substr(20 + 4 * place, 4)));
    };
    return Header{file[4], count(0), count(1), count(2), count(3), count(4), count(5)};
  }
  [[nodiscard]] std::size_t blockSize(std::size_t timeBytes) const {
    return changes * (timeBytes + 1) + types * 6 + letters + leapSeconds * (timeBytes + 4) + standardMarks + utMarks;
  }
};

const FileError cutShort{"is cut short"};

/// The rule stands in a line of its own after the last block. An empty one: there is none.
std::optional<std::string_view> ruleLineOf(std::string_view footer) {
  const std::size_t end = footer.find('\n', 1);
  if (!footer.starts_with('\n') || end == std::string_view::npos) return std::nullopt;
  return footer.substr(1, end - 1);
}

}  // namespace

void ZoneData::change(sys_seconds at, seconds offset) {
  lastChange_ = at;
  ZoneStretch& last = listed_.back();
  if (last.offset == offset) return;
  const ZoneStretch next{at, last.end, offset};
  last.end = at;
  listed_.push_back(next);
}

boost::system::result<ZoneData, FileError> ZoneData::in(std::string_view file) {
  auto header = Header::in(file);
  if (!header) return FileError{"is not a time-zone file (TZif)"};
  std::size_t timeBytes = 4;
  const bool isLong = header->version >= '2';  // then all follows once more, with longer times
  if (isLong) {
    timeBytes = 8;
    file.remove_prefix(std::min(file.size(), Header::size + header->blockSize(4)));
    header = Header::in(file);
    if (!header) return cutShort;
  }
  file.remove_prefix(Header::size);
  const std::size_t blockSize = header->blockSize(timeBytes);
  if (file.size() < blockSize) return cutShort;
  if (header->leapSeconds > 0) return FileError{"counts leap seconds, which is not supported"};
  if (header->types == 0) return FileError{"has no offset"};

  const std::string_view types = file.substr(header->changes * (timeBytes + 1));
  ZoneData data;
  const ZoneStretch always = data.listed_.front();
  const auto offsetOf = [&](std::size_t type) { return seconds{signedNumber(types.substr(type * 6, 4))}; };
  for (std::size_t type = 0; type < header->types; ++type) {
    if (std::chrono::abs(offsetOf(type)) > hours{26}) return FileError{"has an offset of more than 26 hours"};
  }
  data.listed_ = {alwaysOffsetBy(offsetOf(0))};
  std::int64_t before = INT64_MIN;
  for (std::size_t i = 0; i < header->changes; ++i) {
    const std::int64_t time = signedNumber(file.substr(i * timeBytes, timeBytes));
    const auto type = static_cast<unsigned char>(file[header->changes * timeBytes + i]);
    if (type >= header->types || (i > 0 && time <= before)) return FileError{"has changes that contradict each other"};
    before = time;
    data.change(sys_seconds{std::clamp(seconds{time}, always.begin.time_since_epoch(), always.end.time_since_epoch())},
                offsetOf(type));
  }
  if (!isLong) return data;
  const auto line = ruleLineOf(file.substr(blockSize));
  if (!line) return cutShort;
  if (line->empty()) return data;
  data.rule_ = ZoneRule::in(*line);
  if (!data.rule_) return FileError{"ends with a rule that is not understood"};
  return data;
}

ZoneStretch ZoneData::at(sys_seconds time) const {
  const ZoneStretch& last = listed_.back();
  if (!rule_ || time < last.begin) {
    const auto after = std::upper_bound(listed_.begin(), listed_.end(), time,
                                        [](sys_seconds limit, const ZoneStretch& each) { return limit < each.begin; });
    return after == listed_.begin() ? *after : *std::prev(after);
  }
  const sys_seconds ruled = lastChange_ + seconds{1};
  ZoneStretch found = rule_->at(std::max(time, ruled));
  if (found.begin < ruled && found.offset == last.offset) return {last.begin, found.end, last.offset};
  if (time < ruled) return {last.begin, ruled, last.offset};
  found.begin = std::max(found.begin, ruled);
  return found;
}

sys_seconds ZoneData::instantOf(local_seconds time) const {
  // No offset reaches two days. The first stretch that has not ended before the local time has its first instant.
  ZoneStretch stretch = at(sys_seconds{time.time_since_epoch()} - days{2});
  while (stretch.instant(time) >= stretch.end) stretch = at(stretch.end);
  return std::max(stretch.instant(time), stretch.begin);
}

}  // namespace tenure
