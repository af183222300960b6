// A lease as `tenure status` shows it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <tenure/election/listener.hpp>
#include <tenure/lockcore/lease_record.hpp>

namespace tenure::cli {

enum class LeaseViewState {
  none,      ///< there is no record: nobody has led yet
  released,  ///< the last leader gave it up
  held,      ///< somebody leads
  vanished,  ///< the record was deleted before the term ended: candidates wait for the lease that the counter states
  paused,    ///< an operator holds it, so that nobody leads
  silent,    ///< held, but not renewed while it was watched: the holder is probably gone
};

/// Whether a record says that somebody has the lease now.
[[nodiscard]] bool isHeld(const std::optional<LeaseRecord>& record) noexcept;

struct LeaseView {
  std::string group;
  std::string store;
  std::optional<LeaseRecord> record;
  /// Time since the last renewal, by the wall clocks of the writer and of this machine. For people; may be negative.
  std::chrono::milliseconds renewedAgo{0};
  /// At least so long it was not renewed while this process watched it; and it was seen to be renewed before.
  std::chrono::nanoseconds unrenewedFor{0};
  bool seenRenewed{false};
  std::string warning{};         ///< see LeaseLook
  std::optional<Pause> pause{};  ///< that has the lease, or had it last
  std::string address{};         ///< where the present leader says that it can be reached; empty: it says nothing

  /// Silence is proved as a candidate proves it, by a whole lease without a renewal, whatever the wall clocks say. If
  /// they say that the lease is over, half of it is enough, because every leader renews more than twice in its lease.
  [[nodiscard]] LeaseViewState state() const noexcept;
  /// To be watched before it is judged: it is held, and the wall clocks put its last renewal more than a lease away.
  [[nodiscard]] bool isDoubtful() const noexcept;
};

/// `nowMillis`: the wall clock.
[[nodiscard]] LeaseView viewOf(std::string group, std::string store, std::optional<LeaseRecord> record,
                               std::int64_t nowMillis);

/// For people: a table.
[[nodiscard]] std::string toTable(const LeaseView& view, bool colours);
/// One line with a line break; docs/program/operate.md lists the keys.
[[nodiscard]] std::string toJson(const LeaseView& view);

}  // namespace tenure::cli
