-- The ledger is split by space, and the part of a space by the month (UTC) in which rows were closed: partitions.go makes
-- the tables, and drops those of months beyond the retention. What belongs into no such table is in ledger_rest.
-- A unique index of a partitioned table would have to hold the instant too: that a job's attempt has one row is looked
-- after by the statement that adds rows, which runs under the lock of the space's row.
ALTER TABLE waitcast.ledger RENAME TO ledger_before;
ALTER INDEX waitcast.ledger_key RENAME TO ledger_before_key;
ALTER INDEX waitcast.ledger_seq RENAME TO ledger_before_seq;
ALTER INDEX waitcast.ledger_closed RENAME TO ledger_before_closed;

CREATE TABLE waitcast.ledger (LIKE waitcast.ledger_before) PARTITION BY LIST (space);
CREATE TABLE waitcast.ledger_rest PARTITION OF waitcast.ledger DEFAULT;
CREATE INDEX ledger_key ON waitcast.ledger (space, cluster, job_id, attempt);
CREATE INDEX ledger_seq ON waitcast.ledger (space, seq, id);
CREATE INDEX ledger_closed ON waitcast.ledger (space, closed);

-- Identity columns of partitioned tables need PostgreSQL 17: the space counts its rows.
ALTER TABLE waitcast.space ADD COLUMN last_row bigint NOT NULL DEFAULT 0;
UPDATE waitcast.space s
    SET last_row = coalesce((SELECT max(id) FROM waitcast.ledger_before l WHERE l.space = s.id), 0);

-- Who might read and write the table before may the new one.
DO $$
DECLARE
    g record;
BEGIN
    FOR g IN
        SELECT a.privilege_type, CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(r.rolname) END AS grantee
        FROM pg_catalog.pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
            LEFT JOIN pg_catalog.pg_roles r ON r.oid = a.grantee
        WHERE c.oid = 'waitcast.ledger_before'::regclass AND a.grantee <> c.relowner
    LOOP
        EXECUTE format('GRANT %s ON waitcast.ledger TO %s', g.privilege_type, g.grantee);
    END LOOP;
END
$$;
