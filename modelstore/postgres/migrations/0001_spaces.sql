-- Instants are nanoseconds since 1970 UTC, durations nanoseconds. A text that PostgreSQL cannot hold (not UTF-8, or with a zero byte) is written
-- as \x and its bytes in hexadecimal digits, and so is one that begins like that.

-- A space is the store of one daemon: its journal, ledger, checkpoints, snapshots and values, and who may write them. Every transaction
-- that writes locks the space's row first.
CREATE TABLE waitcast.space (
    id        integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name      text COLLATE "C" NOT NULL UNIQUE,
    -- The greatest seq ever committed; pruned and ignored entries count.
    last_seq  bigint NOT NULL DEFAULT 0,
    -- The bad lines ever committed.
    bad_lines bigint NOT NULL DEFAULT 0,
    -- The transactions that changed the space, and the name of the last one.
    version   bigint NOT NULL DEFAULT 0,
    token     text   NOT NULL DEFAULT '',
    -- The lease: an epoch is given once, and its nonce at random, so that it is told from one that a failover to a late standby forgot. There is no holder where
    -- the lease was given back.
    holder    text,
    nonce     text,
    epoch     bigint NOT NULL DEFAULT 0,
    expires   timestamptz
) WITH (fillfactor = 20); -- its rows change with every commit: room for that in their own page

-- Journal and ledger have no foreign key: to check it for every row takes a good part of the time of a commit, which has locked the space's row anyway.
CREATE TABLE waitcast.journal (
    space   integer NOT NULL,
    seq     bigint  NOT NULL,
    cluster text COLLATE "C" NOT NULL,
    job_id  text COLLATE "C" NOT NULL,
    attempt bigint  NOT NULL,
    kind    text COLLATE "C" NOT NULL,
    -- What may happen many times in one life of a job is told apart by its number; 0 for everything else.
    turn    bigint  NOT NULL,
    time    bigint  NOT NULL,
    submit  bigint,
    source  text    NOT NULL,
    event   text    NOT NULL,
    PRIMARY KEY (space, seq)
);
CREATE UNIQUE INDEX journal_key ON waitcast.journal (space, cluster, job_id, attempt, kind, turn);

CREATE TABLE waitcast.checkpoint (
    space  integer NOT NULL REFERENCES waitcast.space (id),
    source text COLLATE "C" NOT NULL,
    data   bytea NOT NULL,
    PRIMARY KEY (space, source)
);

CREATE TABLE waitcast.meta (
    space integer NOT NULL REFERENCES waitcast.space (id),
    key   text COLLATE "C" NOT NULL,
    value text  NOT NULL,
    PRIMARY KEY (space, key)
);

-- levels, quantiles and peers are float64 bits, little-endian, so that NaN and infinities stay what they are.
CREATE TABLE waitcast.ledger (
    space        integer NOT NULL,
    id           bigint  GENERATED ALWAYS AS IDENTITY,
    seq          bigint  NOT NULL,
    cluster      text COLLATE "C" NOT NULL,
    job_id       text COLLATE "C" NOT NULL,
    attempt      bigint  NOT NULL,
    queue        text COLLATE "C" NOT NULL,
    procs        bigint  NOT NULL,
    time_limit   bigint  NOT NULL,
    submit       bigint  NOT NULL,
    start        bigint,
    closed       bigint  NOT NULL,
    outcome      text    NOT NULL,
    wait_seconds double precision NOT NULL,
    method       text    NOT NULL,
    levels       bytea,
    quantiles    bytea,
    peers        bytea,
    reason       text    NOT NULL,
    replayed     boolean NOT NULL,
    served       bigint  NOT NULL,
    PRIMARY KEY (space, id)
);
CREATE UNIQUE INDEX ledger_key ON waitcast.ledger (space, cluster, job_id, attempt);
CREATE INDEX ledger_seq ON waitcast.ledger (space, seq, id);
CREATE INDEX ledger_closed ON waitcast.ledger (space, closed);

CREATE TABLE waitcast.bad_line (
    space   integer NOT NULL REFERENCES waitcast.space (id),
    id      bigint  NOT NULL,
    at      bigint  NOT NULL,
    source  text    NOT NULL,
    path    text    NOT NULL,
    line    bigint  NOT NULL,
    reason  text    NOT NULL,
    message text    NOT NULL,
    text    bytea   NOT NULL,
    PRIMARY KEY (space, id)
);

CREATE TABLE waitcast.snapshot (
    space integer NOT NULL REFERENCES waitcast.space (id),
    seq   bigint  NOT NULL,
    at    bigint  NOT NULL,
    sum   bytea   NOT NULL,
    PRIMARY KEY (space, seq)
);

CREATE TABLE waitcast.snapshot_part (
    space integer NOT NULL,
    seq   bigint  NOT NULL,
    name  text COLLATE "C" NOT NULL,
    data  bytea   NOT NULL,
    PRIMARY KEY (space, seq, name),
    FOREIGN KEY (space, seq) REFERENCES waitcast.snapshot (space, seq) ON DELETE CASCADE
);
ALTER TABLE waitcast.snapshot_part ALTER COLUMN data SET STORAGE EXTERNAL; -- trying to compress them takes longer than writing them
