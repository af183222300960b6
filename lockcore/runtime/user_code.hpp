// Internal: stores, executors and callbacks are the user's code. What they throw is an answer like any other.
#pragma once

#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <tenure/lockcore/lease_options.hpp>
#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/store_error.hpp>

#include "lockcore/port/extended_store.hpp"
#include "lockcore/port/quoted_text.hpp"

namespace tenure {

/// Runs `call`. Empty: it threw nothing; else what it threw, in words.
template <class Call>
[[nodiscard]] std::optional<std::string> whatThrown(const Call& call) {
  try {
    call();
    return std::nullopt;
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "something that is not a std::exception";
  }
}

/// What a store says may hold what others wrote (a server, a record), and people read it. So it passes through here
/// where it is taken.
[[nodiscard]] inline StoreError readable(StoreError error) {
  error.message = shown(error.message);
  return error;
}
template <class T>
[[nodiscard]] StoreResult<T> readable(StoreResult<T> outcome) {
  if (outcome.has_error()) return readable(outcome.error());
  return outcome;
}
[[nodiscard]] inline WriteOutcome readable(WriteOutcome outcome) {
  if (auto* rejected = std::get_if<Rejected>(&outcome)) rejected->error = readable(std::move(rejected->error));
  if (auto* unknown = std::get_if<Unknown>(&outcome)) unknown->error = readable(std::move(unknown->error));
  return outcome;
}

/// The same for a call of a store. What it did before it threw is not known.
template <class Call>
[[nodiscard]] std::optional<StoreError> storeErrorOf(const Call& call) {
  const auto what = whatThrown(call);
  if (!what) return std::nullopt;
  return readable({ErrorClass::transient, "the store threw: " + *what});
}

/// LeaseStore::describe(), for messages and status.
[[nodiscard]] inline std::string nameOfStore(const LeaseStore& store) {
  std::string name;
  return whatThrown([&] { name = store.describe(); }) ? "store" : name;
}

/// ExtendedStore::faultsOfPayload(). A payload that the store cannot check is not sent to it.
[[nodiscard]] inline OptionFaults payloadFaults(LeaseStore& store, const LeaseKey& key, const std::string& data,
                                                const std::map<std::string, std::string>& attributes) {
  OptionFaults faults;
  const auto what = whatThrown([&] { faults = extended(store)->faultsOfPayload(key, data, attributes); });
  if (what) faults = {{"store", "threw while it checked data and attributes: " + *what}};
  return faults;
}

/// What `make` gets from a store, for parts that only make things faster: if the store throws, the caller does without
/// them, and the log says so. `what` is the part's name.
template <class Make>
[[nodiscard]] std::shared_ptr<void> orNull(const Logger& logger, const LeaseKey& key, const char* what,
                                           const Make& make) {
  std::shared_ptr<void> made;
  if (const auto error = storeErrorOf([&] { made = make(); })) {
    logger.log(LogLevel::warn, toString(key) + ": no " + what + ": " + error->message);
  }
  return made;
}

}  // namespace tenure
