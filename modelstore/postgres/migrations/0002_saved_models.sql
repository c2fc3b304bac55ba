-- Models that are saved beside the snapshots. The load forecast was kept as a checkpoint before, under a name that no log
-- can have; the daemon reads that once and removes it.
CREATE TABLE waitcast.saved_model (
    space integer NOT NULL REFERENCES waitcast.space (id),
    name  text COLLATE "C" NOT NULL,
    seq   bigint  NOT NULL,
    data  bytea   NOT NULL,
    PRIMARY KEY (space, name)
);
ALTER TABLE waitcast.saved_model ALTER COLUMN data SET STORAGE EXTERNAL; -- it is compressed already
