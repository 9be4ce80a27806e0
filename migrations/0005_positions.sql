-- Positions that people set, and logs that were made again.

-- `steps` counts the moves of those that handle messages: a position that
-- changes without one was set by hand. `log_generation` says which log of that
-- name the offsets are of: it rises when another log is found in its place.
-- `log_id` is Kafka's id of the topic, where that is known.
ALTER TABLE once.position
    ADD COLUMN steps          bigint  NOT NULL DEFAULT 0,
    ADD COLUMN log_generation integer NOT NULL DEFAULT 0,
    ADD COLUMN log_id         text COLLATE "C";

-- A position that was set by hand is no proof of what lies before it: the
-- database may have lost that. So its tenure ends where it stood, whatever
-- statement set it. AFTER, and not BEFORE: that would lock each row first, for
-- every batch.
CREATE FUNCTION once.end_tenure_of_set_position() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE once.tenure SET to_offset = old.next_offset
    WHERE id = old.tenure AND to_offset IS NULL;

    IF tg_op = 'UPDATE' THEN
        UPDATE once.position SET tenure = NULL
        WHERE group_name = new.group_name AND topic = new.topic
          AND partition = new.partition AND tenure = old.tenure;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER set_by_hand AFTER UPDATE ON once.position FOR EACH ROW
    WHEN (old.tenure IS NOT NULL AND new.next_offset <> old.next_offset
          AND new.steps = old.steps)
    EXECUTE FUNCTION once.end_tenure_of_set_position();

CREATE TRIGGER deleted_by_hand AFTER DELETE ON once.position FOR EACH ROW
    WHEN (old.tenure IS NOT NULL)
    EXECUTE FUNCTION once.end_tenure_of_set_position();

-- A row that was copied and put back is in nobody's tenure.
CREATE FUNCTION once.begin_without_tenure() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    new.tenure := NULL;
    RETURN new;
END $$;

CREATE TRIGGER inserted_by_hand BEFORE INSERT ON once.position FOR EACH ROW
    WHEN (new.tenure IS NOT NULL)
    EXECUTE FUNCTION once.begin_without_tenure();

-- The anchor that no message has: the process that read the partition last has
-- seen that another log is there.
CREATE FUNCTION once.is_disowned(anchor_hash bytea) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(anchor_hash = decode(repeat('00', 16), 'hex'), false)
$$;

-- For people, where "onced seek" can't reach Kafka: what it does, for one
-- partition. Returns where the position stood; null: there was none.
-- `another_log`: the topic was deleted and made again, or its log was cut.
CREATE FUNCTION once.set_position(
    grp text, tpc text, part integer, to_offset bigint,
    another_log boolean DEFAULT false, by_person text DEFAULT session_user
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    running text;
    stood   bigint;
BEGIN
    SELECT i.host || ', pid ' || i.pid INTO running FROM once.instance AS i
    WHERE i.group_name = grp AND once.is_alive(i.id) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'a process of group "%" is running (%)', grp, running
            USING HINT = 'Stop all of them first.',
                  ERRCODE = 'object_in_use';
    END IF;

    SELECT p.next_offset INTO stood FROM once.position AS p
    WHERE p.group_name = grp AND p.topic = tpc AND p.partition = part
    FOR UPDATE;

    INSERT INTO once.position AS p (group_name, topic, partition, next_offset)
    VALUES (grp, tpc, part, to_offset)
    ON CONFLICT (group_name, topic, partition) DO UPDATE
    SET next_offset = excluded.next_offset, attempts = 0,
        anchor_offset = NULL, anchor_time_ms = NULL, anchor_hash = NULL,
        log_id = NULL, log_generation = p.log_generation
            + (another_log OR once.is_disowned(p.anchor_hash))::integer,
        updated_at = now();

    INSERT INTO once.audit (person, command, subject, rows_changed)
    VALUES (by_person, 'set_position',
            format('group %s, topic %s, partition %s, from %s to %s',
                   grp, tpc, part, coalesce(stood::text, 'nowhere'),
                   to_offset), 1);
    RETURN stood;
END $$;
REVOKE EXECUTE ON FUNCTION
    once.set_position(text, text, integer, bigint, boolean, text) FROM PUBLIC;

-- The same offset in another log is another message: its crashes and its parked
-- row are its own.
ALTER TABLE once.in_hand
    ADD COLUMN log_generation integer NOT NULL DEFAULT 0;

ALTER TABLE once.parked
    ADD COLUMN log_generation integer NOT NULL DEFAULT 0;
ALTER TABLE once.parked DROP CONSTRAINT parked_pkey;
ALTER TABLE once.parked ADD CONSTRAINT parked_pkey PRIMARY KEY
    (consumer_id, topic, partition, message_offset, message_time_ms,
     log_generation);
