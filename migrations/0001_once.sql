-- Schema "once": the consume log and what is kept beside it.
--
-- Keys are text COLLATE "C": a locale's collation costs several times more for
-- each comparison. No column is drawn from a sequence on the way of a message,
-- so a duplicate burns nothing.

-- The name spaces of keys. Rows of two scopes never meet.
CREATE TABLE once.consumer (
    id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    scope text COLLATE "C" NOT NULL UNIQUE
);

-- The claims. The two unique keys decide whether a message is new. consumer_id
-- has no foreign key on purpose: its check would cost more than the claim.
CREATE TABLE once.consume_log (
    consumer_id    bigint NOT NULL,
    msg_id         text COLLATE "C" NOT NULL,
    biz_id         text COLLATE "C",
    topic          text COLLATE "C" NOT NULL,
    partition      integer NOT NULL,
    message_offset bigint NOT NULL,
    fingerprint    bytea,
    result         bytea,
    consumed_at    timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT consume_log_msg_id UNIQUE (consumer_id, msg_id),
    CONSTRAINT consume_log_biz_id UNIQUE (consumer_id, biz_id)
);

-- Claim all of it, or nothing: a batch without a duplicate costs half of what
-- ON CONFLICT costs, which looks into both indexes before it inserts. Caught
-- here, a duplicate is no error in the server's log.
CREATE FUNCTION once.claim_all(
    consumer bigint, msg_ids text[], biz_ids text[], topics text[],
    partitions integer[], message_offsets bigint[], fingerprints bytea[]
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO once.consume_log (consumer_id, msg_id, biz_id, topic, partition,
                                  message_offset, fingerprint)
    SELECT consumer, unnest(msg_ids), unnest(biz_ids), unnest(topics),
           unnest(partitions), unnest(message_offsets), unnest(fingerprints);
    RETURN true;
EXCEPTION WHEN unique_violation THEN
    RETURN false;
END $$;

-- The next offset to read, moved by the transaction that ends the messages
-- before it. The message that is next has failed `attempts` times. The anchor is
-- what the last ended message looked like.
CREATE TABLE once.position (
    group_name     text COLLATE "C" NOT NULL,
    topic          text COLLATE "C" NOT NULL,
    partition      integer NOT NULL,
    next_offset    bigint NOT NULL CHECK (next_offset >= 0),
    attempts       integer NOT NULL DEFAULT 0,
    anchor_offset  bigint,
    anchor_time_ms bigint,
    anchor_hash    bytea,
    updated_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (group_name, topic, partition)
) WITH (fillfactor = 50);

-- Messages set aside, whole: they can be handled again without Kafka. Their time
-- is a part of the key: a topic that is made again begins at offset 0 again, and
-- its messages are others.
CREATE TABLE once.parked (
    consumer_id          bigint NOT NULL REFERENCES once.consumer (id),
    topic                text COLLATE "C" NOT NULL,
    partition            integer NOT NULL,
    message_offset       bigint NOT NULL,
    state                text NOT NULL CHECK (state IN ('waiting', 'dead')),
    retry_at             timestamptz,
    attempts             integer NOT NULL DEFAULT 0,
    crashes              integer NOT NULL DEFAULT 0,
    cause                text NOT NULL,
    reason               text NOT NULL DEFAULT '',
    sqlstate             text,
    msg_id               text COLLATE "C",
    biz_id               text COLLATE "C",
    fingerprint          bytea,
    original_fingerprint bytea,
    message_time_ms      bigint NOT NULL,
    key                  bytea,
    value                bytea,
    header_names         bytea[] NOT NULL DEFAULT '{}',
    header_values        bytea[] NOT NULL DEFAULT '{}',
    parked_at            timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (consumer_id, topic, partition, message_offset,
                 message_time_ms),
    CHECK (state <> 'waiting' OR retry_at IS NOT NULL)
);
CREATE INDEX parked_due ON once.parked (retry_at) WHERE state = 'waiting';

-- Messages out, committed with the handler's writes.
CREATE TABLE once.outbox (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    topic         text NOT NULL,
    key           bytea,
    value         bytea,
    header_names  bytea[] NOT NULL DEFAULT '{}',
    header_values bytea[] NOT NULL DEFAULT '{}',
    created_at    timestamptz NOT NULL DEFAULT now()
);

-- One row per running process, removed on a clean stop.
CREATE TABLE once.instance (
    id         uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    group_name text COLLATE "C" NOT NULL,
    host       text NOT NULL,
    pid        integer NOT NULL,
    version    text NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    seen_at    timestamptz NOT NULL DEFAULT now()
);

-- Which log this is; a part of every mark that a prefilter keeps.
CREATE TABLE once.log_identity (
    id     uuid NOT NULL DEFAULT gen_random_uuid(),
    epoch  bigint NOT NULL DEFAULT 1,
    single boolean PRIMARY KEY DEFAULT true CHECK (single)
);
INSERT INTO once.log_identity DEFAULT VALUES;

-- A row here that isn't taken out again makes COMMIT fail. It stands while a
-- handler holds the raw session, so a handler that ends the transaction there
-- ends it in a rollback: nobody else's claim is committed without its effect.
CREATE TABLE once.commit_guard (
    backend  integer PRIMARY KEY,
    released integer NOT NULL REFERENCES once.commit_guard (backend)
             DEFERRABLE INITIALLY DEFERRED
);
