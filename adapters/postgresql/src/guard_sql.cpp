#include "guard_sql.hpp"

#include <string_view>

namespace tenure::postgresql_fence {
namespace {

// The trigger is for those who write the guard by hand: not even they can let a former leader in again by mistake.
constexpr std::string_view guardTable = R"sql(
CREATE TABLE IF NOT EXISTS {schema}.tenure_fence_guard(
  lease  text COLLATE "C" PRIMARY KEY,
  token  bigint NOT NULL CHECK (token >= 0),         -- the highest fencing token seen; lower ones are refused
  holder text COLLATE "C" NOT NULL DEFAULT '',       -- whose term it is; empty if only plain SQL has written with it
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

}  // namespace

std::string guardTableSql(const std::string& schema) {
  constexpr std::string_view name = "{schema}";
  std::string sql{guardTable};
  for (std::size_t at = 0; (at = sql.find(name, at)) != std::string::npos; at += schema.size()) {
    sql.replace(at, name.size(), schema);
  }
  return sql;
}

}  // namespace tenure::postgresql_fence
