#include "cron_fields.hpp"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "lockcore/port/ascii_text.hpp"
#include "lockcore/port/quoted_text.hpp"

namespace tenure {
namespace {

using Names = std::vector<std::string_view>;

struct FieldRule {
  const char* name;
  unsigned least;
  unsigned most;
  const char* allowed;  // for messages
  Names names;          // of the numbers from `least` on
};

const std::array<FieldRule, 5>& fieldRules() {
  static const std::array<FieldRule, 5> rules{{
      {"minute", 0, 59, "0 to 59", {}},
      {"hour", 0, 23, "0 to 23", {}},
      {"day of month", 1, 31, "1 to 31", {}},
      {"month",
       1,
       12,
       "1 to 12 or JAN to DEC",
       {"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}},
      {"day of week",
       0,
       7,
       "0 to 7 or SUN to SAT (0 and 7 are Sunday)",
       {"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}},
  }};
  return rules;
}
constexpr unsigned sunday = 7;  // as the end of a range

constexpr std::array<std::pair<std::string_view, std::string_view>, 7> nicknames{{
    {"@hourly", "0 * * * *"},
    {"@daily", "0 0 * * *"},
    {"@midnight", "0 0 * * *"},
    {"@weekly", "0 0 * * 0"},
    {"@monthly", "0 0 1 * *"},
    {"@yearly", "0 0 1 1 *"},
    {"@annually", "0 0 1 1 *"},
}};

struct ParsedField {
  std::uint64_t numbers{0};
  bool star{false};
};

/// Reads one field. All texts are parts of the expression, so that a fault can say where it is.
class FieldReader {
 public:
  FieldReader(std::string_view expression, const FieldRule& rule) : expression_{expression}, rule_{rule} {}

  [[nodiscard]] bool read(std::string_view field) {
    parsed_.star = field.front() == '*';  // as cron, which looks at no other character
    for (const std::string_view item : split(field, ',')) {
      if (!readItem(item)) return false;
    }
    // Day 7 of the week is Sunday; no other field has a number above 59.
    if (rule_.most == sunday) parsed_.numbers = (parsed_.numbers | parsed_.numbers >> sunday) & 0x7FU;
    return true;
  }
  [[nodiscard]] const ParsedField& parsed() const noexcept { return parsed_; }
  [[nodiscard]] std::string takeFault() { return std::move(fault_); }

 private:
  bool readItem(std::string_view item) {
    const std::size_t slash = item.find('/');
    const std::string_view range = item.substr(0, slash);
    const bool star = range == "*";
    unsigned low = rule_.least;
    unsigned high = rule_.most == sunday ? sunday - 1 : rule_.most;
    if (!star && !readRange(range, low, high)) return false;
    unsigned step = 1;
    if (slash != std::string_view::npos) {
      if (!star && range.find('-') == std::string_view::npos)
        return refuse(item, "a step goes with * or a range; write */n or a-b/n");
      if (!readStep(item.substr(slash + 1), high - low + 1, step)) return false;
    }
    for (unsigned number = low; number <= high; number += step) parsed_.numbers |= std::uint64_t{1} << number;
    return true;
  }

  bool readRange(std::string_view range, unsigned& low, unsigned& high) {
    const std::size_t dash = range.find('-');
    if (!readNumber(range.substr(0, dash), low)) return false;
    if (dash == std::string_view::npos) {
      high = low;
      return true;
    }
    const std::string_view end = range.substr(dash + 1);
    if (!readNumber(end, high)) return false;
    if (rule_.most == sunday && high == 0 && low > 0) high = sunday;  // FRI-SUN
    if (low > high) return refuse(range, "the range runs backwards; write two, such as 22-23,0-5 for hours");
    return true;
  }

  bool readNumber(std::string_view text, unsigned& number) {
    for (std::size_t i = 0; i < rule_.names.size(); ++i) {
      if (!sameText(text, rule_.names[i])) continue;
      number = rule_.least + static_cast<unsigned>(i);
      return true;
    }
    const auto value = numberFrom<unsigned>(text);
    if (!value || *value < rule_.least || *value > rule_.most)
      return refuse(text, std::string{"allowed are "} + rule_.allowed + ", *, a range a-b, a step */n, a list a,b");
    number = *value;
    return true;
  }

  bool readStep(std::string_view text, unsigned most, unsigned& step) {
    const auto value = numberFrom<unsigned>(text);
    // A longer step comes to the first number alone, which is seldom what somebody means who writes */90.
    if (!value || *value == 0 || *value > most) return refuse(text, "the step must be 1 to " + std::to_string(most));
    step = *value;
    return true;
  }

  bool refuse(std::string_view part, const std::string& why) {
    const auto place = static_cast<std::size_t>(part.data() - expression_.data()) + 1;
    fault_ = "has " + inQuotes(part) + " as " + rule_.name + ", at character " + std::to_string(place) + "; " + why;
    return false;
  }

  std::string_view expression_;
  const FieldRule& rule_;
  ParsedField parsed_;
  std::string fault_;
};

/// Whether some chosen month has a chosen day.
bool hasSuchADay(const CronFields& fields) {
  constexpr std::array<unsigned, 13> mostDays{0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  for (unsigned month = 1; month <= 12; ++month) {
    const std::uint64_t existing = (std::uint64_t{2} << mostDays[month]) - 1;
    if ((fields.months >> month & 1U) != 0 && (fields.days & existing) != 0) return true;
  }
  return false;
}

OptionFaults fault(std::string message) { return {{"schedule", std::move(message)}}; }

boost::system::result<CronFields, OptionFaults> nicknamed(std::string_view word) {
  for (const auto& [name, meaning] : nicknames) {
    if (sameText(word, name)) return cronFieldsFrom(meaning);
  }
  return fault("is " + inQuotes(word) + "; allowed are @hourly, @daily, @weekly, @monthly, @yearly and five fields");
}

}  // namespace

boost::system::result<CronFields, OptionFaults> cronFieldsFrom(std::string_view expression) {
  const std::vector<std::string_view> words = wordsOf(expression);
  if (words.size() == 1 && words[0].front() == '@') return nicknamed(words[0]);
  if (words.size() != fieldRules().size())
    return fault("has " + std::to_string(words.size()) + " fields: " + inQuotes(expression) +
                 "; write five, minute, hour, day of month, month and day of week, such as 0 3 * * *");
  std::array<ParsedField, 5> parsed;
  for (std::size_t i = 0; i < parsed.size(); ++i) {
    FieldReader reader{expression, fieldRules()[i]};
    if (!reader.read(words[i])) return fault(reader.takeFault());
    parsed[i] = reader.parsed();
  }
  const auto& [minute, hour, day, month, weekday] = parsed;
  const CronFields fields{minute.numbers,
                          hour.numbers,
                          day.numbers,
                          month.numbers,
                          weekday.numbers,
                          !day.star && !weekday.star,
                          !minute.star && !hour.star};
  if (!fields.eitherDay && !hasSuchADay(fields))
    return fault("never matches: no month of " + inQuotes(words[3]) + " has a day of " + inQuotes(words[2]));
  return fields;
}

}  // namespace tenure
