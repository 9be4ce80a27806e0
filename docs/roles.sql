-- The role that onced runs as: it can run, and can't migrate. As the owner of
-- the schema, after "onced migrate" and after every process was replaced:
--
--	psql -v role=onced -v operator=onced_operator -f docs/roles.sql
--
-- and grant it, beside, what your handlers do with your own tables. The operator
-- is for people at "onced status" and "onced parked": it touches no claim and
-- none of your tables, and a position only by once.set_position(), which writes
-- it down.
--
-- It can be run again at any time: it takes away what earlier versions granted,
-- in one transaction, so a running process sees no gap. A role that is there
-- already is used as it is; whoever may not create roles has them created
-- before. They have no password yet: ALTER ROLE … PASSWORD, or a certificate.

\set ON_ERROR_STOP on
BEGIN;

SELECT format('CREATE ROLE %I LOGIN', n.name)
FROM (VALUES (:'role'), (:'operator')) AS n (name)
WHERE NOT EXISTS (SELECT FROM pg_roles AS r WHERE r.rolname = n.name)
\gexec

REVOKE ALL ON ALL TABLES IN SCHEMA once FROM :"role", :"operator";
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA once FROM :"role", :"operator";

-- Who handles messages. Claims are added, never changed but for their result,
-- and deleted by functions only: those of its own transaction, and what is
-- older than the retention.
GRANT USAGE ON SCHEMA once TO :"role";
GRANT SELECT ON once.migration, once.log_identity TO :"role";
GRANT SELECT, INSERT (scope), UPDATE (clock_right_at) ON once.consumer
    TO :"role";
GRANT SELECT, INSERT (consumer_id, msg_id, biz_id, topic, partition,
    message_offset, fingerprint), UPDATE (result) ON once.consume_log
    TO :"role";
GRANT SELECT, INSERT (consumer_id, group_name, retention_ms),
    UPDATE (seen_at, retention_ms) ON once.consumer_group TO :"role";
GRANT SELECT, INSERT, UPDATE (next_offset, attempts, anchor_offset,
    anchor_time_ms, anchor_hash, updated_at, holder, tenure, steps,
    log_generation, log_id) ON once.position TO :"role";
GRANT SELECT, INSERT (group_name, topic, partition, from_offset, to_offset),
    UPDATE (to_offset) ON once.tenure TO :"role";
GRANT SELECT, INSERT, UPDATE (state, retry_at, attempts, crashes, cause, reason,
    sqlstate, msg_id, biz_id, fingerprint, original_fingerprint, parked_at,
    group_name, route), DELETE ON once.parked TO :"role";
GRANT SELECT, INSERT, UPDATE (seen_at), DELETE ON once.instance TO :"role";
GRANT SELECT, INSERT, UPDATE (consumer_id, topic, partition, message_offset,
    log_generation, since), DELETE ON once.in_hand TO :"role";
GRANT SELECT, INSERT (person, command, subject, rows_changed) ON once.audit
    TO :"role";
GRANT SELECT, INSERT, DELETE ON once.commit_guard TO :"role";
GRANT EXECUTE ON FUNCTION
    once.unclaim(bigint, text[]),
    once.clean(bigint, timestamptz, timestamptz, bigint, bigint, bigint),
    once.forget_tenures(bigint) TO :"role";

-- People.
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

COMMIT;
