-- What a prefilter's mark is proved by.

-- The time for which one reader has a partition: from the offset where it took
-- it up to the one where the next reader did. A mark names a tenure and an
-- offset. If the tenure is here and its reader has come past the offset, the
-- transaction that did so is in this database's history, and whatever had been
-- committed before it is, too. A database that has lost its last transactions
-- has lost the tenures, or the offsets, that came with them.
--
-- A tenure without a partition is a witness: it proves what was read before it
-- was written.
CREATE TABLE once.tenure (
    id          bigint PRIMARY KEY DEFAULT
                ('x' || left(replace(gen_random_uuid()::text, '-', ''), 16))
                ::bit(64)::bigint,
    group_name  text COLLATE "C",
    topic       text COLLATE "C",
    partition   integer,
    from_offset bigint NOT NULL,
    to_offset   bigint, -- null: it goes on
    began_at    timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX tenure_began_at ON once.tenure (began_at);

ALTER TABLE once.position ADD COLUMN tenure bigint;

-- Mixed into every digest and checksum of a mark: who can't read this can't make
-- one.
ALTER TABLE once.log_identity
    ADD COLUMN secret uuid NOT NULL DEFAULT gen_random_uuid();

-- Whoever sets a position otherwise than by handling messages says this first:
-- the offsets between where it stood and where it will are no proof of anything.
CREATE FUNCTION once.end_tenures(grp text, tpc text, partitions integer[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM once.position AS p
    WHERE p.group_name = grp AND p.topic = tpc
      AND p.partition = ANY (partitions)
    ORDER BY p.partition FOR UPDATE;

    UPDATE once.tenure AS t SET to_offset = p.next_offset
    FROM once.position AS p
    WHERE p.group_name = grp AND p.topic = tpc
      AND p.partition = ANY (partitions)
      AND t.id = p.tenure AND t.to_offset IS NULL;

    UPDATE once.position AS p SET tenure = NULL
    WHERE p.group_name = grp AND p.topic = tpc
      AND p.partition = ANY (partitions) AND p.tenure IS NOT NULL;
END $$;

-- The next tenure of a partition that has a row; null: it has none.
CREATE FUNCTION once.begin_tenure(grp text, tpc text, part integer, reader uuid)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    new_tenure bigint;
BEGIN
    PERFORM once.end_tenures(grp, tpc, ARRAY[part]);

    INSERT INTO once.tenure (group_name, topic, partition, from_offset)
    SELECT p.group_name, p.topic, p.partition, p.next_offset
    FROM once.position AS p
    WHERE p.group_name = grp AND p.topic = tpc AND p.partition = part
    RETURNING id INTO new_tenure;

    UPDATE once.position AS p SET holder = reader, tenure = new_tenure
    WHERE p.group_name = grp AND p.topic = tpc AND p.partition = part;
    RETURN new_tenure;
END $$;
