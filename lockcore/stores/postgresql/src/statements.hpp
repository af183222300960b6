// The SQL of the store. Each statement stands alone: names are qualified and quoted, values are parameters with a type,
// and nothing depends on settings of the database, the role or the connection.
//
// Values and columns are texts as PostgreSQL writes them: numbers in decimal, booleans `t` and `f`. Lists are array
// literals (arrayLiteral()), data that is written is byteaOf(). Times are written in milliseconds since 1970 or as
// `infinity`, and read in seconds. What must be stored comes as a list of record versions; a record that vanished has
// vanishedVersion(). Of the holder's own writes, `expected` has them all. Of acquisitions, `dated` has those that need
// the server's present history, each as `SYSTEM/TIMELINE version`, and `bare` the others, which must not meet an
// inherited record (its `history` is not the present one).
//
// "Well-formed" is what recordFrom() and counterFrom() accept (record_codec.hpp). No statement changes a row that is
// not. A statement that meets other than the expected state changes nothing and returns no row.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "database.hpp"
#include "lockcore/postgresql/sql_template.hpp"

namespace tenure::postgresql_store {

/// The columns of a lease, as readLease, readLeases and listLeases return them. `name` is NULL if there is no row. A
/// row whose `version` is NULL has no record; `lease_ms` and `history` are then those of the last one.
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

/// The columns that updateLease returns. insertLease returns the first one alone.
enum TakenColumn : std::size_t {
  takenTokenColumn,
  tokenBeforeColumn,
  counterBeforeColumn,
  counterHistoryBeforeColumn,
  takenHistoryColumn,  ///< the server's, now
  takenColumnCount,
};

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
// updateLease    an acquisition where there is a row, against writers. $3 bare, $4 holder, $5 version, $6 lease in ms,
//                $7 liveness or NULL, $8 data or NULL: keep what is there, $9 boolean: what is there stays if it is not
//                empty, $10 attributes or NULL: keep, $11 acquired at, $12 renewed at, $13 dated, $14 token floor,
//                $15 boolean: there must be no record and no term that may still run
//                -> a row of TakenColumn, with a token that follows the rule of token_rule.hpp
// insertLease    an acquisition where there is no row. $3 holder, $4 version, $5 lease in ms, $6 liveness or NULL,
//                $7 data, $8 attributes, $9 acquired at, $10 renewed at, $11 token floor
//                -> token
// renewLease     unless a takeover was announced. $3 expected, $4 to $12 as of updateLease
//                -> token, boolean: this term was asked to step down
// renewLeases    all are lists. $1 names, $2 sorts, $3 expected, $4 holders, $5 versions, $6 leases, $7 liveness,
//                $8 acquired at, $9 renewed at. A lease with several expected versions comes several times
//                -> name, sort, token, boolean as above, for each lease that was renewed. A row that somebody has
//                locked is left out, and so is one whose takeover was announced
// releaseLease   as renewLease, also where a takeover was announced
// removeRecord   against writers. $3 expected, $4 holder or NULL: any, $5 boolean: its term ends with this
//                -> its token
// announceTakeover  $3 bare, $4 dated, as of updateLease. The counter goes one above the token of a record that is not
//                released, so the term is over: it is not renewed, and its writers are refused. It changes no key, so
//                it passes writers that hold the term -> counter
// askToStepDown  $3 token -> token
// setTokens      against writers. $3 counter, $4 token, $5 version, $6 holder, $7 released, $8 lease in ms: texts of
//                StoredTokens that must be stored; $9 token, $10 version -> counter
// insertTokens   where there is no row. $3 token -> counter
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
