-- What failures leave behind: who had a partition, which message a process died
-- on, and what a person decided.

-- The instance that reads the partition, or was the last to.
ALTER TABLE once.position ADD COLUMN holder uuid;

-- The message that a lane is about to handle alone, because it may be the one
-- that kills its process. Committed before the handler is called: a row of an
-- instance that is gone is a crash.
CREATE TABLE once.in_hand (
    instance_id    uuid NOT NULL REFERENCES once.instance (id)
                   ON DELETE CASCADE,
    lane           integer NOT NULL,
    consumer_id    bigint NOT NULL,
    topic          text COLLATE "C" NOT NULL,
    partition      integer NOT NULL,
    message_offset bigint NOT NULL,
    since          timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (instance_id, lane)
);
CREATE INDEX in_hand_message ON once.in_hand (topic, partition, message_offset);

-- An instance's sessions hold this number as a shared advisory lock, which the
-- server takes from them when the process dies.
CREATE FUNCTION once.instance_lock(instance uuid) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
    SELECT ('x' || left(replace(instance::text, '-', ''), 16))::bit(64)::bigint
$$;

CREATE FUNCTION once.is_alive(instance uuid) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM pg_locks
        WHERE locktype = 'advisory' AND objsubid = 1
        AND database = (SELECT oid FROM pg_database
                        WHERE datname = current_database())
        AND ((classid::bigint << 32) | objid::bigint)
            = once.instance_lock(instance))
$$;

-- It has left a row and no lock: it didn't end by itself.
CREATE FUNCTION once.has_crashed(instance uuid) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM once.instance AS i WHERE i.id = instance)
           AND NOT once.is_alive(instance)
$$;

-- A session looks for what is due among its own consumers.
DROP INDEX once.parked_due;
CREATE INDEX parked_due ON once.parked (consumer_id, retry_at)
    WHERE state = 'waiting';

-- What people did to messages and positions, and who they were.
CREATE TABLE once.audit (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at            timestamptz NOT NULL DEFAULT now(),
    database_role text NOT NULL DEFAULT session_user,
    person        text NOT NULL,
    command       text NOT NULL,
    subject       text NOT NULL,
    rows_changed  bigint NOT NULL
);
