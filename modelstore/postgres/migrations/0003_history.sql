-- The histories: events of imported logs that a cluster's state is learnt from, in chunks. Each chunk has a transaction
-- of its own. crc is modelstore.HistoryChunk.Sum: a history may be read for the first time months after it was written.
CREATE TABLE waitcast.history (
    space   integer NOT NULL REFERENCES waitcast.space (id),
    cluster text COLLATE "C" NOT NULL,
    id      text COLLATE "C" NOT NULL,
    part    text COLLATE "C" NOT NULL,
    n       bigint  NOT NULL,
    data    bytea   NOT NULL,
    crc     bigint  NOT NULL,
    PRIMARY KEY (space, cluster, id, part, n)
);
ALTER TABLE waitcast.history ALTER COLUMN data SET STORAGE EXTERNAL; -- it is compressed already
