// What `tenure doctor` finds: the list of its checks, and a report for people and for programs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "facts.hpp"

namespace tenure::cli::doctor {

enum class Grade {
  ok,
  warning,  ///< elections work, but something makes them worse, or will
  fault,    ///< an election misbehaves, or cannot take place
};
[[nodiscard]] std::string_view toString(Grade grade) noexcept;

/// One check. Its name is stable: scripts and alerts may use it.
struct Check {
  std::string_view name;     ///< `group.word`
  std::string_view looksAt;  ///< the rest of a table's row, for the reference
  std::string_view warning;  ///< when it warns; empty: never
  std::string_view fault;    ///< when it finds a fault; empty: never
};
/// All of them, in the order of the report.
[[nodiscard]] const std::vector<Check>& checks();

struct Finding {
  std::string name;  ///< that of a check
  Grade grade{Grade::ok};
  std::string says;    ///< a sentence
  std::string toDo{};  ///< what to do, or to know; empty: nothing

  friend bool operator==(const Finding&, const Finding&) = default;
};

/// A check for which this system does not show what it needs.
struct NotLookedAt {
  std::string name;
  std::string why;

  friend bool operator==(const NotLookedAt&, const NotLookedAt&) = default;
};

class Report {
 public:
  void ok(std::string name, std::string says, std::string toDo = {});
  void warning(std::string name, std::string says, std::string toDo);
  void fault(std::string name, std::string says, std::string toDo);
  void notLookedAt(std::string name, std::string why);

  [[nodiscard]] const std::vector<Finding>& findings() const noexcept { return findings_; }
  [[nodiscard]] const std::vector<NotLookedAt>& missing() const noexcept { return missing_; }
  /// The worst grade of all findings.
  [[nodiscard]] Grade worst() const noexcept;
  [[nodiscard]] std::size_t count(Grade grade) const noexcept;

 private:
  std::vector<Finding> findings_;
  std::vector<NotLookedAt> missing_;
};

/// Groups with their findings, the worst word first in each line; what was not looked at; a last line with the sums.
[[nodiscard]] std::string toText(const Facts& facts, const Report& report, bool colours);
/// One line with a line break; docs/reference/program.md lists the keys.
[[nodiscard]] std::string toJson(const Facts& facts, const Report& report);

}  // namespace tenure::cli::doctor
