-- Models that are saved beside the snapshots, in pieces: SQLite holds a value that is written three times in memory. The
-- load forecast was kept as a checkpoint before, under a name that no log can have; the daemon reads that once and
-- removes it.
CREATE TABLE saved_model (
    name  TEXT    NOT NULL,
    piece INTEGER NOT NULL,
    seq   INTEGER NOT NULL,
    data  BLOB    NOT NULL,
    crc   INTEGER NOT NULL,
    UNIQUE (name, piece)
) STRICT;
