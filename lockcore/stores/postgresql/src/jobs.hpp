// The jobs of the store's calls: which statements, with which values. Nothing here looks at an answer.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <tenure/lockcore/lease_store.hpp>

#include "database.hpp"
#include "record_codec.hpp"

namespace tenure::postgresql_store {

/// Where the listeners of a table listen. A payload is fnv1aOf() the lease: it is short, and everybody may read it.
[[nodiscard]] std::string channelOf(std::string_view schema, std::string_view table);

/// A change of one row: what is written if the row is as it was seen.
struct RowChange {
  Row seen{};
  Row next{};
  Value data{};        ///< empty: what is there stays, as with the next two
  Value acquiredAt{};  ///< in milliseconds since 1970
  Value renewedAt{};
  /// Which statement carries it out: updateTerm, endTerm, beginTerm, updateInHistory or insertRow.
  StatementId kind{StatementId::updateTerm};
};

/// `next`: stateAfter() of the change.
[[nodiscard]] RowChange rowChangeOf(const RowState& seen, const stored::Change& change, const RowState& next);

/// Whether the row is as it was when the change was decided.
[[nodiscard]] bool isAsSeen(const RowChange& change, const Row& now);

/// The announcement that a term is over which an acquisition was to follow; empty: there is none to be announced. The
/// counter goes one above the token of a record that is not released, so the term is not renewed and its writers are
/// refused. It changes no key, so it passes writers that hold the term. Like the acquisition, it needs the history in
/// which the wait was counted.
[[nodiscard]] std::optional<RowChange> announcementOf(const RowState& seen);

inline constexpr std::size_t leasesOfAPage = 256;

/// A write is done if its statement has returned a row.
class Jobs {
 public:
  [[nodiscard]] static Job write(const RowChange& change, bool urgent);

  /// Renewals that change neither data nor attributes and require no history, in one transaction.
  [[nodiscard]] static Job renewals(const std::vector<const RowChange*>& changes);
  [[nodiscard]] static bool mayJoin(const RowChange& change) noexcept;

  [[nodiscard]] static Job read(const LeaseKey& key);
  [[nodiscard]] static Job read(const std::vector<LeaseKey>& keys);
  /// At most `most` leases.
  [[nodiscard]] static Job list(const std::string& prefix, const LeaseKey& from, std::size_t most);
  [[nodiscard]] static Job notify(const std::string& channel, const std::set<std::string>& payloads);
  /// All that a hand-over takes, of no lease.
  [[nodiscard]] static Job warmUp(const std::string& channel);
  [[nodiscard]] static Job readLayout();
  [[nodiscard]] static Job createTable();
};

}  // namespace tenure::postgresql_store
