#include "postgresql_guard.hpp"

#include "lockcore/postgresql/role_trust.hpp"
#include "lockcore/postgresql/sql_template.hpp"

namespace tenure {

using postgresql::filledSql;
using postgresql::quotedName;
using postgresql::quotedText;
using postgresql::SqlValues;

namespace {

// Anybody who may create objects in the schema may have made one of these before, and what it does then is done with
// the rights of whoever writes, or of the check function's owner. So each must belong to one role, the keeper, or to
// one that has the keeper's rights anyway. The keeper is who runs the script, unless the schema's owner has fewer
// rights: it could put objects of its own in the place of ours at any time, so they get its rights and no others.
constexpr std::string_view beginning = R"sql(DO {quote}
DECLARE
  keeper name := current_user;
  place  record;
  thing  record;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('tenure_fence_guard'));
  SELECT n.oid AS id, CASE n.nspowner WHEN to_regrole('pg_database_owner') THEN d.datdba ELSE n.nspowner END AS owner
    INTO place FROM pg_namespace AS n, pg_database AS d
   WHERE n.nspname = {schemaText} AND d.datname = current_database();
  IF NOT pg_has_role(place.owner, keeper, 'MEMBER') AND pg_has_role(place.owner, 'MEMBER') THEN
    keeper := pg_get_userbyid(place.owner);
  END IF;
  PERFORM set_config('tenure.fence_keeper', keeper, true);
  PERFORM set_config('tenure.fence_schema_owner', pg_get_userbyid(place.owner), true);
{owners}
END
{quote};
)sql";

// In both parts, as others may make objects while the script runs.
constexpr std::string_view ownersCheck = R"sql(  FOR thing IN
    SELECT 'TABLE' AS kind, quote_ident(c.relname) AS name, c.relowner AS owner FROM pg_class AS c
     WHERE c.relnamespace = place.id AND c.relname = 'tenure_fence_guard'
    UNION ALL
    SELECT 'FUNCTION', p.proname || '()', p.proowner FROM pg_proc AS p
     WHERE p.pronamespace = place.id AND p.pronargs = 0 AND p.proname IN ('tenure_fence_rises', 'tenure_fence_check')
  LOOP
    IF NOT pg_has_role(thing.owner, keeper, 'MEMBER') THEN
      RAISE EXCEPTION 'tenure: % % in schema % belongs to role %, which could use the rights of role % by it',
        lower(thing.kind), thing.name, {schemaText}, pg_get_userbyid(thing.owner), keeper
        USING ERRCODE = 'insufficient_privilege', HINT = format('Find out who made it, and why. Drop it, or give it '
          'away (ALTER %s %I.%s OWNER TO %I). Then run this again.', thing.kind, {schemaText}, thing.name, keeper);
    END IF;
  END LOOP;)sql";

// The trigger protects against people who write the guard by hand: not even they can let a former leader in again by
// mistake.
constexpr std::string_view guardTable = R"sql(CREATE TABLE IF NOT EXISTS {schema}.tenure_fence_guard(
  lease  text COLLATE "C" PRIMARY KEY,
  token  bigint NOT NULL CHECK (token BETWEEN 0 AND 9007199254740991),  -- the highest seen; lower ones are refused
  holder text COLLATE "C" NOT NULL DEFAULT '',           -- whose term it is; empty if no writer gave it
  since  timestamptz NOT NULL DEFAULT clock_timestamp()  -- when the token was first seen; for people
);
CREATE OR REPLACE FUNCTION {schema}.tenure_fence_rises() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS {quote}
BEGIN
  RAISE EXCEPTION 'tenure: the token of a fence only rises' USING ERRCODE = 'check_violation';
END
{quote};
)sql";

// A role with the right TRIGGER could put code of its own on the table, and one with DELETE make the fence forget.
// Default privileges give such rights without a word.
constexpr std::string_view ending = R"sql(DO {quote}
DECLARE
  keeper name := current_setting('tenure.fence_keeper');
  place  record;
  thing  record;
  fault  text;
BEGIN
  SELECT n.oid AS id INTO place FROM pg_namespace AS n WHERE n.nspname = {schemaText};
{owners}
  FOR thing IN
    SELECT 'TABLE' AS kind, 'tenure_fence_guard' AS name, 'DELETE, TRUNCATE, REFERENCES, TRIGGER' AS rights,
           c.relowner AS owner, c.relacl AS acl
      FROM pg_class AS c WHERE c.relnamespace = place.id AND c.relname = 'tenure_fence_guard'
    UNION ALL
    SELECT 'FUNCTION', p.proname || '()', 'EXECUTE', p.proowner, coalesce(p.proacl, acldefault('f', p.proowner))
      FROM pg_proc AS p WHERE p.pronamespace = place.id AND p.pronargs = 0
       AND p.proname IN ('tenure_fence_rises', 'tenure_fence_check')
  LOOP
    EXECUTE (
      SELECT coalesce(string_agg(DISTINCT format('REVOKE %s ON %s %I.%s FROM %s CASCADE;', thing.rights, thing.kind,
               {schemaText}, thing.name,
               CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END), ''), '')
        FROM aclexplode(thing.acl) AS a
       WHERE a.grantee <> thing.owner AND strpos(thing.rights, a.privilege_type) > 0);
    IF pg_get_userbyid(thing.owner) <> keeper THEN
      EXECUTE format('ALTER %s %I.%s OWNER TO %I', thing.kind, {schemaText}, thing.name, keeper);
    END IF;
  END LOOP;
  fault := ({fault});
  IF fault <> '' THEN
    RAISE EXCEPTION 'tenure: table %.tenure_fence_guard %', {schemaText}, fault
      USING ERRCODE = 'invalid_table_definition', HINT = 'Then run this again.';
  END IF;
END
{quote};
)sql";

constexpr std::string_view riseTrigger =
    R"sql(CREATE OR REPLACE TRIGGER tenure_fence_guard_rises BEFORE UPDATE OF token ON {schema}.tenure_fence_guard
  FOR EACH ROW WHEN (NEW.token < OLD.token) EXECUTE FUNCTION {schema}.tenure_fence_rises();
)sql";

// The texts are compared with what the server makes of the table and the trigger above. A CHECK may be missing, as in
// an older release's table.
constexpr std::string_view guardFault = R"sql(SELECT CASE
    WHEN c.relkind <> 'r' OR c.relpersistence <> 'p' OR c.reloftype <> 0
      THEN 'is not an ordinary permanent table: rename or drop it'
    WHEN NOT {ownerIsTrusted} THEN format('belongs to role %s, which could use the rights of role %s by it: find out '
      'who made it, then give it to a role that you trust (ALTER TABLE ... OWNER TO), or connect as the owner, or '
      'as a role that the owner may act as (GRANT)', pg_get_userbyid(c.relowner), current_user)
    WHEN p.columns <> 'lease text NOT NULL "C", token bigint NOT NULL, holder text NOT NULL "C" ''''::text, '
      'since timestamp with time zone NOT NULL clock_timestamp()'
      THEN format('has other columns or defaults than a fence''s (%s): rename it', p.columns)
    WHEN c.relrowsecurity OR p.policies IS NOT NULL THEN 'has row-level security: switch it off, and drop its policies'
    WHEN p.rules IS NOT NULL THEN format('has rules: drop %s', p.rules)
    WHEN p.triggers IS NOT NULL THEN format('has triggers that are not the fence''s own: drop %s', p.triggers)
    WHEN p.constraints IS NOT NULL OR NOT p.is_keyed
      THEN format('has other constraints than a fence''s: drop %s', coalesce(p.constraints, 'it, as it lacks its key'))
    WHEN p.indexes IS NOT NULL THEN format('has indexes other than its key: drop %s', p.indexes)
    WHEN p.relatives IS NOT NULL THEN format('inherits from or to other tables: take it out (NO INHERIT) of %s',
      p.relatives)
    WHEN p.makers IS NOT NULL THEN format('lets other roles put triggers on it: REVOKE TRIGGER ON it FROM %s',
      p.makers)
    ELSE '' END
  FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
  JOIN pg_database AS d ON d.datname = current_database(), LATERAL (SELECT
    (SELECT string_agg(concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod),
        CASE WHEN a.attnotnull THEN 'NOT NULL' END, CASE WHEN a.attcollation NOT IN (0, to_regcollation('"default"'))
        THEN a.attcollation::regcollation END, nullif(a.attidentity, ''), nullif(a.attgenerated, ''), pg_get_expr(e.adbin, e.adrelid)), ', '
        ORDER BY a.attnum)
      FROM pg_attribute AS a LEFT JOIN pg_attrdef AS e ON e.adrelid = a.attrelid AND e.adnum = a.attnum
      WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS columns,
    (SELECT string_agg(polname, ', ') FROM pg_policy WHERE polrelid = c.oid) AS policies,
    (SELECT string_agg(rulename, ', ') FROM pg_rewrite WHERE ev_class = c.oid) AS rules,
    (SELECT string_agg(t.tgname, ', ') FROM pg_trigger AS t JOIN pg_proc AS f ON f.oid = t.tgfoid
      WHERE t.tgrelid = c.oid AND NOT t.tgisinternal AND t.tgenabled <> 'D' AND NOT ({triggerIsTrusted}
        AND pg_get_triggerdef(t.oid) = format('CREATE TRIGGER tenure_fence_guard_rises BEFORE UPDATE OF token ON '
          '%1$I.tenure_fence_guard FOR EACH ROW WHEN ((new.token < old.token)) EXECUTE FUNCTION '
          '%1$I.tenure_fence_rises()', n.nspname))) AS triggers,
    (SELECT string_agg(k.conname, ', ') FROM pg_constraint AS k WHERE k.conrelid = c.oid
      AND k.contype NOT IN ('p', 'n', 't') AND pg_get_constraintdef(k.oid)
        <> 'CHECK (((token >= 0) AND (token <= ''9007199254740991''::bigint)))') AS constraints,
    EXISTS (SELECT FROM pg_constraint AS k WHERE k.conrelid = c.oid AND k.contype = 'p'
      AND pg_get_constraintdef(k.oid) = 'PRIMARY KEY (lease)') AS is_keyed,
    (SELECT string_agg(i.indexrelid::regclass::text, ', ') FROM pg_index AS i
      WHERE i.indrelid = c.oid AND NOT i.indisprimary) AS indexes,
    (SELECT string_agg((CASE i.inhrelid WHEN c.oid THEN i.inhparent ELSE i.inhrelid END)::regclass::text, ', ')
      FROM pg_inherits AS i WHERE c.oid IN (i.inhrelid, i.inhparent)) AS relatives,
    (SELECT string_agg(CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE pg_get_userbyid(a.grantee) END, ', ')
      FROM aclexplode(c.relacl) AS a WHERE a.privilege_type = 'TRIGGER' AND a.grantee <> c.relowner
      AND NOT {granteeIsTrusted}) AS makers) AS p
  WHERE n.nspname = {schemaText} AND c.relname = 'tenure_fence_guard')sql";

constexpr std::string_view leaseTableFault = R"sql(SELECT CASE
    WHEN c.relkind <> 'r' THEN 'is not an ordinary table'
    WHEN NOT {ownerIsTrusted} THEN format('belongs to role %s, which is neither trusted by role %s nor the owner of '
      'the schema', pg_get_userbyid(c.relowner), current_user)
    WHEN c.relrowsecurity THEN 'has row-level security: switch it off'
    ELSE '' END
  FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
  JOIN pg_database AS d ON d.datname = current_database()
  WHERE n.nspname = {schemaText} AND c.relname = {tableText})sql";

SqlValues valuesFor(std::string_view schema, std::string_view table = {}) {
  SqlValues values{{"schema", quotedName(schema)},
                   {"schemaText", quotedText(schema)},
                   {"tableText", quotedText(table)},
                   {"ownerIsTrusted", postgresql::trusts("c.relowner")},
                   {"triggerIsTrusted", postgresql::trusts("f.proowner")},
                   {"granteeIsTrusted", postgresql::trusts("a.grantee")}};
  values["owners"] = filledSql(ownersCheck, values);
  values["fault"] = filledSql(guardFault, values);
  return values;
}

}  // namespace

std::string postgresqlGuardBegin(std::string_view schema) {
  const SqlValues values = valuesFor(schema);
  return filledSql(beginning, values) + filledSql(guardTable, values);
}

std::string postgresqlGuardEnd(std::string_view schema) {
  const SqlValues values = valuesFor(schema);
  return filledSql(riseTrigger, values) + filledSql(ending, values);
}

std::string postgresqlGuardFault(std::string_view schema) { return filledSql(guardFault, valuesFor(schema)); }

std::string postgresqlLeaseTableFault(std::string_view schema, std::string_view table) {
  return filledSql(leaseTableFault, valuesFor(schema, table));
}

}  // namespace tenure
