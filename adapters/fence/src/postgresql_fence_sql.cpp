#include <stdexcept>

#include <tenure/adapters/postgresql_fence_sql.hpp>
#include <tenure/lockcore/lease_key.hpp>

namespace tenure {
namespace {

/// The longest name that PostgreSQL keeps (NAMEDATALEN - 1).
constexpr std::size_t longestName = 63;

// The trigger protects against people who write the guard by hand: not even they can let a former leader in again by
// mistake. No name from the user is inside a $-quoted body, because it could break out of it.
constexpr std::string_view guardTable = R"sql(CREATE TABLE IF NOT EXISTS {schema}.tenure_fence_guard(
  lease  text COLLATE "C" PRIMARY KEY,
  token  bigint NOT NULL CHECK (token BETWEEN 0 AND 9007199254740991),  -- the highest seen; lower ones are refused
  holder text COLLATE "C" NOT NULL DEFAULT '',           -- whose term it is; empty if no writer has told
  since  timestamptz NOT NULL DEFAULT clock_timestamp()  -- when the token was first seen; for people
);
CREATE OR REPLACE FUNCTION {schema}.tenure_fence_rises() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $tenure$
BEGIN
  RAISE EXCEPTION 'tenure: the token of a fence only rises' USING ERRCODE = 'check_violation';
END
$tenure$;
CREATE OR REPLACE TRIGGER tenure_fence_guard_rises BEFORE UPDATE OF token ON {schema}.tenure_fence_guard
  FOR EACH ROW WHEN (NEW.token < OLD.token) EXECUTE FUNCTION {schema}.tenure_fence_rises();
)sql";

// The function runs with its owner's rights, so writers need no rights on the fence's table. Nobody can attach it to a
// table of their own to raise tokens: attaching takes the right to execute the function, and firing does not. A row
// lower than ours is not locked before it is raised: if two transactions locked it and then raised it, one of them
// would be the victim of a deadlock.
constexpr std::string_view checkFunction = R"sql(
CREATE OR REPLACE FUNCTION {schema}.tenure_fence_check() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, {schema}, pg_temp AS $tenure$
DECLARE
  fenced_by text := TG_ARGV[0];
  my_lease  text := coalesce(current_setting('tenure.lease', true), '');
  my_text   text := coalesce(current_setting('tenure.token', true), '');
  my_holder text := coalesce(current_setting('tenure.holder', true), '');
  my_token  bigint;
  seen      record;
BEGIN
  IF my_text !~ '^[1-9][0-9]{0,15}$' OR my_text::numeric > 9007199254740991 THEN
    RAISE EXCEPTION 'tenure: table %.% is fenced by lease "%", and this transaction has % fencing token',
      TG_TABLE_SCHEMA, TG_TABLE_NAME, fenced_by, CASE my_text WHEN '' THEN 'no' ELSE 'a malformed' END
      USING ERRCODE = 'TF001', HINT = 'SET LOCAL tenure.token = ''<token of the term>'' before the first statement.';
  END IF;
  IF my_lease NOT IN ('', fenced_by) THEN
    RAISE EXCEPTION 'tenure: table %.% is fenced by lease "%", and this transaction writes under lease "%"',
      TG_TABLE_SCHEMA, TG_TABLE_NAME, fenced_by, my_lease USING ERRCODE = 'TF001';
  END IF;
  my_token := my_text::bigint;
  SELECT g.token, g.holder INTO seen FROM tenure_fence_guard AS g
   WHERE g.lease = fenced_by AND g.token >= my_token FOR SHARE;
  IF NOT FOUND THEN
    INSERT INTO tenure_fence_guard AS g(lease, token, holder) VALUES(fenced_by, my_token, my_holder)
    ON CONFLICT (lease) DO UPDATE SET token = excluded.token, holder = excluded.holder, since = excluded.since
     WHERE g.token < excluded.token;
    IF FOUND THEN
      RETURN NULL;
    END IF;
    SELECT g.token, g.holder INTO STRICT seen FROM tenure_fence_guard AS g WHERE g.lease = fenced_by;
  END IF;
  IF seen.token > 9007199254740991 THEN
    RAISE EXCEPTION 'tenure: table %.%: the fence of lease "%" remembers "%", which is no fencing token',
      TG_TABLE_SCHEMA, TG_TABLE_NAME, fenced_by, seen.token USING ERRCODE = 'TF004',
      HINT = 'Find out who wrote that, then set it right: tenure fence recover.';
  END IF;
  IF my_token < seen.token THEN
    RAISE EXCEPTION 'tenure: stale fencing token %: lease "%" has written with token % of %', my_token, fenced_by,
      seen.token, CASE seen.holder WHEN '' THEN 'an unnamed holder' ELSE seen.holder END
      USING ERRCODE = 'TF002', HINT = 'The writer''s term is over and its work must stop.';
  END IF;
  IF my_holder <> '' AND seen.holder NOT IN ('', my_holder) THEN
    RAISE EXCEPTION 'tenure: fencing token % of lease "%" belongs to %, not to %', my_token, fenced_by, seen.holder,
      my_holder USING ERRCODE = 'TF003';
  END IF;
  RETURN NULL;
END
$tenure$;
REVOKE ALL ON FUNCTION {schema}.tenure_fence_check() FROM PUBLIC;
CREATE OR REPLACE TRIGGER tenure_fence BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON {schema}.{table}
  FOR EACH STATEMENT EXECUTE FUNCTION {schema}.tenure_fence_check({lease});
)sql";

std::string identifier(std::string_view name) {
  std::string out{'"'};
  for (const char c : name) out += c == '"' ? std::string{"\"\""} : std::string{c};
  return out + '"';
}

/// Correct whatever standard_conforming_strings says.
std::string literal(std::string_view text) {
  std::string out = text.find('\\') == std::string_view::npos ? "'" : "E'";
  for (const char c : text) out += c == '\'' || c == '\\' ? std::string(2, c) : std::string{c};
  return out + '\'';
}

std::string filled(std::string_view text, std::string_view name, const std::string& value) {
  std::string out{text};
  for (std::size_t at = 0; (at = out.find(name, at)) != std::string::npos; at += value.size()) {
    out.replace(at, name.size(), value);
  }
  return out;
}

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
  return filled(guardTable, "{schema}", identifier(schema));
}

// A new row, because the table's own trigger does not let a token fall.
std::string postgresqlSetFenceSql(std::string_view schema, const TermStamp& memory) {
  requireName("schema", schema);
  requireText("lease", memory.lease);
  requireText("holder", memory.holder);
  const std::string table = identifier(schema) + ".tenure_fence_guard";
  return "BEGIN;\nDELETE FROM " + table + " WHERE lease = " + literal(memory.lease) + ";\nINSERT INTO " + table +
         "(lease, token, holder) VALUES(" + literal(memory.lease) + ", " + toString(memory.token) + ", " +
         literal(memory.holder) + ");\nCOMMIT;\n";
}

std::string postgresqlFenceSql(const FencedTable& fenced, std::string_view schema) {
  requireName("table", fenced.table);
  requireName("schema", schema);
  requireText("lease", fenced.lease);
  // In pieces, so that names in the inserted text are not replaced too.
  const std::size_t table = checkFunction.find("{table}");
  const std::size_t lease = checkFunction.find("{lease}");
  const auto piece = [&](std::size_t from, std::size_t to) {
    return filled(checkFunction.substr(from, to - from), "{schema}", identifier(schema));
  };
  return "BEGIN;\nSET LOCAL client_min_messages = warning;\n" + postgresqlGuardTableSql(schema) + piece(0, table) +
         identifier(fenced.table) + piece(table + 7, lease) + literal(fenced.lease) +
         piece(lease + 7, std::string_view::npos) + "COMMIT;\n";
}

}  // namespace tenure
