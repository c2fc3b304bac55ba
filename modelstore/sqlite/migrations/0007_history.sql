-- The histories: events of imported logs that a cluster's state is learnt from, in chunks. Each chunk has a transaction
-- of its own. crc is modelstore.HistoryChunk.Sum.
CREATE TABLE history (
    cluster TEXT    NOT NULL,
    id      TEXT    NOT NULL,
    part    TEXT    NOT NULL,
    n       INTEGER NOT NULL,
    data    BLOB    NOT NULL,
    crc     INTEGER NOT NULL,
    UNIQUE (cluster, id, part, n)
) STRICT;
