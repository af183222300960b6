#include <stdexcept>

#include <tenure/adapters/postgresql_fence_sql.hpp>
#include <tenure/lockcore/lease_record.hpp>

#include "lockcore/postgresql/sql_template.hpp"
#include "postgresql_guard.hpp"

namespace tenure {

using postgresql::filledSql;
using postgresql::quotedName;
using postgresql::quotedText;
using postgresql::SqlValues;

namespace {

/// The longest name that PostgreSQL keeps (NAMEDATALEN - 1).
constexpr std::size_t longestName = 63;

// The function runs with its owner's rights, so writers need no rights on the fence's table. It must not run code of
// others: every name and operator says its schema, and no literal is of a type for which an operator of theirs would
// fit better. Nobody can attach it to a table of their own to raise tokens: attaching takes the right to execute the
// function, and firing does not. A row lower than ours is not locked before it is raised: if two transactions locked it
// and then raised it, one of them would be the victim of a deadlock.
constexpr std::string_view checkFunction = R"sql(
CREATE OR REPLACE FUNCTION {schema}.tenure_fence_check() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS {quote}
DECLARE
  fenced_by pg_catalog.text := TG_ARGV[0];
  my_lease  pg_catalog.text := coalesce(pg_catalog.current_setting('tenure.lease', true), '');
  my_text   pg_catalog.text := coalesce(pg_catalog.current_setting('tenure.token', true), '');
  my_holder pg_catalog.text := coalesce(pg_catalog.current_setting('tenure.holder', true), '');
  my_token  pg_catalog.int8;
  greatest_token CONSTANT pg_catalog.int8 := '9007199254740991';
  seen      record;
BEGIN
  IF my_text OPERATOR(pg_catalog.~) '^[1-9][0-9]{0,15}$'::pg_catalog.text THEN
    my_token := my_text::pg_catalog.int8;
  END IF;
  IF my_token IS NULL OR my_token OPERATOR(pg_catalog.>) greatest_token THEN
    RAISE EXCEPTION 'tenure: table %.% is fenced by lease "%", and this transaction has % fencing token',
      TG_TABLE_SCHEMA, TG_TABLE_NAME, fenced_by,
      CASE WHEN my_text OPERATOR(pg_catalog.=) ''::pg_catalog.text THEN 'no' ELSE 'a malformed' END
      USING ERRCODE = 'TF001', HINT = 'SET LOCAL tenure.token = ''<token of the term>'' before the first statement.';
  END IF;
  IF my_lease OPERATOR(pg_catalog.<>) ''::pg_catalog.text AND my_lease OPERATOR(pg_catalog.<>) fenced_by THEN
    RAISE EXCEPTION 'tenure: table %.% is fenced by lease "%", and this transaction writes under lease "%"',
      TG_TABLE_SCHEMA, TG_TABLE_NAME, fenced_by, my_lease USING ERRCODE = 'TF001';
  END IF;
  SELECT g.token, g.holder INTO seen FROM {schema}.tenure_fence_guard AS g
   WHERE g.lease OPERATOR(pg_catalog.=) fenced_by AND g.token OPERATOR(pg_catalog.>=) my_token FOR SHARE;
  IF NOT FOUND THEN
    INSERT INTO {schema}.tenure_fence_guard AS g(lease, token, holder) VALUES(fenced_by, my_token, my_holder)
    ON CONFLICT (lease) DO UPDATE SET token = excluded.token, holder = excluded.holder, since = excluded.since
     WHERE g.token OPERATOR(pg_catalog.<) excluded.token;
    IF FOUND THEN
      RETURN coalesce(NEW, OLD);
    END IF;
    SELECT g.token, g.holder INTO STRICT seen FROM {schema}.tenure_fence_guard AS g
     WHERE g.lease OPERATOR(pg_catalog.=) fenced_by;
  END IF;
  IF seen.token OPERATOR(pg_catalog.>) greatest_token THEN
    RAISE EXCEPTION 'tenure: table %.%: the fence of lease "%" remembers "%", which is not a fencing token',
      TG_TABLE_SCHEMA, TG_TABLE_NAME, fenced_by, seen.token USING ERRCODE = 'TF004',
      HINT = 'Find out who wrote that, then correct it: tenure fence recover.';
  END IF;
  IF my_token OPERATOR(pg_catalog.<) seen.token THEN
    RAISE EXCEPTION 'tenure: stale fencing token %: lease "%" has written with token % of %', my_token, fenced_by,
      seen.token,
      CASE WHEN seen.holder OPERATOR(pg_catalog.=) ''::pg_catalog.text THEN 'an unnamed holder' ELSE seen.holder END
      USING ERRCODE = 'TF002', HINT = 'The writer''s term is over and its work must stop.';
  END IF;
  IF my_holder OPERATOR(pg_catalog.<>) ''::pg_catalog.text AND seen.holder OPERATOR(pg_catalog.<>) ''::pg_catalog.text
     AND seen.holder OPERATOR(pg_catalog.<>) my_holder THEN
    RAISE EXCEPTION 'tenure: fencing token % of lease "%" belongs to %, not to %', my_token, fenced_by, seen.holder,
      my_holder USING ERRCODE = 'TF003';
  END IF;
  RETURN coalesce(NEW, OLD);  -- a row, where it fires for one; nothing for a statement
END
{quote};
)sql";

// A statement fires the statement triggers of the table that it names, and of no other, although it writes to the
// partitions and children of that table too. So all tables by whose names rows can be reached get the trigger, or none
// does. A partition that comes later gets the root's row trigger from PostgreSQL. That trigger asks for each row, so it
// is switched off where the statement trigger is.
constexpr std::string_view triggers = R"sql(
DO {quote}
DECLARE
  keeper name := current_setting('tenure.fence_keeper');
  schema_owner name := current_setting('tenure.fence_schema_owner');
  fenced record;
  one    record;
  makes  CONSTANT text := 'CREATE OR REPLACE TRIGGER %I BEFORE INSERT OR UPDATE OR DELETE%s ON %I.%I FOR EACH %s '
                          'EXECUTE FUNCTION %I.tenure_fence_check(%L)';
BEGIN
  IF NOT pg_has_role(schema_owner, keeper, 'MEMBER') THEN
    RAISE EXCEPTION 'tenure: schema % belongs to role %, which could use the rights of role % by putting a table of its '
      'own in the place of the fence''s', {schemaText}, schema_owner, keeper
      USING ERRCODE = 'insufficient_privilege', HINT = 'Run this as the schema''s owner or as a superuser.';
  END IF;
  SELECT c.oid AS id, c.relkind AS kind INTO fenced FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
   WHERE n.nspname = {schemaText} AND c.relname = {tableText};
  IF NOT FOUND THEN
    RAISE EXCEPTION 'tenure: there is no table % in schema %', {tableText}, {schemaText}
      USING ERRCODE = 'undefined_table';
  END IF;
  EXECUTE format(makes, 'tenure_fence', ' OR TRUNCATE', {schemaText}, {tableText}, 'STATEMENT', {schemaText}, {lease});
  IF fenced.kind = 'p' THEN
    EXECUTE format(makes, 'tenure_fence_row', '', {schemaText}, {tableText}, 'ROW', {schemaText}, {lease});
  END IF;
  FOR one IN
    WITH RECURSIVE tree AS (
      SELECT fenced.id AS id UNION SELECT i.inhrelid FROM pg_inherits AS i JOIN tree AS t ON i.inhparent = t.id)
    SELECT n.nspname AS schema, c.relname AS name, c.oid AS id, c.relkind AS kind, c.relispartition AS is_partition,
           (SELECT min(i.inhparent::regclass::text) FROM pg_inherits AS i
             WHERE i.inhrelid = c.oid AND i.inhparent NOT IN (SELECT t.id FROM tree AS t)) AS stranger
      FROM tree AS t JOIN pg_class AS c ON c.oid = t.id JOIN pg_namespace AS n ON n.oid = c.relnamespace
  LOOP
    IF one.stranger IS NOT NULL THEN
      RAISE EXCEPTION 'tenure: a statement that names % would write to %.% without asking the fence', one.stranger,
        one.schema, one.name USING ERRCODE = 'wrong_object_type', HINT = format('Guard %s: that guards its %s too%s.',
          one.stranger, CASE WHEN one.is_partition THEN 'partitions' ELSE 'children' END,
          CASE WHEN one.is_partition THEN '' ELSE '; or take the table out of it (ALTER TABLE ... NO INHERIT)' END);
    END IF;
    IF one.id <> fenced.id THEN
      EXECUTE format(makes, 'tenure_fence', ' OR TRUNCATE', one.schema, one.name, 'STATEMENT', {schemaText}, {lease});
    END IF;
    IF one.is_partition AND one.kind <> 'p' AND fenced.kind = 'p' THEN
      EXECUTE format('ALTER TABLE %I.%I DISABLE TRIGGER tenure_fence_row', one.schema, one.name);
    END IF;
  END LOOP;
END
{quote};
)sql";

// The fence's table may have come into other hands since.
constexpr std::string_view setTokens = R"sql(BEGIN;
{settings}
DO {quote}
DECLARE
  fault text := ({fault});
BEGIN
  IF fault <> '' THEN
    RAISE EXCEPTION 'tenure: table %.tenure_fence_guard %', {schemaText}, fault
      USING ERRCODE = 'invalid_table_definition', HINT = 'Then run this again.';
  END IF;
END
{quote};
DELETE FROM {schema}.tenure_fence_guard WHERE lease = {lease};
INSERT INTO {schema}.tenure_fence_guard(lease, token, holder) VALUES({lease}, {token}, {holder});
COMMIT;
)sql";

void requireText(const char* what, std::string_view text) {
  if (!text.empty() && isUtf8(text) && text.find('\0') == std::string_view::npos) return;
  throw std::invalid_argument{"postgresqlFenceSql: the " + std::string{what} +
                              " is empty, is not UTF-8, or holds a NUL"};
}

void requireName(const char* what, std::string_view name) {
  requireText(what, name);
  if (name.size() <= longestName) return;
  throw std::invalid_argument{"postgresqlFenceSql: the name of the " + std::string{what} + " has " +
                              std::to_string(name.size()) + " bytes, and PostgreSQL keeps only the first 63"};
}

}  // namespace

std::string postgresqlGuardTableSql(std::string_view schema) {
  return postgresqlGuardSettings + ('\n' + postgresqlGuardBegin(schema)) + postgresqlGuardEnd(schema);
}

// A new row, because the table's own trigger does not let a token fall.
std::string postgresqlSetFenceSql(std::string_view schema, const TermStamp& memory) {
  requireName("schema", schema);
  requireText("lease", memory.lease);
  requireText("holder", memory.holder);
  return filledSql(setTokens, {{"settings", postgresqlGuardSettings},
                               {"schema", quotedName(schema)},
                               {"schemaText", quotedText(schema)},
                               {"fault", postgresqlGuardFault(schema)},
                               {"lease", quotedText(memory.lease)},
                               {"token", toString(memory.token)},
                               {"holder", quotedText(memory.holder)}});
}

std::string postgresqlFenceSql(const FencedTable& fenced, std::string_view schema) {
  requireName("table", fenced.table);
  requireName("schema", schema);
  if (const auto faults = faultsOf(LeaseKey{fenced.lease}); !faults.empty()) {
    throw std::invalid_argument{"postgresqlFenceSql: " + faults.front()};
  }
  const SqlValues values{{"schema", quotedName(schema)},
                         {"schemaText", quotedText(schema)},
                         {"tableText", quotedText(fenced.table)},
                         {"lease", quotedText(fenced.lease)}};
  return "BEGIN ISOLATION LEVEL READ COMMITTED;\n" + std::string{postgresqlGuardSettings} + '\n' +
         postgresqlGuardBegin(schema) + filledSql(checkFunction, values) + postgresqlGuardEnd(schema) +
         filledSql(triggers, values) + "COMMIT;\n";
}

}  // namespace tenure
