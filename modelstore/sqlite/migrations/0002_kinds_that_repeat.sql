-- Suspensions, and what is told of the machine, happen many times as well.
DROP INDEX journal_key;
ALTER TABLE journal DROP COLUMN turn;
ALTER TABLE journal ADD COLUMN turn INTEGER GENERATED ALWAYS AS (
    CASE WHEN kind IN ('update', 'hold', 'release', 'suspend', 'resume', 'machine') THEN seq ELSE 0 END
) VIRTUAL;
CREATE UNIQUE INDEX journal_key ON journal (cluster, job_id, attempt, kind, turn);
