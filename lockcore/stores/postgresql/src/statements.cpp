#include "statements.hpp"

#include <algorithm>
#include <string>

#include <tenure/lockcore/lease_record.hpp>

#include "lockcore/postgresql/role_trust.hpp"

namespace tenure::postgresql_store {
namespace {

// Names are qualified, because another schema's function of the same name may fit the arguments better. `unnest` of
// several lists is syntax, and may not be.
//
// In all texts `l` is the row of the lease and `h` the server's history: a name. What stands in braces is the same in
// several texts.

// A standby refuses pg_current_wal_lsn(), so no answer comes from one.
constexpr const char* noHistory = R"((SELECT CASE WHEN pg_catalog.pg_is_in_recovery()
    THEN pg_catalog.pg_current_wal_lsn()::text END AS name) AS h)";

constexpr const char* presentHistory = R"((SELECT (pg_catalog.pg_control_system()).system_identifier || '/' ||
      ('x' || pg_catalog.left(pg_catalog.pg_walfile_name(
        pg_catalog.pg_current_wal_lsn()), 8))::bit(32)::bigint::int AS name) AS h)";

constexpr const char* rowColumns =
    R"(l.name, l.sort, l.version, l.holder, l.token, l.lease_ms, l.released, l.resign_token,
        l.liveness::text, pg_catalog.encode(l.data, 'hex'), l.attributes::text, extract(epoch FROM l.acquired_at),
        extract(epoch FROM l.renewed_at), l.history, l.counter, l.counter_lease_ms, l.counter_history, l.layout, h.name)";

constexpr const char* keyIs = "l.name = $1::text AND l.sort = $2::text";

// All of it was decided from the row that was seen (lockcore/stored/decisions.hpp).
constexpr const char* newValues = R"(version = $3::text, holder = $4::text, token = $5::bigint, lease_ms = $6::bigint,
          released = $7::boolean, resign_token = $8::bigint, liveness = $9::jsonb, attributes = $10::jsonb,
          history = $11::text, counter = $12::bigint, counter_lease_ms = $13::bigint, counter_history = $14::text,
          data = coalesce($15::bytea, l.data),
          acquired_at = CASE WHEN $3::text IS NOT NULL
            THEN coalesce(pg_catalog.to_timestamp($16::float8 / 1000), l.acquired_at) END,
          renewed_at = CASE WHEN $3::text IS NOT NULL
            THEN coalesce(pg_catalog.to_timestamp($17::float8 / 1000), l.renewed_at) END)";

// Nothing has changed since: each of our writes changes the version, the counter or the step-down request, and the
// rest tells what others have written. So what is changed is understood.
constexpr const char* asSeen =
    R"(ROW(l.version, l.holder, l.token, l.lease_ms, l.released, l.resign_token, l.attributes,
          l.history, l.counter, l.counter_lease_ms, l.counter_history, l.layout) IS NOT DISTINCT FROM
        ROW($18::text, $19::text, $20::bigint, $21::bigint, $22::boolean, $23::bigint, $24::jsonb,
          $25::text, $26::bigint, $27::bigint, $28::text, $29::int))";

// The lock comes first, in the same statement. What is changed is the very row that was locked: a statement whose
// snapshot shows an older one changes nothing. Otherwise it would lock along the chain from the older one, and two such
// statements beside a writer that holds the row FOR KEY SHARE would wait for each other.
std::string changeText(const char* lock, const char* alsoFrom, const char* alsoIf) {
  return std::string{"WITH k AS MATERIALIZED (SELECT l.ctid AS tid FROM {table} AS l WHERE {key} FOR "} + lock +
         " NOWAIT) UPDATE {table} AS l SET {newValues}\n        FROM k" + alsoFrom +
         " WHERE {key} AND l.ctid = k.tid AND {asSeen}" + alsoIf + " RETURNING l.token, l.counter";
}

// Locked rows are left out. Renewals change neither data nor attributes, token nor counter.
constexpr const char* renewals =
    R"(WITH k AS MATERIALIZED (SELECT l.ctid AS tid, r.* FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[],
            $5::bigint[], $6::jsonb[], $7::float8[], $8::float8[], $9::text[], $10::text[], $11::bigint[],
            $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[], $16::jsonb[])
          AS r(name, sort, version, lease_ms, counter_lease_ms, liveness, acquired_at, renewed_at, seen_version, holder,
            token, seen_lease_ms, resign_token, counter, seen_counter_lease_ms, attributes)
          JOIN {table} AS l ON l.name = r.name AND l.sort = r.sort AND l.version = r.seen_version
          FOR NO KEY UPDATE OF l SKIP LOCKED)
        UPDATE {table} AS l SET version = k.version, lease_ms = k.lease_ms, counter_lease_ms = k.counter_lease_ms,
          liveness = k.liveness, acquired_at = pg_catalog.to_timestamp(k.acquired_at / 1000),
          renewed_at = pg_catalog.to_timestamp(k.renewed_at / 1000)
        FROM k WHERE l.name = k.name AND l.sort = k.sort AND l.ctid = k.tid AND NOT l.released AND l.layout = 1
        AND ROW(l.version, l.holder, l.token, l.lease_ms, l.resign_token, l.counter, l.counter_lease_ms, l.attributes)
          IS NOT DISTINCT FROM ROW(k.seen_version, k.holder, k.token, k.seen_lease_ms, k.resign_token, k.counter,
            k.seen_counter_lease_ms, k.attributes)
        RETURNING l.name, l.sort, l.token, l.counter)";

constexpr const char* layoutQuery =
    R"(SELECT c.relkind, c.relpersistence,
          (SELECT pg_catalog.string_agg(a.attname || ' ' || pg_catalog.format_type(a.atttypid, a.atttypmod), ', '
            ORDER BY a.attname COLLATE "C") FROM pg_catalog.pg_attribute AS a
            WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
          {keyIsUnique}, {termIsUnique},
          2 = (SELECT pg_catalog.count(*) FROM pg_catalog.pg_attribute AS a JOIN pg_catalog.pg_collation AS o
            ON o.oid = a.attcollation WHERE a.attrelid = c.oid AND a.attname IN ('name', 'sort') AND o.collname = 'C'),
          (SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid) FROM pg_catalog.pg_attribute AS a
            JOIN pg_catalog.pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
            WHERE a.attrelid = c.oid AND a.attname = 'layout'),
          pg_catalog.has_table_privilege(c.oid, 'SELECT') AND pg_catalog.has_table_privilege(c.oid, 'INSERT')
            AND pg_catalog.has_table_privilege(c.oid, 'UPDATE'), pg_catalog.row_security_active(c.oid),
          (SELECT pg_catalog.string_agg(a.attname, ', ' ORDER BY a.attname) FROM pg_catalog.pg_attribute AS a WHERE a.attrelid = c.oid AND a.attnum > 0
            AND a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' AND NOT a.attisdropped
            AND a.attname NOT IN ('name', 'sort', 'counter', 'layout')),
          (SELECT pg_catalog.string_agg(r.rulename, ', ' ORDER BY r.rulename) FROM pg_catalog.pg_rewrite AS r
            WHERE r.ev_class = c.oid AND r.ev_enabled IN ('O', 'A')),
          (SELECT pg_catalog.string_agg(g.tgname, ', ' ORDER BY g.tgname) FROM pg_catalog.pg_trigger AS g
            WHERE g.tgrelid = c.oid AND NOT g.tgisinternal AND g.tgenabled IN ('O', 'A')),
          (SELECT pg_catalog.string_agg(k.conname, ', ' ORDER BY k.conname) FROM pg_catalog.pg_constraint AS k
            WHERE k.conrelid = c.oid AND k.contype IN ('c', 'f', 'x')),
          (SELECT pg_catalog.string_agg(k.relname, ', ' ORDER BY k.relname) FROM pg_catalog.pg_inherits AS i JOIN pg_catalog.pg_class AS k
            ON k.oid = i.inhrelid WHERE i.inhparent = c.oid),
          CASE WHEN NOT {ownerIsTrusted} THEN pg_catalog.pg_get_userbyid(c.relowner) END,
          (SELECT pg_catalog.string_agg(CASE a.grantee WHEN 0 THEN 'PUBLIC'
              ELSE pg_catalog.pg_get_userbyid(a.grantee) END, ', ')
            FROM pg_catalog.aclexplode(c.relacl) AS a
            WHERE a.privilege_type = 'TRIGGER' AND a.grantee <> c.relowner AND NOT {granteeIsTrusted}),
          pg_catalog.pg_is_in_recovery()
        FROM (SELECT pg_catalog.to_regclass({tableText}) AS oid) AS t LEFT JOIN pg_catalog.pg_class AS c
          ON c.oid = t.oid LEFT JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
          LEFT JOIN pg_catalog.pg_database AS d ON d.datname = pg_catalog.current_database())";

constexpr const char* tableDefinition = R"(CREATE TABLE IF NOT EXISTS {table} (
  name text COLLATE "C" NOT NULL,
  sort text COLLATE "C" NOT NULL DEFAULT '',
  counter bigint NOT NULL,
  counter_lease_ms bigint NOT NULL DEFAULT 0,
  counter_history text,
  token bigint,
  version text,
  holder text,
  lease_ms bigint,
  released boolean,
  history text,
  resign_token bigint NOT NULL DEFAULT 0,
  liveness jsonb,
  data bytea NOT NULL DEFAULT '',
  attributes jsonb NOT NULL DEFAULT '{}',
  acquired_at timestamptz,
  renewed_at timestamptz,
  layout int NOT NULL DEFAULT 1,
  PRIMARY KEY (name, sort),
  UNIQUE (name, sort, token)
) WITH (fillfactor = 50))";

std::string textOf(StatementId id) {
  switch (id) {
    case StatementId::readLease:
      return "SELECT {columns} FROM {history} LEFT JOIN {table} AS l ON {key}";
    case StatementId::readLeases:
      return R"(SELECT {columns} FROM {history}, unnest($1::text[], $2::text[]) AS r(name, sort)
        JOIN {table} AS l ON l.name = r.name AND l.sort = r.sort)";
    case StatementId::listLeases:
      return R"(SELECT {columns} FROM {history}, {table} AS l
        WHERE l.version IS NOT NULL AND (l.name, l.sort) >= ($2::text, $3::text)
        AND pg_catalog.starts_with(l.name, $1::text) ORDER BY l.name, l.sort LIMIT $4::bigint)";
    case StatementId::updateTerm:
      return changeText("NO KEY UPDATE", "", "");
    case StatementId::updateTerms:
      return renewals;
    case StatementId::endTerm:
      return changeText("UPDATE", "", "");
    case StatementId::beginTerm:
      return changeText("UPDATE", ", {history}", " AND h.name IS NOT DISTINCT FROM $30::text");
    case StatementId::updateInHistory:
      return changeText("NO KEY UPDATE", ", {history}", " AND h.name IS NOT DISTINCT FROM $30::text");
    case StatementId::insertRow:
      return R"(INSERT INTO {table} AS l (name, sort, version, holder, token, lease_ms, released, resign_token,
          liveness, attributes, history, counter, counter_lease_ms, counter_history, data, acquired_at, renewed_at,
          layout)
        SELECT $1::text, $2::text, $3::text, $4::text, $5::bigint, $6::bigint, $7::boolean, $8::bigint, $9::jsonb,
          $10::jsonb, $11::text, $12::bigint, $13::bigint, $14::text, coalesce($15::bytea, ''),
          pg_catalog.to_timestamp($16::float8 / 1000), pg_catalog.to_timestamp($17::float8 / 1000), 1
        FROM {history} WHERE h.name IS NOT DISTINCT FROM $18::text
        ON CONFLICT (name, sort) DO NOTHING RETURNING l.token, l.counter)";
    case StatementId::notify:
      // The COMMIT holds a lock of the whole cluster, so it waits neither for the disk nor for a standby.
      return R"(SELECT pg_catalog.set_config('synchronous_commit', 'off', true),
          pg_catalog.pg_notify($1::text, p.payload) FROM unnest($2::text[]) AS p(payload))";
    case StatementId::readLayout:
      return layoutQuery;
    case StatementId::createTable:
      return tableDefinition;
  }
  return {};
}

/// Whether the table `c` has an index of the kind that FOR KEY SHARE looks at, on these columns.
std::string uniqueIndexOn(const std::string& names) {
  return R"(EXISTS (SELECT FROM pg_catalog.pg_index AS i WHERE i.indrelid = c.oid AND i.indisunique
        AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL
        AND (SELECT pg_catalog.string_agg(a.attname, ' ' ORDER BY a.attname) FROM pg_catalog.pg_attribute AS a
          WHERE a.attrelid = c.oid AND a.attnum = ANY (i.indkey)) = ')" +
         names + "')";
}

}  // namespace

bool isIdentifier(std::string_view name) {
  const bool shows = std::none_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; });
  return shows && !name.empty() && name.size() <= maxIdentifierBytes && isUtf8(name);
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

std::string qualifiedName(std::string_view schema, std::string_view table) {
  return quotedName(schema) + '.' + quotedName(table);
}

Statements::Statements(std::string_view schema, std::string_view table) {
  const std::string name = qualifiedName(schema, table);
  postgresql::SqlValues values{{"table", name},
                               {"tableText", quotedText(name)},
                               {"columns", rowColumns},
                               {"key", keyIs},
                               {"newValues", newValues},
                               {"asSeen", asSeen},
                               {"keyIsUnique", uniqueIndexOn("name sort")},
                               {"termIsUnique", uniqueIndexOn("name sort token")},
                               {"ownerIsTrusted", postgresql::trusts("c.relowner")},
                               {"granteeIsTrusted", postgresql::trusts("a.grantee")}};
  for (const bool history : {false, true}) {
    values["history"] = history ? presentHistory : noHistory;
    for (std::size_t id = 0; id < statementCount; ++id) {
      sql_.at(history ? 1 : 0).at(id) = postgresql::filledSql(textOf(static_cast<StatementId>(id)), values);
    }
  }
}

}  // namespace tenure::postgresql_store
