-- Retention: the oldest rows of a scope, and who still needs them.

-- For the cleaner, and for the age of the oldest row. The rows of a transaction
-- have one time, and mostly share an entry.
CREATE INDEX consume_log_age ON once.consume_log (consumer_id, consumed_at);

-- Which group claims under which scope: a row that one of them may read again
-- stays, however old it is.
CREATE TABLE once.consumer_group (
    consumer_id bigint NOT NULL REFERENCES once.consumer (id),
    group_name  text COLLATE "C" NOT NULL,
    seen_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (consumer_id, group_name)
);

-- Until now nobody wrote that down. A scope that isn't named after a group may
-- be anybody's.
INSERT INTO once.consumer_group (consumer_id, group_name)
SELECT c.id, g.group_name
FROM once.consumer AS c
CROSS JOIN (SELECT DISTINCT group_name FROM once.position) AS g
WHERE starts_with(c.scope, g.group_name || '/')
OR NOT EXISTS (SELECT FROM once.position AS p
               WHERE starts_with(c.scope, p.group_name || '/'));
