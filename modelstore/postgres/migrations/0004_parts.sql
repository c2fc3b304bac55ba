-- The two parts of a wait: how long the job was blocked, in fact and by the forecast (quantiles of both parts, as
-- quantiles), the cause that was predicted, and the first reason that settled. They are NULL in the rows from before.
ALTER TABLE waitcast.ledger
    ADD COLUMN blocked_seconds double precision,
    ADD COLUMN blocked bytea,
    ADD COLUMN eligible bytea,
    ADD COLUMN predicted text,
    ADD COLUMN settled text;
