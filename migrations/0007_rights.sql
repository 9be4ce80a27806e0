-- least version: 4

-- What the role that onced runs as may do, and whose functions it calls. Its
-- bare rights to delete claims become functions that delete only what may go;
-- docs/roles.sql, run again, takes the bare rights away.

-- A fixed path: what the caller's path leads to is nobody's word in here. The
-- temporary schema is named last, for unnamed it would come first.
ALTER FUNCTION once.instance_lock(uuid)
    SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION once.has_crashed(uuid)
    SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION once.is_disowned(bytea)
    SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION once.end_tenures(text, text, integer[])
    SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION once.begin_tenure(text, text, integer, uuid)
    SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION once.begin_without_tenure()
    SET search_path = pg_catalog, pg_temp;

-- The number is computed once, not for each lock: a function with a path of its
-- own isn't inlined.
CREATE OR REPLACE FUNCTION once.is_alive(instance uuid) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM pg_locks
        WHERE locktype = 'advisory' AND objsubid = 1
        AND database = (SELECT oid FROM pg_database
                        WHERE datname = current_database())
        AND ((classid::bigint << 32) | objid::bigint)
            = (SELECT once.instance_lock(instance)))
$$;

-- As before; and a claim that wasn't inserted is no claim. Something other than
-- the unique keys has swallowed it: a trigger, a rule.
CREATE OR REPLACE FUNCTION once.claim_all(
    consumer bigint, msg_ids text[], biz_ids text[], topics text[],
    partitions integer[], message_offsets bigint[], fingerprints bytea[]
) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    claimed bigint;
BEGIN
    INSERT INTO once.consume_log (consumer_id, msg_id, biz_id, topic, partition,
                                  message_offset, fingerprint)
    SELECT consumer, unnest(msg_ids), unnest(biz_ids), unnest(topics),
           unnest(partitions), unnest(message_offsets), unnest(fingerprints);

    GET DIAGNOSTICS claimed = ROW_COUNT;
    IF claimed <> cardinality(msg_ids) THEN
        RAISE EXCEPTION 'only % of % claims were inserted into '
                        'once.consume_log; see "onced check"',
                        claimed, cardinality(msg_ids)
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    RETURN true;
EXCEPTION WHEN unique_violation THEN
    RETURN false;
END $$;

-- Take back claims of this very transaction: their time is its time. No other
-- one can be deleted by it.
CREATE FUNCTION once.unclaim(consumer bigint, msg_ids text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    removed bigint;
BEGIN
    DELETE FROM once.consume_log AS l
    WHERE l.consumer_id = consumer AND l.msg_id = ANY (msg_ids)
      AND l.consumed_at = now();

    GET DIAGNOSTICS removed = ROW_COUNT;
    IF removed <> cardinality(msg_ids) THEN
        RAISE EXCEPTION 'only % of % claims could be taken back; '
                        'see "onced check"', removed, cardinality(msg_ids)
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
END $$;

-- The cleaner's transaction: of the rows of a scope from `since` to before
-- `until`, `skipped` are passed over, and `most` looked at. Whatever the caller
-- asks for, nothing goes that is younger than the retention that the groups of
-- the scope have said (`own_ms` only makes it longer, or speaks where nobody
-- has), or that one of them may read again. It waits for nobody's lock.
--
-- A place is one of a table's: where somebody has parted the log by consumer,
-- rows of others have the same.
CREATE FUNCTION once.clean(
    consumer bigint, since timestamptz, until timestamptz,
    skipped bigint, most bigint, own_ms bigint,
    OUT looked_at bigint, OUT free_rows bigint, OUT removed bigint,
    OUT last_time timestamptz, OUT left_there bigint
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    kept_ms bigint;
BEGIN
    SELECT CASE WHEN least(min(g.retention_ms), own_ms) < 0 THEN -1
                ELSE greatest(max(g.retention_ms), own_ms) END
    INTO kept_ms
    FROM once.consumer_group AS g WHERE g.consumer_id = consumer;

    IF kept_ms IS NULL OR kept_ms < 0 THEN
        until := '-infinity';
    ELSE
        until := least(until, now() - kept_ms * interval '1 millisecond');
    END IF;

    WITH old AS MATERIALIZED (
        SELECT l.ctid AS place, l.topic, l.partition, l.message_offset,
               l.consumed_at
        FROM once.consume_log AS l
        WHERE l.consumer_id = consumer AND l.consumed_at >= since
          AND l.consumed_at < until
        ORDER BY l.consumed_at OFFSET skipped LIMIT most
    ), held AS MATERIALIZED (
        SELECT p.topic, p.partition, min(p.next_offset) AS next_offset
        FROM once.position AS p
        WHERE p.group_name IN (
            SELECT g.group_name FROM once.consumer_group AS g
            WHERE g.consumer_id = consumer)
        OR NOT EXISTS (SELECT FROM once.consumer_group AS g
                       WHERE g.consumer_id = consumer)
        GROUP BY p.topic, p.partition
    ), free AS MATERIALIZED (
        SELECT o.place FROM old AS o
        LEFT JOIN held AS h USING (topic, partition)
        WHERE h.next_offset IS NULL OR o.message_offset < h.next_offset
    ), locked AS MATERIALIZED (
        SELECT l.ctid AS place FROM once.consume_log AS l
        WHERE l.ctid = ANY (ARRAY(SELECT place FROM free))
          AND l.consumer_id = consumer FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM once.consume_log AS l
        WHERE l.ctid = ANY (ARRAY(SELECT place FROM locked))
          AND l.consumer_id = consumer
        RETURNING l.consumed_at
    ), last AS (
        SELECT max(consumed_at) AS at FROM old
    )
    SELECT (SELECT count(*) FROM old), (SELECT count(*) FROM free),
           (SELECT count(*) FROM gone), last.at,
           (SELECT count(*) FROM old WHERE consumed_at = last.at)
           - (SELECT count(*) FROM gone WHERE consumed_at = last.at)
    INTO looked_at, free_rows, removed, last_time, left_there
    FROM last;
END $$;

-- Tenures that have ended longer ago than the longest retention, or than 30
-- days: a thousand. See lib/src/upkeep_tenure.c.
CREATE FUNCTION once.forget_tenures(own_ms bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    DELETE FROM once.tenure WHERE id = ANY (ARRAY(
        SELECT t.id FROM once.tenure AS t CROSS JOIN (
            SELECT now() - greatest(own_ms, max(CASE WHEN g.retention_ms < 0
                THEN 2592000000 ELSE g.retention_ms END))
                * interval '1 millisecond' AS at
            FROM once.consumer_group AS g) AS old
        WHERE t.began_at < old.at AND (t.group_name IS NULL
            AND t.to_offset IS NOT NULL OR EXISTS (
            SELECT FROM once.tenure AS n
            WHERE n.group_name = t.group_name AND n.topic = t.topic
              AND n.partition = t.partition AND n.began_at > t.began_at
              AND n.began_at < old.at))
        ORDER BY t.began_at LIMIT 1000 FOR UPDATE OF t SKIP LOCKED))
$$;

-- How many messages are parked for whom: an index alone answers that.
CREATE INDEX parked_count
    ON once.parked (consumer_id, group_name, route, state);

REVOKE EXECUTE ON FUNCTION
    once.unclaim(bigint, text[]),
    once.clean(bigint, timestamptz, timestamptz, bigint, bigint, bigint),
    once.forget_tenures(bigint) FROM PUBLIC;

-- Whoever could delete claims until now can run the next version at once,
-- before docs/roles.sql is run again.
DO $$
DECLARE
    grantee regrole;
BEGIN
    FOR grantee IN
        SELECT DISTINCT a.grantee::regrole
        FROM pg_class AS c, aclexplode(c.relacl) AS a
        WHERE c.oid = 'once.consume_log'::regclass
          AND a.privilege_type = 'DELETE' AND a.grantee <> 0
          AND a.grantee <> c.relowner
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION '
            'once.unclaim(bigint, text[]), once.clean(bigint, timestamptz, '
            'timestamptz, bigint, bigint, bigint), '
            'once.forget_tenures(bigint) TO %s', grantee);
    END LOOP;
END $$;
