-- The parts of a snapshot in pieces: SQLite holds a value that is written three times in memory.
ALTER TABLE snapshot_part RENAME TO snapshot_whole;
CREATE TABLE snapshot_part (
    seq   INTEGER NOT NULL REFERENCES snapshot (seq) ON DELETE CASCADE,
    name  TEXT    NOT NULL,
    piece INTEGER NOT NULL,
    data  BLOB    NOT NULL,
    UNIQUE (seq, name, piece)
) STRICT;
INSERT INTO snapshot_part (seq, name, piece, data) SELECT seq, name, 0, data FROM snapshot_whole;
DROP TABLE snapshot_whole;
