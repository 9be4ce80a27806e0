-- least version: 4

-- What keeps a database usable for years: a clock that may be wrong, somebody
-- else's retention, messages that wait for a route, and change streams.

-- A change stream or a logical replica of the whole database asks each table by
-- what its rows are known. Without an answer, PostgreSQL refuses to change or
-- delete them. The other tables have primary keys.
ALTER TABLE once.consume_log REPLICA IDENTITY USING INDEX consume_log_msg_id;

-- When the database's clock was last found to be right: see
-- lib/src/upkeep_clock.c. What is older than the retention is removed only
-- while the time since then is plausible.
ALTER TABLE once.consumer
    ADD COLUMN clock_right_at timestamptz NOT NULL DEFAULT now();

-- How long a group wants the rows of a scope to be kept, as its processes say
-- when they connect: milliseconds; -1, for ever; null, nobody has said yet. Of
-- the groups of a scope the longest counts.
ALTER TABLE once.consumer_group ADD COLUMN retention_ms bigint;

-- Whose handler a parked message is for. Two groups that share a scope share
-- its keys, not their handlers. Empty: nobody wrote it down, and any route of
-- the scope may take it.
ALTER TABLE once.parked
    ADD COLUMN group_name text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN route text COLLATE "C" NOT NULL DEFAULT '';

-- A session looks for what is due among its own routes.
DROP INDEX once.parked_due;
CREATE INDEX parked_due
    ON once.parked (consumer_id, group_name, route, retry_at)
    WHERE state = 'waiting';
