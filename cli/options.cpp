#include "options.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "config/src/duration.hpp"
#include "config/src/words.hpp"
#include "lockcore/port/ascii_text.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "lockcore/runtime/regular_file.hpp"
#include "text/environment.hpp"

namespace tenure::cli {
namespace {

using std::chrono::milliseconds;

/// "-c, --config FILE" in its parts.
struct Spec {
  explicit Spec(const std::string& spec) {
    const bool isOption = spec.starts_with('-');
    const std::size_t blank = spec.rfind(' ');
    const bool hasValue = isOption && blank != std::string::npos && spec[blank + 1] != '-';
    names = spec.substr(0, hasValue ? blank : spec.size());
    if (hasValue) value = spec.substr(blank + 1);
    const std::size_t longName = names.find("--");
    shown = isOption && longName != std::string::npos ? names.substr(longName) : names;
    std::erase(names, ' ');  // as CLI11 wants them
  }

  std::string names, shown, value;
};

/// What CLI11 calls with the values that were given.
Options::Target::Line& add(Options::Target& target, const std::string& spec, const Take& take, bool repeats,
                           const std::string& about) {
  const Spec parts{spec};
  const auto takeAll = [name = parts.shown, take](const std::vector<std::string>& all) {
    for (const std::string& text : all) {
      if (const std::string fault = take(text); !fault.empty()) throw CLI::ValidationError(name, fault);
    }
  };
  CLI::Option* option =
      repeats ? target.app.add_option_function<std::vector<std::string>>(parts.names, takeAll)->allow_extra_args(false)
              : target.app.add_option_function<std::string>(parts.names,
                                                            [takeAll](const std::string& text) { takeAll({text}); });
  option->type_name(parts.value);
  target.lines.push_back({option, spec, about, parts.shown + (parts.value.empty() ? "" : " " + parts.value), repeats});
  return target.lines.back();
}

std::string takeDuration(const std::string& text, bool mayBeZero, const std::function<void(milliseconds)>& use) {
  const auto duration = parseDuration(text);
  if (!duration) return duration.error().message;
  if (duration->count() == 0 && !mayBeZero) return "must be longer than 0s";
  use(*duration);
  return {};
}

}  // namespace

Options& Options::flag(const std::string& spec, bool& to, const std::string& about) {
  const Spec parts{spec};
  target_.lines.push_back({target_.app.add_flag(parts.names, to)->disable_flag_override(), spec, about, parts.shown});
  return *this;
}

Options& Options::value(const std::string& spec, const Take& take, const std::string& about) {
  add(target_, spec, take, false, about);
  return *this;
}

Options& Options::values(const std::string& spec, const Take& takeEach, const std::string& about) {
  add(target_, spec, takeEach, true, about);
  return *this;
}

Options& Options::text(const std::string& spec, std::string& to, const std::string& about) {
  return value(
      spec, [&to](const std::string& text) { return to = text, std::string{}; }, about);
}

Options& Options::given(const std::string& spec, std::string& to, const std::string& about, const char* what) {
  const auto take = [&to, what](const std::string& text) {
    to = text;
    return text.empty() ? fmt::format("the {} is empty", what) : std::string{};
  };
  return value(spec, take, about);
}

Options& Options::path(const std::string& spec, std::string& to, const std::string& about) {
  return value(
      spec, [&to](const std::string& text) { return to = text, faultOfPath(text); }, about);
}

Options& Options::oneOf(const std::string& spec, std::string& to, std::vector<std::string> words,
                        const std::string& about) {
  const auto take = [&to, words = std::move(words)](const std::string& text) {
    to = text;
    if (std::find(words.begin(), words.end(), text) != words.end()) return std::string{};
    const bool number = text.find_first_not_of("0123456789") == std::string::npos;
    return inQuotes(text) + " is none of " + config::listed(words) +
           (number ? "" : config::didYouMean(config::closest(text, words)));
  };
  return value(spec, take, about);
}

Options& Options::number(const std::string& spec, std::uint64_t& to, std::uint64_t low, std::uint64_t high,
                         const std::string& about) {
  const auto take = [&to, low, high](const std::string& text) {
    const auto number = numberFrom<std::uint64_t>(text);
    const bool fits = number && *number >= low && *number <= high;
    if (fits) to = *number;
    return fits ? std::string{} : fmt::format("Value {} not in range {} to {}", text, low, high);
  };
  return value(spec, take, about);
}

Options& Options::duration(const std::string& spec, std::optional<milliseconds>& to, const std::string& about) {
  const auto take = [&to](const std::string& text) {
    return takeDuration(text, true, [&to](milliseconds given) { to = given; });
  };
  return value(spec, take, about);
}

Options& Options::duration(const std::string& spec, milliseconds& to, const std::string& about, bool mayBeZero) {
  const auto take = [&to, mayBeZero](const std::string& text) {
    return takeDuration(text, mayBeZero, [&to](milliseconds given) { to = given; });
  };
  return value(spec, take, about);
}

Options& Options::required() {
  target_.lines.back().option->required();
  return *this;
}

Options& Options::needed() {
  target_.lines.back().needed = true;
  return *this;
}

Options& Options::hidden() {
  target_.lines.back().hidden = true;
  return *this;
}

Options& Options::groupFile(std::string& to, bool asArgument, OtherWay other, const std::string& about) {
  text("-c, --config FILE", to, about);
  Target::Line& option = target_.lines.back();
  const auto file = std::make_shared<std::string>();
  option.needed = other.instead == nullptr;
  if (asArgument) {
    option.usage.clear();
    text("FILE", *file, "").needed();
  }
  target_.files.insert(target_.files.end(), {&to, file.get()});
  return check([file, &to, other, files = target_.files]() -> std::string {
    std::string given;
    for (const std::string* one : files) {
      if (!one->empty() && !given.empty()) return "give the group's file once: by --config or as FILE";
      if (!one->empty()) given = *one;
    }
    to = given;
    if (!to.empty() || (other.instead != nullptr && !other.instead->empty())) return {};
    to = environmentText("TENURE_CONFIG");
    if (!to.empty()) return {};
    return std::string{"give the group's file: --config FILE (or set TENURE_CONFIG); tenure init writes one"} +
           other.orGive;
  });
}

Options& Options::job(std::vector<std::string>& to, const std::string& example) {
  target_.job = &to;
  return check([&to, example] {
    if (to.empty()) return "give the command to run after --, as in: " + example;
    return to.front().empty() ? std::string{"the command after -- is empty"} : std::string{};
  });
}

Options& Options::check(Check check) {
  target_.checks.push_back(std::move(check));
  return *this;
}

}  // namespace tenure::cli
