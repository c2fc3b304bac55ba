-- Instants are nanoseconds since 1970 UTC, durations nanoseconds. crc is CRC-32C over the other columns of a row (see sum.go):
-- SQLite itself has no checksums on pages of the database file.

CREATE TABLE journal (
    seq     INTEGER PRIMARY KEY,
    cluster TEXT    NOT NULL,
    job_id  TEXT    NOT NULL,
    attempt INTEGER NOT NULL,
    kind    TEXT    NOT NULL,
    time    INTEGER NOT NULL,
    submit  INTEGER,
    source  TEXT    NOT NULL,
    event   TEXT    NOT NULL,
    crc     INTEGER NOT NULL,
    -- What may happen many times in one life of a job is told apart by its number.
    turn    INTEGER GENERATED ALWAYS AS (CASE WHEN kind IN ('update', 'hold', 'release') THEN seq ELSE 0 END) VIRTUAL
) STRICT;
CREATE UNIQUE INDEX journal_key ON journal (cluster, job_id, attempt, kind, turn);

-- The greatest seq ever committed; pruned and ignored entries count.
CREATE TABLE head (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    last_seq INTEGER NOT NULL,
    crc      INTEGER NOT NULL
) STRICT;
INSERT INTO head (one, last_seq, crc) VALUES (1, 0, 2351477386); -- CRC-32C of 8 zero bytes

CREATE TABLE checkpoint (
    source TEXT PRIMARY KEY,
    data   BLOB NOT NULL,
    crc    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    crc   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- levels and quantiles are float64 bits, little-endian, so that NaN and infinities stay what they are.
CREATE TABLE levels (
    id     INTEGER PRIMARY KEY,
    levels BLOB NOT NULL UNIQUE
) STRICT;

CREATE TABLE ledger (
    id           INTEGER PRIMARY KEY,
    seq          INTEGER NOT NULL,
    cluster      TEXT    NOT NULL,
    job_id       TEXT    NOT NULL,
    attempt      INTEGER NOT NULL,
    queue        TEXT    NOT NULL,
    procs        INTEGER NOT NULL,
    time_limit   INTEGER NOT NULL,
    submit       INTEGER NOT NULL,
    start        INTEGER,
    closed       INTEGER NOT NULL,
    outcome      TEXT    NOT NULL,
    wait_seconds REAL    NOT NULL,
    method       TEXT    NOT NULL,
    levels_id    INTEGER REFERENCES levels (id),
    quantiles    BLOB,
    reason       TEXT    NOT NULL,
    replayed     INTEGER NOT NULL,
    served       INTEGER NOT NULL,
    crc          INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX ledger_key ON ledger (cluster, job_id, attempt);
CREATE INDEX ledger_seq ON ledger (seq);
CREATE INDEX ledger_closed ON ledger (closed);

CREATE TABLE bad_line (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    at      INTEGER NOT NULL,
    source  TEXT    NOT NULL,
    path    TEXT    NOT NULL,
    line    INTEGER NOT NULL,
    reason  TEXT    NOT NULL,
    message TEXT    NOT NULL,
    text    BLOB    NOT NULL
) STRICT;

CREATE TABLE snapshot (
    seq INTEGER PRIMARY KEY,
    at  INTEGER NOT NULL,
    sum BLOB    NOT NULL
) STRICT;

CREATE TABLE snapshot_part (
    seq  INTEGER NOT NULL REFERENCES snapshot (seq) ON DELETE CASCADE,
    name TEXT    NOT NULL,
    data BLOB    NOT NULL,
    UNIQUE (seq, name)
) STRICT;
