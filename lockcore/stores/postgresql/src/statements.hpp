// The SQL of the store. Each statement stands alone: names are qualified and quoted, values are parameters with a type,
// and nothing depends on settings of the database, the role or the connection.
//
// Values and columns are texts as PostgreSQL writes them: numbers in decimal, booleans `t` and `f`. Lists are array
// literals (arrayLiteral()), data that is written is byteaOf(). Times are written in milliseconds since 1970 or as
// `infinity`, and read in seconds.
//
// What a write does was decided before it is sent (lockcore/stored/decisions.hpp). A statement carries it out if the
// row is as it was seen; if not, it changes nothing and returns no row.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "database.hpp"
#include "lockcore/postgresql/sql_template.hpp"

namespace tenure::postgresql_store {

/// The columns of a lease, as readLease, readLeases and listLeases return them. `name` is NULL if there is no
/// row. A row whose `version` is NULL has no record; `lease_ms` and `history` are then those of the last one.
enum LeaseColumn : std::size_t {
  nameColumn,
  sortColumn,
  versionColumn,
  holderColumn,
  tokenColumn,
  leaseColumn,  ///< milliseconds
  releasedColumn,
  resignColumn,      ///< the term that was asked to step down; 0: none
  livenessColumn,    ///< JSON: an object of texts (record_codec.hpp); NULL: none
  dataColumn,        ///< hexadecimal
  attributesColumn,  ///< JSON: an object of texts
  acquiredAtColumn,  ///< seconds since 1970, or an infinity
  renewedAtColumn,   ///< the same
  historyColumn,     ///< of the last acquisition, `SYSTEM/TIMELINE`; NULL: not known
  counterColumn,
  counterLeaseColumn,    ///< milliseconds; 0: the last term has ended cleanly
  counterHistoryColumn,  ///< in which the counter was last advanced
  layoutColumn,
  presentHistoryColumn,  ///< the server's, now; NULL: without history functions
  leaseColumnCount,
};

/// The columns that each statement returns which changes a row. updateTerms returns name and sort before them.
enum WrittenColumn : std::size_t { writtenTokenColumn, writtenCounterColumn, writtenColumnCount };

/// The columns that readLayout returns, in one row.
enum LayoutColumn : std::size_t {
  kindColumn,           ///< pg_class.relkind; NULL: there is no table
  persistenceColumn,    ///< pg_class.relpersistence
  columnsColumn,        ///< `name type` of each column, in alphabetical order, with commas
  keyColumn,            ///< `t`: (name, sort) is unique
  termKeyColumn,        ///< `t`: (name, sort, token) is unique
  collationColumn,      ///< `t`: name and sort have collation "C"
  defaultLayoutColumn,  ///< the default of column layout, which is the layout of the table
  grantsColumn,         ///< `t`: this role may select, insert and update
  rowSecurityColumn,    ///< `t`: row-level security applies to this role
  demandsColumn,        ///< NULL, or the names of columns that are NOT NULL and get no value from an insert
  rulesColumn,          ///< NULL, or the names of rules that are on
  triggersColumn,       ///< NULL, or the names of triggers that are on, without those of foreign keys
  constraintsColumn,    ///< NULL, or the names of CHECK and EXCLUDE constraints and of foreign keys
  childrenColumn,       ///< NULL, or the names of tables that inherit from it
  ownerColumn,          ///< NULL, or the table's owner, if the role does not trust it (role_trust.hpp)
  makersColumn,         ///< NULL, or other roles that may put triggers on the table, and that the role does not trust
  standbyColumn,        ///< `t`: the server is a standby
};

// What each statement takes and returns ($1 name and $2 sort, where nothing else is said). Statements that change one
// row that is there lock it first and wait for nobody: 55P03 if somebody has it. "Against writers" means those too that
// hold the term FOR KEY SHARE.
//
// readLease      -> always one row of LeaseColumn
// readLeases     $1 names, $2 sorts -> a row of LeaseColumn for each row that is there
// listLeases     $1 prefix, $2 name, $3 sort: from this key on, $4 how many at most
//                -> rows of LeaseColumn, in key order, of the leases that have a record
// updateTerm     new: $3 version, $4 holder, $5 token, $6 lease in ms, $7 released, $8 step-down request, $9 liveness,
//                $10 attributes, $11 history, $12 counter, $13 its lease in ms, $14 its history, $15 data or NULL:
//                keep, $16 acquired at or NULL: keep, $17 renewed at or NULL: keep; as seen: $18 version, $19 holder,
//                $20 token, $21 lease, $22 released, $23 step-down request, $24 attributes, $25 history, $26 counter,
//                $27 its lease, $28 its history, $29 layout
//                -> a row of WrittenColumn
// updateTerms    all are lists. $1 names, $2 sorts; new: $3 versions, $4 leases, $5 leases of the counters, $6
// liveness,
//                $7 acquired at, $8 renewed at; as seen: $9 versions, $10 holders, $11 tokens, $12 leases, $13
//                step-down requests, $14 counters, $15 their leases, $16 attributes
//                -> name, sort and a row of WrittenColumn, for each lease that was renewed. A row that somebody has
//                locked is left out
// endTerm        as updateTerm, against writers
// beginTerm      as updateTerm, against writers; $30 the server's history as it was seen
// updateInHistory  as beginTerm, but it passes writers that hold the term: the announcement of a takeover, or a renewal
//                whose version was read
// insertRow      as updateTerm to $17, where there is no row; $18 the server's history as it was seen
// notify         $1 channel, $2 payloads -> nothing of use. Its COMMIT does not wait for the disk
// readLayout     no values -> one row of LayoutColumn
// createTable    no values -> no rows

/// The SQL of all statements for one table.
class Statements {
 public:
  Statements(std::string_view schema, std::string_view table);

  /// `history`: whether the functions are used that tell the server's history. Without them, it is NULL everywhere.
  [[nodiscard]] const std::string& sql(StatementId id, bool history) const noexcept {
    return sql_.at(history ? 1 : 0).at(static_cast<std::size_t>(id));
  }

 private:
  std::array<std::array<std::string, statementCount>, 2> sql_;
};

inline constexpr std::size_t maxIdentifierBytes = 63;  // PostgreSQL cuts a longer name off without a word

/// Whether the server would take this for a name as it stands, and whether it can be shown as it stands.
[[nodiscard]] bool isIdentifier(std::string_view name);
using postgresql::quotedName;
using postgresql::quotedText;
[[nodiscard]] std::string qualifiedName(std::string_view schema, std::string_view table);
/// `{"a",NULL,"b"}`
[[nodiscard]] std::string arrayLiteral(const std::vector<Value>& values);

}  // namespace tenure::postgresql_store
