-- The role that onced runs as: it can run, and can't migrate. As the owner of
-- the schema, after "onced migrate":
--
--	psql -v role=onced -f docs/roles.sql
--
-- and grant it, beside, what your handlers do with your own tables.

CREATE ROLE :"role" LOGIN;
GRANT USAGE ON SCHEMA once TO :"role";
GRANT SELECT ON once.migration TO :"role";
GRANT SELECT, INSERT ON once.consumer TO :"role";
GRANT SELECT, INSERT, UPDATE (result) ON once.consume_log TO :"role";
GRANT SELECT, INSERT, UPDATE ON once.position TO :"role";
GRANT SELECT, INSERT, UPDATE, DELETE ON once.parked TO :"role";
GRANT SELECT, INSERT, UPDATE, DELETE ON once.instance TO :"role";
GRANT SELECT, INSERT, UPDATE, DELETE ON once.in_hand TO :"role";
GRANT SELECT, INSERT ON once.audit TO :"role";
GRANT SELECT, INSERT, DELETE ON once.commit_guard TO :"role";
