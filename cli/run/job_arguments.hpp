// The options of `tenure run` that make its command a periodic job.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <tenure/config/group_config.hpp>

#include "jobs/src/term_ledger.hpp"

namespace tenure::cli {

struct JobArguments {
  std::string name{};                              ///< --job
  std::optional<std::chrono::milliseconds> per{};  ///< --per
  std::string schedule{};                          ///< --schedule
  std::string timeZone{};                          ///< --time-zone
  std::string guarantee{};                         ///< --guarantee: at_most_once, at_least_once
  std::string missed{};                            ///< --missed: skip, once, all

  [[nodiscard]] bool givesSchedule() const noexcept { return per || !schedule.empty(); }
};

/// What can be said without the group's file: the option, what is wrong with it, what to do. Empty: nothing.
[[nodiscard]] std::string faultOf(const JobArguments& arguments);

struct ChosenJob {
  std::optional<TermLedger::Job> job{};  ///< none: the command is no periodic job
  std::string fault{};                   ///< not empty: what is wrong, where, and what to do
};
/// The job that the options and the group's file say. The options must have no fault. `file`: for the messages.
[[nodiscard]] ChosenJob chosenJob(const JobArguments& arguments, const GroupConfig& config, const std::string& file);

}  // namespace tenure::cli
