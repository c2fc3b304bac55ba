-- The two parts of a wait: how long the job was blocked, in fact and by the forecast (quantiles of both parts, as
-- quantiles), the cause that was predicted, and the first reason that settled. They are NULL in the rows from before;
-- then the checksum is that of before, too.
ALTER TABLE ledger ADD COLUMN blocked_seconds REAL;
ALTER TABLE ledger ADD COLUMN blocked BLOB;
ALTER TABLE ledger ADD COLUMN eligible BLOB;
ALTER TABLE ledger ADD COLUMN predicted TEXT;
ALTER TABLE ledger ADD COLUMN settled TEXT;
