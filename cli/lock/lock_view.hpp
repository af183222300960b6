// What `tenure lock` prints.
#pragma once

#include <string>

#include <tenure/lockcore/lock_tokens.hpp>

#include "lock_watch.hpp"

namespace tenure::cli {

/// One JSON object on a line; docs/program/locks.md lists the keys.
[[nodiscard]] std::string toJson(const LockToken& token);
/// What the program calls it, in JSON and in tables.
[[nodiscard]] std::string_view wordOf(const LockError& error);
[[nodiscard]] std::string toJson(const LockError& error);
[[nodiscard]] std::string toJson(const LockWatch::Row& row, const std::string& store);
/// The same keys for a lock without a holder.
[[nodiscard]] std::string jsonOfNone(const LeaseKey& key, const std::string& store, const std::string& warning);

/// For people.
[[nodiscard]] std::string lockTable(const LeaseKey& key, const LeaseRecord& record, const std::string& store);
[[nodiscard]] std::string tokenTable(const LockToken& token, const TokenView& view);
[[nodiscard]] std::string listTable(const std::vector<LockWatch::Row>& rows, bool colours);

/// "acquired 2026-11-21T06:25:49.707Z, 12s ago by the wall clocks"; empty if the holder wrote no time.
[[nodiscard]] std::string ageText(std::int64_t acquiredAtMillis);

/// A JSON value, null where there is no time: records have 0 for it.
[[nodiscard]] std::string jsonTimeOf(std::int64_t millis);
/// A JSON value, null where the key has no sort key.
[[nodiscard]] std::string jsonSortOf(const LeaseKey& key);

}  // namespace tenure::cli
