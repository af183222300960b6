// Instants as people write them.
#pragma once

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include <tenure/jobs/schedule.hpp>

namespace tenure::test {

/// Of `2026-03-29T01:00Z`.
inline std::chrono::sys_seconds instant(const std::string& text) {
  const auto number = [&](std::size_t from, std::size_t length) { return std::stoi(text.substr(from, length)); };
  if (text.size() != 17 || text.back() != 'Z') throw std::invalid_argument(text);
  const std::chrono::year_month_day date{std::chrono::year{number(0, 4)},
                                         std::chrono::month{static_cast<unsigned>(number(5, 2))},
                                         std::chrono::day{static_cast<unsigned>(number(8, 2))}};
  return std::chrono::sys_days{date} + std::chrono::hours{number(11, 2)} + std::chrono::minutes{number(14, 2)};
}

inline std::string textOf(std::chrono::sys_seconds time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const auto minutes = std::chrono::floor<std::chrono::minutes>(time - day).count();
  const auto two = [](auto value) { return (value < 10 ? "0" : "") + std::to_string(value); };
  return std::to_string(static_cast<int>(date.year())) + '-' + two(static_cast<unsigned>(date.month())) + '-' +
         two(static_cast<unsigned>(date.day())) + 'T' + two(minutes / 60) + ':' + two(minutes % 60) + 'Z';
}

/// The occurrences after `from` and before `to`.
inline std::vector<std::string> occurrences(const Schedule& schedule, const std::string& from, const std::string& to) {
  std::vector<std::string> out;
  for (auto at = schedule.after(instant(from)); at < instant(to); at = schedule.after(at)) out.push_back(textOf(at));
  return out;
}

}  // namespace tenure::test
