#include "statement_texts.hpp"

#include <algorithm>
#include <array>

#include "lockcore/postgresql/role_trust.hpp"

namespace tenure::postgresql_store {
namespace {

// Names are qualified, because another schema's function of the same name may fit the arguments better. `unnest` of
// several lists is syntax, and may not be.
//
// In all texts `l` is the row of the lease and `h` the server's history: a name, and the timeline.
constexpr std::array pieces{
    Piece{"maxToken", "9007199254740991"},
    Piece{"maxLease", "604800000"},
    Piece{"greatestStep", "4294967296"},
    Piece{"key", "l.name = $1::text AND l.sort = $2::text"},
    // The lock comes first, in the same statement. What is changed is the very row that was locked: a statement whose
    // snapshot shows an older one changes nothing. Otherwise it would lock along the chain from the older one, and two
    // such statements beside a writer that holds the row FOR KEY SHARE would wait for each other.
    Piece{"lock", "WITH k AS MATERIALIZED (SELECT l.ctid AS tid, l.token FROM [table] AS l WHERE [key] FOR %1 NOWAIT)"},
    Piece{"locked", "[key] AND l.ctid = k.tid"},

    Piece{"time", "pg_catalog.to_timestamp(%1::float8 / 1000)"},
    Piece{"columns", R"(l.name, l.sort, l.version, l.holder, l.token, l.lease_ms, l.released, l.resign_token,
        l.liveness::text, pg_catalog.encode(l.data, 'hex'), l.attributes::text, extract(epoch FROM l.acquired_at),
        extract(epoch FROM l.renewed_at), l.history, l.counter, l.counter_lease_ms, l.counter_history, l.layout, h.name)"},

    Piece{"recordIsGood", R"(l.layout = 1 AND l.version <> '' AND l.holder <> '' AND l.token BETWEEN 1 AND [maxToken]
        AND l.lease_ms BETWEEN 1 AND [maxLease] AND l.released IS NOT NULL AND NOT pg_catalog.jsonb_path_exists(
          l.attributes, 'strict $ ? (@.type() != "object" || exists(@.* ? (@.type() != "string")))'))"},
    Piece{"counterIsGood", R"(l.layout = 1 AND l.counter <= [maxToken]
        AND l.counter_lease_ms BETWEEN 0 AND [maxLease] AND coalesce(l.lease_ms, 0) BETWEEN 0 AND [maxLease])"},

    // An acquisition may be lost that came after what is stored.
    Piece{"isInherited", "l.history IS DISTINCT FROM h.name"},
    // The lease of a term that may still run although there is no record; 0: there is none.
    Piece{"openLease", "greatest(l.counter_lease_ms, CASE WHEN [isInherited] THEN l.lease_ms END)"},
    // What is stored as the version, also where a record vanished.
    Piece{"storedVersion", R"(coalesce(l.version, CASE WHEN h.open > 0 THEN
        'counter:' || greatest(l.counter, 0) || ':' || h.open END))"},
    Piece{"isExpected", "(h.name || ' ' || %1 = ANY (%2::text[]) OR (%1 = ANY ($3::text[]) AND NOT ([isInherited])))"},

    // The rule of token_rule.hpp; a test compares the two. The bound on what is known keeps the arithmetic from
    // overflowing where the row is malformed.
    Piece{"block", "(least(h.timeline - 1, 8192)::bigint << 40)"},
    Piece{"knownTokens", "least(greatest(l.counter, l.token, 0), [maxToken])"},
    Piece{"timelineBefore", R"(CASE WHEN pg_catalog.split_part(l.counter_history, '/', 1)
          IS DISTINCT FROM pg_catalog.split_part(h.name, '/', 1) THEN 0
        ELSE greatest(pg_catalog.substring(pg_catalog.split_part(l.counter_history, '/', 2) COLLATE "C",
          '^(?:0|1|2|3|4|5|6|7|8|9){1,9}')::int, 1) END)"},
    Piece{"blocksSince", "least(greatest(h.timeline - [timelineBefore], 1), 8192)"},
    Piece{"leastToken", R"(CASE WHEN l.counter_history IS NOT DISTINCT FROM h.name THEN [knownTokens] + 1
        ELSE greatest((([knownTokens] >> 40) + [blocksSince]) << 40, [block]) END)"},
    Piece{"newToken", "greatest(h.least, $14::bigint + 1)"},
    Piece{"firstToken", "greatest($11::bigint, [block]) + 1"},

    Piece{"newPayload", R"(liveness = $7::jsonb, acquired_at = [time $11], renewed_at = [time $12],
        data = coalesce(CASE WHEN $9::boolean THEN nullif(l.data, '') END, $8::bytea, l.data),
        attributes = coalesce($10::jsonb, l.attributes))"},
    // The version alone says whose term it is, in any history.
    Piece{"isOfTheTerm", R"([recordIsGood] AND l.version = ANY ($3::text[]) AND l.holder = $4::text)"},
    // Nobody has announced a takeover.
    Piece{"isOpen", "l.counter <= l.token"},

    Piece{"names", R"(pg_catalog.string_agg(%1, ', ' ORDER BY %1))"},

    Piece{"isTrusted", postgresql::trustedRole},

    // An index of the kind that FOR KEY SHARE looks at.
    Piece{"isUnique", R"(EXISTS (SELECT FROM pg_catalog.pg_index AS i WHERE i.indrelid = c.oid AND i.indisunique
        AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL
        AND (SELECT pg_catalog.string_agg(a.attname, ' ' ORDER BY a.attname) FROM pg_catalog.pg_attribute AS a
          WHERE a.attrelid = c.oid AND a.attnum = ANY (i.indkey)) = %1))"},
};

// A standby refuses pg_current_wal_lsn(), so no answer comes from one.
constexpr std::string_view noHistory = R"((SELECT CASE WHEN pg_catalog.pg_is_in_recovery()
    THEN pg_catalog.pg_current_wal_lsn()::text END AS name, 1 AS timeline) AS h)";

constexpr std::string_view presentHistory = R"((SELECT t.timeline,
      (pg_catalog.pg_control_system()).system_identifier || '/' || t.timeline AS name
    FROM (SELECT ('x' || pg_catalog.left(pg_catalog.pg_walfile_name(
      pg_catalog.pg_current_wal_lsn()), 8))::bit(32)::bigint::int AS timeline) AS t) AS h)";

struct Text {
  StatementId id;
  std::string_view text;
};

constexpr std::array texts{
    Text{StatementId::readLease, "SELECT [columns] FROM [history] LEFT JOIN [table] AS l ON [key]"},

    Text{StatementId::readLeases, R"(SELECT [columns] FROM [history], unnest($1::text[], $2::text[]) AS r(name, sort)
        JOIN [table] AS l ON l.name = r.name AND l.sort = r.sort)"},

    Text{StatementId::listLeases, R"(SELECT [columns] FROM [history], [table] AS l
        WHERE l.version IS NOT NULL AND (l.name, l.sort) >= ($2::text, $3::text)
        AND pg_catalog.starts_with(l.name, $1::text) ORDER BY l.name, l.sort LIMIT $4::bigint)"},

    // What is computed from the row is computed in the part that locks it, and so of the row that was locked.
    Text{StatementId::updateLease,
         R"(WITH k AS MATERIALIZED (SELECT l.ctid AS tid, h.name, l.token, l.counter, l.counter_history,
          [leastToken] AS least, [openLease] AS open FROM [history], [table] AS l WHERE [key] FOR UPDATE OF l NOWAIT)
        UPDATE [table] AS l SET counter = [newToken], counter_lease_ms = $6::bigint, counter_history = h.name,
          token = [newToken], version = $5::text, holder = $4::text, lease_ms = $6::bigint, released = false,
          history = h.name, resign_token = 0, [newPayload]
        FROM k AS h WHERE [key] AND l.ctid = h.tid AND [counterIsGood] AND (l.version IS NULL OR ([recordIsGood]))
        AND ([isExpected [storedVersion], $13] OR ([storedVersion] IS NULL AND $15::boolean))
        AND $14::bigint < h.least + [greatestStep] AND [newToken] <= [maxToken]
        RETURNING l.token, h.token, h.counter, h.counter_history, h.name)"},

    Text{StatementId::insertLease, R"(INSERT INTO [table] AS l (name, sort, counter, counter_lease_ms,
          counter_history, token, version, holder, lease_ms, released, history, resign_token, liveness, data,
          attributes, acquired_at, renewed_at, layout)
        SELECT $1::text, $2::text, [firstToken], $5::bigint, h.name, [firstToken], $4::text, $3::text, $5::bigint,
          false, h.name, 0, $6::jsonb, $7::bytea, $8::jsonb, [time $9], [time $10], 1
        FROM [history] WHERE $11::bigint <= [block] + [greatestStep] AND [firstToken] <= [maxToken]
        ON CONFLICT (name, sort) DO NOTHING RETURNING l.token)"},

    // The history stays: a renewal may have been sent before the promotion, by a holder whose lease has ended since.
    Text{StatementId::renewLease, R"([lock NO KEY UPDATE] UPDATE [table] AS l SET
          counter_lease_ms = greatest(l.counter_lease_ms, $6::bigint), version = $5::text, lease_ms = $6::bigint,
          released = false, [newPayload]
        FROM k WHERE [locked] AND [isOfTheTerm] AND [isOpen] RETURNING l.token, l.resign_token = l.token)"},

    // Locked rows are left out.
    Text{StatementId::renewLeases,
         R"(WITH k AS MATERIALIZED (SELECT l.ctid AS tid, r.* FROM unnest($1::text[], $2::text[], $3::text[],
            $4::text[], $5::text[], $6::bigint[], $7::jsonb[], $8::float8[], $9::float8[])
          AS r(name, sort, expected, holder, version, lease_ms, liveness, acquired_at, renewed_at)
          JOIN [table] AS l ON l.name = r.name AND l.sort = r.sort AND l.version = r.expected AND l.holder = r.holder
          FOR NO KEY UPDATE OF l SKIP LOCKED)
        UPDATE [table] AS l SET counter_lease_ms = greatest(l.counter_lease_ms, k.lease_ms), version = k.version,
          lease_ms = k.lease_ms, released = false, liveness = k.liveness, acquired_at = [time k.acquired_at],
          renewed_at = [time k.renewed_at]
        FROM k WHERE l.name = k.name AND l.sort = k.sort AND l.ctid = k.tid
        AND [recordIsGood] AND [isOpen] RETURNING l.name, l.sort, l.token, l.resign_token = l.token)"},

    // The history stays here too: an older holder may release long after its lease, and an acquisition between may be
    // lost. A release is as true after a takeover was announced as before, and lets the next holder begin at once. Only
    // the lease beside the counter stays then, because a counter above the token may also be that of a later term; it
    // counts if the record is removed, and costs the next holder one wait.
    Text{StatementId::releaseLease, R"([lock NO KEY UPDATE] UPDATE [table] AS l SET
          counter_lease_ms = CASE WHEN [isOpen] THEN 0 ELSE l.counter_lease_ms END, version = $5::text,
          lease_ms = $6::bigint, released = true, [newPayload]
        FROM k WHERE [locked] AND [isOfTheTerm] RETURNING l.token, l.resign_token = l.token)"},

    // History and lease stay, for the same reason.
    Text{StatementId::removeRecord, R"([lock UPDATE] UPDATE [table] AS l SET counter = greatest(l.counter, l.token),
          counter_lease_ms = CASE WHEN l.token < l.counter THEN l.counter_lease_ms
            WHEN $5::boolean OR l.released THEN 0 ELSE greatest(l.counter_lease_ms, l.lease_ms) END,
          token = NULL, version = NULL, holder = NULL, released = NULL, resign_token = 0, liveness = NULL, data = '',
          attributes = '{}', acquired_at = NULL, renewed_at = NULL
        FROM k WHERE [locked] AND [recordIsGood] AND [counterIsGood] AND l.version = ANY ($3::text[])
        AND ($4::text IS NULL OR l.holder = $4::text) RETURNING k.token)"},

    // Under the conditions of an acquisition, so nobody announces what could not be taken. The acquisition that follows
    // needs a token above this counter. A released record admits no writers anyway.
    Text{StatementId::announceTakeover, R"([lock NO KEY UPDATE] UPDATE [table] AS l SET counter = l.token + 1
        FROM k, [history] WHERE [locked] AND [recordIsGood] AND [counterIsGood] AND NOT l.released AND [isOpen]
        AND l.token + 1 < [maxToken] AND [isExpected l.version, $4] RETURNING l.counter)"},

    Text{StatementId::askToStepDown, R"([lock NO KEY UPDATE] UPDATE [table] AS l SET resign_token = $3::bigint
        FROM k WHERE [locked] AND [recordIsGood] AND l.token = $3::bigint AND NOT l.released RETURNING l.token)"},

    Text{StatementId::setTokens, R"([lock UPDATE] UPDATE [table] AS l SET counter = $9::bigint, counter_lease_ms = 0,
          counter_history = h.name, history = h.name, resign_token = 0, liveness = NULL,
          token = CASE WHEN l.version IS NOT NULL THEN $9::bigint END,
          version = CASE WHEN l.version IS NOT NULL THEN $10::text END,
          released = CASE WHEN l.version IS NOT NULL THEN true END
        FROM k, [history] WHERE [locked] AND coalesce(nullif(l.counter, 0)::text, '') = $3::text
        AND coalesce(l.token::text, '') = $4::text AND coalesce(l.version, '') = $5::text
        AND coalesce(l.holder, '') = $6::text AND coalesce(l.released, false) = $7::boolean
        AND greatest(CASE WHEN l.version IS NOT NULL THEN l.lease_ms END, l.counter_lease_ms) = $8::bigint
        RETURNING l.counter)"},

    Text{StatementId::insertTokens, R"(INSERT INTO [table] AS l (name, sort, counter, counter_history, history, layout)
        SELECT $1::text, $2::text, $3::bigint, h.name, h.name, 1 FROM [history]
        ON CONFLICT (name, sort) DO NOTHING RETURNING l.counter)"},

    // The COMMIT holds a lock of the whole cluster, so it waits neither for the disk nor for a standby.
    Text{StatementId::notify, R"(SELECT pg_catalog.set_config('synchronous_commit', 'off', true),
          pg_catalog.pg_notify($1::text, p.payload) FROM unnest($2::text[]) AS p(payload))"},

    Text{StatementId::readLayout, R"(SELECT c.relkind, c.relpersistence,
          (SELECT pg_catalog.string_agg(a.attname || ' ' || pg_catalog.format_type(a.atttypid, a.atttypmod), ', '
            ORDER BY a.attname COLLATE "C") FROM pg_catalog.pg_attribute AS a
            WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
          [isUnique 'name sort'], [isUnique 'name sort token'],
          2 = (SELECT pg_catalog.count(*) FROM pg_catalog.pg_attribute AS a JOIN pg_catalog.pg_collation AS o
            ON o.oid = a.attcollation WHERE a.attrelid = c.oid AND a.attname IN ('name', 'sort') AND o.collname = 'C'),
          (SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid) FROM pg_catalog.pg_attribute AS a
            JOIN pg_catalog.pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
            WHERE a.attrelid = c.oid AND a.attname = 'layout'),
          pg_catalog.has_table_privilege(c.oid, 'SELECT') AND pg_catalog.has_table_privilege(c.oid, 'INSERT')
            AND pg_catalog.has_table_privilege(c.oid, 'UPDATE'), pg_catalog.row_security_active(c.oid),
          (SELECT [names a.attname] FROM pg_catalog.pg_attribute AS a WHERE a.attrelid = c.oid AND a.attnum > 0
            AND a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' AND NOT a.attisdropped
            AND a.attname NOT IN ('name', 'sort', 'counter', 'layout')),
          (SELECT [names r.rulename] FROM pg_catalog.pg_rewrite AS r
            WHERE r.ev_class = c.oid AND r.ev_enabled IN ('O', 'A')),
          (SELECT [names g.tgname] FROM pg_catalog.pg_trigger AS g
            WHERE g.tgrelid = c.oid AND NOT g.tgisinternal AND g.tgenabled IN ('O', 'A')),
          (SELECT [names k.conname] FROM pg_catalog.pg_constraint AS k
            WHERE k.conrelid = c.oid AND k.contype IN ('c', 'f', 'x')),
          (SELECT [names k.relname] FROM pg_catalog.pg_inherits AS i JOIN pg_catalog.pg_class AS k
            ON k.oid = i.inhrelid WHERE i.inhparent = c.oid),
          CASE WHEN NOT [isTrusted c.relowner] THEN pg_catalog.pg_get_userbyid(c.relowner) END,
          (SELECT pg_catalog.string_agg(CASE a.grantee WHEN 0 THEN 'PUBLIC'
              ELSE pg_catalog.pg_get_userbyid(a.grantee) END, ', ')
            FROM pg_catalog.aclexplode(c.relacl) AS a
            WHERE a.privilege_type = 'TRIGGER' AND a.grantee <> c.relowner AND NOT [isTrusted a.grantee]),
          pg_catalog.pg_is_in_recovery()
        FROM (SELECT pg_catalog.to_regclass([tableText]) AS oid) AS t LEFT JOIN pg_catalog.pg_class AS c
          ON c.oid = t.oid LEFT JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
          LEFT JOIN pg_catalog.pg_database AS d ON d.datname = pg_catalog.current_database())"},

    Text{StatementId::createTable, R"(CREATE TABLE IF NOT EXISTS [table] (
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
) WITH (fillfactor = 50))"},
};
static_assert(texts.size() == statementCount);

}  // namespace

std::string_view pieceNamed(std::string_view name, bool history) noexcept {
  if (name == "history") return history ? presentHistory : noHistory;
  const auto* const found = std::find_if(pieces.begin(), pieces.end(), [&](const Piece& p) { return p.name == name; });
  return found != pieces.end() ? found->text : std::string_view{};
}

std::string_view textOf(StatementId id) noexcept {
  const auto* const found = std::find_if(texts.begin(), texts.end(), [&](const Text& t) { return t.id == id; });
  return found != texts.end() ? found->text : std::string_view{};
}

}  // namespace tenure::postgresql_store
