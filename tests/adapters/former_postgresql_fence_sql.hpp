// The script that the release before printed, to be upgraded by today's. SCHEMA stands for the schema's name.
#pragma once

namespace tenure::test {

inline constexpr const char* formerPostgresqlFenceSql = R"sql(BEGIN;
CREATE TABLE IF NOT EXISTS SCHEMA.tenure_fence_guard(
  lease  text COLLATE "C" PRIMARY KEY,
  token  bigint NOT NULL CHECK (token BETWEEN 0 AND 9007199254740991),  -- the highest seen; lower ones are refused
  holder text COLLATE "C" NOT NULL DEFAULT '',           -- whose term it is; empty if no writer has told
  since  timestamptz NOT NULL DEFAULT clock_timestamp()  -- when the token was first seen; for people
);
CREATE OR REPLACE FUNCTION SCHEMA.tenure_fence_rises() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $tenure$
BEGIN
  RAISE EXCEPTION 'tenure: the token of a fence only rises' USING ERRCODE = 'check_violation';
END
$tenure$;
CREATE OR REPLACE TRIGGER tenure_fence_guard_rises BEFORE UPDATE OF token ON SCHEMA.tenure_fence_guard
  FOR EACH ROW WHEN (NEW.token < OLD.token) EXECUTE FUNCTION SCHEMA.tenure_fence_rises();

CREATE OR REPLACE FUNCTION SCHEMA.tenure_fence_check() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, SCHEMA, pg_temp AS $tenure$
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
REVOKE ALL ON FUNCTION SCHEMA.tenure_fence_check() FROM PUBLIC;
CREATE OR REPLACE TRIGGER tenure_fence BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON SCHEMA.pay
  FOR EACH STATEMENT EXECUTE FUNCTION SCHEMA.tenure_fence_check('billing');
COMMIT;
)sql";

}  // namespace tenure::test
