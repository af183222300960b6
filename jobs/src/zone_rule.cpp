#include "zone_rule.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace tenure {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::local_days;
using std::chrono::local_seconds;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_seconds;
using std::chrono::year;

/// Takes a text to pieces from its front. What does not fit counts as zero, and is remembered.
class RuleText {
 public:
  explicit RuleText(std::string_view text) : rest_{text} {}

  [[nodiscard]] bool isDone() const { return fits_ && rest_.empty(); }
  [[nodiscard]] bool hasMore() const { return fits_ && !rest_.empty(); }
  [[nodiscard]] bool isNext(char c) const { return rest_.starts_with(c); }

  bool take(char c) {
    if (!isNext(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void need(char c) { fits_ = take(c) && fits_; }

  /// "CET", "<+03>". POSIX wants three characters, and zic writes shorter names all the same.
  void takeName() {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const bool quoted = take('<');
    const std::size_t size = std::min(quoted ? rest_.find('>') : rest_.find_first_not_of(letters), rest_.size());
    fits_ = fits_ && size > 0;
    rest_.remove_prefix(size);
    if (quoted) need('>');
  }

  unsigned takeNumber(unsigned least, unsigned most) {
    unsigned number = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    fits_ = fits_ && error == std::errc{} && least <= number && number <= most;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return fits_ ? number : least;
  }

  /// "-3:30:15".
  seconds takeTime(unsigned mostHours) {
    const bool negative = take('-');
    if (!negative) take('+');
    seconds time = hours{takeNumber(0, mostHours)};
    if (take(':')) time += minutes{takeNumber(0, 59)};
    if (take(':')) time += seconds{takeNumber(0, 59)};
    return negative ? -time : time;
  }

  YearlyChange takeChange() {
    YearlyChange change;
    if (take('M')) {
      change.month = takeNumber(1, 12);
      need('.');
      change.week = takeNumber(1, 5);
      need('.');
      change.day = takeNumber(0, 6);
    } else if (take('J')) {
      change.by = YearlyChange::By::dayWithoutLeapDays;
      change.day = takeNumber(1, 365);
    } else {
      change.by = YearlyChange::By::dayFromZero;
      change.day = takeNumber(0, 365);
    }
    if (take('/')) change.time = takeTime(167);
    return change;
  }

 private:
  std::string_view rest_;
  bool fits_{true};
};

}  // namespace

local_seconds YearlyChange::in(year year) const {
  const local_days first{year / 1 / 1};
  if (by == By::dayFromZero) return first + days{day} + time;
  if (by == By::dayWithoutLeapDays) return first + days{day - 1 + (year.is_leap() && day >= 60 ? 1 : 0)} + time;
  const std::chrono::weekday weekday{day};
  if (week == 5) return local_days{year / std::chrono::month{month} / weekday[std::chrono::last]} + time;
  return local_days{year / std::chrono::month{month} / weekday[week]} + time;
}

std::optional<ZoneRule> ZoneRule::in(std::string_view text) {
  constexpr unsigned mostHours = 24;
  RuleText from{text};
  ZoneRule rule;
  from.takeName();
  rule.offset_ = -from.takeTime(mostHours);
  if (from.hasMore()) {
    from.takeName();
    Summer summer{rule.offset_ + hours{1}};
    if (!from.isNext(',')) summer.offset = -from.takeTime(mostHours);
    from.need(',');
    summer.begin = from.takeChange();
    from.need(',');
    summer.end = from.takeChange();
    rule.summer_ = summer;
  }
  if (!from.isDone()) return std::nullopt;
  return rule;
}

ZoneStretch ZoneRule::at(sys_seconds time) const {
  const ZoneStretch always = alwaysOffsetBy(offset_);
  if (!summer_) return always;
  // The times of a change reach a week into the years before and after it, so two years on both sides have both ends.
  constexpr days margin{3 * 366};
  const sys_seconds inside = std::clamp(time, always.begin + margin, always.end - margin);
  const year current = std::chrono::year_month_day{std::chrono::floor<days>(inside + offset_)}.year();
  struct Change {
    sys_seconds at;
    seconds offset;
  };
  std::array<Change, 10> changes{};
  auto* next = changes.begin();
  for (year each = current - std::chrono::years{2}; each <= current + std::chrono::years{2}; ++each) {
    *next++ = {sys_seconds{summer_->begin.in(each).time_since_epoch()} - offset_, summer_->offset};
    *next++ = {sys_seconds{summer_->end.in(each).time_since_epoch()} - summer_->offset, offset_};
  }
  // Summer that begins as it ends goes on.
  std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
  const auto* const after = std::upper_bound(changes.begin(), changes.end(), inside,
                                             [](sys_seconds limit, const Change& change) { return limit < change.at; });
  return {std::prev(after)->at, after->at, std::prev(after)->offset};
}

}  // namespace tenure
