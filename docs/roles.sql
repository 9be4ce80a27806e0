-- The role that onced runs as: it can run, and can't migrate. As the owner of
-- the schema, after "onced migrate":
--
--	psql -v role=onced -v operator=onced_operator -f docs/roles.sql
--
-- and grant it, beside, what your handlers do with your own tables. The operator
-- is for people at "onced status" and "onced parked": it touches no claim and
-- none of your tables, and a position only by once.set_position(), which writes
-- it down.

CREATE ROLE :"role" LOGIN;
GRANT USAGE ON SCHEMA once TO :"role";
GRANT SELECT ON once.migration TO :"role";
GRANT SELECT, INSERT, UPDATE (clock_right_at) ON once.consumer TO :"role";
GRANT SELECT, INSERT, UPDATE (result), DELETE ON once.consume_log TO :"role";
GRANT SELECT, INSERT, UPDATE (seen_at, retention_ms) ON once.consumer_group
    TO :"role";
GRANT SELECT, INSERT, UPDATE ON once.position TO :"role";
GRANT SELECT, INSERT, UPDATE, DELETE ON once.tenure TO :"role";
GRANT SELECT ON once.log_identity TO :"role";
GRANT SELECT, INSERT, UPDATE, DELETE ON once.parked TO :"role";
GRANT SELECT, INSERT, UPDATE, DELETE ON once.instance TO :"role";
GRANT SELECT, INSERT, UPDATE, DELETE ON once.in_hand TO :"role";
GRANT SELECT, INSERT ON once.audit TO :"role";
GRANT SELECT, INSERT, DELETE ON once.commit_guard TO :"role";

CREATE ROLE :"operator" LOGIN;
GRANT USAGE ON SCHEMA once TO :"operator";
GRANT SELECT ON once.migration, once.consumer, once.position, once.parked,
    once.in_hand, once.instance, once.audit, once.consumer_group
    TO :"operator";
-- How old the log is, and how large; no key.
GRANT SELECT (consumer_id, topic, partition, message_offset, consumed_at)
    ON once.consume_log TO :"operator";
GRANT UPDATE (state, retry_at, attempts, crashes, group_name, route), DELETE
    ON once.parked TO :"operator";
-- To lock its rows, which asks for an UPDATE of some column.
GRANT UPDATE (since), DELETE ON once.in_hand TO :"operator";
GRANT INSERT (person, command, subject, rows_changed) ON once.audit
    TO :"operator";
GRANT EXECUTE ON FUNCTION
    once.set_position(text, text, integer, bigint, boolean, text)
    TO :"operator";
