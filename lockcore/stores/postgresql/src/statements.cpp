#include "statements.hpp"

namespace tenure::postgresql_store {
namespace {

constexpr std::string_view maxToken = "9007199254740991";
constexpr std::string_view maxLease = "604800000";
constexpr std::string_view greatestStep = "4294967296";

/// The pieces of which the statements of one table are made. In all of them, `l` is the row and `h` the server's
/// history.
struct Pieces {
  std::string table;      ///< qualified and quoted
  std::string reference;  ///< the same as a literal for to_regclass
  std::string history;    ///< FROM item `h`
};

std::string historyItem(bool known) {
  if (!known) return "(SELECT NULL::bigint AS system_id, NULL::int AS timeline) AS h";
  // An expression that a standby refuses, so that no answer comes from one.
  return "(SELECT (SELECT system_identifier FROM pg_catalog.pg_control_system()) AS system_id, "
         "('x' || pg_catalog.left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), "
         "8))::bit(32)::bigint::int "
         "AS timeline) AS h";
}

std::string join(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (const std::string_view part : parts) out += part;
  return out;
}

/// Times beyond PostgreSQL's are kept as its infinities.
std::string timeFrom(std::string_view millis) {
  return join({"(CASE WHEN ", millis, "::bigint > 200000000000000 THEN 'infinity'::timestamptz WHEN ", millis,
               "::bigint < -200000000000000 THEN '-infinity'::timestamptz ELSE 'epoch'::timestamptz + ", millis,
               "::bigint * interval '1 millisecond' END)"});
}

std::string millisFrom(std::string_view time) {
  return join({"(CASE WHEN ", time, " = 'infinity' THEN 9223372036854775807 WHEN ", time,
               " = '-infinity' THEN (-9223372036854775808)::bigint ELSE (extract(epoch FROM ", time,
               ") * 1000)::bigint END)"});
}

std::string leaseColumns() {
  return join(
      {"l.name, l.sort, l.version, l.holder, l.token, l.lease_ms, l.released, l.resign_token, l.liveness::text, "
       "pg_catalog.encode(l.data, 'hex'), l.attributes::text, ",
       millisFrom("l.acquired_at"), ", ", millisFrom("l.renewed_at"),
       ", l.counter, l.counter_lease_ms, l.system_id, l.timeline, l.layout, h.system_id, h.timeline"});
}

constexpr std::string_view isKey = "l.name = $1::text AND l.sort = $2::text";

std::string recordIsWellFormed() {
  return join({"l.layout = 1 AND l.version <> '' AND l.holder <> '' AND l.token BETWEEN 1 AND ", maxToken,
               " AND l.lease_ms BETWEEN 1 AND ", maxLease,
               " AND l.released IS NOT NULL AND CASE WHEN pg_catalog.jsonb_typeof(l.attributes) = 'object' THEN NOT "
               "pg_catalog.jsonb_path_exists(l.attributes, 'strict $.* ? (@.type() != \"string\")') ELSE false END"});
}

std::string counterIsWellFormed() {
  return join({"l.layout = 1 AND l.counter <= ", maxToken, " AND l.counter_lease_ms BETWEEN 0 AND ", maxLease});
}

/// What is stored as the version, also where a record vanished.
constexpr std::string_view storedVersion =
    "coalesce(l.version, CASE WHEN l.counter_lease_ms > 0 THEN 'counter:' || greatest(l.counter, 0) || ':' || "
    "l.counter_lease_ms END)";

/// `unnest` of several lists is syntax and no function; it may not be qualified. All functions are, because another
/// schema's function of the same name may fit the arguments better.
std::string isExpected(std::string_view version) {
  return join({"EXISTS (SELECT FROM unnest($3::text[], $4::text[]) AS e(version, history) WHERE e.version = ", version,
               " AND (e.history IS NULL OR e.history = h.system_id || '/' || h.timeline))"});
}

/// The first token of the present timeline's block, less one.
constexpr std::string_view blockOfTimeline = "(least(coalesce(h.timeline, 1) - 1, 8192)::bigint << 40)";

/// token_rule.hpp has the rule; a test compares the two.
std::string tokenAfter(std::string_view known) {
  return join({"CASE WHEN ROW(l.system_id, l.timeline) IS NOT DISTINCT FROM ROW(h.system_id, h.timeline) THEN ", known,
               " + 1 ELSE greatest(((", known, " >> 40) + 1) << 40, ", blockOfTimeline, ") END"});
}

/// The bound only keeps the arithmetic from overflowing where the row is malformed.
std::string knownTokens() { return join({"least(greatest(l.counter, coalesce(l.token, 0), 0), ", maxToken, ")"}); }

std::string newData(std::string_view data, std::string_view keepsAny) {
  return join({"CASE WHEN ", data, "::text IS NULL OR (", keepsAny,
               "::boolean AND pg_catalog.length(l.data) > 0) THEN l.data ELSE pg_catalog.decode(", data,
               "::text, 'hex') END"});
}

std::string notifies(std::string_view channel, std::string_view payload) {
  return join({"pg_catalog.pg_notify(", channel, "::text, ", payload, "::text)"});
}

std::string readLease(const Pieces& p) {
  return join({"SELECT ", leaseColumns(), " FROM ", p.history, " LEFT JOIN ", p.table, " AS l ON ", isKey,
               " AND ($3::text IS NULL OR l.version IS DISTINCT FROM $3::text)"});
}

std::string readLeases(const Pieces& p) {
  return join({"SELECT ", leaseColumns(), " FROM ", p.history,
               ", unnest($1::text[], $2::text[], $3::text[]) AS r(name, sort, version) JOIN ", p.table,
               " AS l ON l.name = r.name AND l.sort = r.sort WHERE l.version IS DISTINCT FROM r.version"});
}

std::string listLeases(const Pieces& p) {
  return join({"SELECT ", leaseColumns(), " FROM ", p.history, ", ", p.table,
               " AS l WHERE l.version IS NOT NULL AND (l.name, l.sort) >= ($2::text, $3::text) AND "
               "pg_catalog.starts_with(l.name, $1::text) ORDER BY l.name, l.sort LIMIT $4::bigint"});
}

std::string lock(const Pieces& p, std::string_view strength) {
  return join({"SELECT l.version, l.token, l.counter, l.system_id, l.timeline, h.system_id, h.timeline FROM ",
               p.history, ", ", p.table, " AS l WHERE ", isKey, " FOR ", strength, " OF l NOWAIT"});
}

std::string updateLease(const Pieces& p) {
  const std::string known = knownTokens();
  const std::string token = tokenAfter("greatest(" + known + ", $14::bigint)");
  return join({"UPDATE ",
               p.table,
               " AS l SET counter = ",
               token,
               ", counter_lease_ms = $7::bigint, system_id = "
               "h.system_id, timeline = h.timeline, token = ",
               token,
               ", version = $5::text, holder = $6::text, lease_ms = $7::bigint, released = false, resign_token = 0, "
               "liveness = $8::jsonb, data = ",
               newData("$9", "$10"),
               ", attributes = coalesce($11::jsonb, l.attributes), acquired_at = ",
               timeFrom("$12"),
               ", renewed_at = ",
               timeFrom("$13"),
               " FROM ",
               p.history,
               " WHERE ",
               isKey,
               " AND ",
               counterIsWellFormed(),
               " AND (l.version IS NULL OR ",
               recordIsWellFormed(),
               ") AND (",
               isExpected(storedVersion),
               " OR (l.version IS NULL AND l.counter_lease_ms = 0 AND pg_catalog.cardinality($3::text[]) = 0))"
               " AND $14::bigint < ",
               tokenAfter(known),
               " + ",
               greatestStep,
               " AND ",
               token,
               " <= ",
               maxToken,
               " RETURNING l.token, ",
               notifies("$15", "$16")});
}

std::string insertLease(const Pieces& p) {
  const std::string token = join({"greatest($11::bigint, ", blockOfTimeline, ") + 1"});
  return join({"INSERT INTO ",
               p.table,
               " AS l (name, sort, counter, counter_lease_ms, system_id, timeline, token, version, "
               "holder, lease_ms, released, resign_token, liveness, data, attributes, acquired_at, renewed_at, layout) "
               "SELECT $1::text, $2::text, ",
               token,
               ", $5::bigint, h.system_id, h.timeline, ",
               token,
               ", $3::text, $4::text, $5::bigint, false, 0, $6::jsonb, pg_catalog.decode($7::text, 'hex'), $8::jsonb, ",
               timeFrom("$9"),
               ", ",
               timeFrom("$10"),
               ", 1 FROM ",
               p.history,
               " WHERE $11::bigint <= ",
               blockOfTimeline,
               " + ",
               greatestStep,
               " AND ",
               token,
               " <= ",
               maxToken,
               " ON CONFLICT (name, sort) DO NOTHING RETURNING l.token, ",
               notifies("$12", "$13")});
}

/// Renewal and release.
std::string writeTerm(const Pieces& p, bool releases) {
  const std::string_view counterLease = releases ? "CASE WHEN l.counter <= l.token THEN 0 ELSE l.counter_lease_ms END"
                                                 : "greatest(l.counter_lease_ms, $7::bigint)";
  return join({"UPDATE ",
               p.table,
               " AS l SET counter_lease_ms = ",
               counterLease,
               ", version = $6::text, lease_ms = $7::bigint, released = ",
               releases ? "true" : "false",
               ", liveness = $8::jsonb, data = ",
               newData("$9", "$10"),
               ", attributes = coalesce($11::jsonb, l.attributes), acquired_at = ",
               timeFrom("$12"),
               ", renewed_at = ",
               timeFrom("$13"),
               " FROM ",
               p.history,
               " WHERE ",
               isKey,
               " AND ",
               recordIsWellFormed(),
               " AND ",
               isExpected("l.version"),
               " AND l.holder = $5::text RETURNING l.token, l.resign_token = l.token",
               releases ? ", " + notifies("$14", "$15") : ""});
}

std::string renewLeases(const Pieces& p) {
  return join(
      {"WITH r AS MATERIALIZED (SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], "
       "$5::text[], "
       "$6::bigint[], $7::jsonb[], $8::bigint[], $9::bigint[]) AS r(name, sort, expected, holder, version, lease_ms, "
       "liveness, acquired_at, renewed_at)), "
       "locked AS MATERIALIZED (SELECT l.name, l.sort, l.version FROM r JOIN ",
       p.table,
       " AS l ON l.name = r.name AND l.sort = r.sort AND l.version = r.expected AND l.holder = r.holder "
       "FOR NO KEY UPDATE OF l SKIP LOCKED) UPDATE ",
       p.table,
       " AS l SET counter_lease_ms = greatest(l.counter_lease_ms, r.lease_ms), version = r.version, lease_ms = "
       "r.lease_ms, released = false, liveness = r.liveness, acquired_at = ",
       timeFrom("r.acquired_at"), ", renewed_at = ", timeFrom("r.renewed_at"),
       " FROM r, locked AS k WHERE l.name = k.name AND l.sort = k.sort AND l.version = k.version AND r.name = l.name "
       "AND r.sort = l.sort AND "
       "r.expected = l.version AND r.holder = l.holder AND ",
       recordIsWellFormed(), " RETURNING l.name, l.sort, l.token, l.resign_token = l.token"});
}

std::string removeRecord(const Pieces& p) {
  return join({"UPDATE ", p.table,
               " AS l SET counter = greatest(l.counter, l.token), counter_lease_ms = CASE WHEN l.token "
               "< l.counter THEN l.counter_lease_ms WHEN $6::boolean OR l.released THEN 0 ELSE "
               "greatest(l.counter_lease_ms, l.lease_ms) END, token = NULL, version = NULL, holder = NULL, lease_ms = "
               "NULL, released = NULL, resign_token = 0, liveness = NULL, data = '', attributes = '{}', acquired_at = "
               "NULL, renewed_at = NULL FROM ",
               p.history, " WHERE ", isKey, " AND ", recordIsWellFormed(), " AND ", counterIsWellFormed(), " AND ",
               isExpected("l.version"), " AND ($5::text IS NULL OR l.holder = $5::text) RETURNING l.counter, ",
               notifies("$7", "$8")});
}

std::string askToStepDown(const Pieces& p) {
  return join({"UPDATE ", p.table, " AS l SET resign_token = $3::bigint WHERE ", isKey, " AND ", recordIsWellFormed(),
               " AND l.token = $3::bigint AND NOT l.released RETURNING l.token, ", notifies("$4", "$5")});
}

std::string setTokens(const Pieces& p) {
  return join(
      {"UPDATE ", p.table,
       " AS l SET counter = $9::bigint, counter_lease_ms = 0, system_id = h.system_id, "
       "timeline = h.timeline, token = CASE WHEN l.version IS NULL THEN NULL ELSE $9::bigint END, version = "
       "CASE WHEN l.version IS NULL THEN NULL ELSE $10::text END, released = CASE WHEN l.version IS NULL THEN "
       "NULL ELSE true END, resign_token = 0, liveness = NULL FROM ",
       p.history, " WHERE ", isKey,
       " AND coalesce(nullif(l.counter, 0)::text, '') = $3::text AND coalesce(l.token::text, '') = $4::text AND "
       "coalesce(l.version, '') = $5::text AND coalesce(l.holder, '') = $6::text AND coalesce(l.released, "
       "false) = $7::boolean AND greatest(l.lease_ms, l.counter_lease_ms, 0) = $8::bigint RETURNING l.counter, ",
       notifies("$11", "$12")});
}

std::string insertTokens(const Pieces& p) {
  return join({"INSERT INTO ", p.table,
               " AS l (name, sort, counter, system_id, timeline, layout) SELECT $1::text, "
               "$2::text, $3::bigint, h.system_id, h.timeline, 1 FROM ",
               p.history, " ON CONFLICT (name, sort) DO NOTHING RETURNING l.counter, ", notifies("$4", "$5")});
}

/// Whether exactly these columns are unique, by an index of the kind that FOR KEY SHARE looks at.
std::string hasUniqueIndex(std::string_view columns) {
  return join(
      {"EXISTS (SELECT FROM pg_catalog.pg_index AS i WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid "
       "AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL AND (SELECT "
       "pg_catalog.array_agg(a.attname::text ORDER BY a.attname) FROM pg_catalog.pg_attribute AS a WHERE a.attrelid "
       "= c.oid AND a.attnum = ANY (i.indkey)) = '{",
       columns, "}'::text[])"});
}

std::string readLayout(const Pieces& p) {
  return join(
      {"SELECT c.relkind, c.relpersistence, (SELECT pg_catalog.string_agg(a.attname || ' ' || "
       "pg_catalog.format_type(a.atttypid, a.atttypmod), ', ' ORDER BY a.attname COLLATE \"C\") FROM "
       "pg_catalog.pg_attribute AS a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped), ",
       hasUniqueIndex("name,sort"), ", ", hasUniqueIndex("name,sort,token"),
       ", 2 = (SELECT pg_catalog.count(*) FROM pg_catalog.pg_attribute AS a JOIN pg_catalog.pg_collation AS o "
       "ON o.oid = a.attcollation WHERE a.attrelid = c.oid AND a.attname IN ('name', 'sort') AND o.collname = "
       "'C'), (SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid) FROM pg_catalog.pg_attribute AS a JOIN "
       "pg_catalog.pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum WHERE a.attrelid = c.oid "
       "AND a.attname = 'layout'), pg_catalog.has_table_privilege(c.oid, 'SELECT') AND "
       "pg_catalog.has_table_privilege(c.oid, 'INSERT') AND pg_catalog.has_table_privilege(c.oid, 'UPDATE'), "
       "pg_catalog.pg_is_in_recovery() FROM (SELECT pg_catalog.to_regclass(",
       p.reference, ") AS oid) AS t LEFT JOIN pg_catalog.pg_class AS c ON c.oid = t.oid"});
}

std::string createTable(const Pieces& p) {
  return join({"CREATE TABLE IF NOT EXISTS ", p.table, R"( (
  name text COLLATE "C" NOT NULL,
  sort text COLLATE "C" NOT NULL DEFAULT '',
  counter bigint NOT NULL,
  counter_lease_ms bigint NOT NULL DEFAULT 0,
  system_id bigint,
  timeline int,
  token bigint,
  version text,
  holder text,
  lease_ms bigint,
  released boolean,
  resign_token bigint NOT NULL DEFAULT 0,
  liveness jsonb,
  data bytea NOT NULL DEFAULT '',
  attributes jsonb NOT NULL DEFAULT '{}',
  acquired_at timestamptz,
  renewed_at timestamptz,
  layout int NOT NULL DEFAULT 1,
  PRIMARY KEY (name, sort),
  UNIQUE (name, sort, token)
) WITH (fillfactor = 50))"});
}

std::string sqlOf(StatementId id, const Pieces& p) {
  switch (id) {
    case StatementId::readLease:
      return readLease(p);
    case StatementId::readLeases:
      return readLeases(p);
    case StatementId::listLeases:
      return listLeases(p);
    case StatementId::lockLease:
      return lock(p, "NO KEY UPDATE");
    case StatementId::lockTerm:
      return lock(p, "UPDATE");
    case StatementId::updateLease:
      return updateLease(p);
    case StatementId::insertLease:
      return insertLease(p);
    case StatementId::renewLease:
      return writeTerm(p, false);
    case StatementId::renewLeases:
      return renewLeases(p);
    case StatementId::releaseLease:
      return writeTerm(p, true);
    case StatementId::removeRecord:
      return removeRecord(p);
    case StatementId::askToStepDown:
      return askToStepDown(p);
    case StatementId::setTokens:
      return setTokens(p);
    case StatementId::insertTokens:
      return insertTokens(p);
    case StatementId::notify:
      return "SELECT " + notifies("$1", "$2");
    case StatementId::readLayout:
      return readLayout(p);
    case StatementId::createTable:
      return createTable(p);
  }
  return {};
}

}  // namespace

std::string quotedName(std::string_view name) {
  std::string out{"\""};
  for (const char c : name) out += c == '"' ? "\"\"" : std::string{c};
  return out + '"';
}

std::string quotedText(std::string_view text) {
  std::string out{"'"};
  bool escapes = false;
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += c;
    if (c == '\\') escapes = true;
    out += c;
  }
  return (escapes ? "E" : "") + out + '\'';
}

std::string arrayLiteral(const std::vector<Value>& values) {
  std::string out{"{"};
  for (const Value& value : values) {
    if (out.size() > 1) out += ',';
    if (!value) {
      out += "NULL";
      continue;
    }
    out += '"';
    for (const char c : *value) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    out += '"';
  }
  return out + '}';
}

Statements::Statements(const std::string& schema, const std::string& table) {
  const std::string name = quotedName(schema) + '.' + quotedName(table);
  for (const bool history : {false, true}) {
    const Pieces pieces{name, quotedText(name), historyItem(history)};
    for (std::size_t id = 0; id < statementCount; ++id) {
      sql_.at(history ? 1 : 0).at(id) = sqlOf(static_cast<StatementId>(id), pieces);
    }
  }
}

}  // namespace tenure::postgresql_store
